"""Folding a network: every writer centred, every LayerNorm an RMSNorm, gains and biases moved into their readers."""

import copy
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

import lngeom
from lngeom.cli import out_of_memory

from ..models import RMSNorm
from ..support import ModelError
from .inputs import longest, sample_inputs
from .streams import Refused, Streams, find_readers, foldable
from .tracer import Call, Trace, mapped, tensors_of, trace

Entering = tuple[tuple[Tensor, ...], dict[str, Tensor]]
"""The inputs of a module, by place and by name."""


@dataclass(frozen=True)
class Map:
    """One parameter that was changed.

    Attributes:
        parameter: Its name in the network.
        change: ``centered``: ΠW, or Π diag(λ)W for the layer scale λ named `weight`; ``folded``: W diag(g) for the gain
            of `norm`; ``shifted``: b + Wβ with the weight `weight`; ``neutral``: a gain, bias or layer scale that
            moved, `amount` in every entry; of a gauge ``uniform``: c = `amount` added to every entry, and ``turned``:
            QW; of a LayerNorm form ``lifted``: cUW.
        axis: Of the stream's features in the parameter.
        norm, weight: Paths of the norm whose gain and bias were moved, and of the weight that reads it.
        offset: 1 if the norm adds 1 to its stored weight (Gemma), else 0.
    """

    parameter: str
    change: Literal["centered", "folded", "shifted", "neutral", "uniform", "turned", "lifted"]
    axis: int
    norm: str = ""
    weight: str = ""
    offset: float = 0.0
    amount: float = 0.0

    @property
    def layout(self) -> Literal["linear", "conv1d"]:
        """Layout of a weight, its outputs first (``linear``) or last (``conv1d``)."""
        return "linear" if (self.axis == 0) == (self.change == "centered") else "conv1d"


@dataclass
class Fold:
    """A folded network; made by :func:`fold`.

    Attributes:
        model: The RMSNorm form: the class of the original, RMSNorm modules in place of its LayerNorms, hooks
            that centre the stream at its nonlinear entries.
        checkpoint: The network that the stock class loads: the same parameters, its own LayerNorms. It shares them
            with `model`.
        maps: Every parameter that differs from the original.
        norms: Path and ε of every LayerNorm that became an RMSNorm.
        moved: Paths of the norms whose gain and bias went into their readers.
        kept: Norms that were left as they were or kept their gain, with the reason.
        entries: Module and argument at which the stream is centred explicitly, once.
        untied: Parameters that shared their memory with another and no longer do.
        rotation, onto: Q of a gauge or U of a LayerNorm form, and the float64 fold before it, which it turns.
    """

    model: nn.Module
    checkpoint: nn.Module
    maps: list[Map] = field(default_factory=list)
    norms: dict[str, float] = field(default_factory=dict)
    moved: list[str] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)
    entries: list[tuple[str, int | str]] = field(default_factory=list)
    untied: list[str] = field(default_factory=list)
    rotation: np.ndarray | None = None
    onto: "Fold | None" = None


def matrix(values: Tensor, axis: int) -> Tensor:
    """A parameter as a matrix [features, everything else]."""
    return values.detach().movedim(axis, 0).reshape(values.shape[axis], -1)


def centered(values: Tensor, axis: int, scale: Tensor | None = None) -> Tensor:
    """A parameter with its features (times a scale) centred, computed in float64 and rounded once."""
    wide = matrix(values, axis).double() * (1 if scale is None else scale.detach().double()[:, None])
    changed, _ = lngeom.folding.center_writer(wide)
    moved = values.movedim(axis, 0)
    return changed.to(values.dtype).reshape(moved.shape).movedim(0, axis).contiguous()


def own(model: nn.Module, name: str) -> Tensor:
    """The parameter or buffer of that name."""
    path, _, last = name.rpartition(".")
    return getattr(model.get_submodule(path), last)


def put(model: nn.Module, name: str, values: Tensor) -> None:
    """Give a module a parameter of its own, whatever shared its memory with the old one."""
    path, _, last = name.rpartition(".")
    module = model.get_submodule(path)
    if last in module._buffers:  # sinusoidal positions
        module._buffers[last] = values
    else:
        setattr(module, last, nn.Parameter(values, requires_grad=own(model, name).requires_grad))


