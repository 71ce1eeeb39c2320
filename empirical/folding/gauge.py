"""Gauges of a network: affine changes of its residual stream that no output sees, written into its weights.

LayerNorm(x + c𝟏) = LayerNorm(x): c may be added to all entries of a parameter whose rows reach LayerNorms alone. And
RMSNorm(Qx) = Q RMSNorm(x) without a gain: once the gains are in the readers, every orthogonal Q may act on the stream.
"""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.optimize import brentq
from torch import Tensor, nn

import lngeom

from ..models import watching
from ..support import ModelError
from .inputs import sample_inputs
from .network import Fold, Map, fold_gains, own, put, refuse_difference, untie
from .streams import Prober, Refused, find_readers, free_streams, mirror
from .tracer import Trace, find_norms, trace

Batches = Sequence[Mapping[str, Tensor]]


def entering(network: nn.Module, batches: Batches, paths: Iterable[str], reduce: Callable[[Tensor], Tensor]) -> dict:
    """The inputs of each norm over all batches, reduced: `reduce` takes float64 vectors, shape (tokens, d)."""
    reduced: dict[str, list[Tensor]] = {path: [] for path in paths}

    def see(path: str, _: nn.Module, args: tuple[Tensor, ...], kwargs: dict[str, Tensor], __: object) -> None:
        (x,) = (*args, *kwargs.values())[:1]
        reduced[path].append(reduce(x.double().flatten(0, -2)))

    with watching(network, reduced, see), torch.inference_mode():
        for inputs in batches:
            network(**inputs)
    return {path: torch.cat(rows) for path, rows in reduced.items()}


def _degrees(mean: Tensor, variance: Tensor) -> float:
    """Mean angle to 𝟏 of vectors of these moments."""
    return float(torch.rad2deg(lngeom.angles.angle_from_moments(mean, variance)).mean())


def moments_of(x: Tensor) -> Tensor:
    """Mean and variance of each vector."""
    return torch.cat(lngeom.moments(x), -1)


def mean_angles(network: nn.Module, batches: Batches, paths: Iterable[str]) -> dict[str, float]:
    """Mean angle to 𝟏, in degrees, of the inputs of each norm."""
    return {path: _degrees(*m.T) for path, m in entering(network, batches, paths, moments_of).items()}


def angles_of(networks: Sequence[Any], batches: Batches) -> dict[str, list[float]]:
    """Those of several networks with the norms of the first, at the norms as wide as its stream."""
    norms, width = find_norms(networks[0], sample_inputs(networks[0])), networks[0].config.hidden_size
    wide = [path for path, norm in norms.items() if norm.d == width]
    angles = [mean_angles(each, batches, wide) for each in networks]
    return {path: [each[path] for each in angles] for path in wide}


# Shifts along 𝟏.


def _reached(recorded: Trace, slot: int, axis: int) -> list[str]:
    """The LayerNorms that read a tensor to whose features a constant is added; raises if anything else sees it."""
    places, paths = {slot: axis % recorded.tensors[slot].ndim}, list[str]()
    for call, touched in Prober(recorded).stops(places, lambda t, _: t + 1):
        last = all(a == recorded.tensors[s].ndim - 1 for s, a in touched.items())
        if call.norm is None or call.norm.kind != "layernorm" or not last:
            raise Refused(f"{call.name} in {call.module or 'the model'} reads it and is not a LayerNorm")
        paths.append(call.norm.path)
    if any(number in places for number in recorded.results):
        raise Refused("it is an output of the model")
    return paths


def free_shifts(model: nn.Module, recorded: Trace) -> tuple[dict[str, list[str]], str]:
    """The parameters to which a constant can be added unseen, each with the LayerNorms that read the sum.

    Those tied to no other come first, then those that reach most; and why the first of the others cannot take it.
    """
    stored = model.state_dict(keep_vars=True)
    uses = [id(tensor) for tensor in stored.values()]
    places = {name: (slot, -1) for slot, name in recorded.parameters.items()}
    for call in recorded.calls:
        if call.norm is not None and call.norm.bias is not None:
            places[f"{call.norm.path}.{call.norm.bias}"] = (call.outputs[0], -1)
    free, reason = dict[str, list[str]](), ""
    products = {slot for call in recorded.calls if not call.norm for slot in call.inputs[1:] if call.name == "linear"}
    for name, (slot, axis) in places.items():
        if name in stored and (slot not in products or recorded.tensors[slot].ndim == 1):  # no weight of a product
            try:
                if paths := _reached(recorded, slot, axis):
                    free[name] = paths
            except Refused as refusal:
                reason = reason or f"{name}: {refusal}"
    best = sorted(free, key=lambda name: (uses.count(id(stored[name])), -len(free[name])))
    return {name: free[name] for name in best}, reason


