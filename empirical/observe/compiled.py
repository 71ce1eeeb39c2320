"""Formulas fused into one loop each by PyTorch's compiler: C++ on a CPU, Triton on a GPU."""

import functools
import warnings
from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor

from lngeom.errors import InputError

T = TypeVar("T")


@functools.cache
def _compiled(function: Callable[..., T]) -> Callable[..., T]:
    return torch.compile(function)


def free(tensor: Tensor, *axes: int) -> Tensor:
    """The tensor, marked so that it is compiled once for all lengths of these axes."""
    torch._dynamo.maybe_mark_dynamic(tensor, [axis % tensor.ndim for axis in axes])
    return tensor


def fused(function: Callable[..., T], *arguments) -> T:
    """The result of `function`, compiled into one fused loop.

    Raises:
        InputError: If it could not be compiled.
    """
    from torch._dynamo.exc import BackendCompilerFailed

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns of what it deprecates itself, and of caches on the way
        try:
            return _compiled(function)(*arguments)
        except BackendCompilerFailed as error:
            msg = f"no kernel could be compiled ({str(error).splitlines()[0]}): install a compiler, or measure without"
            raise InputError(msg) from error
