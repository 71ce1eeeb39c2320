"""Residual stream: what the blocks add up to, how its norm changes, and what a shift along 1 does to the network."""

from fractions import Fraction
from random import Random
from typing import Any

import lngeom as lg
from lngeom import kernel as sy

from .._records import read
from .._registry import find
from .._steps import as_sum, product, sum_of_squares
from ..checks import Values, draw_scalar, draw_vector


def _sum(*vectors: Any) -> tuple[Any, ...]:
    return tuple(map(sum, zip(*vectors, strict=True)))


def stream_model(random: Random, d: int) -> dict[str, Any]:
    """Two blocks of a residual stream: h1 = h0 + a1 + m1, h2 = h1 + a2 + m2."""
    values: dict[str, Any] = {name: draw_vector(random, d) for name in ("h0", "a0", "m0", "a1", "m1", "a2", "m2")}
    values["h1"] = _sum(values["h0"], values["a1"], values["m1"])
    values["h2"] = _sum(values["h1"], values["a2"], values["m2"])
    return values


def _triangle(goal: sy.Formula, given: list[sy.Proved], h: Any, a: Any) -> sy.Proved:
    """(‖h‖ + ‖a‖)² − ‖h + a‖² = ‖ ‖a‖h − ‖h‖a ‖²/(‖h‖‖a‖)."""
    first, second = given
    inverse = product(sy.prove(sy.greater(1 / sy.norm(h)), first), sy.prove(sy.greater(1 / sy.norm(a)), second))
    return as_sum(goal, [product(sum_of_squares(sy.norm(a) * h - sy.norm(h) * a), inverse)], first, second)


def same_output(goal: sy.Formula, centered: sy.Proved, h: Any, h2: Any, g: Any, eps: Any) -> sy.Proved:
    """From Πh′ = Πh: LN(h′) = LN(h), because variance and root are those of Πh."""
    after, before = lg.moments(h2)[1] + eps, lg.moments(h)[1] + eps
    # σ²(h′) − σ²(h) = (Πh′ − Πh)·(h′ + h)/d
    same = sy.combine(after - before, [(1 / sy.dim(h), h2 + h, centered)])
    roots = sy.congruence("sqrt", after, before, same)
    inverses = sy.congruence("inv", sy.root(after), sy.root(before), roots)
    return sy.combine(goal.term, [(g * lg.project(h2), None, inverses), (g / sy.root(before), None, centered)])


def _plus(a: tuple[Fraction, ...], b: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    return tuple(p + q for p, q in zip(a, b, strict=True))


def block_model(random: Random, d: int) -> Values:
    """A stream, the same stream with c1 added, and what both are after a branch has written."""
    values: Values = {name: draw_vector(random, d) for name in ("x", "f", "g", "b", "w")}
    values |= {"c": draw_scalar(random), "eps": abs(draw_scalar(random))}
    values["x2"] = tuple(value + values["c"] for value in values["x"])
    return values | {name: _plus(values[stream], values["f"]) for name, stream in (("y", "x"), ("y2", "x2"))}


def unrelated_model(random: Random, d: int) -> Values:
    """The same with a second stream that is not the first one shifted."""
    values = block_model(random, d) | {"x2": draw_vector(random, d)}
    return values | {"y2": _plus(values["x2"], values["f"])}


def unnormalized_model(random: Random, d: int) -> Values:
    """The same with a branch that reads the stream itself, by the weights w."""
    values = block_model(random, d)

    def written(stream: str) -> tuple[Fraction, ...]:
        return tuple(w * value for w, value in zip(values["w"], values[stream], strict=True))

    return values | {name: _plus(values[stream], written(stream)) for name, stream in (("y", "x"), ("y2", "x2"))}


def unshifted_model(random: Random, d: int) -> Values:
    """A shift by 0, which changes nothing."""
    return block_model(random, d) | {"c": Fraction(0)}


def constant_model(random: Random, d: int) -> Values:
    """A positive constant vector, which at ε = 0 RMSNorm does not tell from a longer one."""
    return block_model(random, d) | {"x": (Fraction(1),) * d, "c": Fraction(2), "eps": Fraction(0)}


def hidden_model(random: Random, d: int) -> Values:
    """All gains zero."""
    return block_model(random, d) | {"g": (Fraction(0),) * d}


def _same_written(goal: sy.Formula, given: list[sy.Proved], y: Any, y2: Any, g: Any, c: Any, eps: Any) -> sy.Proved:
    """y′ = y + c1, hence Πy′ = Πy."""
    shifted, after, shifted_after = given
    carried = sy.combine(y2 - y - c * sy.ones(y), [(1, None, shifted), (1, None, shifted_after), (-1, None, after)])
    centered = sy.combine(lg.project(y2) - lg.project(y), [(1, None, carried), (-1 / sy.dim(y), sy.ones(y), carried)])
    return same_output(goal, centered, y, y2, g, eps)


def _seen(goal: sy.Formula, given: list[sy.Proved], x: Any, g: Any, b: Any, c: Any, eps: Any) -> sy.Proved:
    """Without gain and bias the outputs are equal as well, and RMSNorm is injective."""
    nonzero, positive, same = given
    injective = find("irreversibility.rms_norm_injective").prove()
    injective = sy.instantiate(injective, {sy.vector("x2"): x + c * sy.ones(x)})
    before, after = lg.rms_norm(x, eps=eps), lg.rms_norm(x + c * sy.ones(x), eps=eps)
    undone = sy.prove(sy.equal((g * after + b - (g * before + b)) / g, after - before), nonzero)
    # ((g∘y′ + b) − (g∘y + b))/g = y′ − y
    outputs = sy.combine(after - before, [(-1, None, undone), (1 / g, None, same)])
    return sy.prove(goal, sy.cut(positive, sy.cut(outputs, injective)))


def _opened(y: Any, eps: Any) -> Any:
    """√ε y/√(1 − ‖y‖²/d), the inverse of RMSNorm."""
    return sy.root(eps) * y / sy.root(1 - sy.square_norm(y) / sy.dim(y))


THEOREMS = read(__name__)
