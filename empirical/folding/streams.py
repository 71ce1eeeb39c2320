"""Who writes the residual stream and who reads it, decided by probing every call that a forward pass made.

The mean of a stream may be removed where it is written if each call between writers and norms commutes with Π, and
each other call that reads the stream ignores the mean. Both are probed: the recorded call is made again, in float64 on
random vectors, before and after Π. Nothing is taken from the names of functions or modules.
"""

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ..support import ModelError
from .tracer import Call, Trace

Place = tuple[int, int]
"""A slot and the axis of its features."""

Change = Callable[[Tensor, int], Tensor]
"""A change of a tensor along the axis of its features."""

_OPERANDS = 6
_NORMS = {"layernorm": "a LayerNorm", "rmsnorm": "an RMSNorm"}


class Refused(Exception):
    """Why a norm cannot be folded."""


@dataclass
class Streams:
    """The places that hold a stream to be centred.

    ``demands`` has the slots, with the axis of their features, that each norm needs centred, and ``places`` all of
    them; ``scales`` the parameters by which a sum of writers is multiplied, each with these. ``entries`` are the slots
    to be centred explicitly, each with the module and argument that hand it on and the reason. Norms in ``kept`` cannot
    be folded, for the reason given.
    """

    trace: Trace
    scales: dict[int, dict[int, int]] = field(default_factory=dict)
    entries: dict[int, tuple[str, int | str, str]] = field(default_factory=dict)
    demands: dict[str, dict[int, int]] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)

    @property
    def places(self) -> dict[int, int]:
        """Every slot to be centred, with the axis of its features."""
        return {slot: axis for places in self.demands.values() for slot, axis in places.items()}

    @property
    def writers(self) -> dict[int, int]:
        """The parameters among them."""
        return {slot: axis for slot, axis in self.places.items() if slot in self.trace.parameters}

    @property
    def norms(self) -> list[Call]:
        """The calls of the norms that read the stream."""
        return [call for call in self.trace.calls if call.norm and call.norm.path in self.demands]

    def keep(self, path: str, reason: str) -> None:
        """Leave a norm as it is; the slots that it alone needs centred are centred no longer."""
        self.kept.setdefault(path, reason)
        self.demands.pop(path, None)
        self.entries = {slot: entry for slot, entry in self.entries.items() if slot in self.places}


def _center(t: Tensor, axis: int) -> Tensor:
    return t - t.mean(axis, keepdim=True)


def mirror(t: Tensor, axis: int) -> Tensor:
    """A random reflection of the features: commuting with it is, almost surely, commuting with every orthogonal map."""
    normal = torch.randn(t.shape[axis], generator=torch.Generator().manual_seed(2), dtype=t.dtype)
    rows = t.movedim(axis, -1)
    return (rows - 2 / normal.dot(normal) * (rows @ normal)[..., None] * normal).movedim(-1, axis)


def _first(result: Tensor | tuple[Tensor, ...], call: Call, slot: int) -> Tensor:
    return result if isinstance(result, Tensor) else result[call.outputs.index(slot)]


def _agree(a: Tensor, b: Tensor) -> bool:
    # Half the digits: the rounding of a probe is far below, and maps that do not commute differ by order one.
    unit = math.sqrt(torch.finfo(a.dtype).eps)
    return a.shape == b.shape and bool((a - b).abs().max() <= unit * b.abs().max() < math.inf)


