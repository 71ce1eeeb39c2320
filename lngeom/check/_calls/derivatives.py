"""Derivatives of a kernel as its framework, or the program that wrote its files, computes them."""

import contextlib
import functools
import importlib
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np

from lngeom.errors import InputError, LngeomError
from lngeom.limits import limited

from .binding import with_doubled
from .kernel import Kernel
from .triton_hook import without_gpu

Leaves = dict[str, Any]
"""Arrays of the framework by what is differentiated: x, gain, bias."""
Only = tuple[str, ...]


class MissingGradient(Exception):
    """A parameter gets no gradient."""


class NoGradient(LngeomError):
    """The output does not depend on its inputs as far as autograd knows."""


def derivatives(
    kernel: Kernel, x: np.ndarray, cotangent: np.ndarray, lead: Sequence[int] = (-1,), *, way: str = "", only: Only = ()
) -> dict[str, np.ndarray]:
    """The derivatives by x and by gain and bias, or `only` some, in batches with the leading axes `lead`.

    Without axes the cotangent is one number, expanded to all components. The `way` is that of the call, see
    :data:`CIRCUMSTANCES`; there are none where a call in it is no matter of the backward pass.
    """
    pull = _PULLBACKS.get(kernel.framework.name)
    if pull is None:
        raise InputError(f"{kernel.name} is a {kernel.framework.name} kernel: --backward needs PyTorch or JAX for it")
    if kernel.framework.name != "torch" and (only or way in CIRCUMSTANCES):  # arrays have no strides, nor graphs
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


def tangent(kernel: Kernel, x: np.ndarray, along: np.ndarray) -> np.ndarray:
    """The derivative of the output along rows, as the forward mode of PyTorch's autograd computes it."""
    forward = importlib.import_module("torch.autograd.forward_ad")
    with warnings.catch_warnings(), forward.dual_level(), without_gpu(False):  # it compiles PyTorch's own functions
        warnings.simplefilter("ignore")  # PyTorch's own, of how it compiles
        dual = forward.make_dual(kernel.array(x), kernel.array(along))
        return kernel.framework.read(forward.unpack_dual(kernel.call(dual)).tangent)


_torch: Any = functools.partial(importlib.import_module, "torch")


class Circumstance(NamedTuple):
    """How PyTorch's users call a backward pass: what is special about it, while the rest is as usual.

    Attributes:
        laid: How x lies in memory; `given` and `seed` are the same for gain and bias, and for the cotangent.
        call: The forward pass; `around` is what both passes run within, `between` what happens after the first one.
        pull: The backward pass, with the output, the leaves, the cotangent, and a call that gives the output again.
        optional: Whether a right kernel may refuse it, or give other outputs, which are not judged here.
    """

    laid: Callable[[Any], Any] = lambda x: x
    given: Callable[[Leaves], Leaves] = dict
    seed: Callable[[Any], Any] = lambda seed: seed
    around: Callable[[], AbstractContextManager[object]] = contextlib.nullcontext
    call: Callable[[Kernel, Any, Leaves], Any] = Kernel.call
    between: Callable[[Kernel, Any, Leaves, Any], object] = lambda *_: None
    pull: Callable[..., Sequence[Any]] = lambda *passed: _pulled(*passed)
    optional: bool = False


def _pulled(output: Any, leaves: list[Any], seed: Any, *_: object, **options: bool) -> Sequence[Any]:
    return _torch().autograd.grad(output, leaves, seed, allow_unused=True, **options)


def _stored(output: Any, leaves: list[Any], seed: Any, again: Callable[[], Any] | None = None) -> Sequence[Any]:
    """What backward() leaves in .grad; of two batches half of it, for parameters with main_grad, as of Megatron.

    Its flag says that .grad is a placeholder.
    """
    for leaf in leaves[1:] if again else ():
        leaf.main_grad = 0 * leaf.detach().to(_torch().promote_types(leaf.dtype, _torch().float32))
    for each in (output, again()) if again else (output,):
        each.backward(seed)
    found = list[Any]()
    for leaf in leaves:
        told, own, leaf.grad = vars(leaf), leaf.grad, None
        own = None if told.pop("grad_added_to_main_grad", False) else own
        taken = [one for one in (told.pop("main_grad", None), own) if one is not None]
        found.append(sum(taken) / (2 if again else 1) if taken else None)
    return found


def _after_step(kernel: Kernel, x: Any, given: Leaves) -> Any:
    """The output after a call with other parameters."""
    run: Any = kernel.call
    with_doubled(given.values(), lambda: _pulled(run(x, given).sum(), [x], None))
    return kernel.call(x, given)


