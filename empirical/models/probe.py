"""Whether one module is a norm layer: it is called on rows of known sizes, on a copy with drawn parameters."""

import copy
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

import lngeom
from lngeom.behaviours import behaviour, probes

from .sites import Kind

_CHECKED = (3, 8)  # fewest and most rows held against the bound: it takes integers of any size, so that
_COMPONENTS = 4_096  # of long vectors fewer are
_FIT = 1e-4  # of gain and bias, whose fit leaves the roundings of a few rows
_ROWS, _CONDITION = 72, 2.0
_LARGE = 6  # rows at which no usual ε matters
_FAR = 0.3  # of the largest output: a module that far from every norm needs no closer look
_OPEN = 32.0
_GATES: dict[str, Callable[[Tensor], Tensor]] = {
    "silu(gate)": nn.functional.silu, "sigmoid(gate)": torch.sigmoid, "gelu(gate)": nn.functional.gelu,
    "the gate": torch.clone,
}  # fmt: skip
_NORMS: dict[Kind, Callable[..., np.ndarray]] = {"layernorm": lngeom.layer_norm, "rmsnorm": lngeom.rms_norm}
_RAISED = re.compile(r"\w+(Error|Exception): ")
_WITHIN = 3  # vectors of a probe that share an example, so that a norm over more than one axis is not ours


@dataclass(frozen=True)
class Reading:
    """The norm that a module computes: its kind, and which of its parameters are gain and bias."""

    kind: Kind
    placement: str
    eps: float
    d: int
    axis: int
    gain: str | None
    gain_offset: float
    bias: str | None
    ratio: float


def first_tensor(value: object) -> Tensor | None:
    """The tensor, or the first one of several."""
    if isinstance(value, Tensor):
        return value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return next((part for part in parts if isinstance(part, Tensor)), None)


def own_parameters(module: nn.Module) -> dict[str, Tensor]:
    """Its own parameters, without its submodules'."""
    return dict(module.named_parameters(recurse=False))


def affine(
    module: nn.Module, gain: str | None, offset: float, bias: str | None, d: int
) -> tuple[np.ndarray, np.ndarray | None]:
    """Gain and bias as float64 arrays; where the weight is gain − 1, the layer adds the 1 in float32."""
    weight, shift = (None if name is None else getattr(module, name, None) for name in (gain, bias))
    factor = np.ones(d) if weight is None else exactly(weight.float() + offset if offset else weight)
    return factor, None if shift is None else exactly(shift)


def exactly(values: Tensor) -> np.ndarray:
    """The same numbers as float64."""
    return values.detach().to("cpu", torch.float64).numpy()


def _drawn(module: nn.Module) -> nn.Module:
    """A copy in float32 on the CPU without hooks, its parameters drawn, so that 1, w and 1 + w are three things."""
    generator = torch.Generator().manual_seed(0)
    # Not copied but drawn, wherever they are: on a device, in parts, or offloaded with the hook that fetches them.
    memo: dict[int, object] = {
        id(parameter): nn.Parameter(1 + 0.3 * torch.randn(parameter.shape, generator=generator))
        for parameter in module.parameters()
    }
    memo |= {id(buffer): torch.ones(buffer.shape) for buffer in module.buffers() if buffer.is_meta}
    memo |= {id(hook): None for part in module.modules() if (hook := vars(part).get("_hf_hook")) is not None}
    twin = copy.deepcopy(module, memo)
    for part in twin.modules():
        vars(part).pop("forward", None)  # a wrapper of accelerate would lead back to the original
        for hooks in ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks"):
            getattr(part, hooks).clear()
    return twin.to("cpu").float().eval()


def _called(module: nn.Module, x: np.ndarray, axis: int, flat: bool, *more: np.ndarray) -> np.ndarray | str:
    """The module's outputs for rows along an axis (of images, or of `flat` ones), or the reason why there are none."""
    shape = (-1, _WITHIN, x.shape[-1])

    def laid(rows: np.ndarray) -> Tensor:
        values = torch.from_numpy(rows).float().reshape(shape)
        if axis == -1:
            return values
        return (values.transpose(1, 2) if flat else values.transpose(1, 2)[..., None]).contiguous()

    try:
        with torch.no_grad():
            z = first_tensor(module(*map(laid, (x, *more))))
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())[:80]}"
    if z is None or z.shape != laid(x).shape:
        return f"returns {'no tensor' if z is None else f'shape {tuple(z.shape)} for {tuple(laid(x).shape)}'}"
    if axis == 1:
        z = (z if flat else z[..., 0]).transpose(1, 2)
    return exactly(z).reshape(x.shape)