@dataclass(frozen=True)
class Shifts:
    """Which parameters to shift: ``plan`` names those norms whose shift each decides, ``reach`` all that it reaches.

    ``kept`` are the norms that none can shift, with the reason.
    """

    plan: dict[str, list[str]]
    reach: dict[str, list[str]]
    kept: dict[str, str]

    def at(self, states: Mapping[str, Tensor], degrees: float) -> dict[str, float]:
        """The constants that make the mean angle to 𝟏 so many degrees, from the moments of the norms' inputs."""
        amounts = dict.fromkeys(self.plan, 0.0)
        for name, paths in self.plan.items():
            offsets = {p: sum(c for other, c in amounts.items() if p in self.reach[other]) for p in paths}
            amounts[name] = _solve([states[p] + torch.tensor([offsets[p], 0.0]) for p in paths], degrees)
        return amounts


def find_shifts(model: nn.Module, *, each: bool) -> Shifts:
    """The shifts that a LayerNorm network allows: with `each` a parameter for every norm that has one of its own.

    Else only the entry of every stream.

    Raises:
        ModelError: If nothing can; the message says why.
    """
    recorded = trace(model, sample_inputs(model))
    free, reason = free_shifts(model, recorded)
    norms = [call.norm.path for call in recorded.calls if call.norm and call.norm.kind == "layernorm"]
    plan, reasons, done, last = dict[str, list[str]](), dict[str, str](), list[str](), None
    for path in dict.fromkeys(norms):
        fresh = [name for name, paths in free.items() if path in paths and not set(done) & set(paths)]
        reached = any(path in free[name] for name in plan)
        if fresh and (each or not reached):
            last = fresh[0]
            plan[last] = [path]
        elif reached and last is not None:
            plan[last].append(path)
        else:
            reasons[path] = f"no parameter shifts what it reads unseen: {reason}"
        done.append(path)
    if not plan:
        what = next(iter(reasons.values()), "it has no LayerNorm; the gauge of RMSNorms is a rotation, --rotate")
        raise ModelError(f"{type(model).__name__} has no gauge of shifts: {what}")
    return Shifts(plan, free, reasons)


def shift(
    model: nn.Module, batches: Batches = (), *, amount: float | None = None, degrees: float | None = None
) -> Fold:
    """Add constants to the entries of the stream of a LayerNorm network; in exact arithmetic no output changes.

    Args:
        model: In evaluation mode; it is not changed.
        batches: Inputs on which the angle is measured.
        amount: c, added once to the entry of every stream.
        degrees: Or the mean angle to 𝟏, between 0 and 180: every norm that has a writer of its own gets its own c.

    Raises:
        ModelError: If no shift leaves the outputs as they are; the message says why.
    """
    shifts = find_shifts(model, each=degrees is not None)
    amounts = dict.fromkeys(shifts.plan, amount or 0.0)
    if degrees is not None:
        paths = {path for paths in shifts.plan.values() for path in paths}
        amounts = shifts.at(entering(model, batches, paths, moments_of), degrees)
    return shift_by(model, shifts, amounts)


def shift_by(model: nn.Module, shifts: Shifts, amounts: Mapping[str, float]) -> Fold:
    """Add these constants to parameters that `shifts` reach.

    Raises:
        ModelError: One of them is not reached, or the outputs differ.
    """
    if beyond := sorted(set(amounts) - set(shifts.reach)):
        raise ModelError(f"{type(model).__name__} has no gauge of shifts of {beyond[0]}: its outputs would differ")
    checkpoint = shifted(model, amounts)
    maps = [Map(name, "uniform", -1, amount=c) for name, c in amounts.items()]
    result = Fold(checkpoint, checkpoint, maps, kept=shifts.kept)
    untie(model, result)
    refuse_difference(model, lambda wide: [shifted(wide, amounts)], "has no such gauge")
    return result


def shifted(model: nn.Module, amounts: Mapping[str, float]) -> nn.Module:
    """A copy with constants added to parameters, computed in float64 and rounded once."""
    changed = copy.deepcopy(model)
    for name, c in amounts.items():
        values = own(model, name).detach()
        put(changed, name, (values.double() + c).to(values.dtype))
    return changed


def _solve(states: list[Tensor], degrees: float) -> float:
    """The c for which vectors of these moments, shifted by it, have that mean angle; equal weight for each norm."""

    def excess(c: float) -> float:
        return sum(_degrees(m[:, 0] + c, m[:, 1]) for m in states) / len(states) - degrees

    reach = max(float((m[:, 0].abs() + m[:, 1].sqrt()).max()) for m in states) + 1
    while not excess(-reach) > 0 > excess(reach):
        reach *= 2
        if not np.isfinite(reach):
            raise ModelError(f"no shift makes the mean angle {degrees:g}°: choose an angle strictly between 0 and 180")
    root: Any = brentq(excess, -reach, reach, xtol=reach * np.finfo(float).eps)
    return float(root)


# Rotations.


def turned(values: Tensor, axis: int, rotation: np.ndarray) -> Tensor:
    """A parameter whose features are multiplied by Q or U, in float64."""
    moved = values.detach().double().movedim(axis, 0)
    product = torch.from_numpy(rotation) @ moved.reshape(len(moved), -1)
    return product.reshape(len(product), *moved.shape[1:]).movedim(0, axis).contiguous()


