"""Derivatives of a kernel as its framework, or the program that wrote its files, computes them."""

import importlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lngeom.errors import InputError, LngeomError
from lngeom.limits import limited

from .kernel import Kernel
from .triton_hook import without_gpu

Leaves = dict[str, Any]
"""Arrays of the framework by what is differentiated: x, gain, bias."""
Only = tuple[str, ...]

LAID = "transposed", "first components", "vectors"
"""Ways in which x lies in memory, the last one for a single row."""
CALLED = "second backward", "another forward", "input changed", "output changed", "accumulated", "parameters changed"
"""Ways in which PyTorch's users call a backward pass: what it keeps may be used again, and changed in between."""


class MissingGradient(Exception):
    """A parameter gets no gradient."""


class NoGradient(LngeomError):
    """The output does not depend on its inputs as far as autograd knows."""


def derivatives(
    kernel: Kernel, x: np.ndarray, cotangent: np.ndarray, lead: Sequence[int] = (-1,), *, way: str = "", only: Only = ()
) -> dict[str, np.ndarray]:
    """The derivatives by x and by gain and bias, or `only` some, in batches with the leading axes `lead`.

    Without axes the cotangent is one number, expanded to all components. The `way` is that of the call, see
    :data:`CALLED`.
    """
    pull = _PULLBACKS.get(kernel.framework.name)
    if pull is None:
        msg = f"{kernel.name} is a {kernel.framework.name} kernel: --backward needs PyTorch or JAX to differentiate it"
        raise InputError(msg)
    if kernel.framework.name != "torch" and (only or way in (*LAID, *CALLED)):  # arrays have no strides, nor graphs
        return {}
    shape = (*(lead or (-1,)), x.shape[-1])
    parameters = kernel.at(x.shape[-1]).leaves or kernel.arrays(x.shape[-1])
    leaves: Leaves = {"x": kernel.array(x.reshape(shape)), **parameters}
    seed = kernel.array(cotangent.reshape(shape) if lead else np.ones(()))
    gradients = pull(kernel, leaves, seed, way=way, only=only)
    return {name: kernel.framework.read(gradient) for name, gradient in gradients.items()}


def _of_files(kernel: Kernel, leaves: Leaves, seed: Any, **_: object) -> Leaves:
    """What a program wrote, which is asked for all derivatives at once."""
    x, given = leaves["x"], {name: values for name, values in leaves.items() if name != "x"}
    return kernel.form.target.derivatives(x, given, np.broadcast_to(seed, x.shape))


def laid(x: Any, way: str) -> Any:
    """An array of PyTorch as it lies in this way."""
    if way == "vectors":
        return x[0]
    if way == "transposed":
        return x.T.contiguous().T
    return x.repeat(1, 2)[:, : x.shape[-1]] if way == "first components" else x


def tangent(kernel: Kernel, x: np.ndarray, along: np.ndarray) -> np.ndarray:
    """The derivative of the output along rows, as the forward mode of PyTorch's autograd computes it."""
    forward = importlib.import_module("torch.autograd.forward_ad")
    with warnings.catch_warnings(), forward.dual_level(), without_gpu(False):  # it compiles PyTorch's own functions
        warnings.simplefilter("ignore")  # PyTorch's own, of how it compiles
        dual = forward.make_dual(kernel.array(x), kernel.array(along))
        return kernel.framework.read(forward.unpack_dual(kernel.call(dual)).tangent)


def _by_torch(kernel: Kernel, leaves: Leaves, seed: Any, *, way: str, only: Only) -> Leaves:
    """What autograd computes from a cotangent, which it must leave as it is."""
    torch = importlib.import_module("torch")
    leaves = leaves | {"x": laid(leaves["x"], way)}
    asked = {name: leaves[name] for name in only or leaves}
    x, *values = (leaf.requires_grad_(name in asked) for name, leaf in leaves.items())
    given = dict(zip([*leaves][1:], values, strict=True))
    if way == "parameters changed" and values:  # doubled for a step before, and halved again, which is exact
        torch._foreach_mul_([value.data for value in values], 2.0)
        torch.autograd.grad(kernel.call(x, given).sum(), x)  # pyright: ignore[reportAttributeAccessIssue]
        torch._foreach_mul_([value.data for value in values], 0.5)
    output: Any = kernel.call(x, given)
    if not output.requires_grad and len(asked) == len(leaves):
        raise NoGradient
    seed = (laid(seed, way) if way == "vectors" else seed).to(output.dtype).expand(output.shape)
    seed = seed.T.contiguous().T if way == "cotangent transposed" else seed
    before = seed.clone()
    if way == "another forward":
        kernel.call((x.detach() * 2 + 1).requires_grad_(), given)
    changed = {"input changed": x, "output changed": output}.get(way)
    if changed is not None:
        changed.detach().mul_(2).add_(1)
    with limited("the backward pass", kernel.asked.seconds):
        if way == "second backward":
            torch.autograd.grad(output, list(asked.values()), seed, retain_graph=True, allow_unused=True)
        if way == "accumulated":
            output.backward(seed)
            gradients = [leaf.grad for leaf in asked.values()]
            for leaf in asked.values():
                leaf.grad = None
        else:
            gradients = torch.autograd.grad(output, list(asked.values()), seed, allow_unused=True)
    if not torch.equal(seed, before):
        raise ValueError("the cotangent is overwritten in place")
    # The forward pass is within rounding of one that reads all of them.
    if missing := [name for name, gradient in zip(asked, gradients, strict=True) if gradient is None]:
        raise MissingGradient(f"{', '.join(f'd/d{name}' for name in missing)}: no gradient")
    return dict(zip(asked, gradients, strict=True))


def _by_jax(kernel: Kernel, leaves: Leaves, seed: Any, **_: object) -> Leaves:
    """What jax.vjp computes, all derivatives in one pass."""
    jax, names = importlib.import_module("jax"), [*leaves][1:]
    forward = lambda x, *values: kernel.call(x, dict(zip(names, values, strict=True)))  # noqa: E731
    output, pull = jax.vjp(forward, *leaves.values())
    gradients = pull(jax.numpy.broadcast_to(seed.astype(output.dtype), output.shape))
    return dict(zip(leaves, gradients, strict=True))


_PULLBACKS: dict[str, Callable[..., Leaves]] = {"files": _of_files, "torch": _by_torch, "jax": _by_jax}