def fold(model: nn.Module, *, gains: bool = False) -> Fold:
    r"""Fold mean subtraction into the weights of a network; in exact arithmetic no output changes.

    Every writer of the residual stream is centred, W ↦ ΠW, so that each LayerNorm reads vectors of mean zero, where it
    is the RMSNorm of the same ε. Who writes and who reads is decided from the network itself: a forward pass is
    recorded and every call in it is probed. Parameters are computed in float64 and rounded once.

    Args:
        model: In evaluation mode; it is not changed.
        gains: Whether gains and biases move into the linear maps that read the norm, also from RMSNorms.

    Returns:
        Fold

    Raises:
        ModelError: If the network cannot be folded: Post-LN with a general gain, a reader of the stream without a
            norm, active dropout on a write, an unknown writer, nothing to fold; the message says which.

    References:
        Jiang et al., arXiv:2305.14858, section 3.2; Ashkboos et al., arXiv:2401.15024, section 3; for the gains
        Graef et al., arXiv:2407.09577.

    >>> import torch
    >>> from transformers import GPT2Config, GPT2LMHeadModel
    >>> import lngeom.empirical
    >>> config = GPT2Config(n_embd=8, n_layer=1, n_head=2, vocab_size=16, bos_token_id=0, eos_token_id=0)
    >>> network, tokens = GPT2LMHeadModel(config).double().eval(), torch.arange(10)[None]
    >>> folded = lngeom.empirical.fold(network, gains=True)
    >>> with torch.no_grad():
    ...     float((folded.model(tokens).logits - network(tokens).logits).abs().max()) < 1e-14
    True
    """
    recorded, streams = _planned(model, gains=gains)

    def folded(wide: nn.Module) -> list[nn.Module]:
        changed = _applied(recorded, streams, wide, gains=gains)
        return [changed.model, changed.checkpoint]

    result = _applied(recorded, streams, model, gains=gains)
    refuse_difference(model, folded, "cannot be folded")
    return result


def fold_gains(model: nn.Module) -> Fold:
    """The fold with gains, not yet compared with the network in float64."""
    return _applied(*_planned(model, gains=True), model, gains=True)


def _planned(model: nn.Module, *, gains: bool) -> tuple[Trace, Streams]:
    """The streams that a traced pass shows; raises where they cannot be folded."""
    recorded = trace(model, sample_inputs(model))
    streams = foldable(recorded)
    if not streams.norms and streams.kept:
        path, reason = next(iter(streams.kept.items()))
        raise ModelError(f"{type(model).__name__} cannot be folded: at {path}, {reason}")
    if not streams.norms and not gains:
        raise ModelError(
            f"{type(model).__name__} cannot be folded: it has no LayerNorm, so no mean is subtracted and none may be "
            "removed; --gains moves the gains of its RMSNorms into their readers"
        )
    return recorded, streams


def _applied(recorded: Trace, streams: Streams, model: nn.Module, *, gains: bool) -> Fold:
    """The fold that was planned, of a copy of the network."""
    checkpoint = copy.deepcopy(model)
    result = Fold(checkpoint, checkpoint, kept=dict(streams.kept))
    scales = {slot: recorded.parameters[scale] for scale, slots in streams.scales.items() for slot in slots}
    for slot, axis in streams.writers.items():
        name, scale = recorded.parameters[slot], scales.get(slot, "")
        put(checkpoint, name, centered(own(model, name), axis, own(model, scale) if scale else None))
        result.maps.append(Map(name, "centered", axis, weight=scale))
    for scale in dict.fromkeys(entry.weight for entry in result.maps if entry.weight):
        put(checkpoint, scale, torch.ones_like(own(model, scale)))
        result.maps.append(Map(scale, "neutral", 0, amount=1.0))
    result.norms = {call.norm.path: call.norm.eps for call in streams.norms if call.norm}
    if gains:
        for call in recorded.calls:
            if call.norm and call.norm.path not in result.kept:
                _move(recorded, streams, call, result)
    untie(model, result)
    result.entries = [(path, key) for path, key, _ in streams.entries.values()]
    result.model = rms_form(checkpoint, result.norms, result.moved, result.entries)
    return result


def agreement(dtype: torch.dtype) -> float:
    """√u, half the digits of a format: its rounding is far below, and a map that was overlooked is of order one.

    Of float32 at most, in which networks may compute even if their weights are float64.
    """
    return math.sqrt(max(torch.finfo(each).eps for each in (dtype, torch.float32)) / 2)