def wide_norms(model: Any) -> list[str]:
    """The norms of the width of the residual stream; ModelError if one of them is no RMSNorm."""
    found = find_norms(model, sample_inputs(model)).values()
    wide = [norm for norm in found if norm.d == model.config.hidden_size]
    if any(norm.kind != "rmsnorm" for norm in wide) or not wide:
        why = "its norms are no RMSNorms; use --shift or --angle"
        raise ModelError(f"{type(model).__name__} has no gauge of rotations: {why}")
    return [norm.path for norm in wide]


def stream_axes(onto: Fold, d: int, refused: str) -> tuple[dict[str, int], dict[str, int]]:
    """The parameters that write the stream of a network without gains, those that read it, and the axis of each.

    Raises:
        ModelError: Something else writes or reads it; the message begins with `refused`.
    """
    recorded = trace(onto.checkpoint, sample_inputs(onto.checkpoint))
    try:
        streams = free_streams(recorded, d)
        writers = {recorded.parameters[slot]: axis for slot, axis in streams.writers.items()}
        readers = dict[str, int]()
        for call in streams.norms:
            for reader in find_readers(recorded, call, mirror):
                name = recorded.parameters[reader.weight]
                if readers.setdefault(name, reader.axis) != reader.axis or name in writers:
                    raise Refused(f"{name} reads the stream and writes to it")
    except Refused as refusal:
        raise ModelError(f"{refused}{refusal}") from None
    return writers, readers


def rotate(model: nn.Module, rotation: np.ndarray) -> Fold:
    """Let an orthogonal Q act on the stream of an RMSNorm network; in exact arithmetic no output changes.

    Args:
        model: In evaluation mode; it is not changed.
        rotation: Q, shape (d, d), float64.

    Raises:
        ModelError: If anything but linear maps and RMSNorms reads or writes the stream; the message says what.
    """
    paths = wide_norms(model)
    d = model.get_submodule(paths[0]).weight.numel()  # type: ignore[operator]
    if rotation.shape != (d, d) or not np.allclose(rotation @ rotation.T, np.eye(d), rtol=0, atol=1e-12):
        raise ModelError(f"the rotation is not an orthogonal matrix of shape ({d}, {d}); give one in float64")
    onto = fold_gains(copy.deepcopy(model).double())
    refused = f"{type(model).__name__} has no gauge of rotations: "
    if held := [path for path in paths if path in onto.kept]:
        raise ModelError(f"{refused}{held[0]} {onto.kept[held[0]]}")
    writers, readers = stream_axes(onto, d, refused)
    checkpoint = copy.deepcopy(onto.checkpoint)
    result = Fold(checkpoint, checkpoint, onto=onto, rotation=rotation, moved=onto.moved, kept=onto.kept)
    for name, axis in (writers | readers).items():
        put(checkpoint, name, turned(own(onto.checkpoint, name), axis, rotation))
        result.maps.append(Map(name, "turned", axis))
    refuse_difference(model, lambda _: [checkpoint], "has no such gauge")
    dtypes = {name: tensor.dtype for name, tensor in (*model.named_parameters(), *model.named_buffers())}
    for name, tensor in (*checkpoint.named_parameters(), *checkpoint.named_buffers()):
        tensor.data = tensor.data.to(dtypes.get(name, next(model.parameters()).dtype))
    untie(onto.checkpoint, result)
    result.untied += onto.untied
    return result


def dominant(model: nn.Module, batches: Batches) -> np.ndarray:
    """The mean direction of the norms' inputs, every norm with equal weight: a unit vector."""
    states = entering(model, batches, wide_norms(model), lambda x: (x / x.norm(dim=-1, keepdim=True)).mean(0)[None])
    mean = torch.stack([each.mean(0) for each in states.values()]).mean(0)
    return (mean / mean.norm()).numpy()


def direction_at(model: nn.Module, batches: Batches, degrees: float) -> np.ndarray:
    """The unit vector to which the states have that mean angle, on the great circle of the dominant direction and 𝟏.

    Raises:
        ModelError: If the states are too spread for it.
    """
    first = dominant(model, batches)
    second = np.full(len(first), len(first) ** -0.5)
    second -= first * (first @ second)
    plane = torch.from_numpy(np.stack([first, second / np.linalg.norm(second)]))
    seen = entering(model, batches, wide_norms(model), lambda x: torch.cat([x @ plane.T, x.norm(dim=-1)[:, None]], -1))

    one = torch.ones((), dtype=torch.float64)

    def excess(turn: float) -> float:
        u = torch.tensor([np.cos(turn), np.sin(turn)], dtype=torch.float64)
        angles = [lngeom.angles.angle_from_inner_product(s[:, :2] @ u, s[:, 2], one).mean() for s in seen.values()]
        return float(torch.rad2deg(torch.stack(angles).mean())) - degrees

    if not excess(0.0) <= 0 <= excess(np.pi):
        least, most = excess(0.0) + degrees, excess(np.pi) + degrees
        msg = f"no rotation found that makes the mean angle {degrees:g}°: they range from {least:.1f}° to {most:.1f}°"
        raise ModelError(msg)
    turn: Any = brentq(excess, 0.0, np.pi)
    return (np.cos(turn) * plane[0] + np.sin(turn) * plane[1]).numpy()
