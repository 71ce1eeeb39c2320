"""A program in all circumstances: on its branches, in training, with other axes and in other formats."""

import hashlib
import inspect
from collections.abc import Iterator
from types import CodeType

from lngeom.files import Json
from lngeom.sources import effects

from .._tracing.arrays import Arr
from .._tracing.decisions import GRADIENTS, Circumstance
from .._tracing.grounds import Ground
from .._tracing.programs import LAYOUTS, Program
from .._tracing.sizes import FEATURE, Dim, form
from .._tracing.trace import Refusal, Trace, runs
from .order import order
from .path import SMALL, Path, is_taken, reason, rejects

_SIZES = "it takes other sizes"
"""How formats differ where the length of a row in bytes is limited."""


class Survey:
    """The runs of a program on terms, for one layout of x in one format; `asked` are those in circumstances."""

    def __init__(self, program: Program, axes: tuple[Dim, ...], dtype: str, traces: list[Trace]) -> None:
        self.program, self.axes, self.dtype = program, axes, dtype

        def start(decisions: list[bool]) -> Trace:
            traces.append(Trace(Ground(), program.literals, planned=decisions))
            return traces[-1]

        def attempt(trace: Trace) -> Arr | Exception:
            try:
                return program.traced(trace, dtype, axes)
            except Exception as error:
                refused = isinstance(error, Refusal) and not trace.valued and is_taken(trace, SMALL)
                if rejects(error):  # a symbol has no text
                    error.args = tuple(a if type(a) in (str, int, float) else "..." for a in error.args)
                launches = trace.symbols.blocks or trace.kernels.launched
                by_size = trace.decisions.sizes and (launches or rejects(error)) and not refused
                if not trace.decisions.circumstances and not by_size:  # it fails where a verdict is asked for
                    raise
                return error

        self.runs, self.paths = [*runs(start, attempt)], list[Path]()
        self.asked = [run for run in self.runs if run[0].decisions.circumstances]
        usual = [run for run in self.runs if not run[0].decisions.circumstances]
        self.raised = [(trace, output) for trace, output in usual if isinstance(output, Exception)]
        for trace, output in usual:
            if isinstance(output, Arr):
                path = Path(program, axes, dtype, trace, output)
                single = bool(trace.decisions.sizes and trace.ground.sign(trace.ground.d - 1, "="))
                self.paths.append(path.of_one_component() if single and not trace.calls.opaque else path)
        if not self.paths:
            raise self.raised[0][1]
        launched = any(trace.kernels.launched for trace, _ in self.runs)
        if not launched and (asked := [text for trace, _ in self.runs for text in trace.kernels.asks_memory]):
            self.runs[0][0].refuse(asked[0], "")
        self.orders = (order("forward", self.runs),) if launched else ()
        self.paths = sorted(_merged(self.paths), key=lambda path: path.single)
        for path in self.paths:
            path.raised = self.raised

    def world(self) -> Json:
        """The conditions of the verdict, and its gaps, in words."""
        traces = [path.trace for path in self.paths]
        given = {name: value for trace in traces for name, value in trace.report.given.items()}
        sources = {name: code for trace in traces for name, code in trace.report.sources.items()}
        unseen = sorted({text for trace in traces for text in trace.report.unexamined} | effects(sources.values()))
        unseen += [self.program.front.excluded] if self.program.front.excluded else []
        unexamined = [f"{' '.join(case.text for case in cases)} ({why})" for cases, why in self._circumstances()]
        for trace, error in self.raised:
            where = f"where {' and '.join(self.paths[0].branches(trace))}{', which it rejects' * rejects(error)}"
            unexamined.append(f"{where} ({reason(error)[:160]})")
        others = {dtype: why for dtype in self.program.front.formats if (why := self._difference(self.axes, dtype))}
        formats = tuple(dtype for dtype, why in others.items() if why != _SIZES)
        if others:
            unexamined.append(f"{' and '.join(others)}, where it takes {'another path' if formats else 'other sizes'}")
        alike, shapes = self._others
        return {
            "shape": " or ".join(map(form, sorted(alike, key=len))),
            "given": tuple(f"{name} = {value}" for name, value in sorted(given.items())),
            "sources": {name: hashed(code) for name, code in sources.items()},
            "unexamined": tuple(dict.fromkeys([*unexamined, *unseen, *shapes])), "own_paths": formats,
            "circumstances": frozenset(each.text for trace, _ in self.asked for each in trace.decisions.circumstances),
            "uncovered": not all(rejects(error) for _, error in self.raised),
            "conditions": tuple(sorted({text for trace in traces for text in trace.report.conditions})),
            "orders": self.orders, "formats": (f"formats other than {', '.join(self.program.front.formats)}",),
        }  # fmt: skip

    def _circumstances(self) -> Iterator[tuple[tuple[Circumstance, ...], str]]:
        """Circumstances in which it is another function, and why; where several are, the fewest."""
        told: list[set[Circumstance]] = []
        for trace, output in sorted(self.asked, key=lambda pair: len(pair[0].decisions.circumstances)):
            words = set(trace.decisions.circumstances)
            alike = ((t.decisions.sizes, str(error)) for t, error in self.raised)
            if isinstance(output, Exception) and (trace.decisions.sizes, str(output)) in alike:
                continue
            if any(known <= words for known in told):  # fewer circumstances say it already
                continue
            usual = [path for path in self.paths if not path.excludes(trace)]
            if not isinstance(output, Arr) or not all(_same(path, trace, output) for path in usual):
                told.append(words)
                yield trace.decisions.circumstances, _why(output)

    @property
    def _others(self) -> tuple[list[tuple[Dim, ...]], list[str]]:
        """The layouts on which it is the same function, and the others in words: with d last, or else second."""
        found = []
        for place, least in ((-1, 2), (1, min(3, len(self.axes)))):  # of two axes, the second one is the last
            alike = [axes for axes in LAYOUTS.values() if axes[place] == (FEATURE,) and len(axes) >= least]
            why = {axes: self._difference(axes, self.dtype) for axes in alike if self.axes in alike}
            left = [f"x of shape {form(axes)} ({reason})" for axes, reason in why.items() if reason]
            found.append(([axes for axes, reason in why.items() if not reason], left))
        return max(found, key=lambda pair: len(pair[0]))

    def _difference(self, axes: tuple[Dim, ...], dtype: str) -> str:
        """Why it is not seen to be the same function of x with other axes, or in another format; empty if it is."""
        if (axes, dtype) == (self.axes, self.dtype):
            return ""
        try:
            other = Survey(self.program, axes, dtype, [])
        except Exception as error:  # a program may fail in any way
            return _why(error)
        cases = [[case for case, _ in one._circumstances() if case[0].of != GRADIENTS] for one in (self, other)]
        if cases[0] != cases[1] or len(other.paths) != len(self.paths):
            return "it takes another path"
        pairs = zip(self.paths, other.paths, strict=True)
        both = [(_same(a, b.trace, b.output), a.trace.decisions.sizes == b.trace.decisions.sizes) for a, b in pairs]
        same, sizes = map(all, zip(*both, strict=True))
        return "it computes something else" if not same else "" if sizes else _SIZES