def refuse_difference(model: nn.Module, change: Callable[[nn.Module], list[nn.Module]], refused: str) -> None:
    """Refuse a change that is not the network, in float64, on short inputs and on the longest it takes."""
    wide = copy.deepcopy(model).double()
    changed = change(wide)
    lengths = [longest(model) // 2, longest(model), 8]
    while lengths:
        length = lengths.pop()
        given = sample_inputs(model, length=length, seed=1)
        batch = mapped(given, lambda t: t.double() if t.is_floating_point() else t)
        try:
            before, *after = (tensors_of(network, batch) for network in (wide, *changed))
        except (RuntimeError, TypeError, ValueError, IndexError) as error:
            if out_of_memory(error):
                raise
            if length > 8 and lengths:  # positions may begin later than at 0
                continue
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
            msg = f"{type(model).__name__} does not run in float64, in which what it computes is compared"
            raise ModelError(f"{msg} ({reason}); choose another network") from None
        if length > 8:
            lengths.clear()
        for outputs in after:
            for right, got in zip(before, outputs, strict=True):
                if got.shape != right.shape:
                    raise ModelError(f"{type(model).__name__} {refused}: its outputs would have other shapes")
                finite = right.isfinite()
                gap, size = (got - right)[finite].abs(), right[finite].abs()
                if finite.any() and not gap.max() <= agreement(torch.float64) * size.max():
                    msg = f"{type(model).__name__} {refused}: its outputs would differ by {float(gap.max()):.3g}"
                    why = "a trace overlooks a writer or reader, or the change is too large for float64"
                    raise ModelError(f"{msg} of {float(size.max()):.3g}: {why}")


def _refuse_shared(recorded: Trace, call: Call, network: nn.Module) -> None:
    """Refuse to move a gain or a bias that serves several places."""
    assert call.norm is not None
    own = {id(parameter) for parameter in network.get_submodule(call.norm.path).parameters()}
    names = [name for name, value in network.named_parameters(remove_duplicate=False) if id(value) in own]
    calls = [other for other in recorded.calls if other.norm and other.norm.path == call.norm.path]
    if len(calls) > 1 or len(names) > len(own):
        raise Refused("it serves several places")


def _move(recorded: Trace, streams: Streams, call: Call, result: Fold) -> None:
    """Move gain and bias of one norm into its readers, or note why not."""
    assert call.norm is not None
    norm, network = call.norm, result.checkpoint
    module = network.get_submodule(norm.path)
    gain, shift = getattr(module, "weight", None), getattr(module, "bias", None)
    try:
        _refuse_shared(recorded, call, network)
        readers = dict.fromkeys(find_readers(recorded, call))
        for reader in readers:
            name = recorded.parameters[reader.weight]
            if shift is not None and bool(shift.any()) and reader.bias is None:
                raise Refused(f"its reader {name} has no bias that could take the norm's")
            if reader.weight in streams.writers:
                raise Refused(f"its reader {name} writes to the stream as well")
            if len(recorded.users[reader.weight]) != 1:
                raise Refused(f"its reader {name} reads something else, too")
    except Refused as refusal:
        result.kept[norm.path] = f"keeps its gain: {refusal}"
        return
    for reader in readers:
        name = recorded.parameters[reader.weight]
        bias = None if reader.bias is None else recorded.parameters[reader.bias]
        change = Map(name, "folded", reader.axis, norm.path, "", norm.gain_offset)
        old = own(network, name), None if bias is None else own(network, bias)
        weight, offset = lngeom.folding.fold_affine(
            *old, gain=None if gain is None else gain + norm.gain_offset, norm_bias=shift, layout=change.layout
        )
        put(network, name, weight.detach())
        result.maps.append(change)
        if bias is not None and shift is not None and offset is not None:
            put(network, bias, offset.detach())
            result.maps.append(Map(bias, "shifted", 0, norm.path, name))
    with torch.no_grad():
        for name, values, neutral in (("weight", gain, 1 - norm.gain_offset), ("bias", shift, 0.0)):
            if values is not None:
                values.fill_(neutral)
                result.maps.append(Map(f"{norm.path}.{name}", "neutral", 0, norm.path, amount=neutral))
    result.moved.append(norm.path)


def untie(model: nn.Module, result: Fold) -> None:
    """Note which parameters were shared and are not any longer, and say so in the configuration."""
    names: dict[int, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    changed = {entry.parameter for entry in result.maps}
    for aliases in names.values():
        apart = [name for name in aliases if name in changed]
        if len(aliases) > 1 and apart:
            result.untied += apart
    config = getattr(result.checkpoint, "config", None)
    if result.untied and config is not None:
        config.tie_word_embeddings = False
        follow, seen = {own(result.checkpoint, name).data_ptr() for name in changed}, set[int]()
        for name, parameter in [*result.checkpoint.named_parameters(remove_duplicate=False)]:
            # The class ties nothing any longer: what is still shared, as BERT's biases, is stored under each name.
            if parameter.data_ptr() in seen - follow:
                put(result.checkpoint, name, parameter.detach().clone())
            seen.add(parameter.data_ptr())


def _as_rms(module: Any, eps: float, *, affine: bool) -> RMSNorm:
    gain, bias = getattr(module, "weight", None), getattr(module, "bias", None)
    width = module.normalized_shape[-1] if gain is None else len(gain)
    norm = RMSNorm(width, eps, gain=affine and gain is not None, bias=affine and bias is not None)
    if affine:
        norm.weight, norm.bias = gain, bias
    return norm.train(module.training)


def rms_form(
    checkpoint: nn.Module, norms: Mapping[str, float], moved: Iterable[str], entries: Iterable[tuple[str, int | str]]
) -> nn.Module:
    """The RMSNorm form of a folded checkpoint, with which it shares its parameters."""
    shared = {id(t): t for t in (*checkpoint.parameters(), *checkpoint.buffers())}
    network = copy.deepcopy(checkpoint, shared)
    for path, eps in norms.items():
        parent, _, last = path.rpartition(".")
        norm = _as_rms(network.get_submodule(path), eps, affine=path not in moved)
        setattr(network.get_submodule(parent), last, norm)
    for path, key in entries:
        network.get_submodule(path).register_forward_pre_hook(_centering(key), with_kwargs=True)
    return network


def _centering(key: int | str) -> Callable[..., Entering]:
    def center(_: nn.Module, args: tuple[Tensor, ...], kwargs: dict[str, Tensor]) -> Entering:
        if isinstance(key, str):
            return args, {**kwargs, key: lngeom.project(kwargs[key])}
        return (*args[:key], lngeom.project(args[key]), *args[key + 1 :]), kwargs

    return center
