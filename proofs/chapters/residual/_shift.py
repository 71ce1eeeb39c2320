"""A shift of the stream along 1: a network of LayerNorms forgets it, one RMSNorm never does."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import lngeom as lg
from lngeom.symbolic import (
    Formula,
    Theorem as Proved,
    combine,
    cut,
    dim,
    equal,
    instantiate,
    ones,
    prove,
    root,
    square_norm,
    vector,
)

from ..._hypotheses import NONZERO_GAIN, POSITIVE_EPS
from ..._registry import find
from ..._sources import GUPTA, JIANG, OWN
from ..._theorem import Mutant, Source, Theorem
from ...checks import Values, draw_scalar, draw_vector
from ._growth import same_output


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


def _same_written(goal: Formula, given: list[Proved], y: Any, y2: Any, g: Any, c: Any, eps: Any) -> Proved:
    """y′ = y + c1, hence Πy′ = Πy."""
    shifted, after, shifted_after = given
    carried = combine(y2 - y - c * ones(y), [(1, None, shifted), (1, None, shifted_after), (-1, None, after)])
    centered = combine(lg.project(y2) - lg.project(y), [(1, None, carried), (-1 / dim(y), ones(y), carried)])
    return same_output(goal, centered, y, y2, g, eps)


def _seen(goal: Formula, given: list[Proved], x: Any, g: Any, b: Any, c: Any, eps: Any) -> Proved:
    """Without gain and bias the outputs are equal as well, and RMSNorm is injective."""
    nonzero, positive, same = given
    injective = find("irreversibility.rms_norm_injective").prove()
    injective = instantiate(injective, {vector("x2"): x + c * ones(x)})
    before, after = lg.rms_norm(x, eps=eps), lg.rms_norm(x + c * ones(x), eps=eps)
    undone = prove(equal((g * after + b - (g * before + b)) / g, after - before), nonzero)
    # ((g∘y′ + b) − (g∘y + b))/g = y′ − y
    outputs = combine(after - before, [(-1, None, undone), (1 / g, None, same)])
    return prove(goal, cut(positive, cut(outputs, injective)))


def _opened(y: Any, eps: Any) -> Any:
    """√ε y/√(1 − ‖y‖²/d), the inverse of RMSNorm."""
    return root(eps) * y / root(1 - square_norm(y) / dim(y))


SHIFTED = {"x′ = x + c1": lambda x, x2, c: equal(x2, x + c * ones(x))}
BLOCK = {**SHIFTED, "y = x + f": lambda x, y, f: equal(y, x + f), "y′ = x′ + f": lambda x2, y2, f: equal(y2, x2 + f)}
UNNORMALIZED = {
    **SHIFTED,
    "y = x + w∘x": lambda x, y, w: equal(y, x + w * x),
    "y′ = x′ + w∘x′": lambda x2, y2, w: equal(y2, x2 + w * x2),
}

THEOREMS = (
    Theorem(
        id="residual.shift_forgotten",
        title="A Pre-LN network forgets what is added to its stream along 1",
        statement="x′ = x + c1, y = x + f, y′ = x′ + f imply LN_ε(y′; g, b) = LN_ε(y; g, b)",
        source=Source(JIANG, "section 3", "the mean of the stream of a Pre-LN network is never read"),
        vectors="x x2 f y y2 g b w",
        scalars="c eps",
        hypotheses=BLOCK,
        claim=lambda y, y2, g, b, eps: equal(lg.layer_norm(y2, g, b, eps=eps), lg.layer_norm(y, g, b, eps=eps)),
        proof=_same_written,
        model=block_model,
        without={"x′ = x + c1": unrelated_model},
        last_step=(
            "For any number of branches, each any function of what a LayerNorm returns at all positions, "
            "with a shift of its own at each position: the two streams differ by the shifts to the end, and "
            "the final norm returns the same."
        ),
        remark="Each branch must read through a LayerNorm, and the stream must be added to as it is.",
        mutants=(
            Mutant(
                "the same for a network of RMSNorms",
                lambda y, y2, g, b, eps: equal(lg.rms_norm(y2, g, b, eps=eps), lg.rms_norm(y, g, b, eps=eps)),
            ),
            Mutant("a branch reads the stream before its norm", hypotheses=UNNORMALIZED, model=unnormalized_model),
            Mutant("the stream is read without a final norm", lambda y, y2: equal(y2, y)),
        ),
    ),
    Theorem(
        id="residual.shift_seen",
        title="No RMSNorm with ε > 0 forgets a shift along 1",
        statement="RMS_ε(x + c1; g, b) = RMS_ε(x; g, b) implies c = 0, for ε > 0 and nonzero gains",
        source=Source(GUPTA, "section 3.2", "finds that RMSNorm models learn to avoid the uniform direction"),
        vectors="x g b",
        scalars="c eps",
        hypotheses={
            **NONZERO_GAIN,
            **POSITIVE_EPS,
            "RMS_ε(x + c1) = RMS_ε(x)": lambda x, g, b, c, eps: equal(
                lg.rms_norm(x + c * ones(x), g, b, eps=eps), lg.rms_norm(x, g, b, eps=eps)
            ),
        },
        claim=lambda c: equal(c, 0),
        proof=_seen,
        model=unshifted_model,
        without={"g_i ≠ 0": hidden_model, "ε > 0": constant_model},
        remark="The first norm of a network of RMSNorms therefore puts out something else when c1 is added to the "
        "stream. Of the network's output nothing follows: see residual.shift_erased.",
        mutants=(
            Mutant(
                "the same for LayerNorm",
                hypotheses={
                    **NONZERO_GAIN,
                    **POSITIVE_EPS,
                    "LN_ε(x + c1) = LN_ε(x)": lambda x, g, b, c, eps: equal(
                        lg.layer_norm(x + c * ones(x), g, b, eps=eps), lg.layer_norm(x, g, b, eps=eps)
                    ),
                },
                model=block_model,
            ),
        ),
    ),
    Theorem(
        id="residual.shift_erased",
        title="A branch behind an RMSNorm can erase the stream, and any shift with it",
        statement="x + f(RMS_ε(x)) = 0 for f(y) = −√ε y/√(1 − ‖y‖²/d) and ε > 0",
        source=Source(OWN, "residual stream", "that every RMSNorm network depends on the shift is not a theorem"),
        scalars="eps",
        hypotheses=POSITIVE_EPS,
        claim=lambda x, eps: equal(x - _opened(lg.rms_norm(x, eps=eps), eps), 0),
        remark="After this branch the stream is 0 for every x, so that the network's output does not depend on what "
        "was added before: whether a given network does is a question for a measurement.",
        mutants=(
            Mutant(
                "the same behind a LayerNorm", lambda x, eps: equal(x - _opened(lg.standardize(x, eps=eps), eps), 0)
            ),
            Mutant("f(y) = −y", lambda x, eps: equal(x - lg.rms_norm(x, eps=eps), 0)),
        ),
    ),
)