class Prober:
    """Makes the calls of a trace again on random values, and on ones for some parameters."""

    def __init__(self, trace: Trace, ones: Collection[int] = ()) -> None:
        self.trace, self._ones = trace, ones
        self._random = torch.Generator().manual_seed(0)

    def floats(self, call: Call) -> dict[int, Tensor]:
        """Values for the tensors that a call reads: its parameters, and random numbers, in float64."""
        values: dict[int, Tensor] = {}
        for slot in call.inputs:
            tensor = self.trace.tensors[slot]
            if not tensor.is_floating_point():
                continue
            if slot in self.trace.parameters:
                values[slot] = torch.ones_like(tensor.double()) if slot in self._ones else tensor.detach().double()
            else:
                values[slot] = torch.randn(tensor.shape, generator=self._random, dtype=torch.float64)
        return values

    def sources(self, call: Call, slot: int, axis: int, change: Change = _center) -> tuple[Place, ...] | None:
        """The inputs of a call which, centred (or changed), centre its output along an axis; None if there are none."""
        values, size = self.floats(call), self.trace.tensors[slot].shape[axis]
        base = _first(self.trace.replay(call, values), call, slot)
        choices = [[None, *((number, a) for a, n in enumerate(t.shape) if n == size)] for number, t in values.items()]
        open_ = [options for options in choices if len(options) > 1]
        if len(open_) <= _OPERANDS:
            subsets = [tuple(filter(None, chosen)) for chosen in itertools.product(*open_)]
        else:  # a concatenation of many: all of them
            subsets = list(itertools.product(*(options[1:] for options in open_[:_OPERANDS])))
            subsets = [s + tuple((options[1][0], s[0][1]) for options in open_[_OPERANDS:]) for s in subsets]
        for chosen in sorted(subsets, key=len)[0 if subsets[0] else 1 :]:
            changed = {number: change(values[number], a) for number, a in chosen}
            if _agree(_first(self.trace.replay(call, values | changed), call, slot), change(base, axis)):
                return chosen
        return None

    def stops(self, places: dict[int, int], change: Change) -> Iterator[tuple[Call, dict[int, int]]]:
        """Follow a change of slots through the pass: the calls that do not hand it on as it is, and what they read.

        `places` grows by the slots that it reaches. Centring is handed on as any change of the mean is.
        """
        for call in self.trace.calls:
            touched = {slot: places[slot] for slot in call.inputs if slot in places}
            if not touched:
                continue
            passed = None if call.norm else self._passes(call, touched, change)
            if passed is None:
                yield call, touched
            else:
                places |= passed

    def _passes(self, call: Call, places: dict[int, int], change: Change) -> dict[int, int] | None:
        """Where a change of the inputs appears among the outputs: nowhere, along an axis, or (None) otherwise."""
        values = self.floats(call)
        changed = {s: change(values[s], places[s]) for s in values if s in places}
        size = {values[s].shape[places[s]] for s in changed}.pop()
        before, after = self.trace.replay(call, values), self.trace.replay(call, values | changed)
        axis_of: dict[int, int] = {}
        for slot in call.outputs:
            a, b = _first(before, call, slot), _first(after, call, slot)
            if not a.is_floating_point() or _agree(a, b):
                continue
            seen = change if change is _center else lambda t, _: t
            axes = [i for i, n in enumerate(a.shape) if n == size and _agree(seen(b, i), change(a, i))]
            if not axes:
                return None
            axis_of[slot] = axes[-1]
        return axis_of


def _where(call: Call) -> str:
    return f"{call.name} in {call.module or 'the model'}"


class _Search:
    def __init__(self, prober: Prober, change: Change) -> None:
        self.prober, self.trace, self.change = prober, prober.trace, change
        self.known: dict[Place, tuple[Place, ...] | None] = {}
        self.entries: dict[int, tuple[str, int | str, str]] = {}

    def _centered(self, call: Call) -> bool:
        """Whether the output of a norm is centred as it is, whatever its input."""
        module = call.function
        gain, bias = getattr(module, "weight", None), getattr(module, "bias", None)
        flat = gain is None or bool((gain == gain[0]).all())
        return (
            self.change is _center
            and call.norm is not None
            and call.norm.kind == "layernorm"
            and flat
            and (bias is None or bool(bias.double().mean().abs() <= torch.finfo(bias.dtype).eps * bias.abs().max()))
        )

    def demand(self, place: Place) -> dict[int, int]:
        """Every slot that has to be centred for one to be."""
        wanted: dict[int, int] = {}
        queue = [place]
        while queue:
            slot, axis = queue.pop()
            axis %= self.trace.tensors[slot].ndim
            if slot in wanted:
                continue
            wanted[slot] = axis
            call = self.trace.maker.get(slot)
            if slot in self.entries or slot in self.trace.parameters:
                continue
            if call is None:
                raise _Entry(slot, wanted, f"an input of the model is written to the stream, slot {slot}")
            if call.norm is not None:
                if self._centered(call):
                    continue
                because = ", and its gain is not constant or its bias has a mean" * (self.change is _center)
                raise _Entry(slot, wanted, f"Post-LN: {call.norm.path} writes to the stream itself{because}")
            if (slot, axis) not in self.known:
                self.known[slot, axis] = self.prober.sources(call, slot, axis, self.change)
            sources = self.known[slot, axis]
            if sources is None:
                if "dropout" in call.name:
                    raise ModelError(f"dropout is on, at {_where(call)}, between a writer and the stream: call eval()")
                why = f"unknown writer: {_where(call)} is not a linear map, and writes inside the network"
                raise _Entry(slot, wanted, why)
            queue += sources
        return wanted

    def reach(self, norm: Call) -> dict[int, int]:
        """Every slot to be centred for the input of a norm, where the stream begins nonlinearly that entry alone."""
        before, reason = dict(self.entries), ""
        for _ in range(3):  # a stream has one entry, or two where two inputs meet
            try:
                return self.demand((norm.inputs[0], -1))
            except _Entry as entry:
                reason = reason or str(entry)
                if not self.enter(entry):
                    break
        self.entries = before
        raise Refused(reason)

    def enter(self, entry: "_Entry") -> bool:
        """Find the module boundary behind a nonlinear entry, where the stream can be centred once."""
        below, norms = {entry.slot}, {call.norm.path for call in self.trace.calls if call.norm}
        for call in self.trace.calls:  # in the order of the pass
            if below & set(call.inputs) and call.norm is None:
                below |= set(call.outputs)
        for path, key, number in self.trace.boundaries:
            inside = all(f"{user.module}.".startswith(f"{path}.") for user in self.trace.users.get(number, ()))
            last = entry.wanted.get(number) == self.trace.tensors[number].ndim - 1
            if number in below and last and inside and path not in norms and number not in self.entries:
                self.entries[number] = (path, key, str(entry))
                return True
        return False