def _merged(paths: list[Path]) -> list[Path]:
    """The paths of a program that launches kernels, one for all that compute the same, with what all of them assume."""
    if not any(path.trace.symbols.blocks for path in paths):
        return paths
    groups: list[list[Path]] = []
    for path in paths:
        group = next((group for group in groups if _same(group[0], path.trace, path.output)), None)
        groups.append([path]) if group is None else group.append(path)
    chosen = []
    for group in groups:
        first = next((path for path in group if is_taken(path.trace, SMALL)), group[0])
        ground, others = first.trace.ground, [path.trace for path in group]
        ground.facts = [fact for fact in ground.facts if all(fact in each.ground.facts for each in others)]
        kept = [one for one in first.trace.decisions.branches if all(one in each.decisions.branches for each in others)]
        first.trace.decisions.branches = kept
        chosen.append(first)
    return chosen


def _same(path: Path, trace: Trace, output: Arr) -> bool:
    """Whether two runs computed the same, defined where the other is."""
    return path.output.value == output.value and path.trace.values.obligations == trace.values.obligations


def _why(output: Arr | Exception) -> str:
    return "it computes something else" if isinstance(output, Arr) else reason(output)


def hashed(code: CodeType) -> str:
    """The hash of a function's source, of its instructions where there is none."""
    try:
        text = inspect.getsource(code)
    except (OSError, TypeError):
        text = repr((code.co_code, code.co_consts, code.co_names))
    return hashlib.sha256(text.encode()).hexdigest()
