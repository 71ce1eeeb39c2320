"""The AI summary of Gupta et al., with the abstract it quotes."""

from __future__ import annotations

from . import _citations as cited
from ._claim import Claim, Document
from ._columns import sites, study, summary
from .counterexamples import jacobian, projection, standardization

DOCUMENT = Document(
    "summary",
    "AI summary of Gupta et al.",
    "a generated summary of Gupta et al., arXiv:2409.12951, with the abstract of its second version",
)

CLAIMS = (
    Claim(
        id="0-1",
        place="summary, method",
        says="Mean removal is the orthogonal projection onto the direction of the uniform vector: x − "
        "μ1 = 11ᵀx/d.",
        verdict="false",
        why="It is the projection off that direction. Projecting onto 1 gives the mean vector μ1, which "
        "is what is removed.",
        correction="x − μ1 = Πx = (I − 11ᵀ/d)x, the projection onto the hyperplane 1^⊥.",
        theorems=("projection.mean_subtraction", "projection.mean_vector"),
        counterexample=projection.onto_is_not_off,
    ),
    Claim(
        id="0-2",
        place="abstract",
        says="Standardizing is: remove the component along 1, normalize, multiply by √d.",
        verdict="true_under",
        correction="y = √d Πx/‖Πx‖ for ε = 0 and x not a multiple of 1, in this order; before gain and bias.",
        hypotheses=("x is not constant", "ε = 0", "no gain and no bias", "the steps in this order"),
        theorems=("standardization.geometric",),
        counterexample=standardization.steps_exchanged,
        figure="three-steps",
    ),
    Claim(
        id="0-3",
        place="summary and abstract",
        says="The hidden states of all language models are orthogonal to 1 at inference.",
        verdict="empirical",
        why="“All” is contradicted by a table of the same work: 101.48° ± 3.20° for GPT-2 XL. And a "
        "mean angle near 90° is "
        "compatible with any energy along 1 (0-4).",
        correction="Report d·E[cos²θ], which is 1 for a random direction, with an interval and its rank "
        "among random directions.",
        columns=sites("d_cos2", "d_cos2_low", "d_cos2_high", "rank_among_random", "angle_mean_deg"),
        citations=(cited.GUPTA_2,),
        prediction="angles.null_mean_square",
    ),
    Claim(
        id="0-4",
        place="abstract",
        says="Since the mean angle with 1 is 90°, the states on average have no component along 1.",
        verdict="non_sequitur",
        why="Angles above and below 90° average out; energies do not.",
        correction="No component along 1 means E[cos²θ] = 0, and ‖μ1‖² = ‖x‖² cos²θ is what the "
        "projection removes.",
        hypotheses=("x is not 0",),
        theorems=("projection.mean_vector_cosine",),
        counterexample=projection.opposite_pair,
    ),
    Claim(
        id="0-5",
        place="summary, results",
        says="Orthogonality of the states to 1 makes the mean subtraction redundant, and explains that "
        "RMSNorm works.",
        verdict="non_sequitur",
        why="At x ⟂ 1 the outputs agree and the derivatives do not. And in a Pre-LN network mean "
        "subtraction can be folded "
        "away exactly whatever the angles are, so that the angles explain nothing.",
        correction="LN(x) = RMS(Πx) always: with centred writers every LayerNorm of a Pre-LN network is "
        "an RMSNorm.",
        theorems=("rmsnorm.decomposition",),
        counterexample=jacobian.same_output_other_gradient,
    ),
    Claim(
        id="0-6",
        place="summary and abstract",
        says="RMSNorm has less computational overhead than LayerNorm.",
        verdict="empirical",
        why="It needs one reduction less. Whether a clock notices depends on kernels: fused LayerNorm "
        "kernels have been "
        "measured faster than plain RMSNorm ones.",
        correction="One reduction over the components instead of two; the time is to be measured for "
        "the kernels in use.",
        columns=summary("tokens_per_second"),
        citations=(cited.ZHANG, cited.JIANG, cited.SPEED),
    ),
    Claim(
        id="0-7",
        place="summary, method",
        says="LayerNorm is projection, normalization of the rest, and the affine map.",
        verdict="true_under",
        why="Normalizing to unit length loses the factor √d, which the affine map of the layer does not "
        "contain.",
        correction="It is, if normalizing means dividing by σ = ‖Πx‖/√d and not by ‖Πx‖.",
        hypotheses=("x is not constant", "normalizing is dividing by σ", "ε = 0"),
        theorems=("standardization.geometric",),
        counterexample=projection.unit_instead_of_deviation,
    ),
    Claim(
        id="0-8",
        place="summary, results",
        says="RMSNorm performs as well as LayerNorm.",
        verdict="empirical",
        correction="Train both with all else equal, several seeds, and compare held-out losses with "
        "intervals.",
        columns=study("norm", "held_out_loss", "seed"),
        citations=(cited.ZHANG,),
    ),
    Claim(
        id="0-9",
        place="abstract",
        says="The definition of LayerNorm is linked to the uniform vector.",
        verdict="true",
        correction="As stated: subtracting the mean is the projection off 1, and the result is "
        "orthogonal to it.",
        theorems=("projection.mean_subtraction", "projection.mean_zero"),
    ),
)
