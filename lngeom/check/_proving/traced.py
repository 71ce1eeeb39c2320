"""A traced kernel as the definition of another one: its recorded operations, on any carrier."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from lngeom import prover
from lngeom.carriers import Carrier, Rounded
from lngeom.errors import InputError
from lngeom.prover import Table

from .._tracing.grounds import FloatGround, Ground, RecordedGround
from .._tracing.programs import LAYOUTS, Program
from .._tracing.roles import role
from .candidates import Candidate
from .execution import differs
from .path import SEVERAL, Path, reason
from .survey import Survey

_ROLES = "gain", "bias", "eps"


def roles(path: Path) -> dict[str, str]:
    """The names of x, gain, bias and ε in a program."""
    known = {role(name.rpartition("_")[2]): name for name in reversed(path.trace.symbols.vectors)}
    known["eps"] = next((name for name in path.program.literals.values if role(name) == "eps"), "")
    return {"x": "x"} | {purpose: name for purpose in _ROLES if (name := known.get(purpose))}


class Traced:
    """What a kernel computes of x, gain, bias and ε, operation by operation.

    Attributes:
        roles: Its own names of x, gain, bias and ε.

    Raises:
        InputError: It cannot be traced, or has no single formula of these.
    """

    def __init__(self, name: str, program: Program, dtype: str) -> None:
        self.name, errors = name, list[str]()
        for axes in LAYOUTS.values():
            try:
                survey = Survey(program, axes, dtype, [])
                break
            except Exception as error:  # a program that is not run on arrays fails in any way
                errors.append(reason(error))
        else:
            raise InputError(f"{name} specifies nothing, as it is not traced: {errors[0]}")
        first, *others = survey.paths
        self.roles, self._symbols, self._literals = roles(first), first.trace.symbols, first.program.literals
        self._value, world = first.again(RecordedGround(Table()))[1].value, survey.world()
        self._left = {f"{name} {text}" for text in {*world["unexamined"]} - first.trace.report.unexamined}
        self._conditions = first.trace.report.conditions
        proved, undefined = first.obligations(first.trace)
        odd = sorted({*self._symbols.vectors, *self._symbols.numbers} - {*self.roles.values()})
        why = [f"it takes {other}, which is neither gain nor bias" for other in odd]
        why += [f"it computes something else where {' and '.join(path.branches())}" for path in others]
        why += [f"it is not proved that {text}" for text in undefined]
        why += ["nothing is proved of it for some sizes that it takes"] * world["uncovered"]
        least = 1 + any(SEVERAL in fact.hypotheses for fact in proved)
        wrong = "" if why else differs(first, self.candidate(first), lambda d: d >= least)
        if why := [*why, *([f"the code that runs is not the code that was traced: {wrong}"] if wrong else [])]:
            raise InputError(f"{name} specifies nothing: {why[0]}")

    @property
    def eps(self) -> float | None:
        """Its own ε, None where it has none that could be another."""
        return self._literals.values.get(self.roles.get("eps", ""))

    def __call__(self, x: Rounded, gain: Any = None, bias: Any = None, *, eps: float = 0.0) -> Rounded:
        """The output for one row, with a bound on the error of these operations in its format."""
        given = {"x": x, "gain": gain, "bias": bias}
        values = {name: getattr(value, "value", value) for name, value in given.items()} | {"eps": eps}
        ground = FloatGround(values, len(x), error=True, work=x.dtype)
        return self._on(ground, {name: name for name, value in values.items() if value is not None}, str)

    def candidate(self, path: Path) -> Candidate:
        """The same as what a path of another program should be, with the names of that."""
        symbols, literals = path.trace.symbols, path.program.literals
        symbols.parts |= self._symbols.parts
        symbols.blocks |= self._symbols.blocks
        symbols.integers |= self._symbols.integers
        path.trace.report.unexamined |= self._left
        path.trace.report.conditions |= self._conditions
        names = roles(path)
        if lacking := [name for purpose, name in self.roles.items() if purpose in _ROLES[:2] and purpose not in names]:
            path.trace.refuse(f"{self.name} takes {lacking[0]}, and {path.program.name} does not")
        for name in self._literals.values.keys() - {self.roles[purpose] for purpose in self.roles if purpose in names}:
            symbols.constant(self._literals.values[name])  # it is positive there too
        text = f"{self.name}({', '.join(names[purpose] for purpose in self.roles if purpose in names)})"
        value = lambda ground: self._on(ground, names, literals.name)  # noqa: E731
        return Candidate(text, value, "other", True, names.get("eps", ""))

    def _on(self, ground: Ground, names: Mapping[str, str], constant: Callable[[float], str]) -> Any:
        """Its value on a carrier that has x, gain, bias and ε under these names, and numbers under names of theirs."""
        purposes = {name: purpose for purpose, name in self.roles.items() if purpose in names}
        literals, symbols = self._literals.values, self._symbols

        def leaf(kind: str, *of: Any) -> Carrier:
            name = of[0]
            if kind == "q":
                return ground.number(Fraction(*of))
            if name in purposes:
                name = names[purposes[name]]
            elif name in literals:
                return ground.constant(constant(literals[name]), Fraction(literals[name]))
            elif name.startswith("mod"):
                return ground.remainder(int(name[3:]))
            elif isinstance(ground, FloatGround):
                ground.values[name] = (symbols.parts.get(name) or symbols.blocks[name].at)(ground.size)
            return ground.vector(name) if kind == "v" else ground.scalar(name)

        return prover.computed(self._value, leaf, ground.d)
