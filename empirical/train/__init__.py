"""Training runs measured at their checkpoints, and the controlled study: many small networks, one plan, one table."""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from ._controls import (
        MARGIN as MARGIN,
        equivalence as equivalence,
        loss_against_layer_norm as loss_against_layer_norm,
        summarize_controls as summarize_controls,
    )
    from ._data import Sequences, TokenData, open_data, prepare, train_tokenizer
    from ._execution import Execution
    from ._gradients import (
        AdamStep as AdamStep,
        WriterGradient,
        adam_step as adam_step,
        uniform_energy,
        writer_gradients,
        writers,
    )
    from ._measure import Measurement, StreamMeasurement
    from ._model import CONTROLS, UNorm, build_model, flops_per_token
    from ._plan import TINY as TINY, Condition, conditions, controls, plan
    from ._recipe import SHAPES, Norm, Optimizer, Recipe, Shape, checkpoint_steps, learning_rate
    from ._study import gather, run_study
    from ._summary import (
        CellKey as CellKey,
        CellSummary as CellSummary,
        SeedMean as SeedMean,
        along_depth as along_depth,
        cell_of as cell_of,
        chance_of_ranks as chance_of_ranks,
        first_step_below as first_step_below,
        geometric_mean as geometric_mean,
        paired_losses as paired_losses,
        pooled_loss as pooled_loss,
        short as short,
        student_mean as student_mean,
        summarize as summarize,
        summarize_writers as summarize_writers,
        writer_kind as writer_kind,
    )
    from ._trainer import Report, build_optimizer as build_optimizer, train
else:
    __getattr__ = lazy(__name__, __file__)
