"""Derivatives of a kernel as its framework, or the program that wrote its files, computes them."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from lngeom.errors import InputError, LngeomError

from .kernel import Kernel
from .limits import limited

Leaves = dict[str, Any]
"""Arrays of the framework by what is differentiated: x, gain, bias."""


class MissingGradient(Exception):
    """A parameter gets no gradient."""


class NoGradient(LngeomError):
    """The output does not depend on its inputs as far as autograd knows."""


def derivatives(
    kernel: Kernel,
    x: np.ndarray,
    cotangent: np.ndarray,
    lead: tuple[int, ...] = (-1,),
    *,
    transposed: bool = False,
    only: str | None = None,
) -> dict[str, np.ndarray]:
    """The derivatives by x and by gain and bias, or `only` one, in batches with the leading axes `lead`.

    Without axes the cotangent is one number, expanded to all components.
    """
    pull = _PULLBACKS.get(kernel.framework.name)
    if pull is None:
        msg = f"{kernel.name} is a {kernel.framework.name} kernel: --backward needs PyTorch or JAX to differentiate it"
        raise InputError(msg)
    shape = (*(lead or (-1,)), x.shape[-1])
    parameters = kernel.at(x.shape[-1]).leaves or kernel.arrays(x.shape[-1])
    leaves: Leaves = {"x": kernel.array(x.reshape(shape)), **parameters}
    seed = kernel.array(cotangent.reshape(shape) if lead else np.ones(()))
    gradients = pull(kernel, leaves, seed, transposed=transposed, only=only)
    return {name: kernel.framework.read(gradient) for name, gradient in gradients.items()}


def _of_files(kernel: Kernel, leaves: Leaves, seed: Any, *, transposed: bool, only: str | None) -> Leaves:
    """What a program wrote, which is asked for all derivatives at once."""
    x, given = leaves["x"], {name: values for name, values in leaves.items() if name != "x"}
    return {} if only else kernel.form.target.derivatives(x, given, np.broadcast_to(seed, x.shape))


def _by_torch(kernel: Kernel, leaves: Leaves, seed: Any, *, transposed: bool, only: str | None) -> Leaves:
    """What autograd computes from a cotangent, which it must leave as it is."""
    torch = importlib.import_module("torch")
    asked = leaves if only is None else {only: leaves[only]}
    x, *values = (leaf.requires_grad_(name in asked) for name, leaf in leaves.items())
    output: Any = kernel.call(x, dict(zip([*leaves][1:], values, strict=True)))
    if not output.requires_grad and len(asked) == len(leaves):
        raise NoGradient
    seed = seed.to(output.dtype).expand(output.shape)
    seed = seed.T.contiguous().T if transposed else seed
    before = seed.clone()
    with limited("the backward pass", kernel.asked.seconds):
        gradients = torch.autograd.grad(output, list(asked.values()), seed, allow_unused=True)
    if not torch.equal(seed, before):
        raise ValueError("the cotangent is overwritten in place")
    # The forward pass is within rounding of one that reads all of them.
    if missing := [name for name, gradient in zip(asked, gradients, strict=True) if gradient is None]:
        raise MissingGradient(f"{', '.join(f'd/d{name}' for name in missing)}: no gradient")
    return dict(zip(asked, gradients, strict=True))


def _by_jax(kernel: Kernel, leaves: Leaves, seed: Any, *, transposed: bool, only: str | None) -> Leaves:
    """What jax.vjp computes, all derivatives in one pass; its arrays have no strides."""
    if only is not None:
        return {}
    jax, names = importlib.import_module("jax"), [*leaves][1:]
    forward = lambda x, *values: kernel.call(x, dict(zip(names, values, strict=True)))  # noqa: E731
    output, pull = jax.vjp(forward, *leaves.values())
    gradients = pull(jax.numpy.broadcast_to(seed.astype(output.dtype), output.shape))
    return dict(zip(leaves, gradients, strict=True))


_PULLBACKS: dict[str, Callable[..., Leaves]] = {"files": _of_files, "torch": _by_torch, "jax": _by_jax}
