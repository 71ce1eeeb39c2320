"""The ellipsoid as a set around its center: symmetry, the gauge of a point, and the form that describes it."""

from __future__ import annotations

from typing import Any

import lngeom as lg
from lngeom.symbolic import at_least, dot, equal, greater, square_norm

from ..._hypotheses import NONZERO_GAIN
from ..._sources import ABSTRACT, BLOG
from ..._steps import as_sum, sum_of_squares
from ..._theorem import Mutant, Source, Theorem
from ._inverse import inverse_spread, off_alpha, untilted


def _moved(x: Any, g: Any, b: Any, eps: Any) -> Any:
    """The output measured from the center, z − b."""
    return lg.layer_norm(x, g, b, eps=eps) - b


THEOREMS = (
    Theorem(
        id="ellipsoid.center",
        title="The bias is the center of the set of outputs",
        statement="LN(−x) − b = −(LN(x) − b)",
        source=Source(BLOG, "on h", "the bias moves the ellipsoid and is its center"),
        vectors="x g b",
        scalars="eps",
        claim=lambda x, g, b, eps: equal(_moved(-x, g, b, eps), -_moved(x, g, b, eps)),
        mutants=(
            Mutant(
                "0 is the center",
                lambda x, g, b, eps: equal(lg.layer_norm(-x, g, b, eps=eps), -lg.layer_norm(x, g, b, eps=eps)),
            ),
            Mutant(
                "opposite inputs have equal outputs",
                lambda x, g, b, eps: equal(_moved(-x, g, b, eps), _moved(x, g, b, eps)),
            ),
        ),
    ),
    Theorem(
        id="ellipsoid.same_gauge",
        title="Gain and bias leave an output where it is between center and surface",
        statement="Σ (z_i − b_i)²/g_i² = ‖y‖²",
        source=Source(
            ABSTRACT, "mechanism 3", "normalization and affine map together concentrate points near the surface"
        ),
        vectors="x g b",
        scalars="eps",
        hypotheses=NONZERO_GAIN,
        claim=lambda x, g, b, eps: equal(
            square_norm(_moved(x, g, b, eps) / g), square_norm(lg.standardize(x, eps=eps))
        ),
        mutants=(
            Mutant(
                "without the squares of the gains",
                lambda x, g, b, eps: equal(square_norm(_moved(x, g, b, eps)), square_norm(lg.standardize(x, eps=eps))),
            ),
            Mutant(
                "measured from 0",
                lambda x, g, b, eps: equal(
                    square_norm(lg.layer_norm(x, g, b, eps=eps) / g), square_norm(lg.standardize(x, eps=eps))
                ),
            ),
        ),
    ),
    Theorem(
        id="ellipsoid.form_symmetric",
        title="The matrix of the ellipsoid is symmetric",
        statement="w·(Π₂G⁻²Π₂v) = v·(Π₂G⁻²Π₂w)",
        source=Source(ABSTRACT, "failure signatures", "complex eigenvalues would be an error"),
        vectors="v w g",
        claim=lambda v, w, g: equal(dot(w, inverse_spread(g, v)), dot(v, inverse_spread(g, w))),
        remark="Its eigenvalues are real.",
        mutants=(
            Mutant(
                "with one projector only",
                lambda v, w, g: equal(dot(w, off_alpha(g, v) / (g * g)), dot(v, off_alpha(g, w) / (g * g))),
                NONZERO_GAIN,
            ),
        ),
    ),
    Theorem(
        id="ellipsoid.form_positive",
        title="The matrix of the ellipsoid has no negative eigenvalue",
        statement="v·(Π₂G⁻²Π₂v) ≥ 0",
        source=Source(ABSTRACT, "failure signatures", "negative eigenvalues would be an error"),
        vectors="v g",
        claim=lambda v, g: at_least(dot(v, inverse_spread(g, v))),
        proof=lambda goal, v, g: as_sum(goal, [sum_of_squares(off_alpha(g, v) / g)]),
        mutants=(
            Mutant("positive for every v", lambda v, g: greater(dot(v, inverse_spread(g, v)))),
            Mutant(
                "at least the form with the projector off 1",
                lambda v, g: at_least(dot(v, inverse_spread(g, v)), dot(v, untilted(g, v))),
            ),
        ),
    ),
)
