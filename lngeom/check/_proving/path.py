"""One path of a program, to be run again on other carriers."""

import ast
import functools
import re
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, cast

from lngeom import prover
from lngeom.prover import Formula, ProofCertificate, Proved, Recorded, Table
from lngeom.sources import at_line

from .._tracing.allowed import kind_of
from .._tracing.arrays import Arr
from .._tracing.decisions import ROWS
from .._tracing.grounds import Ground, proof_of
from .._tracing.programs import Program
from .._tracing.sizes import Dim
from .._tracing.trace import Refusal, Trace
from .candidates import Names

if TYPE_CHECKING:
    from .._tracing.aten import Autograd
    from .._tracing.user_backward import Gradients, Passes, UserBackward

SEVERAL = Formula(prover.d - 1, ">")
"""More than one component."""
COTANGENT, ALONG = "v", "t"
"""The input of a backward pass, and the tangent of a forward pass."""
SMALL = 8
"""A size that stands for most of them."""


@dataclass
class Path:
    """A program on one path through its branches on sizes, run on terms; `raised` are runs that end in an error."""

    program: Program
    axes: tuple[Dim, ...]
    dtype: str
    trace: Trace
    output: Arr
    raised: list[tuple[Trace, Exception]] = field(default_factory=list)

    @cached_property
    def backward(self) -> "Autograd":
        """The framework's own computation of the derivatives."""
        program, trace = self.program, self.trace
        taken = {COTANGENT, ALONG} & {*trace.symbols.vectors, *trace.symbols.numbers}
        trace.never(taken, f"a parameter is called {COTANGENT} or {ALONG}")
        codes = ((code.co_filename.rpartition("/")[2], code.co_firstlineno) for code in trace.report.sources.values())
        # None of its lines is running.
        line = next((f" ({file}:{first})" for file, first in codes if file[0] != "<"), "")
        if program.front.framework != "torch":
            trace.refuse(f"derivatives of {program.front.framework} are not traced", line)
        if len(self.scales) > 1:  # points would have to be drawn on each side
            trace.refuse("derivatives on a branch on a setting are not traced", line)
        return self.autograd(self.dtype)

    def autograd(self, dtype: str, planned: Sequence[bool] = ()) -> "Autograd":
        """The same in a format, with these answers to what a program asks."""
        from .._tracing.aten import Autograd  # loads PyTorch

        watched = Trace(Ground(), self.program.literals, planned=planned, backward=True)
        return Autograd(self.program, self.axes, dtype, self.leaves, tuple(sorted(self.trace.symbols.numbers)), watched)

    @property
    def leaves(self) -> dict[str, bool]:
        """The inputs and parameters by which derivatives are, and whether each differs from row to row."""
        made, vectors = self.trace.calls.kinds, self.trace.symbols.vectors
        return {name: by_row for name, by_row in vectors.items() if name not in made}

    @cached_property
    def written(self) -> "tuple[UserBackward, Trace, list[str], str, list[tuple[Trace, Passes | Exception]]]":
        """User-written backward: the pass, its trace, its gaps, its conditions, its runs."""
        from .._tracing.user_backward import UserBackward  # loads PyTorch

        passes = UserBackward(self.program, self.axes, self.dtype, self.leaves, COTANGENT)
        runs = sorted(
            ((trace, made) for trace, made in passes.paths() if not self.excludes(trace)),
            key=lambda run: (not is_taken(run[0], SMALL), len(run[0].decisions.circumstances)),
        )
        trace, first = next(((trace, made) for trace, made in runs if not isinstance(made, Exception)), runs[0])
        if isinstance(first, Exception):
            raise first
        another = first[0].value != self.output.value
        self.trace.never(another, "where derivatives are asked for, it gives something else")
        left, limits = dict[str, None](), list[list[str]]()
        rejected = [{*one.decisions.sizes} for one, error in self.raised if rejects(error)]  # by the forward pass
        for other, made in runs:
            failed = isinstance(made, Exception) and not any(one <= {*other.decisions.sizes} for one in rejected)
            if failed or (not isinstance(made, Exception) and _values(made) != _values(first)):
                why = reason(made) if isinstance(made, Exception) else "it computes something else"
                left[f"derivatives {self._where(other, trace)}({why})"] = None
                apart = self._apart(trace, other)
                limits += [apart] * (not any({*known} <= {*apart} for known in limits) and apart != [])
        words = dict.fromkeys(text for apart in limits for text in apart)
        return passes, trace, [*left, *sorted(trace.report.unexamined)], " and ".join(strictest([*words])), runs

    def _apart(self, trace: Trace, other: Trace) -> list[str]:
        """The sizes and numbers of rows that say that a run is not another one, unless that is a rare one."""
        mine, others = ({*one.decisions.circumstances} for one in (trace, other))
        if any(case.of != ROWS for case in others - mine):
            return []
        asked = trace.decisions.sizes, other.decisions.sizes
        sizes = [self._condition(value, how, yes) for value, how, yes in asked[0] if (value, how, not yes) in asked[1]]
        cases = [case.text for case in sorted(mine - others)] + [f"not {case.text}" for case in sorted(others - mine)]
        return [f"where {text}" for text in sizes] + cases

    def _where(self, trace: Trace, usual: Trace) -> str:
        """How another run differs from a usual one."""
        sizes = [text for text in self.branches(trace) if text not in self.branches(usual)]
        asked, cases = usual.decisions.cases, trace.decisions.cases.items()
        told = [case.text if yes else f"not {case.text}" for case, yes in cases if asked.get(case, not yes) != yes]
        return "".join(f"{text} " for text in [*(f"where {text}" for text in sizes), *told])

    single = property(lambda self: self.trace.ground.single)

    def of_one_component(self) -> "Path":
        """The same path where a vector is a number."""
        ground = Ground(single=True)
        ground.facts = self.trace.ground.facts
        trace, output = self.again(ground)
        trace.decisions, trace.report = self.trace.decisions, self.trace.report  # this run was not watched
        return Path(self.program, self.axes, self.dtype, trace, output)

    @property
    def names(self) -> Names:
        """The names in the output."""
        atoms = prover.atoms_of([self.output.value])
        kind = "s" if self.single else "v"
        vectors = [name for name in self.trace.symbols.vectors if (kind, name) in atoms and name != "x"]
        literals = self.program.literals
        scalars = {name: literals.text(name) for name in literals.values if ("s", name) in atoms}
        return Names(tuple(vectors), tuple(name for name in vectors if self.trace.symbols.vectors[name]), scalars)

    facts = property(lambda self: self.known(self.trace))

    def known(self, trace: Trace) -> list[Proved]:
        """The assumptions of this run and another one, and that sums of squares are not negative."""
        facts = dict.fromkeys([*self.trace.ground.facts, *trace.ground.facts])
        squares = dict.fromkeys([*self.trace.values.squares, *trace.values.squares])
        return [*map(prover.assume, facts), *(prover.total(prover.square(value)) for value in squares)]

    def obligations(self, trace: Trace) -> tuple[list[Proved], list[str]]:
        """Conditions under which a run is defined: proved, each with as few assumptions as were tried, or not."""
        proved, left = list[Proved](), list[str]()
        vectors = (prover.vector(name) for name in trace.symbols.vectors if "var" in name)
        variances = [prover.assume(prover.at_least(vector)) for vector in vectors]
        known = self.known(trace)
        goals = (Formula(prover.term(value), relation) for value, relation in trace.values.obligations)
        for goal in dict.fromkeys(goals):
            tried = (proof_of(goal, *known, *more) for more in ([], [prover.assume(SEVERAL)], variances))
            if found := next(filter(None, tried), None):
                proved.append(found)
            else:
                left.append(self.words(prover.formula(goal)))
        return proved, left

    def certificates(
        self, name: str, proved: list[Proved], recorded: Trace, difference: Recorded
    ) -> Iterator[ProofCertificate]:
        """Obligations and, last, an equality, each as the code itself computes it, and accepted by the checker."""
        goals: dict[Formula, Formula] = {}
        for value, relation in recorded.values.obligations:
            goals.setdefault(Formula(cast(Recorded, value).term, relation), Formula(value, relation))
        claims = [*(goals[step.conclusion] for step in proved[:-1]), Formula(difference, "=")]
        plain = re.sub(r"\W", "_", name.rpartition(":")[2], flags=re.ASCII)
        for k, (theorem, claim) in enumerate(zip(proved, claims, strict=True)):
            id = f"user.{plain}{f'_defined{k + 1}' if k < len(proved) - 1 else ''}"
            yield prover.certificate(id, theorem, (sorted(theorem.hypotheses, key=repr), claim), Table())

    def again(self, ground: Ground, dtype: str | None = None) -> tuple[Trace, Arr]:
        """The same path on another carrier."""
        trace = Trace(ground, self.program.literals, replayed=self.trace)
        return trace, self.program.traced(trace, dtype or self.dtype, self.axes)

    def sizes(self) -> Iterator[tuple[int, bool]]:
        """Dimensions to look at: some that stand for many, then those that the code writes, each for itself alone."""
        if self.program.front.held and self.program.size:  # its vectors have values, of this dimension alone
            yield self.program.size, False
            return
        if self.single:  # vectors are numbers
            yield 1, False
            return
        known = sorted(n for n in self.trace.symbols.integers if n <= 8192)
        yield from ((n, False) for n in (5, *(n + k for n in known for k in (-1, 1))))
        yield from ((n, True) for n in known)
        if self.trace.decisions.sizes:
            yield from ((n, False) for n in (1, 2, 3, *self.trace.near))

    @property
    def scales(self) -> tuple[float, ...]:
        """Factors of the settings at which it is looked at; where a setting decides a branch, many."""
        settings = {name for name in self.program.literals.values if not self.program.literals.is_constant(name)}
        terms = [value for value, *_ in self.trace.decisions.sizes]
        asked = {atom[1] for atom in prover.atoms_of(terms) if len(atom) == 2}
        return tuple(2.0**k for k in (0, -8, 8, -16, 16, 24, -40)) if settings & asked else (1.0,)

    def alone(self, hypotheses: set[Formula]) -> int | None:
        """The one dimension that is assumed, if one is."""
        return next((n for n in self.trace.symbols.integers if prover.equal(prover.d, n) in hypotheses), None)

    def excludes(self, trace: Trace) -> bool:
        """Whether the conditions of this path say that it is not the other run."""
        return any((value, how, not yes) in self.trace.decisions.sizes for value, how, yes in trace.decisions.sizes)

    def branches(self, trace: Trace | None = None) -> list[str]:
        """The conditions of this path, or of another run, in words."""
        return strictest([self._condition(*each) for each in (trace or self.trace).decisions.sizes])

    def _condition(self, term: prover.Term, relation: str, yes: bool) -> str:
        """A condition with the numbers on the right: d ≤ 4096, for 4096 − d ≥ 0."""
        literals, numbers = self.program.literals, prover.term(0)
        for monomial, c in term:
            if all(atom[0] == "s" and literals.is_constant(atom[1]) for atom, _ in monomial):
                numbers += prover.Term({monomial: c})
        left, right = term - numbers, -numbers
        sign = {"=": "=≠", "!=": "≠=", ">": ">≤", ">=": "≥<"}[relation][not yes]
        if all(c < 0 for _, c in left):
            left, right, sign = -left, -right, sign.translate(str.maketrans("><≥≤", "<>≤≥"))
        return _by_d(self.words(f"{prover.text(left)} {sign} {prover.text(right)}"))

    def words(self, text: str) -> str:
        """The text of a term or formula with the numbers that stand for constants."""
        literals = self.program.literals
        for name in sorted(filter(literals.is_constant, literals.values), reverse=True):
            text = text.replace(prover.text(prover.scalar(name)), literals.text(name))
        symbols = self.trace.symbols
        names = {prover.text(prover.scalar(name)): name for name in symbols.blocks}
        calls = ((of.name, cast("prover.Term", value), name) for of, value, name in self.trace.calls.opaque)
        names |= {name: f"{function}({prover.text(of)})" for function, of, name in calls}
        names |= {f"S({prover.text(prover.vector(name))})": name.removeprefix("part_") for name in symbols.parts}
        for written, name in names.items():
            for how, told in _READ_AS.items():
                name = re.sub(how, told, name)
            text = text.replace(written, name)
        return re.sub(r"modₛ?([₀-₉]+)", lambda found: f"(d mod {found[1].translate(_DIGITS)})", text)


