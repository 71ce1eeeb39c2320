"""Carriers for tracing: terms, recorded nodes, floats, or numbers that know their error, each with its dimension."""

import contextlib
import functools
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy
from numpy.typing import ArrayLike

from lngeom import prover
from lngeom.carriers import Array, Carrier, Dual, Rounded
from lngeom.prover import Formula, Proved, Recorded, Table, Term
from lngeom.rounding import FORMATS


@contextlib.contextmanager
def unwatched() -> Iterator[None]:
    """A block of our own code, in which nothing that watches a program is called."""
    watching = sys.getprofile()
    sys.setprofile(None)
    try:
        yield
    finally:
        sys.setprofile(watching)


def proof_of(goal: Formula, *facts: Proved | tuple[Proved, object]) -> Proved | None:
    """The theorem, None where no proof is found."""
    with contextlib.suppress(prover.ProofError):
        return prover.prove(goal, *facts)
    return None


@functools.lru_cache(maxsize=1024)
def _sign(value: Term, relation: str, facts: tuple[Formula, ...], squares: tuple[Carrier, ...]) -> bool | None:
    """Whether a value stands in a relation to 0: each layout and format of a program asks the same again."""
    known = [prover.dimension(), *map(prover.assume, facts), *(prover.total(prover.square(t)) for t in squares)]
    opposite = {"=": (value, "!="), "!=": (value, "="), ">": (-value, ">="), ">=": (-value, ">")}[relation]
    goals = {True: Formula(value, relation), False: Formula(*opposite)}
    return next((answer for answer, goal in goals.items() if proof_of(goal, *known)), None)


class Opaque(NamedTuple):
    """A function that no theorem looks into: one of components, a linear map by its weights, or the largest above."""

    name: str
    which: float = 0

    is_map = property(lambda self: self.name == LINEAR)


LINEAR, LARGEST, DIRECTION = "linear", "largest", "direction"


class Ground:
    """A carrier of symbolic terms by name; subclasses evaluate the same trace. `single`: d = 1, vectors are numbers."""

    def __init__(self, *, single: bool = False) -> None:
        self.facts: list[Formula] = []
        self.d: Carrier = prover.d
        self.single = single

    def vector(self, name: str) -> Carrier:
        """The vector of that name."""
        return prover.scalar(name) if self.single else prover.vector(name)

    def scalar(self, name: str) -> Carrier:
        """The number of that name."""
        return prover.scalar(name)

    def number(self, value: Fraction) -> Carrier:
        """A number that is known."""
        return prover.term(value)

    def constant(self, name: str, value: Fraction) -> Carrier:
        """A number that a program writes, under its name."""
        return self.scalar(name)

    def remainder(self, modulus: int) -> Carrier:
        """What is left of d by a number: any number."""
        return self.scalar(f"mod{modulus}")

    def ones(self, name: str) -> Carrier:
        """The all-ones vector, in the space of the vector of that name."""
        return prover.term(1) if self.single else prover.ones(self.vector(name))

    def assume(self, value: Carrier, relation: str) -> None:
        """A hypothesis from here on."""
        flipped = {"<": (-value, ">"), "<=": (-value, ">=")}.get(relation, (value, relation))
        self.facts.append(Formula(*flipped))

    def sign(self, value: Carrier, relation: str, *squares: Carrier) -> bool | None:
        """Whether a value stands in a relation to 0, None where nothing says so."""
        with unwatched():
            return _sign(prover.term(value), relation, tuple(self.facts), tuple(dict.fromkeys(squares)))

    def applied(self, function: Opaque, value: Array, name: str) -> Carrier:
        """The result of an opaque function."""
        return self.scalar(name) if value.is_scalar or function.name == LARGEST else self.vector(name)

    def rounded(self, value: Carrier, dtype: str, terms: Carrier | None = None) -> Carrier:
        """The result of one operation in a format, the sum of `terms` if given; exact carriers know no formats."""
        return value

    def reached(self, value: Carrier, by: Carrier) -> Carrier:
        """A value that the program reaches in another way, `by` operations that are further off."""
        return value

    def fused(self, layer: Callable[[Array], Array], value: Array, dtype: str) -> Array:
        """A whole layer that one operation computes."""
        return layer(value)


class _Repeated(Ground):
    """A carrier on which a run is repeated: what it assumes was assumed when the answers were found."""

    def assume(self, value: Carrier, relation: str) -> None:
        """Nothing."""


class RecordedGround(_Repeated):
    """Nodes of a certificate. What it is asked has been answered before."""

    def __init__(self, table: Table, *, single: bool = False) -> None:
        super().__init__(single=single)
        self.table = table
        self.d = Recorded(table, table.place("d"), False)

    def vector(self, name: str) -> Carrier:
        return Recorded(self.table, self.table.place("s" if self.single else "v", name), not self.single)

    def scalar(self, name: str) -> Carrier:
        return Recorded(self.table, self.table.place("s", name), False)

    def number(self, value: Fraction) -> Carrier:
        return Recorded(self.table, self.table.number(value), False)

    def ones(self, name: str) -> Carrier:
        return Recorded(self.table, self.table.number(Fraction(1)), not self.single)

    def sign(self, value: Carrier, relation: str, *squares: Carrier) -> bool | None:
        """Nothing: it was found before."""
        return None

    def applied(self, function: Opaque, value: Array, name: str) -> Carrier:
        return self.vector(name) if value.vector and function.name != LARGEST else self.scalar(name)