def _named(values: np.ndarray, parameters: dict[str, Tensor], constant: float) -> tuple[str | None, float] | None:
    """Which parameter (perhaps plus 1) an array is, None for a constant one; nothing if it is none of them."""
    candidates: list[tuple[str | None, float, np.ndarray | float]] = [(None, 0.0, constant)]
    for name, parameter in parameters.items():
        candidates += [(name, offset, exactly(parameter) + offset) for offset in (0.0, 1.0)]
    off = [float(np.abs(values - value).max()) for _, _, value in candidates]
    best = int(np.argmin(off))
    return candidates[best][:2] if off[best] <= _FIT else None


def _eps(module: nn.Module, seen: float) -> float | None:
    """The ε that the module stores, if it agrees with the outputs; else one of two digits."""
    floats = [value for value in vars(module).values() if isinstance(value, float)]
    near = [value for value in floats if math.isclose(value, seen, rel_tol=1e-4, abs_tol=1e-18)]
    if near:
        return min(near, key=lambda value: abs(value - seen))
    short = float(f"{seen:.2g}")
    return short if math.isclose(short, seen, rel_tol=1e-5) else None


def _distance(x: np.ndarray, z: np.ndarray) -> tuple[float, Kind]:
    """How far the outputs are from a norm with any gain and bias, relative to the largest output."""
    large = slice(-_LARGE, None)
    distances: list[tuple[float, Kind]] = []
    for kind, function in _NORMS.items():
        y, wanted = function(x, eps=0.0)[large], z[large]
        y, centre = y - y.mean(0), wanted - wanted.mean(0)
        rest = centre - y * ((y * centre).sum(0) / (y * y).sum(0))
        distances.append((float(np.abs(rest).max() / max(np.abs(wanted).max(), 1e-300)), kind))
    return min(distances)


def layer_error(
    x: np.ndarray, gain: np.ndarray, bias: np.ndarray | None, *, kind: Kind, eps: float, dtype: str
) -> np.ndarray:
    """Bound of the error of each output component, shape (n, d), for any order of summation.

    :func:`lngeom.rounding.error_bound`; of a half-precision RMSNorm with room for a rounding of the normalized
    vector before the gain, as Llama has it.

    Args:
        x: float64, (n, d). The inputs, exactly.
        gain, bias: float64, (d,). As the layer multiplies and adds them.
        kind, eps: Its formula.
        dtype: The format of its inputs and outputs.
    """
    if kind == "layernorm":
        return lngeom.rounding.error_bound(x, gain, bias, eps=eps, dtype=dtype, method="merged")
    if dtype == "float32":
        return lngeom.rounding.error_bound(x, gain, bias, eps=eps, dtype=dtype, centered=False)
    number = torch.finfo(getattr(torch, dtype))
    first = lngeom.rounding.error_bound(x, eps=eps, dtype=dtype, centered=False)
    size = np.abs(lngeom.rms_norm(x, eps=eps))
    with np.errstate(invalid="ignore"):  # a gain of 0 times no bound
        return np.abs(gain) * (first + number.eps * (size + first)) + number.tiny * number.eps


def ratio_to_bound(
    x: np.ndarray, z: np.ndarray, gain: np.ndarray, bias: np.ndarray | None, *, kind: Kind, eps: float, dtype: str
) -> float:
    """Largest distance of the outputs from the exact ones, in units of the derived bound."""
    exact = _NORMS[kind](x, gain, bias, eps=eps)
    bound = layer_error(x, gain, bias, kind=kind, eps=eps, dtype=dtype)
    with np.errstate(invalid="ignore", divide="ignore"):
        # Twice, and a little: the reference is itself computed in float64.
        ratio = np.abs(exact - z) / (bound * (2 if dtype == "float64" else 1 + 2.0**-7))
    return float(np.where(bound > 0, ratio, np.where(exact == z, 0, np.inf)).max())