class _Entry(Exception):
    """A slot that cannot be centred, and the slots wanted because of which it would have to be."""

    def __init__(self, slot: int, wanted: Mapping[int, int], reason: str) -> None:
        super().__init__(reason)
        self.slot, self.wanted = slot, wanted


def find_scales(trace: Trace) -> dict[int, dict[int, int]]:
    """The parameters λ of products λ∘x where λ = 1 would do if the parameters that make x, returned as well, had it."""
    found = dict[int, dict[int, int]]()
    for call in trace.calls:
        for slot in set(call.inputs) & trace.parameters.keys() if len(call.inputs) == 2 else ():
            prober, x = Prober(trace, [slot]), sum(call.inputs) - slot
            vector = trace.tensors[slot].ndim == 1 and trace.tensors[x].is_floating_point()
            if not vector or call.norm or x in trace.parameters or len(trace.users[slot]) > 1:
                continue
            values = prober.floats(call)
            if not _agree(_first(trace.replay(call, values), call, call.outputs[0]), values[x]):
                continue
            try:
                places = _Search(prober, scaled).demand((x, -1))
            except (Refused, _Entry):
                continue
            uses = (user for each in places for user in trace.users.get(each, ()))
            if all(user is call or places.keys() & set(user.outputs) for user in uses):
                found[slot] = {s: a for s, a in places.items() if s in trace.parameters}
    return found


def find_streams(trace: Trace, kind: str = "layernorm", change: Change = _center, width: int | None = None) -> Streams:
    """The streams that the norms of one kind (and width) read, and the tensors to centre for centred inputs.

    Another `change` takes the place of centring.
    """
    streams = Streams(trace, find_scales(trace) if change is _center else {})
    search = _Search(Prober(trace, streams.scales), change)
    for call in trace.calls:
        if call.norm is not None and call.norm.kind == kind and width in (None, call.norm.d):
            try:
                stored = (call.norm.gain or "weight", call.norm.bias or "bias", call.norm.gain_offset)
                if kind == "layernorm" and (len(call.args) != 1 or call.kwargs or stored != ("weight", "bias", 0)):
                    raise Refused("it is called, or stores its gain, in another way than LayerNorm")
                streams.demands.setdefault(call.norm.path, {}).update(search.reach(call))
            except Refused as refusal:
                streams.kept[call.norm.path] = str(refusal)
    for path in streams.kept:  # of several calls one may be refused
        streams.demands.pop(path, None)
    streams.entries = {slot: entry for slot, entry in search.entries.items() if slot in streams.places}
    return streams


def _faults(streams: Streams, kind: str = "layernorm", change: Change = _center) -> Iterator[tuple[str, set[int]]]:
    """What sees the changed streams other than norms of the kind, each with the writers and entries that it sees."""
    trace, part = streams.trace, "mean" if change is _center else "coordinates"
    places = {**streams.writers, **dict.fromkeys(streams.entries, -1)}
    roots, seen = set(places), list[tuple[str, list[int]]]()
    for call, touched in Prober(trace, streams.scales).stops(places, change):
        last = all(a % trace.tensors[s].ndim == trace.tensors[s].ndim - 1 for s, a in touched.items())
        if call.norm is not None and not (call.norm.kind == kind and last):
            seen.append((f"{call.norm.path} is {_NORMS[call.norm.kind]} and sees the {part} of the stream", [*touched]))
        if call.norm is None and not all(slot in streams.entries for slot in call.outputs):
            seen.append((f"a reader without a norm: {_where(call)} sees the {part} of the stream", [*touched]))
    for slot in trace.results:
        if slot in places:
            seen.append((f"a reader without a norm: the stream itself, slot {slot}, is an output of the model", [slot]))
    for reason, queue in seen:
        found, known = set[int](), set[int]()
        while queue:
            if (slot := queue.pop()) in places and slot not in known:
                known.add(slot)
                if slot in roots:
                    found.add(slot)
                else:
                    queue += trace.maker[slot].inputs
        yield reason, found


