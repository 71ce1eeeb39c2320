"""Norms of the frameworks as programs that are traced, and run as they are."""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from ._aten import Autograd as Autograd
    from ._front import Front as Front
    from ._jax import JaxFront as JaxFront
    from ._keras import keras_function as keras_function
    from ._modules import TorchFront as TorchFront
    from ._onnx import OnnxFront as OnnxFront
    from ._program import LAYOUTS as LAYOUTS, Program, program
    from ._roles import (
        REQUIRED as REQUIRED,
        given_roles as given_roles,
        is_size as is_size,
        is_switch as is_switch,
        parameters as parameters,
        role as role,
        stated_eps as stated_eps,
    )
else:
    __getattr__ = lazy(__name__, __file__)