def read(module: nn.Module, d: int) -> Reading | str:
    """The norm that a module computes on vectors of length `d`, or in one line why it is not a norm of one vector.

    Kind, ε, gain and bias come from :func:`behaviour`, or from a proof of its code where that leaves a choice; they
    are kept only if they reproduce the outputs within the bound of the module's own rounding.
    """
    try:
        twin = _drawn(module)
    except Exception as error:
        return f"cannot be copied ({type(error).__name__})"
    x = exactly(torch.from_numpy(probes(d, rows=_ROWS)).float())
    # Of short vectors some lie near 1, so that all digits of their LayerNorm cancel: those say nothing.
    x = x[lngeom.projection.condition_number(x) < _CONDITION]
    x = x[: len(x) // _WITHIN * _WITHIN]
    reasons: list[str] = []
    for axis, flat in ((-1, True), (1, False), (1, True)):
        z = _called(twin, x, axis, flat)
        reading = z if isinstance(z, str) else _understood(twin, x, z, axis)
        if not isinstance(reading, str):
            return reading
        reasons.append(reading)
    if special := _gated_or_grouped(twin, x):
        return special
    other = x[::-1].copy()
    both = _called(twin, x, -1, True, other)
    if not isinstance(both, str):
        sums = exactly(torch.from_numpy(x).float() + torch.from_numpy(other).float())
        fused = _understood(twin, sums, both, -1)
        if not isinstance(fused, str):
            return f"adds a second input before it normalizes: a fused {fused.kind} with eps {fused.eps:g}"
        if _RAISED.match(reasons[0]):
            return "takes a second input that it does more with than adding it (a gate, for example)"
    return next((reason for reason in reasons if not _RAISED.match(reason)), reasons[0])


def gated(module: nn.Module, d: int) -> str | None:
    """What a norm with a second tensor for a gate computes, in words; None if it is none."""
    rows = exactly(torch.from_numpy(probes(d, rows=_ROWS)).float())
    return _gated_or_grouped(_drawn(module), rows[: len(rows) // _WITHIN * _WITHIN])


def _gated_or_grouped(twin: nn.Module, x: np.ndarray) -> str | None:
    """The formula of a norm of groups of components, or whose rows or outputs a function of a gate multiplies.

    Where all gates are 32, silu, gelu and the gate itself give this power of 2, and sigmoid 1: the norm alone is left.
    """
    for gate, inside, outside in ((_OPEN, 1.0, _OPEN), (_OPEN, _OPEN, 1.0), (_OPEN, 1.0, 1.0), (None, 1.0, 1.0)):
        z = _called(twin, x, -1, True, *([] if gate is None else [np.full_like(x, gate)]))
        size, norm = (0, None) if isinstance(z, str) else _of_groups(twin, inside * x, z / outside)
        if norm is None or (gate is None and size == x.shape[-1]):
            continue
        what = "layernorm" if norm.kind == "layernorm" else "rmsnorm"
        groups = "" if size == x.shape[-1] else f" of each {size} of {x.shape[-1]} components"
        how = "" if gate is None else _gate(twin, x, size, norm)
        if how is not None:
            return f"a {'gated ' * bool(how)}{what}{groups} with eps {norm.eps:g}{how}"
    return None


def _of_groups(twin: nn.Module, x: np.ndarray, z: np.ndarray) -> tuple[int, Reading | None]:
    """The largest groups of components, perhaps all of them, that the same norm normalizes each by itself."""
    d = x.shape[-1]
    for size in (size for size in range(d, 1, -1) if d % size == 0):
        norms = list[Reading]()
        for begin in range(0, d, size):
            part, span = copy.copy(twin), slice(begin, begin + size)
            part._parameters = {name: nn.Parameter(value[span]) for name, value in own_parameters(twin).items()}
            found = _shown(part, x[:, span], z[:, span], -1)[0]
            held = _held(part, x[:, span], z[:, span], found)
            if not isinstance(held, Reading):
                break
            norms.append(held)
        if len(norms) * size == d and len({(norm.kind, norm.eps) for norm in norms}) == 1:
            return size, replace(norms[0], d=d)
    return 0, None


def _gate(twin: nn.Module, x: np.ndarray, size: int, norm: Reading) -> str | None:
    """Which function of the gate multiplies the rows or the outputs; None if it is none of these."""
    gate = np.random.default_rng(0).normal(size=x.shape).astype(np.float32).astype(float)
    got, (gain, bias) = _called(twin, x, -1, True, gate), affine(twin, norm.gain, norm.gain_offset, norm.bias, norm.d)

    def output(rows: np.ndarray) -> np.ndarray:
        groups = _NORMS[norm.kind](rows.reshape(len(rows), -1, size), eps=norm.eps).reshape(rows.shape)
        return groups * gain + (0.0 if bias is None else bias)

    for name, function in _GATES.items():
        factor = exactly(function(torch.from_numpy(gate)))
        for expected, what in ((output(x * factor), "normalizes x"), (output(x) * factor, "multiplies its output")):
            if not isinstance(got, str) and np.allclose(got, expected, rtol=_FIT, atol=_FIT):
                return f": it {what} {'times' if what.endswith('x') else 'by'} {name}"
    return None


def _understood(module: nn.Module, x: np.ndarray, z: np.ndarray, axis: int) -> Reading | str:
    """Kind, ε and parameters: by its outputs, or by a proof where outputs leave a choice."""
    off, kind = _distance(x, z)
    reading: Reading | str | None = None
    if off < _FAR:
        first, certain = _shown(module, x, z, axis)
        reading = _held(module, x, z, first)
        if not (certain and isinstance(reading, Reading)) and (proved := _proved(module, x.shape[-1], axis)):
            reading = _held(module, x, z, proved)
    return reading or f"at best a {kind} with some gain and bias, whose outputs are off by {off:.2g} of the largest"


def _held(module: nn.Module, x: np.ndarray, z: np.ndarray, reading: Reading | str | None) -> Reading | str | None:
    """The reading with its ratio to the bound, or why it is none."""
    if not isinstance(reading, Reading) or reading.placement == "outside":
        return reading
    fewest, most = _CHECKED
    rows = np.linspace(0, len(x) - 1, max(fewest, min(most, _COMPONENTS // reading.d))).astype(int)
    values = affine(module, reading.gain, reading.gain_offset, reading.bias, reading.d)
    ratio = ratio_to_bound(x[rows], z[rows], *values, kind=reading.kind, eps=reading.eps, dtype="float32")
    if not ratio <= 1:
        far = f"its outputs are {ratio:.3g} times the bound of rounding away"
        return f"a {reading.kind} with eps {reading.eps:.3g}, but {far}"
    return replace(reading, ratio=ratio)


def _shown(module: nn.Module, x: np.ndarray, z: np.ndarray, axis: int) -> tuple[Reading | str | None, bool]:
    """The reading that its outputs show, and whether it is the only one: outputs may not resolve a small ε."""
    fit = behaviour(x, z, 2.0**-24)
    if fit is None or fit.eps is None:
        return None, False
    parameters = own_parameters(module)
    gain, bias = _named(fit.gain, parameters, 1.0), _named(fit.bias, parameters, 0.0)
    if gain is None or bias is None or bias[1]:
        what = "gain is neither 1 nor w nor 1 + w" if gain is None else "bias is not one of its parameters"
        return f"a {fit.kind} with eps {fit.eps:.3g}, but its {what}", False
    stored = _eps(module, fit.eps)
    eps = fit.eps if stored is None else stored
    placement = "outside" if fit.placement == "outside" and eps > 0 else "inside"
    reading = Reading(fit.kind, placement, eps, x.shape[-1], axis, gain[0], gain[1], bias[0], fit.error * 2.0**24)
    return reading, bool(stored) and placement == "inside"


def _proved(module: nn.Module, d: int, axis: int) -> Reading | None:
    """The reading that its code proves for every dimension, if that is a norm along this axis."""
    from lngeom.check import prove_target

    proof = prove_target(module, type(module).__name__, "torch")
    named = proof.affine
    if named is None or not named.standard or proof.axis != axis:
        return None
    kind: Kind = "layernorm" if proof.kind == "layernorm" else "rmsnorm"
    return Reading(kind, "inside", proof.eps or 0.0, d, axis, named.gain, named.offset, named.bias, 0.0)
