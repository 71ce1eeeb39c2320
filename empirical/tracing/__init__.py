"""Norms of the frameworks as programs: run as they are, or traced on the carriers, which says what they compute.

An array of a trace is one arbitrary row (:class:`Arr`); its axes have labels and no sizes. Whatever lacks a single
meaning for all rows of every dimension is refused, with the line of the program.
"""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from ._arrays import Arr, filled as filled, given as given
    from ._aten import Autograd as Autograd
    from ._factories import is_factory as is_factory, made as made
    from ._frameworks import (
        FRAMEWORKS as FRAMEWORKS,
        Framework as Framework,
        FrameworkArray as FrameworkArray,
        likely_frameworks as likely_frameworks,
    )
    from ._front import Front as Front
    from ._grounds import (
        DualGround as DualGround,
        FloatGround as FloatGround,
        Ground as Ground,
        RecordedGround as RecordedGround,
    )
    from ._jax import JaxFront as JaxFront
    from ._keras import keras_function as keras_function
    from ._modules import TorchFront as TorchFront
    from ._numpy import NumpyArray as NumpyArray
    from ._onnx import OnnxFront as OnnxFront
    from ._program import LAYOUTS as LAYOUTS, Program, program
    from ._roles import (
        REQUIRED as REQUIRED,
        by_roles as by_roles,
        given_roles as given_roles,
        is_size as is_size,
        is_switch as is_switch,
        parameters as parameters,
        role as role,
        stated_eps as stated_eps,
    )
    from ._sizes import FEATURE as FEATURE, Dim as Dim, Num
    from ._trace import ASKED as ASKED, Literals as Literals, Refusal, Trace, runs as runs
    from ._written import Gradients as Gradients, Written as Written
else:
    __getattr__ = lazy(__name__, __file__)
