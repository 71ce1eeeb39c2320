"""The mean vector and the explanation of LayerNorm: section 2.1 to algorithm 1."""

from __future__ import annotations

from .. import _citations as cited
from .._claim import Claim
from ..counterexamples import projection, standardization

CLAIMS = (
    Claim(
        id="1-15",
        place="section 2.1",
        says="‖1‖ = √d.",
        verdict="true",
        correction="As stated.",
        theorems=("projection.uniform_norm",),
    ),
    Claim(
        id="1-16",
        place="eq. 5",
        says="‖μ1‖ = μ‖1‖.",
        verdict="false",
        why="μ can be negative, a norm cannot.",
        correction="‖μ1‖ = |μ|√d.",
        theorems=("projection.mean_vector_norm",),
        counterexample=projection.negative_mean,
    ),
    Claim(
        id="1-17",
        place="eq. 5",
        says="‖μ1‖ = ‖x‖ cos θ, θ the angle between x and 1.",
        verdict="false",
        why="The cosine is negative for angles above 90°.",
        correction="‖μ1‖ = ‖x‖ |cos θ|.",
        hypotheses=("x is not 0",),
        theorems=("projection.mean_vector_cosine",),
        counterexample=projection.negative_mean,
    ),
    Claim(
        id="1-18",
        place="eq. 6",
        says="‖μ1‖ = x·1̂: the norm of the mean vector is the projection of x along 1.",
        verdict="false",
        why="μ1 is the projection with its sign; its norm has lost the sign.",
        correction="‖μ1‖ = |x·1̂|.",
        theorems=("projection.mean_vector_norm",),
        counterexample=projection.negative_mean,
    ),
    Claim(
        id="1-19",
        place="section 2.1",
        says="The mean vector points in the direction of 1.",
        verdict="true_under",
        correction="μ1 is a multiple of 1; it points along 1 for μ > 0, against it for μ < 0, and "
        "nowhere for μ = 0.",
        hypotheses=("μ > 0",),
        theorems=("projection.mean_vector",),
        counterexample=projection.negative_mean,
    ),
    Claim(
        id="1-20",
        place="eqs. 2 and 7",
        says="μ1 = (x·1̂)1̂.",
        verdict="true",
        correction="As stated, for every x.",
        theorems=("projection.mean_vector",),
    ),
    Claim(
        id="1-21",
        place="after eq. 7",
        says="The geometric meaning of the mean vector was not discussed before.",
        verdict="convention",
        why="Earlier works write the same projection, one of them the same equation 9.",
        correction="Known since 2022 at the latest.",
        citations=(cited.WINSOR, cited.BRODY, cited.MOLINA, cited.RIECHERS),
    ),
    Claim(
        id="1-22",
        place="eq. 8",
        says="x − μ1 = x − (x·1̂)1̂: subtracting the mean removes the projection along 1.",
        verdict="true",
        correction="As stated: x − μ1 = Πx.",
        theorems=("projection.mean_subtraction", "projection.mean_vector"),
        figure="three-steps",
    ),
    Claim(
        id="1-23",
        place="eq. 9",
        says="y = √d Πx/‖Πx‖.",
        verdict="true_under",
        correction="For ε = 0 and x not a multiple of 1. With ε: y = √d Πx/√(‖Πx‖² + dε).",
        hypotheses=("x is not constant", "ε = 0"),
        theorems=("standardization.geometric",),
        counterexample=standardization.with_eps_or_equal_components,
    ),
    Claim(
        id="1-24",
        place="algorithm 1",
        says="Throw away the component along 1, normalize, scale by √d.",
        verdict="true_under",
        correction="For ε = 0 and x not a multiple of 1; steps 2 and 3 can be exchanged, step 1 must "
        "come first.",
        hypotheses=("x is not constant", "ε = 0", "the steps in this order"),
        theorems=("standardization.geometric",),
        counterexample=standardization.steps_exchanged,
        figure="steps",
    ),
    Claim(
        id="1-25",
        place="after eq. 9",
        says="The standardized vector has norm √d and is orthogonal to 1.",
        verdict="true_under",
        correction="Norm √d for ε = 0, √d √(σ²/(σ² + ε)) else; orthogonal to 1 for every ε; with gain "
        "and bias α·(z − b) = 0 "
        "instead, α = 1/g.",
        hypotheses=("x is not constant", "ε = 0"),
        theorems=("standardization.norm", "standardization.mean_zero"),
        counterexample=standardization.with_eps_or_equal_components,
    ),
)
