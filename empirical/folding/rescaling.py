"""The gauge of scale: all that is written to the stream times c, and c²ε for ε; no output changes."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

from torch import nn

from ..models import FoundNorm
from ..support import ModelError
from .inputs import sample_inputs
from .network import Fold, Map, own, put, refuse_difference, untie
from .streams import Refused, free_streams
from .tracer import find_norms, trace


def _untied(model: nn.Module) -> Any:
    """A copy in which each name has a parameter of its own, so that writers and readers can be distinguished."""
    apart, seen = copy.deepcopy(model), set[int]()
    for name, parameter in model.named_parameters(remove_duplicate=False):
        if id(parameter) in seen:
            put(apart, name, parameter.detach().clone())
        seen.add(id(parameter))
    return apart


def _writers(model: Any, norms: list[FoundNorm]) -> dict[str, int]:
    """The parameters that write the stream, with the axis of its features."""
    if len({norm.kind for norm in norms}) != 1:
        raise Refused("norms of one kind, as wide as its hidden states, have to read its stream")
    apart, kind = _untied(model), norms[0].kind
    recorded = trace(apart, sample_inputs(apart))
    writers = free_streams(recorded, kind, norms[0].d).writers
    return {recorded.parameters[slot]: axis for slot, axis in writers.items()}


def _names_of_eps(model: Any, norms: list[FoundNorm], others: list[FoundNorm]) -> list[str]:
    """The entries of the configuration that hold ε of the norms that read the stream, and of no other."""
    (eps,) = {norm.eps for norm in norms} if len({norm.eps for norm in norms}) == 1 else (None,)
    names = [name for name, value in model.config.to_dict().items() if "eps" in name and value == eps]
    if len(names) != 1 or any(norm.eps == eps for norm in others):
        raise Refused("its configuration has no separate ε for the norms that read the stream")
    return names


def scale(model: Any, factor: float) -> Fold:
    """Multiply all writers of the stream by c, and ε of the norms that read it by c²; no output changes.

    Args:
        model: In evaluation mode; it is not changed.
        factor: c > 0.

    Raises:
        ModelError: If anything but norms of one kind and ε reads the stream; the message says what.
    """
    if not 0 < factor < 1e150 or factor**2 == 0:
        msg = f"--scale {factor:g}: the stream is multiplied by a positive number; give one whose square is in range"
        raise ModelError(msg)
    found = find_norms(model, sample_inputs(model)).values()
    norms = [norm for norm in found if norm.d == model.config.hidden_size]
    refused = f"{type(model).__name__} has no gauge of scale: "
    try:
        writers = _writers(model, norms)
        names = _names_of_eps(model, norms, [norm for norm in found if norm not in norms])
    except Refused as refusal:
        raise ModelError(f"{refused}{refusal}") from None

    def scaled(network: Any) -> Any:
        changed = copy.deepcopy(network)
        for name in writers:
            values = own(network, name).detach()
            put(changed, name, (values.double() * factor).to(values.dtype))
        for name in names:
            setattr(changed.config, name, getattr(changed.config, name) * factor**2)
        for norm in norms:
            module = changed.get_submodule(norm.path)
            for name, value in vars(module).items():
                if "eps" in name and value == norm.eps:
                    setattr(module, name, value * factor**2)
        return changed

    checkpoint = scaled(model)
    result = Fold(checkpoint, checkpoint, [Map(name, "scaled", axis, amount=factor) for name, axis in writers.items()])
    untie(model, result)
    refuse_difference(model, lambda wide: [scaled(wide)], "has no such gauge")
    return result


def in_turn(model: Any, changes: Sequence[Callable[[Any], Fold]]) -> Fold:
    """Several changes, each of the network that the one before it made, as one fold with all that they did."""
    result = changes[0](model)
    for change in changes[1:]:
        before, result = result, change(result.checkpoint)
        result.onto, result.rotation = before, before.rotation
        result.moved, result.kept = before.moved, {**before.kept, **result.kept}
        result.untied += before.untied
    return result