def strictest(texts: list[str]) -> list[str]:
    """Conditions without the limits of d that others make superfluous."""
    for sign, choose in (("≤", min), (">", max)):
        limits = {text: int(text.rpartition(" ")[2]) for text in texts if re.fullmatch(rf"(where )?d {sign} \d+", text)}
        kept = choose(limits, key=lambda text: limits[text], default="")
        texts = [text for text in texts if text == kept or text not in limits]
    return [*dict.fromkeys(texts)]


def rejects(error: Exception) -> bool:
    """Whether it is an error that the program raises itself, or would, if its text had no symbol in it."""
    *_, last = [None, *(f for f in traceback.extract_tb(error.__traceback__) if kind_of(f.filename) != "ours")]
    stated = [ast.Raise] if isinstance(error, Refusal) else [ast.Raise, ast.Assert]
    if last is None or kind_of(last.filename) != "program":
        return False
    return bool(at_line(last.filename, last.lineno, *stated))


def reason(error: Exception) -> str:
    """Why a trace ended."""
    if isinstance(error, Refusal):
        return functools.reduce(lambda text, pair: re.sub(*pair, text), _LANES, str(error))
    frames, text = traceback.extract_tb(error.__traceback__), " ".join(str(error).split())
    lines = [f for f in frames if kind_of(f.filename) == "program" and f.line]  # generated code has no line to show
    where = f" ({lines[-1].filename.rpartition('/')[2]}:{lines[-1].lineno}: {lines[-1].line})"[:160] if lines else ""
    if "data-dependent" in text:
        return f"a branch on data{where}"
    calls = [one for line in lines[-1:] for one in at_line(line.filename, line.lineno, ast.Call)]
    if "as an integer" in text and any(ast.unparse(one.func) == "range" for one in calls):
        return f"a loop over components or rows of x cannot be followed for every d{where}"
    # What a library says of it is not about the program.
    if not lines or lines[-1] is not frames[-1]:
        return f"what {'this line' if lines else 'it'} does cannot be traced{where}"
    return f"{type(error).__name__}: {_STAND_INS.sub(lambda found: _STOOD_FOR[found[1]], text)[:120]}{where}"