def foldable(trace: Trace) -> Streams:
    """The streams of the LayerNorms that can be folded; what stops one of them stops no other.

    A stream is centred explicitly only where two norms gain by it.
    """
    streams = find_streams(trace)
    while True:
        alone = [s for s in streams.entries if sum(s in places for places in streams.demands.values()) < 2]
        faults = [*_faults(streams), *(("only this norm would gain", {s}) for s in alone)]
        if not faults:
            return streams
        for reason, roots in faults:
            for path in [path for path, places in streams.demands.items() if roots & places.keys()]:
                entered = [streams.entries[s][2] for s in streams.demands[path] if s in streams.entries and s in roots]
                streams.keep(path, f"{entered[0]}; centred behind it, {reason}" if entered else reason)


def free_streams(trace: Trace, width: int) -> Streams:
    """The streams of RMSNorms of one width that every orthogonal map may act on; raises :class:`Refused`."""
    streams = find_streams(trace, "rmsnorm", mirror, width)
    if streams.kept or streams.entries:
        raise Refused(next(iter(streams.kept.values()), "its stream begins with a call that is not linear"))
    for reason, _ in _faults(streams, "rmsnorm", mirror):
        raise Refused(reason)
    return streams


@dataclass(frozen=True)
class Reader:
    """A linear map that reads a norm: its weight with the axis of the norm's features, and its bias."""

    weight: int
    axis: int
    bias: int | None


def scaled(t: Tensor, axis: int) -> Tensor:
    """Random factors for the features, as a gain."""
    scale = 1 + torch.rand(t.shape[axis], generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return t * scale.reshape([-1 if i == axis % t.ndim else 1 for i in range(t.ndim)])


def find_readers(trace: Trace, norm: Call, change: Change = scaled) -> list[Reader]:
    """The linear maps that read a norm, so that a symmetric change of its output may be made to them instead.

    Raises :class:`Refused` if anything else reads it.
    """
    prober = Prober(trace)
    size = trace.tensors[norm.outputs[0]].shape[-1]

    places = {norm.outputs[0]: trace.tensors[norm.outputs[0]].ndim - 1}
    readers: list[Reader] = []
    for call, touched in prober.stops(places, change):
        reader = None if call.norm else _reader(prober, call, touched, change, size)
        if reader is None:
            raise Refused(f"{_where(call)} reads it, which is not a linear map")
        readers.append(reader)
    if not readers or any(slot in places for slot in trace.results):
        raise Refused("its output is an output of the model")
    return readers


def _reader(prober: Prober, call: Call, touched: dict[int, int], change: Change, size: int) -> Reader | None:
    values = prober.floats(call)
    target = prober.trace.replay(call, values | {s: change(values[s], a) for s, a in touched.items()})
    if len(call.outputs) != 1:
        return None
    for slot, value in values.items():
        source = _parameter(prober, slot)
        if slot in touched or source is None:
            continue
        for axis, n in enumerate(value.shape):
            got = prober.trace.replay(call, values | {slot: change(value, axis)}) if n == size else None
            if got is not None and _agree(_first(got, call, call.outputs[0]), _first(target, call, call.outputs[0])):
                weight, turned = source
                others = [s for s in values if s in prober.trace.parameters and s != slot]
                return Reader(weight, axis ^ turned, others[0] if others else None)
    return None


def _parameter(prober: Prober, slot: int) -> tuple[int, int] | None:
    """The parameter that a slot is, or is the transpose of (1)."""
    trace = prober.trace
    if slot in trace.parameters:
        return slot, 0
    maker = trace.maker.get(slot)
    if maker is None or len(maker.inputs) != 1 or maker.inputs[0] not in trace.parameters:
        return None
    stored, turned = trace.tensors[maker.inputs[0]], trace.tensors[slot]
    return (maker.inputs[0], 1) if stored.ndim == 2 and torch.equal(stored.mT, turned) else None