def _beside_grad(output: Any, leaves: list[Any], seed: Any, *_: object) -> Sequence[Any]:
    """What autograd.grad gives where an earlier backward pass has left .grad."""
    for leaf in leaves:
        leaf.grad = _torch().ones_like(leaf)
    try:
        return _pulled(output, leaves, seed)
    finally:
        for leaf in leaves:
            leaf.grad = None


def _kept(output: Any, leaves: list[Any], seed: Any, again: Callable[[], Any]) -> Sequence[Any]:
    """Derivatives that are read after another backward pass."""
    found = _pulled(output, leaves, seed)
    _pulled(again(), leaves, 2 * seed)
    return found


def _later(x: Any) -> Any:
    """The same numbers, in memory one element after the beginning of another array."""
    return _torch().cat([x.new_full((1,), 7.0), x.flatten()])[1:].view(x.shape)


def _in_bfloat16() -> AbstractContextManager[object]:
    before = contextlib.ExitStack()
    before.callback(_torch().set_default_dtype, _torch().get_default_dtype())
    _torch().set_default_dtype(_torch().bfloat16)
    return before


CIRCUMSTANCES = {
    "vectors": Circumstance(laid=lambda x: x[0], seed=lambda seed: seed[0]),
    "transposed": Circumstance(laid=lambda x: x.T.contiguous().T),
    "first components": Circumstance(laid=lambda x: x.repeat(1, 2)[:, : x.shape[-1]]),
    "one later": Circumstance(laid=_later),
    "strided": Circumstance(given=lambda own: {k: v.repeat_interleave(2)[::2] for k, v in own.items()}, optional=True),
    "shared": Circumstance(given=lambda own: {k: own["gain"].detach() for k in own}, optional=True),
    "two axes": Circumstance(optional=True),
    "cotangent transposed": Circumstance(seed=lambda seed: seed.T.contiguous().T),
    "cotangent of one row": Circumstance(seed=lambda seed: seed[:1]),
    "cotangent later": Circumstance(seed=_later),
    "second backward": Circumstance(pull=lambda *at: [_pulled(*at, retain_graph=again) for again in (True, False)][1]),
    "another forward": Circumstance(between=lambda run, x, own, y: run.call(2 * x + 1, own)),
    "eps before": Circumstance(between=lambda run, x, own, y: run.like(eps=0.25).call(x, own), optional=True),
    "input changed": Circumstance(between=lambda run, x, own, y: x.detach().mul_(2).add_(1), optional=True),
    "output changed": Circumstance(between=lambda run, x, own, y: y.detach().mul_(2).add_(1), optional=True),
    "freed": Circumstance(call=lambda run, x, own: run.call(x.clone(), own)),
    "parameters changed": Circumstance(call=_after_step),
    "accumulated": Circumstance(pull=lambda *at: _stored(*at[:3])),
    "second batch": Circumstance(pull=_stored),
    "beside grad": Circumstance(pull=_beside_grad),
    "kept": Circumstance(pull=_kept),
    "create graph": Circumstance(pull=lambda *at: _pulled(*at, create_graph=True), optional=True),
    "another thread": Circumstance(pull=lambda *at: ThreadPoolExecutor(1).submit(_pulled, *at).result()),
    "default dtype": Circumstance(around=_in_bfloat16, optional=True),
    "saved elsewhere": Circumstance(
        around=lambda: _torch().autograd.graph.saved_tensors_hooks(lambda a: a.detach().clone(), lambda a: a)
    ),
}
"""Ways in which x lies in memory, in which its users call a backward pass, and what may be changed in between."""


def _by_torch(kernel: Kernel, leaves: Leaves, seed: Any, *, way: str, only: Only) -> Leaves:
    """What autograd computes from a cotangent, which it must leave as it is."""
    torch, how = _torch(), CIRCUMSTANCES.get(way, Circumstance())
    leaves = {"x": how.laid(leaves.pop("x")), **how.given(leaves)}
    asked = {name: leaves[name] for name in only or leaves}
    x, *values = (leaf.requires_grad_(name in asked) for name, leaf in leaves.items())
    given = dict(zip([*leaves][1:], values, strict=True))
    usual: Any = kernel.like().call(x.detach(), given) if how.optional else None
    with how.around():
        output: Any = how.call(kernel, x, given)
        if not output.requires_grad and len(asked) == len(leaves):
            raise NoGradient
        if how.optional and not torch.allclose(output, usual, *[torch.finfo(usual.dtype).eps ** 0.5] * 2):
            return {}
        seed = how.seed(seed.to(output.dtype)).expand(output.shape)
        before = seed.clone()
        how.between(kernel, x, given, output)
        with limited("the backward pass", kernel.asked.seconds):
            gradients = how.pull(output, [*asked.values()], seed, lambda: how.call(kernel, x, given))
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
