"""The norm layers of any model: every module that could be one is probed, and held against what one pass shows."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode, resolve_name

from ._probe import Reading, affine, exactly, first_tensor, own_parameters, ratio_to_bound, read
from ._sites import Kind, NormSite

_SEEN = 4  # vectors of the pass that each norm is held against
_ANY_WIDTH = 24
_CALLED = "norm"
_FUNCTIONS = {
    "torch.nn.functional.layer_norm",
    "torch.nn.functional.rms_norm",
    "torch.nn.functional.normalize",
    "torch.nn.functional.group_norm",
    "torch.rsqrt",
    "torch.Tensor.rsqrt",
}


@dataclass(frozen=True)
class FoundNorm:
    """A module that computes a norm.

    Attributes:
        path, module: Where it is, and its class.
        kind, eps, placement: What it computes; ε inside the root, or outside.
        d, axis: Length of the vectors, and the axis that they lie along: the last, or 1 (channels first).
        gain, gain_offset, bias: Names of its parameters; the gain is the parameter plus the offset. None for a gain of
            1, for no bias.
        calls: How often the pass called it; 0 without a pass.
        ratio: Largest error of its outputs in units of the derived bound.
        same_input_as: Path of the norm before it that read the very same tensor.

    >>> from torch import nn
    >>> from empirical.models import norms
    >>> (norm,) = norms(nn.Sequential(nn.LayerNorm(8, bias=False))).found
    >>> norm.path, norm.module, norm.kind, norm.eps, norm.gain, norm.bias
    ('0', 'LayerNorm', 'layernorm', 1e-05, 'weight', None)
    """

    path: str
    module: str
    kind: Kind
    eps: float
    placement: str
    d: int
    axis: int
    gain: str | None
    gain_offset: float
    bias: str | None
    calls: int
    ratio: float
    same_input_as: str | None = None


@dataclass(frozen=True)
class NoNorm:
    """A module with the name or the parameters of a norm that is not one, and why: what was tried, how far off it was.

    >>> from torch import nn
    >>> from empirical.models import norms
    >>> norms(nn.Sequential(nn.LayerNorm((2, 8)))).others[0].reason
    'parameters of shape (2, 8), (2, 8): no norm of one vector'
    """

    path: str
    module: str
    reason: str

    @property
    def is_called_norm(self) -> bool:
        """Whether its class is called a norm: what a broken one was meant to be, its name alone says."""
        return _CALLED in self.module.lower()


@dataclass(frozen=True)
class Norms:
    """What :func:`norms` found.

    Attributes:
        found: The norms, in the order of the pass; those that it did not call last.
        others: What looks like a norm but cannot be measured as one.
        functional: Calls of functions that normalize outside of these modules: the module that made them, and the
            function.

    >>> from torch import nn
    >>> from empirical.models import norms
    >>> found = norms(nn.Sequential(nn.BatchNorm1d(8), nn.RMSNorm(8, eps=1e-6)))
    >>> [(norm.path, norm.kind, norm.eps) for norm in found.found], [other.path for other in found.others]
    ([('1', 'rmsnorm', 1e-06)], ['0'])
    """

    found: tuple[FoundNorm, ...]
    others: tuple[NoNorm, ...]
    functional: tuple[tuple[str, str], ...] = ()

    @property
    def sites(self) -> tuple[NormSite, ...]:
        """What :class:`empirical.observe.Observer` measures: the norms that the pass called, all without a pass."""
        passed = any(norm.calls for norm in self.found)
        return tuple(
            NormSite(
                norm.path, _layer(norm.path), "norm", norm.kind, norm.eps, norm.d, norm.same_input_as,
                norm.gain_offset, norm.axis, norm.gain, norm.bias,
            )
            for norm in self.found
            if norm.placement == "inside" and (norm.calls or not passed)
        )  # fmt: skip

    def rows(self) -> list[dict[str, Any]]:
        """A table: one row for each module, ``reason`` empty for norms."""
        empty = dict.fromkeys(FoundNorm.__dataclass_fields__)
        found = [{**asdict(norm), "reason": ""} for norm in self.found]
        return found + [{**empty, **asdict(other)} for other in self.others]


def _layer(path: str) -> int | None:
    """The number of the block: the first number in the path that is followed by something."""
    block = re.search(r"(?:^|\.)(\d+)\.", path)
    return None if block is None else int(block[1])


def call(model: nn.Module, batch: Any) -> Any:
    """Call a model on one input: keyword arguments from a mapping, positional ones from a tuple or list."""
    if isinstance(batch, Mapping):
        return model(**batch)
    return model(*batch) if isinstance(batch, (tuple, list)) else model(batch)


def _width(module: nn.Module) -> int | None:
    """Length of the vectors that it may normalize, by its parameters; None if these are not those of a norm."""
    shapes = {tuple(parameter.shape) for parameter in own_parameters(module).values()}
    inside = sum(1 for _ in module.parameters()) - len(own_parameters(module))
    if inside or len(shapes) > 1:
        return None
    if shapes:
        (shape,) = shapes
        return shape[0] if len(shape) == 1 and shape[0] > 1 else None
    if any(True for _ in module.children()):
        return None
    shape = getattr(module, "normalized_shape", (_ANY_WIDTH,))
    return shape[0] if isinstance(shape, tuple) and len(shape) == 1 else None


def _named_norm(module: nn.Module) -> bool:
    return _CALLED in type(module).__name__.lower()


def _few(shape: tuple[int, ...], d: int | None) -> tuple[slice, ...]:
    """The first few vectors, whichever axis of length `d` they lie along."""
    return (*(slice(None) if size == d else slice(_SEEN) for size in shape[:-1]), slice(None))


class _Pass(TorchFunctionMode):
    """What one pass shows: which candidates are called, on what, and which functions normalize outside of them."""

    def __init__(self, candidates: Mapping[str, nn.Module], model: nn.Module) -> None:
        super().__init__()
        self.calls: dict[str, int] = {}
        self.vectors: dict[str, tuple[Tensor, Tensor]] = {}
        self.inputs: dict[str, int] = {}
        self.twins: dict[str, str] = {}
        self.functions: dict[tuple[str, str], None] = {}
        self._last: list[tuple[str, Tensor]] = []
        self._inside: list[str] = []
        self._handles: list[Any] = []
        for path, module in model.named_modules():
            self._handles.append(module.register_forward_pre_hook(self._enter(path)))
            after = self._leave(path, candidates.get(path))
            self._handles.append(module.register_forward_hook(after, with_kwargs=True, always_call=True))

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = resolve_name(func)
        if name in _FUNCTIONS:
            self.functions.setdefault((self._inside[-1] if self._inside else "", name))
        return func(*args, **(kwargs or {}))

    def _enter(self, path: str) -> Any:
        return lambda *_: self._inside.append(path)

    def _leave(self, path: str, candidate: nn.Module | None) -> Any:
        def leave(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
            if self._inside:
                self._inside.pop()
            tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, Tensor)]
            z = first_tensor(output)
            if candidate is None or not tensors or z is None:
                return
            self.calls[path] = self.calls.get(path, 0) + 1
            if path in self.inputs:
                return
            x, self.inputs[path] = tensors[0], len(tensors)
            if own_parameters(candidate) or _named_norm(candidate):
                twin = next((other for other, last in self._last if last is x), None)
                if twin is not None:
                    self.twins[path] = twin
                self._last = [*self._last[-3:], (path, x)]
            if z.shape == x.shape and x.ndim:
                few = _few(tuple(x.shape), _width(candidate))
                self.vectors[path] = (x.detach()[few].clone(), z.detach()[few].clone())

        return leave

    def remove(self) -> None:
        """Take the hooks off, and let go of the inputs."""
        self._last.clear()
        for handle in self._handles:
            handle.remove()


def norms(model: nn.Module, batch: Any = None) -> Norms:
    """Find the norm layers of a model by what they compute, whatever they are called.

    Every module with the parameters of a norm, and every one without parameters, is called alone: on a copy, with
    drawn parameters, on rows of log-spaced sizes. From the outputs follow kind, ε and its place, gain or 1 + gain,
    bias and axis; they are accepted only if they reproduce the outputs within the derived bound of rounding
    (:func:`lngeom.rounding.error_bound`). What one pass over `batch` shows must agree as well.

    Args:
        model: Any module; it is left as it was.
        batch: An input: a tensor, a tuple of positional arguments or a mapping of keyword arguments. Without one the
            norms are listed as they are registered, also those that are never called.

    Returns:
        Norms: ``found``, ``others`` with reasons, ``functional``; ``sites`` for the observer.

    >>> import torch
    >>> from torch import nn
    >>> from empirical.models import norms
    >>> layer = nn.TransformerEncoderLayer(d_model=8, nhead=2, batch_first=True)
    >>> for norm in norms(layer, torch.randn(2, 5, 8)).found:
    ...     print(norm.path, norm.kind, norm.eps, norm.gain, norm.bias, norm.calls)
    norm1 layernorm 1e-05 weight bias 1
    norm2 layernorm 1e-05 weight bias 1
    """
    return norms_beside(model, batch, {})


def norms_beside(model: nn.Module, batch: Any, known: dict[Any, Reading | str]) -> Norms:
    """The same, with readings of modules that are alike in class, settings and shape; new ones are added to them."""
    modules = dict(model.named_modules())
    candidates = {path: module for path, module in modules.items() if _width(module) is not None}
    seen = _observed(model, candidates, batch) if batch is not None else None
    order = [] if seen is None else list(seen.calls)
    order += [path for path in modules if path not in set(order)]
    found: list[FoundNorm] = []
    others: list[NoNorm] = []
    for path in order:
        module = modules[path]
        name = type(module).__name__
        if path not in candidates:
            if _named_norm(module) and not any(True for _ in module.children()):
                shapes = ", ".join(str(tuple(value.shape)) for value in module.parameters())
                others.append(NoNorm(path, name, f"parameters of shape {shapes or 'none'}: no norm of one vector"))
            continue
        d = _width(module) or _ANY_WIDTH
        if seen is not None and path in seen.vectors and not own_parameters(module):
            d = seen.vectors[path][0].shape[-1] if not hasattr(module, "normalized_shape") else d
        key = (type(module), d, tuple(own_parameters(module)), _settings(module))
        if key not in known:
            known[key] = read(module, d) if d > 1 else "vectors of length 1"
        reading = known[key]
        if seen is not None and isinstance(reading, Reading) and path in seen.vectors:
            reading = _held(module, d, reading, *seen.vectors[path], seen.inputs[path])
        if isinstance(reading, Reading):
            calls, twin = (0, None) if seen is None else (seen.calls.get(path, 0), seen.twins.get(path))
            found.append(FoundNorm(path, name, d=d, calls=calls, same_input_as=twin, **vars(reading)))
        elif own_parameters(module) or _named_norm(module):
            others.append(NoNorm(path, name, reading))
    paths = {norm.path for norm in found}
    loose = () if seen is None else tuple(each for each in seen.functions if each[0] not in paths)
    alone = (replace(norm, same_input_as=norm.same_input_as if norm.same_input_as in paths else None) for norm in found)
    return Norms(tuple(alone), tuple(others), loose)


def _settings(module: nn.Module) -> str:
    """What may tell two modules of one class apart, besides their parameters."""
    plain = (bool, int, float, str, tuple, type(None))
    kept = {name: repr(v) for name, v in vars(module).items() if isinstance(v, plain) and not name.startswith("_")}
    return repr(sorted(kept.items()))


def _observed(model: nn.Module, candidates: Mapping[str, nn.Module], batch: Any) -> _Pass:
    training = [module for module in model.modules() if module.training]
    seen = _Pass(candidates, model)
    try:
        model.eval()
        with torch.no_grad(), seen:
            call(model, batch)
    finally:
        seen.remove()
        for module in training:
            module.training = True
    return seen


def _held(module: nn.Module, d: int, found: Reading, x: Tensor, z: Tensor, inputs: int) -> Reading | str:
    """The reading, or why the pass contradicts it."""
    if inputs > 1:
        return f"the pass gives it {inputs} tensors: a {found.kind} of the first alone, but not here (gated or fused)"
    if x.shape[found.axis] != d:
        return f"the pass gives it shape {tuple(x.shape)}, whose axis {found.axis} is not {d} long"
    formats = {value.dtype for value in (x, z, *own_parameters(module).values())}
    if len(formats) > 1:  # no format to derive a bound for; the probes have decided
        return found
    rows = [value.movedim(found.axis, -1).reshape(-1, d) for value in (x, z)]
    places = np.linspace(0, len(rows[0]) - 1, min(_SEEN, len(rows[0]))).astype(int)
    vectors, outputs = (exactly(value[places]) for value in rows)
    if not (np.isfinite(vectors).all() and np.isfinite(outputs).all()) or found.placement == "outside":
        return found
    gain, bias = affine(module, found.gain, found.gain_offset, found.bias, d)
    dtype = str(formats.pop()).removeprefix("torch.")
    ratio = ratio_to_bound(vectors, outputs, gain, bias, kind=found.kind, eps=found.eps, dtype=dtype)
    if not ratio <= 1:
        return f"a {found.kind} with eps {found.eps:g} alone, but {ratio:.3g} times its bound away in the pass"
    return replace(found, ratio=max(ratio, found.ratio))
