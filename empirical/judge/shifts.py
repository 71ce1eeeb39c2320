"""The prediction about whole models: adding c·1 to the stream changes nothing if every norm is a LayerNorm.

Each branch then reads the stream through a norm that forgets the shift, and the final norm forgets it last: a theorem
for every Pre-LN network. Of RMSNorm the theorem is about one layer, so that the verdict on a network is a measurement.

Derivation of the verdict
-------------------------
F(s) is the exact output for a stream s in front of the first block, F₃₂ and F₆₄ its values in float32 and float64.
Compared are s = h, the stream of the first tokens, and s = h + c1, exact in both formats: the components of h are
multiples of a power of two so large that no sum needs more than 24 bits, and c is a power of two. The one hypothesis:

    (H)  ‖F₆₄(s) − F(s)‖ ≤ ‖F₆₄(s) − F₃₂(s)‖ =: R(s)   for s = h and s = h + c1.

The formats say that the left side is smaller by 2²⁹; that the error in float64 is at most half of that in float32 is
enough, since R(s) is at least their difference. By the triangle inequality D = ‖F₆₄(h + c1) − F₆₄(h)‖ is within
B = R(h) + R(h + c1) of the true one, T: D > B contradicts T = 0 (or H), and D ≤ B implies T ≤ 2B.

All lengths are over all tokens, in units of S, the change in float64 that a shift of equal length along one random
direction orthogonal to 1 makes. If 2B ≥ S, D ≤ B would not exclude an effect as large as that, and decides nothing.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import numpy as np
import torch
from torch import Tensor, nn

import lngeom as lg

from ..models import LoadedModel, family_of
from .verdicts import MODEL, Prediction, undecided

INVARIANCE = "output unchanged when the stream is shifted along the all-ones vector"
DEPENDENCE = "output changes when the stream is shifted along the all-ones vector"
THEOREMS = {INVARIANCE: "residual.shift_forgotten", DEPENDENCE: "residual.shift_seen"}
_POSITIONS = 16  # lengths over this many vectors of hundreds of components vary little
_TOPOLOGIES = ("sequential", "parallel", "shared")
_FORMATS = (torch.float32, torch.float64)
_BITS = 24
"""Of the significand of float32."""


def shift(loaded: LoadedModel, tokens: np.ndarray, *, seed: int = 0) -> Iterator[Prediction]:
    """The verdict on one model; none for models that are not Pre-LN.

    ``measured`` and ``bound`` are the D and B of the derivation over S. Of `tokens`, shape (sequences, positions), the
    first 16 of the first sequence are used; `seed` draws the random direction. The model's parameters stay as they are.
    """
    sites = loaded.sites
    family = family_of(loaded.model.config)
    if family is None or loaded.topology not in _TOPOLOGIES or sites[-1].role != "final":
        return
    name = INVARIANCE if all(site.kind == "layernorm" for site in sites) else DEPENDENCE
    block = dict(loaded.model.named_modules()).get(f"{family.blocks}.0")
    reason = _impossible(loaded) if block is not None else "its list of blocks is empty"
    if block is None or reason:
        yield undecided(MODEL, name, THEOREMS[name], reason)
        return
    ids = torch.from_numpy(tokens[:1, :_POSITIONS].astype(np.int64)).to(loaded.device)
    try:
        streams = _streams(_stream(loaded.model, block, ids), seed)
        narrow, wide = (_outputs(loaded.model, block, ids, streams, dtype) for dtype in _FORMATS)
    except torch.OutOfMemoryError:
        yield undecided(MODEL, name, THEOREMS[name], "a layer in float64 does not fit on the device")
        return
    yield _judged(name, narrow, wide)


def _judged(name: str, narrow: Tensor, wide: Tensor) -> Prediction:
    """The verdict of the derivation on the outputs in float32 and float64."""
    change, across = (float(torch.linalg.norm(wide[k] - wide[0])) for k in (1, 2))
    bound = sum(float(torch.linalg.norm(wide[k] - narrow[k])) for k in (0, 1))
    if not np.isfinite([change, across, bound]).all():
        return undecided(MODEL, name, THEOREMS[name], "stream or output is not finite")
    depends = change > bound
    if across == 0 or not (depends or 2 * bound < across):
        reason = "a shift along a random direction changes the output no more than rounding does"
        return undecided(MODEL, name, THEOREMS[name], reason)
    verdict = "holds" if depends == (name == DEPENDENCE) else "violated"
    return Prediction(MODEL, name, THEOREMS[name], change / across, bound / across, wide[0].shape[0], verdict)


def _impossible(loaded: LoadedModel) -> str:
    """Why the network cannot be run in float64; empty if it can."""
    if loaded.device.type == "mps":
        return "this device has no float64"
    if any(value.is_meta for value in loaded.model.parameters()):
        return "some layers are not in the memory of a device"
    return ""


class _ReachedError(Exception):
    """The stream has reached the first block; the rest of the pass is not needed."""


def _stream(model: nn.Module, block: nn.Module, ids: Tensor) -> Tensor:
    """The vectors that enter the first block, float64, shape (tokens, d)."""
    seen: list[Tensor] = []

    def keep(_: nn.Module, args: tuple, kwargs: dict) -> None:
        seen.append((args[0] if args else kwargs["hidden_states"])[0].to("cpu", torch.float64))
        raise _ReachedError

    hook = block.register_forward_pre_hook(keep, with_kwargs=True)
    with hook, torch.no_grad(), suppress(_ReachedError):
        model(input_ids=ids, use_cache=False)
    return seen[0]


def _streams(stream: Tensor, seed: int) -> Tensor:
    """h, h + c1 and h + cv, v as long as 1 in a random direction orthogonal to 1; exact in float32."""
    d = stream.shape[-1]
    random = lg.project(np.random.default_rng(seed).standard_normal(d))
    across = torch.from_numpy(random / np.linalg.norm(random) * np.sqrt(d))
    size = stream.square().mean().sqrt()
    if not torch.isfinite(size) or size == 0:
        return torch.full((3, *stream.shape), torch.nan, dtype=torch.float64)
    c = 2 ** size.log2().round()
    largest = stream.abs().max() + c * across.abs().max()
    unit = 2 ** (largest.log2().ceil() - (_BITS - 1))  # at most 2²³ units in every sum before rounding
    h, other = (unit * (each / unit).round() for each in (stream, c * across))
    return torch.stack([h, h + c, h + other])


def _outputs(model: nn.Module, block: nn.Module, ids: Tensor, streams: Tensor, dtype: torch.dtype) -> Tensor:
    """The network's output for each stream, computed in `dtype`; float64, shape of `streams`."""

    def replace(_: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        moved = streams.to((args[0] if args else kwargs["hidden_states"]).device, dtype)
        return ((moved, *args[1:]), kwargs) if args else (args, {**kwargs, "hidden_states": moved})

    hook = block.register_forward_pre_hook(replace, with_kwargs=True)
    with hook, computed_in(model, dtype), torch.no_grad():
        output = model(input_ids=ids.expand(len(streams), -1), use_cache=False)
    return output.last_hidden_state.to("cpu", torch.float64)


@contextmanager
def computed_in(model: nn.Module, dtype: torch.dtype) -> Iterator[None]:
    """Let the layers of a model compute in `dtype`, whatever its parameters are stored in.

    Each layer's parameters are cast when it is called and put back when it has returned, so that no more than one
    layer is in memory twice. Steps for which the model's code names a format (the softmax of some attentions in
    float32, say) stay in that format. Widening a parameter is exact, narrowing rounds it. The model is unchanged when
    the block ends, also by an exception.
    """
    away: dict[nn.Module, dict[str, nn.Parameter]] = {}

    def begin(module: nn.Module, _: tuple[Tensor, ...]) -> None:
        own = {name: value for name, value in module.named_parameters(recurse=False) if value.is_floating_point()}
        away[module] = own
        for name, value in own.items():
            setattr(module, name, nn.Parameter(value.detach().to(dtype), requires_grad=False))

    def end(module: nn.Module, _args: tuple[Tensor, ...], _output: object) -> None:
        for name, value in away.pop(module, {}).items():
            setattr(module, name, value)

    with ExitStack() as hooks:
        for module in model.modules():
            # Rows are looked up, then cast: the table may be the largest layer.
            if isinstance(module, nn.Embedding):
                hooks.enter_context(module.register_forward_hook(lambda _m, _a, rows: rows.to(dtype)))
            elif any(True for _ in module.parameters(recurse=False)):
                hooks.enter_context(module.register_forward_pre_hook(begin))
                hooks.enter_context(module.register_forward_hook(end, always_call=True))
        yield