_LANES = (r"d \+ -1·lane \w+ > 0", "column < d"), (r"lane \w+", "column"), (r"program(\d)", r"program_id(\1)")
"""Whole numbers of kernels, and how they are told."""
_STOOD_FOR = {"Size": "a size", "Num": "a size", "Context": "ctx", "NumpyArray": "the array"}
_STAND_INS = re.compile(r"(?<!torch\.)'?\b(Size|Num|Context|NumpyArray)\b(?:' object)?")
"""What traced values are called in errors, and what they are to their program."""


def _values(passes: "tuple[Arr, Gradients]") -> list[object]:
    """What passes give, without how it lies in memory."""
    output, gradients = passes
    return [output.value, *(one and (one.value, one.summed) for one in gradients.values())]


def is_taken(trace: Trace, d: int) -> bool:
    """Whether a program that launches kernels takes this path at a dimension."""
    values = {name: Fraction(value) for name, value in trace.literals.values.items()}
    values |= {name: Fraction(block.at(d)) for name, block in trace.symbols.blocks.items()}
    values |= {name: at(d) for name, at in trace.symbols.parts.items()}
    values |= {f"mod{n}": Fraction(d % n) for n in trace.symbols.integers}
    answers = [prover.holds(Formula(value, how), values, d) for value, how, _ in trace.decisions.sizes]
    return answers == [answer for *_, answer in trace.decisions.sizes]


def _by_d(text: str) -> str:
    """A condition on the next power of 2, as one on d."""
    found = re.fullmatch(r"next_power_of_2\(d(?: // (\d+))?\) ([<≤>≥]) (\d+)", text)
    if found is None:
        return text
    most = int(found[3]) - (found[2] in "<≥")  # the largest power of 2 up to this is the last one
    last = 1 << (most.bit_length() - 1) if most else 0
    return f"d {'≤' if found[2] in '<≤' else '>'} {(last + 1) * int(found[1] or 1) - 1}"


_DIGITS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_READ_AS = {
    **{"_over_": " // ", r"^n(?=\d)": ""}, "^pow2(.*)": r"next_power_of_2(\1)", r"^chunk_(\d+)_0": r"⌈d/\1⌉",
    r"^(first|last)_(\d+)": r"min(\2, d)", r"^every_(\d+)_(\d+)": r"len(x[\2::\1])",
}  # fmt: skip
"""How names of sizes are told."""
