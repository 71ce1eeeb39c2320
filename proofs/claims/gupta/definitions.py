"""The introduction and the definitions: abstract, sections 1 and 2 up to equation 4."""

from __future__ import annotations

from .. import _citations as cited
from .._claim import Claim
from .._columns import losses, sites
from ..counterexamples import fibers, jacobian, projection, standardization

CLAIMS = (
    Claim(
        id="1-1",
        place="sections 1 and 2",
        says="LayerNorm gives a vector whose components have mean 0 and variance 1.",
        verdict="true_under",
        correction="Mean 0 and variance σ²/(σ² + ε) before gain and bias; variance 1 for ε = 0; neither "
        "after gain and bias.",
        hypotheses=("x is not constant", "ε = 0", "no gain and no bias"),
        theorems=("standardization.mean_zero", "standardization.norm"),
        counterexample=standardization.moments_moved,
    ),
    Claim(
        id="1-2",
        place="section 1",
        says="LayerNorm uses the statistics of each vector, batch normalization those of a batch.",
        verdict="convention",
        correction="By definition. The consequence: a vector's batch-normalized value depends on its "
        "neighbours in the batch.",
        counterexample=fibers.other_readers,
        citations=(cited.BA, cited.BATCH),
    ),
    Claim(
        id="1-3",
        place="section 2",
        says="“Mean 0 and variance 1” says little about norm and orientation of y: all we know are "
        "these two.",
        verdict="false",
        why="Mean 0 is y ⟂ 1, and given that, variance 1 is ‖y‖² = d: the two descriptions are the same "
        "two equations.",
        correction="‖y‖² = d(μ_y² + σ_y²) and 1·y = dμ_y: mean and variance are orientation and norm.",
        theorems=("projection.pythagoras_moments",),
        counterexample=standardization.the_same_two_equations,
    ),
    Claim(
        id="1-4",
        place="section 1",
        says="LayerNorm throws away what lies along 1, which indicates that it may not be important.",
        verdict="non_sequitur",
        why="What a layer cannot see is lost by construction, important or not.",
        correction="LN(x + c1) = LN(x): no reader behind a LayerNorm can use the component along 1.",
        theorems=("irreversibility.shift",),
        counterexample=projection.what_only_the_mean_tells,
    ),
    Claim(
        id="1-5",
        place="sections 1 and 3",
        says="Two random vectors of a high-dimensional space are orthogonal on average.",
        verdict="true_under",
        correction="The mean angle is 90° in every dimension if x and −x are equally likely; for "
        "isotropic vectors "
        "cos²θ has mean 1/d and the law Beta(1/2, (d − 1)/2).",
        hypotheses=("x and −x are equally likely",),
        theorems=("angles.opposite",),
        counterexample=projection.positive_vectors,
    ),
    Claim(
        id="1-6",
        place="section 3",
        says="Their angles have a very small spread around 90°.",
        verdict="true_under",
        correction="For isotropic vectors E[cos²θ] = 1/d: about 57.3°/√d, which is 1.4° for d = 1600 "
        "and 0.9° for d = 4096.",
        hypotheses=("one of the vectors is isotropic",),
        theorems=("angles.null_mean_square",),
        counterexample=projection.one_direction,
    ),
    Claim(
        id="1-7",
        place="sections 1 and 3.2",
        says="Only a non-trivial component of the states along 1 could justify removing it.",
        verdict="non_sequitur",
        why="Centring also acts on gradients: J1 = 0 removes their component along 1, even where the "
        "state has none.",
        correction="At x ⟂ 1 LayerNorm and RMSNorm agree in value and differ in their derivative along 1.",
        theorems=("jacobian.uniform_input",),
        counterexample=jacobian.same_output_other_gradient,
        citations=(cited.XU,),
    ),
    Claim(
        id="1-8",
        place="eqs. 1 to 3",
        says="μ = 1ᵀx/d and σ = √((x − μ1)ᵀ(x − μ1)/d).",
        verdict="true",
        correction="As stated; the divisor is d, not d − 1.",
        theorems=("projection.pythagoras_moments", "projection.mean_subtraction"),
    ),
    Claim(
        id="1-9",
        place="section 2, step 2",
        says="The printed step: y_i = x_i μ/σ.",
        verdict="false",
        why="A minus sign is missing, in print or in the copy we read.",
        correction="y_i = (x_i − μ)/σ.",
        hypotheses=("x is not constant",),
        theorems=("standardization.definition",),
        counterexample=standardization.product_for_difference,
    ),
    Claim(
        id="1-10",
        place="eq. 4",
        says="y = (x − μ1)/σ.",
        verdict="true_under",
        correction="For σ ≠ 0, as the paper says, and ε = 0, which implementations do not have: they "
        "divide by √(σ² + ε).",
        hypotheses=("x is not constant", "ε = 0"),
        theorems=("standardization.definition",),
        counterexample=standardization.with_eps_or_equal_components,
    ),
    Claim(
        id="1-11",
        place="after eq. 4",
        says="σ = 0 exactly if x = μ1, that is, if all components are equal.",
        verdict="true",
        correction="As stated.",
        hypotheses=("σ² = 0",),
        theorems=("projection.variance_zero", "projection.annihilates_uniform"),
    ),
    Claim(
        id="1-12",
        place="after eq. 4",
        says="The authors of LayerNorm add an error term to the denominator.",
        verdict="convention",
        why="The paper that introduced it has none in its equations 3 and 4; its implementations do.",
        correction="Implementations divide by √(σ² + ε), some by σ + ε; the place must be named.",
        citations=(cited.BA, cited.PYTORCH),
    ),
    Claim(
        id="1-13",
        place="after eq. 4",
        says="To assume x ≠ μ1 loses no generality.",
        verdict="false",
        why="The line of multiples of 1 is an essential discontinuity: as x approaches it, LN(x) can "
        "stay anywhere on the "
        "sphere. Near it, bounds on the Jacobian fail as well (4-6).",
        correction="LN(1 + tu) = LN(u) for every t > 0, so no value on the line makes LN continuous; ε "
        "> 0 does.",
        hypotheses=("ε > 0",),
        where=("a > 0",),
        theorems=("irreversibility.invariance", "epsilon.constant"),
        counterexample=standardization.approaching_the_line,
    ),
    Claim(
        id="1-14",
        place="after eq. 4",
        says="For σ = 0 LayerNorm outputs the zero vector.",
        verdict="false",
        why="With ε = 0 it divides 0 by 0; with ε > 0 it outputs the bias. In floats rounding errors "
        "are divided by √ε: "
        "a constant vector can come out of norm 1.",
        correction="For ε > 0 LN(c1) = b.",
        hypotheses=("ε > 0",),
        theorems=("epsilon.constant",),
        counterexample=standardization.equal_components,
    ),
    Claim(
        id="1-59",
        place="section 1",
        says="LayerNorm improves training speed and convergence.",
        verdict="empirical",
        why="Against training without normalization; that is not what the study compares.",
        correction="Compare losses at equal steps; LayerNorm against RMSNorm is measured here.",
        columns=losses("step", "loss"),
        citations=(cited.BA, cited.XU),
    ),
    Claim(
        id="1-60",
        place="section 2",
        says="Brody et al. showed that y has norm √d and is orthogonal to 1.",
        verdict="true_under",
        correction="For ε = 0 and unequal components, before gain and bias (1-25); the attribution is right.",
        hypotheses=("x is not constant", "ε = 0", "no gain and no bias"),
        theorems=("standardization.norm", "standardization.mean_zero"),
        counterexample=standardization.moments_moved,
        citations=(cited.BRODY,),
    ),
    Claim(
        id="1-61",
        place="section 2",
        says="RMSNorm models have representations of similar orientation, although nothing centres them.",
        verdict="empirical",
        why="Similar by mean angle; d·E[cos²θ] can tell them apart.",
        correction="Compare d·E[cos²θ] of LayerNorm and RMSNorm networks against random directions.",
        columns=sites("norm", "d_cos2", "random_d_cos2_median", "rank_among_random"),
        prediction="angles.null_mean_square",
    ),
    Claim(
        id="1-62",
        place="section 2.1",
        says="Traditionally the mean vector is the sum of a few vectors.",
        verdict="convention",
        why="Their sum divided by their number; the word is used for another thing here.",
        correction="The mean vector of n vectors is their sum divided by n; here it is μ1, the mean of "
        "components times 1.",
        counterexample=projection.mean_of_two_vectors,
        citations=(cited.GUPTA_3,),
    ),
    Claim(
        id="1-70",
        place="section 2",
        says="The paper that introduced layer normalization does not explain it as a projection.",
        verdict="convention",
        correction="As stated; it explains it by invariance under re-centring and re-scaling.",
        citations=(cited.BA,),
    ),
)
