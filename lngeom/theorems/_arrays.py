"""Bodies on the arrays that users have: NumPy and PyTorch, two dtypes, one vector and a batch, short and wide rows.

Results are compared with floats that know their error, on the same numbers: both sides of each statement have to lie
within both bounds, and the statement has to hold within them. Comparisons make statements where the body makes them;
inside the library they compare.
"""

import contextlib
import functools
import importlib
import importlib.util
import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from weakref import WeakKeyDictionary

import numpy
from hypothesis import errors, given, reject

from ..carriers import Array, Rounded
from ..errors import InputError
from ._body import VECTORS
from ._errors import BodyError, CheckError
from ._models import plan_of, satisfied, searching, several
from ._run import Floats, Run, Values, numbers_of, violated
from ._search import small_models
from ._statement import Statement
from ._theorem import Theorem
from ._value import compares_plainly

BATCHES, ROWS, WIDE = 4, 3, 520
"""Batches of a theorem, rows of one, and components of a wide row: more than any block of a summation holds.

The batches take the dtypes in turn, the wide row comes in each.
"""

DTYPES = ("float64", "float32")

_RELATIONS = {"__eq__": "==", "__ne__": "!=", "__gt__": ">", "__ge__": ">=", "__lt__": "<", "__le__": "<="}


def _comparing(base: type) -> dict:
    """Methods that differ for arrays: in a theorem's body comparisons are statements, and numbers have an axis.

    As terms they are not iterated over: of two that can be, pytest tells the differences line by line, in minutes.

    Functions of one number for each vector drop the last axis, ``[..., 0]``, which carriers without a shape ignore;
    here it stays, so that one body is about a batch, too.
    """

    def method(name: str) -> Callable[[Array, Array], Array]:
        def compare(self: Array, other: Array) -> Array:
            if compares_plainly(sys._getframe(1)):
                return getattr(base, name)(self, other)
            return Statement(self, _RELATIONS[name], other)

        return compare

    def item(self: Array, index: object) -> Array:
        number = isinstance(index, tuple) and index == (..., 0) and self.ndim and self.shape[-1] == 1
        return self if number and compares_plainly(sys._getframe(1)) else base.__getitem__(self, index)

    return {name: method(name) for name in _RELATIONS} | {"__hash__": None, "__iter__": None, "__getitem__": item}


class _Array(numpy.ndarray):
    """An ndarray whose comparisons make statements; results without axes stay arrays."""

    computes_as_its_base = True

    def __array_wrap__(
        self, array: numpy.ndarray, context: object = None, return_scalar: bool = False
    ) -> numpy.ndarray:
        return array.view(type(self)) if array.dtype.kind == "f" else array

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        result = super().__array_function__(function, types, inputs, options)
        made = type(result) is numpy.ndarray and result.dtype.kind == "f"
        return numpy.asarray(result).view(_Array) if made or isinstance(result, numpy.floating) else result


for _name, _method in _comparing(numpy.ndarray).items():
    setattr(_Array, _name, _method)


@functools.cache
def _makers() -> dict[str, Callable[[numpy.ndarray], Array]]:
    """How each library that is installed makes an array whose comparisons are statements."""
    makers: dict[str, Callable[[numpy.ndarray], Array]] = {"NumPy": lambda array: numpy.array(array).view(_Array)}
    if importlib.util.find_spec("torch"):
        torch = importlib.import_module("torch")
        tensor = type("Tensor", (torch.Tensor,), _comparing(torch.Tensor))
        makers["PyTorch"] = lambda array: torch.tensor(numpy.asarray(array)).as_subclass(tensor)
    return makers


class _Compared(Run):
    """Arrays whose rows are compared with floats that know their error; without such floats all is true."""

    def __init__(self, expected: list[Floats]) -> None:
        super().__init__()
        self.expected = expected
        self.count = 0
        self.numbers = 0

    def decide(self, statement: Statement) -> bool:
        """Whether both sides, and their difference, are within the bounds in every row."""
        k = self.count
        self.count += 1
        if not self.expected:
            return True
        if k >= len(self.expected[0].sides):
            raise BodyError("on arrays the body compares more than on floats: it may not depend on what runs it")
        lengths = [len(side) for side in self.expected[0].sides[k]]
        sides = [_rows(side, len(self.expected), max(lengths)) for side in statement.sides()]
        return all(
            self._close(statement.sign, [side[row] for side in sides], *floats.sides[k])
            for row, floats in enumerate(self.expected)
        )

    def _close(self, sign: str, computed: list[numpy.ndarray], left: Rounded, right: Rounded) -> bool:
        orders = [(left, right), (right, left)] if sign == "=" else [(left, right)]
        near = any(all(map(self._within, computed, order)) for order in orders)
        bound = 2 * (left - right).error
        return near and not violated(computed[0] - computed[1], bound, sign).any()

    def _within(self, side: numpy.ndarray, expected: Rounded) -> bool:
        known = numpy.isfinite(expected.error)
        self.numbers += int(known.sum())
        with numpy.errstate(all="ignore"):
            return bool((~known | (abs(side - expected.value.astype(float)) <= 2 * expected.error)).all())


def _rows(side: Array, count: int, length: int) -> numpy.ndarray:
    """One side of a statement as `count` rows of float64 numbers, also where each is one number without an axis."""
    numbers = numpy.atleast_1d(numpy.asarray(side.detach() if hasattr(side, "detach") else side, dtype=numpy.float64))
    if length == 1 and numbers.shape == (count,):
        numbers = numbers[:, None]
    return numpy.broadcast_to(numbers, (count, numbers.shape[-1]))


# ------------------------------------------------------------------------------------------------------------ batches