class DualGround(_Repeated):
    """A carrier on which one vector moves along another: every value has its derivative beside it."""

    def __init__(self, inner: Ground, moving: str, along: str) -> None:
        self.inner, self.moving, self.along = inner, moving, along
        self.d = inner.d
        for name in ("scalar", "number", "constant", "remainder", "ones", "sign"):  # what does not move
            setattr(self, name, getattr(inner, name))

    def vector(self, name: str) -> Carrier:
        value = self.inner.vector(name)
        return Dual(value, self.inner.vector(self.along), 1) if name == self.moving else value


_length = numpy.linalg.norm
OPAQUE: dict[str, tuple[Callable[[Array], Array], float | Callable[[Array, Array], Array] | None]] = {
    "sigmoid": (lambda t: 1 / (1 + numpy.exp(-t)), 0.25), "silu": (lambda t: t / (1 + numpy.exp(-t)), 1.1),
    "tanh": (numpy.tanh, 1.0), "relu": (lambda t: numpy.maximum(t, 0), 1.0),
    "softplus": (lambda t: numpy.logaddexp(t, 0), 1.0),
    "gelu": (lambda t: t * 0.5 * (1 + numpy.vectorize(math.erf)(t / math.sqrt(2))), 1.13),
    "gelu_tanh": (lambda t: t * 0.5 * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (t + 0.044715 * t**3))), 1.13),
    "exp": (numpy.exp, None), "log": (numpy.log, None),
    "zero": (lambda t: (t == 0) * 1.0, lambda t, off: (abs(t) <= off) * (t != 0)),  # off by 1 where that is not known
    DIRECTION: (lambda t: t / (_length(t) or 1), lambda t, off: 0 * t + (2 * _length(off) / _length(t) if t.any() else
                                                                         1.0 * off.any())),
}  # fmt: skip
"""Functions that no theorem looks into: their values, and how much they enlarge a difference, or how far they are off.

None where that is not bounded: by as much as a value differs from those at the ends of its range, which holds what
increases. A direction is a vector by its length, or 0 where that is 0.
"""


class FloatGround(_Repeated):
    """One row of numbers of a `work` format, with bounds on their errors if `error`."""

    def __init__(self, values: Mapping[str, ArrayLike], d: int, *, error: bool = False, work: Any = "d") -> None:
        super().__init__()
        self.values, self.error, self.size, self.work = dict(values), error, d, numpy.dtype(work)
        self.d: Carrier = self._made([float(d)])

    def _made(self, value: ArrayLike) -> Carrier:
        array = numpy.atleast_1d(numpy.asarray(value))
        near = array.astype(self.work)
        return Rounded(near, abs(near - array)) if self.error else near

    def vector(self, name: str) -> Carrier:
        return self._made(self.values[name])

    scalar = vector

    def number(self, value: Fraction) -> Carrier:
        return self._made(float(value))

    def constant(self, name: str, value: Fraction) -> Carrier:
        return self._made(self.values.get(name, float(value)))

    def remainder(self, modulus: int) -> Carrier:
        return self._made(float(self.size % modulus))

    def ones(self, name: str) -> Carrier:
        return self._made(numpy.ones(self.size))

    def sign(self, value: Array, relation: str, *squares: Carrier) -> bool | None:
        number = float(getattr(value, "value", value)[0])
        return {"=": number == 0, "!=": number != 0, ">": number > 0, ">=": number >= 0}[relation]

    def applied(self, function: Opaque, value: Array, name: str) -> Array:
        if function.name == LARGEST:  # the one opaque function of a whole row
            inner = getattr(value, "value", value)
            made = self.values[name] = numpy.maximum(inner.max(axis=-1, keepdims=True), function.which)
            return Rounded(made, numpy.atleast_1d(value.error).max(keepdims=True)) if inner is not value else made
        if function.name not in OPAQUE:  # a map with weights of its own, whose results are given
            return self._made(self.values.get(name, 0.0))
        compute, slope = OPAQUE[function.name]
        exact = self.values[name] = compute(getattr(value, "value", value))
        if not isinstance(value, Rounded):
            return exact
        if callable(slope):
            off = slope(value.value, value.error)
        else:
            with numpy.errstate(all="ignore"):
                ends = [abs(compute(value.value + sign * value.error) - exact) for sign in (-1, 1)]
            off = numpy.nan_to_num(numpy.maximum(*ends), nan=numpy.inf) if slope is None else slope * value.error
        return Rounded(exact, off + 2.0**-50 * abs(exact))

    def rounded(self, value: Array, dtype: str, terms: Array | None = None) -> Array:
        """The result widened by what an operation of this format may be off.

        4u|z| bounds elementary functions, a mean's two roundings and a fused product. A sum of n numbers in any order
        errs by n·u·Σ|terms|, with u of float32 for half formats; a mean by the n-th part.
        """
        if not isinstance(value, Rounded):
            return value
        form = FORMATS[dtype]
        bound = 4 * float(form.roundoff) * (abs(value.value) + value.error) + float(form.tiny)
        if isinstance(terms, Rounded):
            work = min(float(form.roundoff), float(FORMATS["float32"].roundoff))  # half formats sum in float32
            bound = bound + 2 * work * len(terms) * (abs(terms.value) + terms.error).sum()
        return Rounded(value.value, value.error + bound)

    def reached(self, value: Array, by: Array) -> Array:
        return Rounded(value.value, value.error + by.error) if isinstance(by, Rounded) else value

    def fused(self, layer: Callable[[Array], Array], value: Array, dtype: str) -> Array:
        """A layer in the format it is computed in, four times as far off as two passes are: its passes are not ours."""
        if not isinstance(value, Rounded):
            return layer(value)
        work = "float64" if dtype == "float64" else "float32"
        inside = self.rounded(value, work)
        narrow = Rounded(inside.value.astype(work), inside.error)
        result = layer(narrow)
        return self.rounded(Rounded(result.value.astype(numpy.float64), 4 * result.error), dtype)
