"""The other placement of ε, outside the root: σ + ε."""

from __future__ import annotations

from typing import Any

import lngeom as lg
from lngeom.symbolic import (
    Formula,
    Theorem as Proved,
    combine,
    dim,
    equal,
    greater,
    inverse,
    norm,
    prove,
    root,
    square_norm,
    square_of_root,
)

from ..._hypotheses import POSITIVE_EPS, deviation
from ..._sources import BLOG
from ..._theorem import Mutant, Source, Theorem


def _standard(x: Any, eps: Any) -> Any:
    return lg.standardize(x, eps=eps, placement="outside")


def _sphere(x: Any, eps: Any) -> Any:
    return lg.rms_norm(x, eps=eps, placement="outside")


def _quotient(v: Any, given: list[Proved], eps: Any) -> Proved:
    """(‖v‖ + ε√d)/(‖v‖/√d + ε) = √d, where ‖v‖/√d is written √(‖v‖²/d)."""
    mean_root = root(square_norm(v) / dim(v))
    law = inverse(prove(greater(mean_root + eps), *given))
    same = prove(equal(norm(v), root(dim(v)) * mean_root), *given)
    share = 1 / (mean_root + eps)
    return combine(
        (norm(v) + eps * root(dim(v))) * share - root(dim(v)), [(share, None, same), (root(dim(v)), None, law)]
    )


def _steps(goal: Formula, given: list[Proved], x: Any, eps: Any) -> Proved:
    return combine(goal.term, [(lg.project(x), None, _quotient(lg.project(x), given, eps))])


def _length(goal: Formula, given: list[Proved], x: Any, eps: Any) -> Proved:
    quotient = _quotient(x, given, eps)
    root_d = square_of_root(prove(greater(dim(x))))
    factor = quotient.conclusion.term + 2 * root(dim(x))
    return combine(goal.term, [(square_norm(x) * factor, None, quotient), (square_norm(x), None, root_d)])


THEOREMS = (
    Theorem(
        id="epsilon.outside_steps",
        title="With ε outside the root too, LayerNorm projects and then divides by a norm",
        statement="(‖Πx‖ + ε√d) y = √d Πx for y = Πx/(σ + ε)",
        source=Source(BLOG, "definition", "lnorm = h∘g∘f with f = Π and g(x) = √n x/(‖x‖ + ε√n)"),
        scalars="eps",
        hypotheses=POSITIVE_EPS,
        claim=lambda x, eps: equal(
            (norm(lg.project(x)) + eps * root(dim(x))) * _standard(x, eps), root(dim(x)) * lg.project(x)
        ),
        proof=_steps,
        without={"ε > 0": lambda random, d: {"x": (1, -1) * (d // 2) + (0,) * (d % 2), "eps": -1}},
        mutants=(
            Mutant(
                "ε without √d",
                lambda x, eps: equal((norm(lg.project(x)) + eps) * _standard(x, eps), root(dim(x)) * lg.project(x)),
            ),
            Mutant(
                "ε inside the root",
                lambda x, eps: equal(
                    (norm(lg.project(x)) + eps * root(dim(x))) * lg.standardize(x, eps=eps),
                    root(dim(x)) * lg.project(x),
                ),
            ),
        ),
    ),
    Theorem(
        id="epsilon.outside_length",
        title="With ε outside the root the length depends on σ, not on ‖x‖",
        statement="‖y‖²(σ + ε)² = dσ² for y = Πx/(σ + ε)",
        source=Source(BLOG, "on g", "only vectors very close to the origin miss the sphere"),
        scalars="eps",
        hypotheses=POSITIVE_EPS,
        claim=lambda x, eps: equal(
            square_norm(_standard(x, eps)) * (deviation(x) + eps) ** 2, dim(x) * deviation(x) ** 2
        ),
        without={"ε > 0": lambda random, d: {"x": (1, -1) * (d // 2) + (0,) * (d % 2), "eps": -1}},
        mutants=(
            Mutant("norm √d", lambda x, eps: equal(square_norm(_standard(x, eps)), dim(x))),
            Mutant(
                "‖x‖ in place of √d σ",
                lambda x, eps: equal(
                    square_norm(_standard(x, eps)) * (norm(x) + eps * root(dim(x))) ** 2, dim(x) * square_norm(x)
                ),
            ),
        ),
    ),
    Theorem(
        id="epsilon.outside_rms_length",
        title="Whether a vector comes near the sphere depends on ‖x‖ against ε√d",
        statement="‖g(x)‖²(‖x‖ + ε√d)² = d‖x‖² for g(x) = x/(‖x‖/√d + ε)",
        source=Source(BLOG, "on g", "‖x‖ ≫ ε brings a vector to the sphere"),
        scalars="eps",
        hypotheses=POSITIVE_EPS,
        claim=lambda x, eps: equal(
            square_norm(_sphere(x, eps)) * (norm(x) + eps * root(dim(x))) ** 2, dim(x) * square_norm(x)
        ),
        proof=_length,
        without={"ε > 0": lambda random, d: {"x": (1,) * d, "eps": -1}},
        mutants=(
            Mutant(
                "ε without √d",
                lambda x, eps: equal(square_norm(_sphere(x, eps)) * (norm(x) + eps) ** 2, dim(x) * square_norm(x)),
            ),
        ),
    ),
)
