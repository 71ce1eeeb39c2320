"""The zoo of reported faults run through the check, and acceptance tests run against seeded faults."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from lngeom.errors import InputError
from lngeom.rounding import REAL, Definition, Sample, candidates, rounded

from ._check import check
from ._held_out import HELD_OUT
from ._stand_ins import EPS, STAND_INS, SURVEY, Kernel
from ._target import resolve

_USUAL = 64  # whose faults are seeded; at other dimensions those of them that exist there


class Caught(NamedTuple):
    """The verdict on the stand-in for a reported fault, whether it is the right one, and when it was chosen."""

    fault: str
    threads: tuple[str, ...]
    right: bool
    verdict: str
    name: str
    held_out: bool

    def row(self) -> dict[str, str]:
        """A line of the table of all, with a link to each thread."""
        links = (f"[{path.split('/')[1]} {path.split('/')[-1]}](https://github.com/{path})" for path in self.threads)
        return {
            "fault": self.fault,
            "threads": ", ".join(links),
            "verdict": self.verdict,
            "name": self.name,
            "caught": "yes" if self.right else "no",
            "held out": "yes" if self.held_out else "",
            "survey": ", ".join(str(SURVEY.index(path) + 1) for path in self.threads if path in SURVEY),
        }


def zoo(words: str = "") -> Iterator[Caught]:
    """Each stand-in whose name or threads contain `words`, checked; those that are held out come last."""
    for stand_in in (*STAND_INS, *HELD_OUT):
        if words not in " ".join([stand_in.name, *stand_in.threads]):
            continue
        finding = check(stand_in.kernel, name=stand_in.name, **stand_in.options)
        told = [finding.cause or "", *finding.notes]
        name = next((text for text in told if stand_in.words in text), told[0])
        right = finding.verdict in stand_in.verdict.split(" or ") and stand_in.words in name
        yield Caught(stand_in.name, stand_in.threads, right, finding.verdict, name, stand_in in HELD_OUT)


def surveyed(results: list[Caught]) -> dict[str, bool]:
    """Of each report of the survey that has a result, whether all its stand-ins are caught under the right name."""
    right = {path: [caught.right for caught in results if path in caught.threads] for path in SURVEY}
    return {path: all(of) for path, of in right.items() if of}


class Score(NamedTuple):
    """How many faults an acceptance test was given, and the names of those it lets pass.

    A fault that cannot be stated in any dtype and dimension that the test takes is not given to it.
    """

    faults: int
    survivors: tuple[str, ...]


def score(test: Callable[..., object] | str, kind: str = "layernorm") -> Score:
    """How many seeded faults an acceptance test lets pass.

    Args:
        test: Takes a kernel ``f(x, weight, bias)`` of PyTorch with ε = 1e-5, without the bias if `kind` is ``rmsnorm``;
            rejects it by any exception or by returning False. Or ``"module:function"``.
        kind: Which norm it tests.

    Raises:
        InputError: It rejects the definition itself, rounded once.
    """
    asked: Callable[..., object] = resolve(test) if isinstance(test, str) else test
    if not _accepts(asked, _seeded(kind, None, set())):
        raise InputError("the test rejects the exact definition, rounded once: no correct kernel passes it")
    ones = np.ones(_USUAL, dtype=REAL)
    base = Definition(kind == "layernorm", ones, ones if kind == "layernorm" else None, EPS)
    names = [name for name, _, _ in candidates(base, _USUAL, "float32") if "; " not in name]
    met: set[str | None] = set()
    faults = {name: _seeded(kind, name, met) for name in names}
    faults |= {
        stand_in.name: stand_in.kernel
        for stand_in in STAND_INS
        if stand_in.options["kind"] == kind
        if not stand_in.options.keys() & {"dtype", "spec", "backward", "refuse"}
    }
    survivors = {name for name, kernel in faults.items() if _accepts(asked, kernel)}
    given = [name for name in faults if name in met or name not in names]
    return Score(len(given), tuple(name for name in given if name in survivors))


def _accepts(test: Callable[..., object], kernel: Kernel) -> bool:
    try:
        with np.errstate(all="ignore"):
            return test(kernel) is not False
    except Exception:  # however it rejects
        return False


def _seeded(kind: str, name: str | None, met: set[str | None]) -> Callable[..., Tensor]:
    """A kernel that computes the changed definition of this name exactly and rounds once; the right one for None.

    The name joins those that are `met` where the change can be stated.
    """

    def norm(x: Tensor, weight: Tensor | None, bias: Tensor | None = None) -> Tensor:
        rows = x.detach().double().reshape(-1, x.shape[-1]).numpy()
        gain, shift = (None if p is None else p.detach().double().numpy().astype(REAL) for p in (weight, bias))
        base = Definition(kind == "layernorm", gain, shift, EPS)
        dtype = str(x.dtype).rpartition(".")[2]
        known = candidates(base, rows.shape[-1], dtype) if name else ()
        changed = next((make() for candidate, _, make in known if candidate == name), None)
        met.update([name] if changed else [])
        made = changed or base
        if made.verdict == "unstable" and made.prepare is not None:  # exactly, it would be no fault
            made, rows = base, rounded(made.prepare(rows), dtype)
        output = rounded(made.output(Sample(rows)), dtype).astype(float)
        return torch.tensor(output).to(x.dtype).reshape(x.shape)

    if kind == "layernorm":
        return norm
    return lambda x, weight: norm(x, weight)
