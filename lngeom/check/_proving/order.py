"""Whether bits stay the same: nothing that decides the order of a kernel's sums follows the number of rows."""

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .._tracing.decisions import ROWS
from .._tracing.programs import LAYOUTS
from .._tracing.sizes import FEATURE
from .._tracing.trace import Refusal, Trace
from .path import rejects

_LABELS = {label for axes in LAYOUTS.values() for dim in axes for label in dim} - {FEATURE}


class Order(NamedTuple):
    """Why the bits of a result may differ between batches, or runs; empty where it is proved that they do not.

    `launches` are the kernels with what decides the order of their sums; Triton may compile other forms for other
    values of the arguments `compiled`, which follow the number of rows.
    """

    name: str
    batch: str
    run: str
    launches: tuple[str, ...]
    compiled: tuple[str, ...]


def order(name: str, runs: Sequence[tuple[Trace, object]], *, sums: bool = False) -> Order:
    """What these runs say of the forward pass or a derivative; by a parameter, it `sums` over rows."""
    reasons, traces = dict[str, bool](), list[Trace]()
    for trace, made in runs:
        cases = trace.decisions.circumstances
        if any(not case.of or re.search("(<= 0|< 1|= 0)$", case.text) for case in cases):  # another mode, or no row
            continue
        if isinstance(made, Refusal) and not rejects(made) and (where := _where(trace)):
            reasons[f"{where} it is not traced: {made}"] = False
        if not isinstance(made, Exception):
            traces.append(trace)
    reasons |= {text: False for pair in itertools.combinations(traces, 2) for text in _apart(*pair)}
    reasons |= {text: run for trace in traces for text, run in _reasons(trace, sums=sums)}
    launches = [one for trace in traces for one in trace.kernels.launches if sums or one.of_rows]
    told = (f"{one.kernel}({', '.join(f'{k} = {v}' for k, v in one.order.items())}){_at(one.line)}" for one in launches)
    compiled = {n: None for one in launches for n, size in one.given.items() if _follows(size) and n not in one.order}
    always = next((text for text, run in reasons.items() if run), "")
    return Order(name, always or next(iter(reasons), ""), always, tuple(dict.fromkeys(told)), tuple(compiled))


def _reasons(trace: Trace, *, sums: bool) -> Iterator[tuple[str, bool]]:
    """Why the order of sums may change with the number of rows, and whether it may with each run."""
    for launch in trace.kernels.launches:
        if launch.tuned:
            yield f"autotune chooses a configuration by its time{_at(launch.line)}", True
        sizes = launch.order.items() if sums or launch.of_rows else ()
        yield from ((f"{n} follows the number of rows{_at(launch.line)}", False) for n, size in sizes if _follows(size))
        for size, line in launch.sums if sums else ():
            if size == "atomic_add":
                yield f"atomic_add sums in the order in which programs end{_at(line)}", True
            elif _follows(size):
                yield f"which rows a program sums follows their number{_at(line)}", False
    for labels, line in trace.kernels.reduced:
        if FEATURE in labels.split("·") or (sums and _follows(labels)):
            yield f"PyTorch sums over {labels}, in an order that may follow the number of rows{_at(line)}", False


def _apart(a: Trace, b: Trace) -> Iterator[str]:
    """How two runs that differ in the number of rows alone launch otherwise."""
    a, b = sorted((a, b), key=_where)
    kept = ({one[:2]: one[2] for one in t.decisions.branches if getattr(one[0], "of", "") != ROWS} for t in (a, b))
    mine, others = kept
    if _where(a) == _where(b) or any(others.get(key, yes) != yes for key, yes in mine.items()):  # other sizes, or modes
        return
    first, second = ([{"kernel": one.kernel} | one.order | one.given for one in t.kernels.launches] for t in (a, b))
    for one, other, launch in zip(first, second, b.kernels.launches, strict=False):
        for name in (name for name in one | other if one.get(name) != other.get(name)):
            yield f"{name} is {one.get(name)}, but {other.get(name)} {_where(b)}{_at(launch.line)}"
    if len(first) != len(second) or a.kernels.reduced != b.kernels.reduced:
        yield f"{_where(b)} it launches other kernels"


def _where(trace: Trace) -> str:
    return " and ".join(case.text for case in trace.decisions.circumstances if case.of == ROWS)


def _follows(size: str) -> bool:
    return bool(_LABELS & {*re.findall("[A-Za-z]+", size.replace("pow2", ""))})


def _at(line: str) -> str:
    return f" ({':'.join(line.split(':')[:2])})" if line else ""
