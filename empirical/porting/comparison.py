"""Two forms of one model on the same tokens: the first norm whose output differs beyond rounding, and why."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from lngeom.behaviours import behaviour, probes
from lngeom.errors import InputError
from lngeom.rounding import FORMATS, REAL, Arithmetic, Case, Definition, Sample, diagnose, rounded

from ..models import FoundNorm, affine, norms, watching
from .change import change

Tokens = Tensor | Sequence[Sequence[int]]
"""Token ids of shape (documents, tokens)."""

Differences = tuple[tuple[str, str], ...]
"""Path in the source and cause of each norm that computes something else in a port."""


@dataclass(frozen=True)
class Diagnosis:
    """The norms of a port that differ from its source's.

    Attributes:
        sites: How many norms both models run.
        differences: Those that compute something else in the port, given the same input, in the order of the run.
    """

    sites: int
    differences: Differences

    @property
    def first(self) -> str | None:
        """The first norm that differs, None if all compute the same."""
        return self.differences[0][0] if self.differences else None

    @property
    def cause(self) -> str | None:
        """How it differs."""
        return self.differences[0][1] if self.differences else None


def compare_models(source: nn.Module, port: nn.Module, ids: Tokens) -> Diagnosis:
    """Run the source on the token ids and each norm of the port on its counterpart's inputs: which differs first.

    Both norms get the same vectors, so that an error further up does not hide one further down. The source's gain, bias
    and ε are discovered (:func:`lngeom.empirical.models.norms`); the port's outputs must lie in the family of that
    layer. A module of the port at the path of a norm of the source counts as a norm whatever it computes.

    >>> import torch
    >>> from lngeom.empirical.porting import compare_models
    >>> source = torch.nn.Sequential(torch.nn.Embedding(9, 8), torch.nn.LayerNorm(8))
    >>> compare_models(source, source, [[1, 2, 3]]).first is None
    True
    """
    tokens = torch.as_tensor(ids)
    own = {norm.path: norm for norm in norms(source.eval(), tokens).found if norm.calls and norm.axis == -1}
    here = _recorded(source, tokens, own)
    modules = dict(port.eval().named_modules())
    wanted = [path for path in own if path in modules] + [norm.path for norm in norms(port, tokens).found]
    there = [modules[path] for path, _ in _recorded(port, tokens, dict.fromkeys(wanted))]
    if len(here) > len(there) > 0 and (missing := _missing(own, source, here, there)):
        return Diagnosis(len(here), tuple((path, "is missing in the port") for path in missing))
    if len(here) != len(there) or not here:
        raise InputError(f"the source runs {len(here)} norms and the port {len(there)}: compare two forms of one model")
    causes = (
        (path, _difference(own[path], source.get_submodule(path), other, x))
        for (path, x), other in zip(here, there, strict=True)
    )
    return Diagnosis(len(here), tuple((path, cause) for path, cause in causes if cause is not None))


def _missing(
    own: dict[str, FoundNorm], source: nn.Module, here: list[tuple[str, Tensor]], there: Sequence[nn.Module]
) -> list[str]:
    """The norms that a port leaves out, if those that it has are the others in their order; else none."""
    missing, left = list[str](), list(there)
    for path, x in here:
        if left and _difference(own[path], source.get_submodule(path), left[0], x) is None:
            left.pop(0)
        else:
            missing.append(path)
    return [] if left else missing


def _recorded(model: nn.Module, tokens: Tensor, paths: Collection[str]) -> list[tuple[str, Tensor]]:
    """Path and input of each call of these modules, in the order of one forward pass."""
    calls: list[tuple[str, Tensor]] = []

    def note(path: str, _: nn.Module, inputs: tuple[Tensor, ...], *__: object) -> None:
        calls.append((path, inputs[0].detach().float()))

    with watching(model, paths, note), torch.no_grad():
        model(tokens)
    return calls


def _difference(norm: FoundNorm, mine: nn.Module, other: nn.Module, x: Tensor) -> str | None:
    """Verdict and cause of the port's norm on the inputs `x` and on probes, None if it is the source's."""
    d = norm.d
    dtype = str(_dtype(other)).rpartition(".")[2]
    # Weights that the port stores in fewer bits are compared with the source rounded to as many.
    short = dtype if dtype in ("bfloat16", "float16") else "float32"
    rows = np.concatenate([x.reshape(-1, d)[:32].double().numpy(), probes(d, dtype)])
    rows = rounded(rows, short).astype(float)
    got = _run(other, rows)
    if np.array_equal(_run(mine, rows), got):
        return None
    gain, bias = affine(mine, norm.gain, norm.gain_offset, norm.bias, d)
    if short == dtype:
        gain = rounded(gain - norm.gain_offset, dtype).astype(float) + norm.gain_offset
        bias = None if bias is None else rounded(bias, dtype).astype(float)
    shift = None if bias is None or not bias.any() else bias.astype(REAL)
    base = Definition(norm.kind == "layernorm", gain.astype(REAL), shift, norm.eps)
    case = Case(base, Sample(rows), got)
    if case.explained_by(base, Arithmetic.of(dtype)):
        return None
    # The same formula of what the port stores under the same names.
    stored, added = affine(other, norm.gain, norm.gain_offset, norm.bias, d)
    own = Definition(base.centered, stored.astype(REAL), None if added is None else added.astype(REAL), norm.eps)
    # All gains off by 1, as rounded once: that is a convention, which has a name below.
    off = abs(abs(stored - gain) - 1) if stored.shape == gain.shape else np.zeros(1)
    convention = (off <= float(FORMATS[dtype].roundoff) * np.maximum(abs(stored), 1)).all()
    if not convention and case.explained_by(own, Arithmetic.of(dtype)):
        return _other_parameters((gain, bias), (stored, added))
    theirs = behaviour(rows, got, float(FORMATS[dtype].roundoff))
    verdict, cause = diagnose([case], dtype, eps=(theirs.eps,) if theirs and theirs.eps else ())
    # A norm of this kind up to the rounding of its format has no other algorithm, but other parameters.
    if theirs is not None and theirs.kind == norm.kind and (cause is None or verdict == "unstable"):
        return _other_parameters((gain, bias), (theirs.gain, theirs.bias))
    return f"{verdict}: {cause or 'no known variant, mistake or algorithm'}"


def _other_parameters(mine: tuple[np.ndarray, np.ndarray | None], theirs: tuple[np.ndarray, np.ndarray | None]) -> str:
    """The verdict on a norm with another gain or bias."""
    parts = []
    for name, old, new in zip(("gain", "bias"), mine, theirs, strict=True):
        a, b = (torch.zeros(mine[0].shape) if v is None else torch.from_numpy(np.array(v, float)) for v in (old, new))
        if not torch.equal(a.double(), b.double()):
            off = (b - a).abs().broadcast_to(mine[0].shape)
            how = change(a.double(), b.double(), 2.0**-20)  # as read from float32
            known = "" if how.startswith(("off ", "0 in the source")) or "the rest" in how else f"{how}, "
            parts.append(f"{name} {known}off by up to {float(off.max()):.3g} at component {int(off.argmax())}")
    return f"bug: {'; '.join(parts)}"


def _dtype(module: nn.Module) -> torch.dtype:
    return next((parameter.dtype for parameter in module.parameters()), torch.float32)


def _run(module: nn.Module, rows: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return module(torch.tensor(rows).to(_dtype(module))).double().numpy()
