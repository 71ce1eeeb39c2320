"""What can be learned back: section 2.3, with the conclusions drawn from it."""

from __future__ import annotations

from .. import _citations as cited
from .._claim import Claim
from .._columns import sites
from ..counterexamples import fibers, projection, standardization

CLAIMS = (
    Claim(
        id="1-26",
        place="eq. 10",
        says="Both normalizations standardize: y_i = (x_i − E x_i)/√Var x_i.",
        verdict="true_under",
        correction="For Var > 0 and ε = 0. E and Var are over the components for LayerNorm, over "
        "vectors for batch normalization.",
        hypotheses=("x is not constant", "ε = 0"),
        theorems=("standardization.definition",),
        counterexample=standardization.with_eps_or_equal_components,
    ),
    Claim(
        id="1-27",
        place="eq. 11",
        says="Scale and shift: z_i = α_i x_i + β_i.",
        verdict="false",
        why="An index slip: with α = 1, β = 0 the layer would do nothing.",
        correction="z_i = α_i y_i + β_i.",
        theorems=("standardization.affine",),
        counterexample=standardization.scaling_the_input,
    ),
    Claim(
        id="1-28",
        place="section 2.3",
        says="In batch normalization E x_i and Var x_i are the same for all vectors: 2d statistics.",
        verdict="true_under",
        correction="With fixed statistics, as at inference. In training they are those of each mini-batch.",
        hypotheses=("fixed statistics", "v + ε > 0"),
        theorems=("irreversibility.batch_norm_recovery",),
        counterexample=fibers.batch_statistics,
        citations=(cited.BATCH,),
    ),
    Claim(
        id="1-29",
        place="section 2.3",
        says="What batch normalization loses can be recovered with α_i = √Var x_i, β_i = E x_i.",
        verdict="true_under",
        correction="With fixed statistics, Var > 0 and ε = 0, else α_i = √(Var x_i + ε); then nothing "
        "was lost at all. "
        "With the statistics of the batch, shift and scale of each column are lost as in LayerNorm.",
        hypotheses=("fixed statistics", "ε = 0", "v + ε > 0"),
        where=("a > 0",),
        theorems=("irreversibility.batch_norm_recovery", "irreversibility.batch_norm_invariance"),
        counterexample=fibers.batch_statistics_with_eps,
    ),
    Claim(
        id="1-30",
        place="section 2.3",
        says="In LayerNorm both statistics are the same for all components of a vector: two numbers per "
        "vector.",
        verdict="true",
        correction="As stated.",
        hypotheses=("x is not constant",),
        theorems=("standardization.definition",),
    ),
    Claim(
        id="1-31",
        place="section 2.3",
        says="More than d vectors make more than 2d statistics, which 2d parameters cannot restore: "
        "LayerNorm is irreversible.",
        verdict="non_sequitur",
        why="The count fails both ways: 4 statistics that no function restores, and 12 that 8 "
        "parameters restore exactly.",
        correction="LayerNorm is irreversible because LN(ax + c1) = LN(x) for a > 0: at ε = 0 its "
        "fibers are half planes, "
        "at ε > 0 the lines x + ℝ1.",
        where=("a > 0",),
        theorems=(
            "irreversibility.invariance",
            "irreversibility.no_left_inverse",
            "irreversibility.no_affine_recovery",
        ),
        counterexample=fibers.counting_statistics,
    ),
    Claim(
        id="1-32",
        place="sections 2.3 and 4",
        says="Being irreversible speaks against mean subtraction.",
        verdict="non_sequitur",
        why="RMSNorm at ε = 0 is irreversible too: it forgets the norm.",
        correction="RMS(ax) = RMS(x) for a > 0. Dimensions lost: LayerNorm 2, RMSNorm 1 at ε = 0; 1 and "
        "0 at ε > 0.",
        where=("a > 0",),
        theorems=("irreversibility.rms_norm",),
        counterexample=fibers.rms_forgets_too,
    ),
    Claim(
        id="1-33",
        place="section 3",
        says="LayerNorm assumes that a model stores nothing of importance along 1.",
        verdict="true_under",
        correction="What lies along 1 cannot be read if every reader of the stream is behind a LayerNorm.",
        hypotheses=("every reader is behind a LayerNorm",),
        theorems=("irreversibility.shift",),
        counterexample=projection.storing_along_uniform,
    ),
    Claim(
        id="1-34",
        place="section 3",
        says="The direction of 1 is arbitrary.",
        verdict="false",
        why="Arbitrary among all directions, but the gain too acts in the basis of the coordinates, and "
        "there 1 is singled out.",
        correction="For d ≥ 3 Π is the only projector of rank d − 1 that treats all coordinates alike.",
        where=("P² = P on w", "P² = P on 1", "tr P = d − 1", "w is orthogonal to 1", "w is not 0", "d >= 3"),
        theorems=("projection.only_invariant_projector",),
        counterexample=projection.another_direction,
    ),
    Claim(
        id="1-51",
        place="section 4",
        says="A network with batch normalization can learn an identity in its place.",
        verdict="true_under",
        correction="With fixed statistics (1-29).",
        hypotheses=("fixed statistics", "ε = 0", "v + ε > 0"),
        theorems=("irreversibility.batch_norm_recovery",),
        counterexample=fibers.batch_statistics_with_eps,
        citations=(cited.BATCH,),
    ),
    Claim(
        id="1-56",
        place="section 2.3",
        says="Language models normalize far more than d vectors.",
        verdict="empirical",
        why="True of any text of more than d tokens, and irrelevant (1-31).",
        correction="Compare tokens with d.",
        columns=sites("tokens", "d"),
    ),
    Claim(
        id="1-71",
        place="section 2.3",
        says="Scale and shift were put into batch normalization so that it can represent the identity.",
        verdict="convention",
        correction="As stated.",
        citations=(cited.BATCH,),
    ),
)
