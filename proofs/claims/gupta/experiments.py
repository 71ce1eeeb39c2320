"""Language models: sections 3 and 4."""

from __future__ import annotations

from .. import _citations as cited
from .._claim import Claim
from .._columns import sites, study, summary
from ..counterexamples import jacobian, networks, projection, standardization

CLAIMS = (
    Claim(
        id="1-35",
        place="section 3",
        says="The literature has no justification of the mean subtraction.",
        verdict="convention",
        why="It has several, among them two in works that the paper cites.",
        correction="Invariance under re-centring; re-centred gradients; a projection that attention can use.",
        citations=(cited.BA, cited.XU, cited.BRODY),
    ),
    Claim(
        id="1-36",
        place="section 3",
        says="Llama models are state of the art, so RMSNorm in place of LayerNorm does not hurt.",
        verdict="non_sequitur",
        why="Data, size and recipe differ as well; only a controlled comparison can tell.",
        correction="Train both with all else equal and compare the losses.",
        counterexample=networks.best_of_what_was_released,
        columns=study("norm", "held_out_loss"),
    ),
    Claim(
        id="1-37",
        place="section 3.2",
        says="Mean subtraction is justified only if LayerNorm or RMSNorm models have large components "
        "along 1.",
        verdict="non_sequitur",
        why="Neither scenario is necessary: centring changes gradients where no component exists (1-7).",
        correction="The effect of centring on values is ‖LN(x) − RMS(x)‖; its effect on gradients is J1 = 0.",
        theorems=("jacobian.uniform_input",),
        counterexample=jacobian.first_training_step,
    ),
    Claim(
        id="1-38",
        place="section 3.2, figure 3",
        says="Before normalization the angle with 1 is 90° on average, with a small spread.",
        verdict="empirical",
        why="“Small” has a scale: an isotropic vector has a spread of 57.3°/√d. By the tables of an "
        "earlier version LayerNorm "
        "models have 1.5 to 2.2 times that, the Llamas 0.17 times.",
        correction="Compare mean and spread of the angle with 90° and 57.3°/√d.",
        columns=sites("angle_mean_deg", "angle_std_deg", "d"),
        citations=(cited.GUPTA_2,),
        prediction="angles.null_mean_square",
    ),
    Claim(
        id="1-39",
        place="section 3.2",
        says="The same holds after normalization.",
        verdict="true_under",
        correction="Exactly 90° before gain and bias, for every input; after them the angle tells about "
        "gain and bias.",
        hypotheses=("no gain and no bias",),
        theorems=("standardization.mean_zero",),
        counterexample=standardization.gain_moves_the_mean,
        columns=sites("angle_mean_deg", "side"),
        prediction="standardization.mean_zero",
    ),
    Claim(
        id="1-40",
        place="section 3.2",
        says="It holds for four of five LayerNorm models, GPT-2 XL being the exception.",
        verdict="empirical",
        why="The abstract says all. For GPT-2 XL the published 101.48° ± 3.20° is 4 % of the energy "
        "along 1, d·E[cos²θ] ≈ 68.",
        correction="Report every model, with d·E[cos²θ].",
        columns=sites("angle_mean_deg", "d_cos2"),
        citations=(cited.GUPTA_2,),
        prediction="angles.null_mean_square",
    ),
    Claim(
        id="1-41",
        place="abstract and section 3.2",
        says="A mean angle of 90° means that the states have no component along 1.",
        verdict="false",
        why="It means that angles above and below balance: x and −x do, with all their energy along 1.",
        correction="‖μ1‖ = ‖x‖ |cos θ|: what lies along 1 is measured by E[cos²θ], 1/d for a random "
        "direction.",
        hypotheses=("x is not 0",),
        where=("Πx = 0", "x′ = −x"),
        theorems=("projection.mean_vector_cosine", "angles.mean_angle"),
        counterexample=projection.opposite_pair,
    ),
    Claim(
        id="1-42",
        place="section 3.2",
        says="So mean subtraction is redundant at inference: there is nothing to remove.",
        verdict="non_sequitur",
        why="Each single vector is turned by its own |90° − θ|, however the angles average.",
        correction="LN(x) and RMS(x) enclose the angle |90° − θ|; what this does to the loss is to be "
        "measured.",
        hypotheses=("x is not constant",),
        theorems=("rmsnorm.angle",),
        counterexample=projection.nothing_to_remove,
        columns=sites("tilt_mean_deg", "distance_mean"),
        prediction="rmsnorm.angle",
    ),
    Claim(
        id="1-43",
        place="section 3.2",
        says="The angles of a LayerNorm model tell whether it needs mean subtraction.",
        verdict="false",
        why="They are not determined by what the model computes: any vector can be shifted along 1 by "
        "its writers.",
        correction="LN(x + c1) = LN(x): adding c1 to the stream changes every angle and no output.",
        theorems=("irreversibility.shift",),
        counterexample=networks.moved_along_uniform,
    ),
    Claim(
        id="1-44",
        place="section 3.2",
        says="In RMSNorm models too the states are orthogonal to 1, though nothing makes them so.",
        verdict="empirical",
        why="The published angles would mean less energy along 1 than along a random direction. Massive "
        "activations explain "
        "part of it: a vector carried by k coordinates has |cos θ| near √(k/d) at most.",
        correction="Report d·E[cos²θ] with position 0 apart.",
        columns=sites("norm", "d_cos2", "rank_among_random", "bucket"),
        citations=(cited.GUPTA_2, cited.SUN),
        prediction="angles.null_mean_square",
    ),
    Claim(
        id="1-45",
        place="section 3.3",
        says="A second random vector, of another norm than 1, is a further control.",
        verdict="non_sequitur",
        why="An angle does not depend on norms; it is a second sample of the same control, and two "
        "samples are no null law.",
        correction="cos(x, cb) = cos(x, b) for c > 0; rank 1 among many random directions.",
        hypotheses=("c > 0",),
        theorems=("angles.scale_free",),
        counterexample=projection.longer_control,
        columns=sites("rank_among_random"),
    ),
    Claim(
        id="1-46",
        place="section 3.3",
        says="The uniform vector behaves like any random vector.",
        verdict="empirical",
        why="By the angles published for seven models its energy is 2 to 68 times that of an average "
        "direction in LayerNorm "
        "models and 0.03 to 0.4 times in the Llamas.",
        correction="Test d·E[cos²θ] = 1 with an interval, and the rank of 1 among the random directions.",
        columns=(
            *sites("d_cos2", "d_cos2_low", "d_cos2_high", "random_d_cos2_median", "rank_among_random"),
            *study("d_cos2", "rank_among_random"),
        ),
        citations=(cited.GUPTA_2,),
        prediction="angles.null_mean_square",
    ),
    Claim(
        id="1-47",
        place="section 3.3",
        says="States orthogonal to 1 at every checkpoint show that mean subtraction is dispensable in "
        "training.",
        verdict="non_sequitur",
        why="Training goes by gradients, and there centring acts even on states orthogonal to 1.",
        correction="J1 = 0 and 1ᵀJ = 0 for unit gain: compare losses, not angles.",
        theorems=("jacobian.uniform_input",),
        counterexample=jacobian.first_training_step,
        columns=study("norm", "held_out_loss"),
    ),
    Claim(
        id="1-48",
        place="figure 4",
        says="The results do not depend on the layer.",
        verdict="empirical",
        correction="One row per layer.",
        columns=(*sites("layer", "d_cos2"), *study("layer", "d_cos2")),
        prediction="angles.null_mean_square",
    ),
    Claim(
        id="1-49",
        place="sections 3.3 and 4",
        says="This is the first mechanistic evidence that mean subtraction is dispensable.",
        verdict="convention",
        why="A work that the paper cites proves it exactly for Pre-LN networks, and model compression "
        "has used it since.",
        correction="LN(x) = RMS(Πx), and centred writers make Πx = x.",
        theorems=("rmsnorm.decomposition",),
        citations=(cited.JIANG, cited.ASHKBOOS),
    ),
    Claim(
        id="1-50",
        place="section 3.3",
        says="RMSNorm gives comparable performance, more efficiently.",
        verdict="empirical",
        correction="Held-out loss at equal steps; time per kernel (0-6).",
        columns=(*study("norm", "held_out_loss"), *summary("tokens_per_second")),
        citations=(cited.ZHANG, cited.JIANG),
    ),
    Claim(
        id="1-63",
        place="section 3.3",
        says="At every checkpoint, with either norm, the mean angle before normalization is 90°.",
        verdict="empirical",
        why="A mean angle; the energy along 1 can fall by orders of magnitude while it stays at 90°.",
        correction="Follow d·E[cos²θ] and the rank of 1 over the checkpoints.",
        columns=study("step", "angle_mean_deg", "d_cos2", "rank_among_random"),
        prediction="angles.null_mean_square",
    ),
    Claim(
        id="1-64",
        place="section 3",
        says="RMSNorm leaves the component along 1 and only normalizes.",
        verdict="true_under",
        correction="RMS(x) = √d x/‖x‖ keeps the direction of x, for x ≠ 0; norm √d for ε = 0.",
        hypotheses=("x ≠ 0", "ε = 0", "no gain and no bias"),
        theorems=("angles.rotation_by_rms_norm",),
        counterexample=standardization.rms_keeps_the_direction,
    ),
    Claim(
        id="1-65",
        place="section 3",
        says="LayerNorm orients every vector orthogonally to 1.",
        verdict="true_under",
        correction="Before gain and bias; behind them the output lies in the hyperplane α·(z − b) = 0.",
        hypotheses=("no gain and no bias",),
        theorems=("standardization.mean_zero",),
        counterexample=standardization.gain_moves_the_mean,
    ),
    Claim(
        id="1-69",
        place="section 3.3",
        says="Angles with two random vectors average 90° too, without significant difference to those "
        "with 1.",
        verdict="empirical",
        why="The mean angle does not separate directions; the energy along them does.",
        correction="Compare d·E[cos²θ] of 1 with its distribution over many random directions.",
        columns=sites(
            "random_a_angle_mean_deg",
            "random_b_angle_mean_deg",
            "random_d_cos2_low",
            "random_d_cos2_high",
            "d_cos2",
        ),
        prediction="angles.null_mean_square",
    ),
)