@dataclass
class _Done:
    """Counts of comparisons so far, which decide the next one; after a failure, which runs again, nothing changes.

    A wide row is telling if its vectors vary: of others little can be wrong.
    """

    batches: int = 0
    numbers: int = 0
    telling: bool = False
    failed: bool = False


def check_arrays(theorem: Theorem, count: int = BATCHES) -> int:
    """Arrays of each library and dtype compute what the floats do; returns how many numbers were compared.

    Raises:
        AssertionError: By the assert whose sides are further off than their bounds.
        CheckError: If nothing was compared.
    """
    done = _Done()

    def run(models: tuple[int, list[Values]]) -> None:
        numbers, telling = 0, False
        try:
            for d, rows in _batches(theorem, *models, wide=not done.telling):
                dtypes = DTYPES if d >= WIDE else [DTYPES[done.batches % len(DTYPES)]]
                numbers += sum(_compared(theorem, d, rows, dtype) for dtype in dtypes)
                varied = (len(set(value)) > 1 for value in rows[0].values() if isinstance(value, tuple))
                telling = telling or (d >= WIDE and all(varied))
        except errors.UnsatisfiedAssumption:
            raise
        except BaseException:
            done.failed = True
            raise
        if not done.failed:
            done.batches, done.telling, done.numbers = done.batches + 1, done.telling or telling, done.numbers + numbers

    with contextlib.suppress(errors.Unsatisfiable):
        searching(count)(given(several(theorem, ROWS))(run))()
    for d, values in () if done.numbers else itertools.islice(small_models(theorem), count):
        run((d, [values]))
    if not done.numbers:
        raise CheckError(f"{theorem.id}: no arrays satisfy the hypotheses with a finite error bound: give `models`")
    return done.numbers


def _batches(theorem: Theorem, d: int, models: list[Values], *, wide: bool) -> Iterator[tuple[int, list[Values]]]:
    """Rows of one dimension that share gain and bias; and a wide one."""
    plan = plan_of(theorem)
    first, *others = models
    if not satisfied(theorem.conditions.values(), first, d):
        reject()
    fixed = {name: first[name] for name in _shared(theorem, first)}
    rows = (plan.completed({**values, **fixed}, d, anew=True) for values in others)
    yield d, [first, *(values for values in rows if values and satisfied(theorem.conditions.values(), values, d))]
    for stretch in (_tiled, _padded) if wide and not theorem.listing.traced else ():
        copies = -(-WIDE // d)
        values = {name: stretch(v, copies) if isinstance(v, tuple) else v for name, v in first.items()}
        if satisfied(theorem.conditions.values(), values, copies * d):
            yield copies * d, [values]
            break


def _tiled(vector: tuple[Fraction, ...], copies: int) -> tuple[Fraction, ...]:
    return vector * copies


def _padded(vector: tuple[Fraction, ...], copies: int) -> tuple[Fraction, ...]:
    return vector + (Fraction(0),) * (len(vector) * (copies - 1))


_SHARED: WeakKeyDictionary[Theorem, list[str]] = WeakKeyDictionary()


def _shared(theorem: Theorem, values: Values) -> list[str]:
    """The vectors that the library takes in the shape (d,) alone: gains, biases and directions."""
    if theorem not in _SHARED:
        vectors = [name for name, kind in theorem.kinds.items() if kind in VECTORS]
        _SHARED[theorem] = [name for name in vectors if not _runs_with_a_batch_of(name, theorem, values)]
    return _SHARED[theorem]


def _runs_with_a_batch_of(name: str, theorem: Theorem, values: Values) -> bool:
    arrays = {other: Rounded.of(value).value for other, value in values.items()}
    arrays[name] = numpy.stack([arrays[name]] * 2)
    try:
        with numpy.errstate(all="ignore"):
            _Compared([]).execute(theorem.body, arrays, _makers()["NumPy"])
    except (InputError, ValueError, RuntimeError):  # PyTorch, where a function takes no batch
        return False
    return True


def _compared(theorem: Theorem, d: int, rows: list[Values], dtype: str) -> int:
    """How many numbers of arrays of one dtype were compared."""
    exact = [{name: Rounded.of(value, dtype) for name, value in values.items()} for values in rows]
    expected = []
    for row in exact:
        expected.append(Floats())
        expected[-1].execute(theorem.body, row)
    count = 0
    for library, made in _makers().items():
        for batch in [exact[:1]] if theorem.listing.flat else [exact[:1], exact]:
            run = _Compared(expected[: len(batch)])
            try:
                with numpy.errstate(all="ignore"):
                    run.execute(theorem.body, _stacked(theorem, batch), made)
            except InputError:  # the library refuses the point, as LayerNorm's inverse does near the ball's surface
                continue
            except AssertionError as error:
                shape = f"({len(batch)}, {d})" if batch is exact else f"({d},)"
                error.add_note(f"on arrays of {library} in {dtype}, shape {shape}: {numbers_of(rows[0], d)}")
                raise
            if run.count != len(theorem.goals):
                raise BodyError(f"on arrays {run.count} of {len(theorem.goals)} statements are compared in the body")
            count += run.numbers
    return count


def _stacked(theorem: Theorem, batch: list[dict[str, Rounded]]) -> dict[str, numpy.ndarray]:
    """One vector of shape (d,), or a batch of shape (n, d) with what its rows share in the shape (d,)."""
    if len(batch) == 1:
        return {name: value.value for name, value in batch[0].items()}
    shared = _SHARED[theorem]
    return {
        name: batch[0][name].value if name in shared else numpy.stack([row[name].value for row in batch])
        for name in batch[0]
    }
