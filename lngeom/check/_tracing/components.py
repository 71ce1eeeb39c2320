"""Operations of single components on traced arrays: one table, with a column of names for each library."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from .arrays import Arr, filled
from .choices import compared
from .reductions import contracted

Operation = Callable[..., Any]
"""A function of an array, of a further operand, and of the format of the result."""

_NAMES: str = """
            torch             numpy               jax       onnx
add         -                 add                 add       Add
subtract    -                 subtract            sub       Sub
multiply    mul,rmul,multiply multiply            mul       Mul
divide      -                 divide,true_divide  div       Div
power       -                 power,float_power   pow       Pow
maximum     maximum           maximum             max       Max
minimum     minimum           minimum             min       Min
hypot       hypot             hypot               -         -
matmul      matmul            matmul              -         -
negative    neg,negative      negative            neg       Neg
absolute    abs,absolute      absolute            abs       Abs
sqrt        sqrt              sqrt                sqrt      Sqrt
rsqrt       rsqrt             -                   rsqrt     -
square      square            square              square    -
reciprocal  reciprocal        reciprocal          -         Reciprocal
exp         exp               exp                 exp       Exp
log         log               log                 log       Log
tanh        tanh              tanh                tanh      -
sigmoid     sigmoid           -                   logistic  -
>           gt                greater             gt        -
>=          ge                greater_equal       ge        -
<           lt                less                lt        -
<=          le                less_equal          le        -
=           eq                equal               eq        -
!=          ne                not_equal           ne        -
"""
_OPERATIONS: dict[str, Operation] = {
    "add": lambda a, b, dtype: a.combined(b, operator.add, dtype),
    "subtract": lambda a, b, dtype: a.combined(b, operator.sub, dtype),
    "multiply": lambda a, b, dtype: a.combined(b, operator.mul, dtype),
    "divide": lambda a, b, dtype: a.divided(b, dtype),
    "power": lambda a, b, _: a.power(b),
    "maximum": lambda a, b, _: a.maximum(b),
    "minimum": lambda a, b, _: a.maximum(b, sign=-1),
    "hypot": lambda a, b, dtype: a.hypotenuse(b, dtype),
    "matmul": lambda a, b, dtype: contracted(a, b, dtype),
    "negative": lambda a, _: -a,
    "absolute": lambda a, _: a.absolute(),
    "sqrt": lambda a, _: a.root(),
    "rsqrt": lambda a, _: a.power(-0.5),
    "square": lambda a, _: a.combined(a, operator.mul),
    "reciprocal": lambda a, _: a.filled(1, ()).divided(a),
    "exp": lambda a, _: a.exponential(),
    "log": lambda a, _: a.logarithm(),
    "tanh": lambda a, _: a.applied("tanh"),
    "sigmoid": lambda a, _: a.applied("sigmoid"),
    **{name: (lambda a, b, _, how=name: compared(a, b, how)) for name in ("<", "<=", ">", ">=", "=", "!=")},
}


def components(library: str, promoted: Callable[[Sequence[Arr]], str]) -> dict[str, Operation]:
    """The operations by their names in a library; `promoted` is the format of the result for that of the operands."""

    def of(operation: Operation) -> Operation:
        def compute(first: object, *others: object) -> Arr:
            arrays = [value for value in (first, *others) if isinstance(value, Arr)]
            dtype = promoted(arrays)
            return operation(
                first if isinstance(first, Arr) else filled(arrays[0].trace, first, (), dtype), *others, dtype
            )

        return compute

    head, *rows = (line.split() for line in _NAMES.strip().splitlines())
    listed = ((_OPERATIONS[row[0]], row[1 + head.index(library)]) for row in rows)
    return {name: of(operation) for operation, names in listed for name in names.split(",") if name != "-"}
