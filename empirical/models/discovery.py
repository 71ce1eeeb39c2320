"""The norm layers of any model: every candidate module is probed, and compared with its calls in one pass."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from lngeom.cli import out_of_memory
from lngeom.errors import LngeomError

from ..support import ModelError, Rows
from .calls import passing, watching
from .probe import Reading, affine, exactly, first_tensor, gated, own_parameters, ratio_to_bound, read
from .sites import Kind, NormSite

Readings = dict[tuple[object, ...], Reading | str]
"""Of modules by class, width, parameters and settings, in which they may be alike."""

_KNOWN: Readings = {}
"""Cached for modules of libraries, which class and settings determine: a fold asks for the same norms repeatedly."""
_OF_EVERY_MODULE = frozenset(vars(nn.Module()))
_SEEN = 4  # vectors of the pass that each norm is held against
_ANY_WIDTH = 24


def _is_called_norm(name: str) -> bool:
    return "norm" in name.lower()


@dataclass(frozen=True)
class FoundNorm:
    """A module that computes a norm.

    Attributes:
        path, module: Where it is, and its class.
        kind, eps, placement: Its formula; ε inside the root, or outside.
        d, axis: Length of the vectors, and the axis that they lie along: the last, or 1 (channels first).
        gain, gain_offset, bias: Names of its parameters; the gain is the parameter plus the offset. None for a gain of
            1, for no bias.
        calls: How often the pass called it; 0 without a pass.
        ratio: Largest error of its outputs in units of the derived bound.
        same_input_as: Path of the norm before it that read the very same tensor.
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

    @property
    def site(self) -> NormSite:
        """The norm as a site whose role is not known."""
        block = re.search(r"(?:^|\.)(\d+)\.", self.path)  # the first number that is followed by something
        shared = {name: getattr(self, name) for name in NormSite.__dataclass_fields__ if hasattr(self, name)}
        return NormSite(layer=None if block is None else int(block[1]), role="norm", **shared)


@dataclass(frozen=True)
class NoNorm:
    """A module with the name or the parameters of a norm that is none, and why: the formulas tried, their errors."""

    path: str
    module: str
    reason: str

    @property
    def is_called_norm(self) -> bool:
        """Whether its class has the name of a norm, which alone says what a broken one was meant to be."""
        return _is_called_norm(self.module)


@dataclass(frozen=True)
class Norms:
    """The norms of a model.

    Attributes:
        found: The norms, in the order of the pass; those that it did not call last.
        others: Modules that look like norms but cannot be measured as such.
    """

    found: tuple[FoundNorm, ...]
    others: tuple[NoNorm, ...]

    @property
    def sites(self) -> tuple[NormSite, ...]:
        """Called by the pass, for :class:`lngeom.empirical.observe.Observer`; without a pass, all norms."""
        passed = any(norm.calls for norm in self.found)
        return tuple(norm.site for norm in self.found if norm.placement == "inside" and (norm.calls or not passed))

    def rows(self) -> Rows:
        """A table: one row for each module, ``reason`` empty for norms."""
        empty = dict.fromkeys(FoundNorm.__dataclass_fields__)
        norms = [{**asdict(norm), "reason": ""} for norm in self.found]
        return norms + [{**empty, **asdict(other)} for other in self.others]


def call(model: nn.Module, batch: object) -> object:
    """Call a model on one input: keyword arguments from a mapping, positional ones from a tuple or list."""
    if isinstance(batch, Mapping):
        return model(**batch)
    return model(*batch) if isinstance(batch, (tuple, list)) else model(batch)


def norms(model: nn.Module, batch: object = None) -> Norms:
    """Find the norm layers of a model by what they compute, whatever they are called.

    Every module with the parameters of a norm, and every one without parameters, is called alone: on a copy, with
    drawn parameters, on rows of log-spaced sizes. From the outputs follow kind, ε and its place, gain or 1 + gain,
    bias and axis; they are accepted only if they reproduce the outputs within the derived bound of rounding
    (:func:`lngeom.rounding.error_bound`). Its calls in one pass over `batch` must agree as well.

    Args:
        model: Any module; it is left as it was.
        batch: An input: a tensor, a tuple of positional arguments or a mapping of keyword arguments. Without one the
            norms are listed as they are registered, also those that are never called.

    >>> import torch
    >>> from torch import nn
    >>> from lngeom.empirical.models import norms
    >>> layer = nn.TransformerEncoderLayer(d_model=8, nhead=2, batch_first=True)
    >>> for norm in norms(layer, torch.randn(2, 5, 8)).found:
    ...     print(norm.path, norm.kind, norm.eps, norm.gain, norm.bias, norm.calls)
    norm1 layernorm 1e-05 weight bias 1
    norm2 layernorm 1e-05 weight bias 1
    """
    if batch is not None and any(parameter.is_meta for parameter in model.parameters()):
        raise ModelError(f"{type(model).__name__}: weights on the device meta have no numbers; load it on a device")
    readings: Readings = {}
    modules = dict(model.named_modules())
    widths = {path: width for path, module in modules.items() if (width := _width(module)) is not None}
    seen = _Pass(widths)
    if batch is not None:
        seen.run(model, batch)
    by_path: dict[str, FoundNorm] = {}
    others: list[NoNorm] = []
    for path in dict.fromkeys((*seen.calls, *modules)):
        module = modules[path]
        if path in widths:
            reading = seen.held(path, module, _alone(module, widths[path], seen.vectors.get(path), readings))
        else:
            reading = _other_shapes(module)
        if isinstance(reading, Reading):
            twin = seen.twins.get(path)
            about = {"calls": seen.calls.get(path, 0), "same_input_as": twin if twin in by_path else None}
            by_path[path] = FoundNorm(path, type(module).__name__, **about, **vars(reading))
        elif reading is not None:
            other = NoNorm(path, type(module).__name__, reading)
            if other.is_called_norm or (path in widths and own_parameters(module)):
                others.append(other)
    return Norms(tuple(by_path.values()), tuple(others))


def _width(module: nn.Module) -> int | None:
    """Length of the vectors that it may normalize, by its parameters; None if no norm has such parameters."""
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


def _other_shapes(module: nn.Module) -> str | None:
    """Why no norm has such parameters; empty for a module with submodules."""
    if any(True for _ in module.children()):
        return None
    shapes = ", ".join(str(tuple(value.shape)) for value in module.parameters())
    return f"parameters of shape {shapes or 'none'}: no norm of one vector"


def _alone(module: nn.Module, width: int, vectors: tuple[Tensor, Tensor] | None, readings: Readings) -> Reading | str:
    """The reading of a module that is called alone; a module of any width is tried at the width of the pass."""
    free = not own_parameters(module) and not hasattr(module, "normalized_shape")
    d = vectors[0].shape[-1] if free and vectors is not None else width
    more = {name: value for name, value in vars(module).items() if name not in _OF_EVERY_MODULE}
    settings = {name: repr(v) for name, v in more.items() if isinstance(v, (bool, int, float, str, tuple, type(None)))}
    # Nothing else can make it another; a class of the user's may read what changes between two calls.
    inside = [*module.children(), *module.buffers(), *module._forward_pre_hooks, *module._forward_hooks]
    library = type(module).__module__.partition(".")[0] in ("torch", "transformers")
    known = _KNOWN if library and len(settings) == len(more) and not inside else readings
    key = (type(module), type(module).forward, d, tuple(own_parameters(module)), repr(sorted(settings.items())))
    if key not in known:
        known[key] = read(module, d) if d > 1 else "vectors of length 1"
    return known[key]


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Have a model in evaluation mode; afterwards each module is as it was."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


class _Pass:
    """Observations of one pass: the candidates called, and their inputs."""

    def __init__(self, widths: Mapping[str, int]) -> None:
        self._widths = widths
        self.calls: dict[str, int] = {}
        self.vectors: dict[str, tuple[Tensor, Tensor]] = {}
        self.inputs: dict[str, int] = {}
        self.twins: dict[str, str] = {}
        self._last: list[tuple[str, Tensor]] = []

    def run(self, model: nn.Module, batch: object) -> None:
        """Watch one pass in evaluation mode; the model is left as it was."""
        try:
            with watching(model, self._widths, self._leave), evaluating(model), torch.no_grad():
                call(model, batch)
        except Exception as error:
            if not isinstance(error, LngeomError) and not out_of_memory(error):
                # Again with nobody watching: what the model raises by itself is told in one line.
                with passing(model, "give an input that it takes"), evaluating(model), torch.no_grad():
                    call(model, batch)
            raise
        self._last.clear()

    def _leave(self, path: str, module: nn.Module, args: tuple, kwargs: dict, output: object) -> None:
        tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, Tensor)]
        z = first_tensor(output)
        if not tensors or z is None:
            return
        self.calls[path] = self.calls.get(path, 0) + 1
        if self.calls[path] == 1:
            self.inputs[path] = len(tensors)
            self._first_call(path, module, tensors[0], z)

    def _first_call(self, path: str, module: nn.Module, x: Tensor, z: Tensor) -> None:
        """Keep a few vectors of it, and which norm before it read the same tensor."""
        if own_parameters(module) or _is_called_norm(type(module).__name__):
            twin = next((other for other, last in self._last if last is x), None)
            self.twins |= {} if twin is None else {path: twin}
            self._last = [*self._last[-3:], (path, x)]
        if z.shape == x.shape and x.ndim and x.numel():
            # The first few, whichever axis they lie along.
            along = (slice(None) if size == self._widths[path] else slice(_SEEN) for size in x.shape[:-1])
            few = (*along, slice(None))
            self.vectors[path] = (x.detach()[few].clone(), z.detach()[few].clone())

    def held(self, path: str, module: nn.Module, reading: Reading | str) -> Reading | str:
        """The reading, or why the pass contradicts it."""
        if isinstance(reading, str) or path not in self.vectors:
            return reading
        (x, z), inputs, d = self.vectors[path], self.inputs[path], reading.d
        if inputs > 1:
            alone = f"a {reading.kind} of the first alone, but not here (gated or fused)"
            return f"the pass gives it {inputs} tensors: {gated(module, d) or alone}"
        if x.shape[reading.axis] != d:
            return f"the pass gives it shape {tuple(x.shape)}, whose axis {reading.axis} is not {d} long"
        formats = {value.dtype for value in (x, z, *own_parameters(module).values())}
        if len(formats) > 1:  # no format to derive a bound for; the probes have decided
            return reading
        rows = [value.movedim(reading.axis, -1).reshape(-1, d) for value in (x, z)]
        places = np.linspace(0, len(rows[0]) - 1, min(_SEEN, len(rows[0]))).astype(int)
        vectors, outputs = (exactly(value[places]) for value in rows)
        if not (np.isfinite(vectors).all() and np.isfinite(outputs).all()) or reading.placement == "outside":
            return reading
        gain, bias = affine(module, reading.gain, reading.gain_offset, reading.bias, d)
        dtype = str(formats.pop()).removeprefix("torch.")
        ratio = ratio_to_bound(vectors, outputs, gain, bias, kind=reading.kind, eps=reading.eps, dtype=dtype)
        if not ratio <= 1:
            return f"a {reading.kind} with eps {reading.eps:g} alone, but {ratio:.3g} times its bound away in the pass"
        return replace(reading, ratio=max(ratio, reading.ratio))
