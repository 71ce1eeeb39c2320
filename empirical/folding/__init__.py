"""Folding removes mean subtraction from a network, exactly; ablation prices its removal, in nats per token.

A gauge changes the residual stream, and so every angle to 𝟏, and no output.
"""

from typing import TYPE_CHECKING

from lngeom.lazy import lazy

if TYPE_CHECKING:
    from .ablation import run_ablation, summarize as summarize
    from .certificate import (
        Ruined as Ruined,
        compare as compare,
        describe_comparison as describe_comparison,
        load_folded,
        refuse_existing,
        ruin as ruin,
        verify_fold,
        write_fold,
    )
    from .changes import Change, applied, plan_changes
    from .gauge import (
        Batches as Batches,
        direction_at as direction_at,
        dominant as dominant,
        entering as entering,
        mean_angles as mean_angles,
        rotate,
        shift,
    )
    from .inputs import (
        compared_on as compared_on,
        passages_for as passages_for,
        sample_inputs as sample_inputs,
        tensors as tensors,
    )
    from .measurement import Measurement
    from .network import Fold, Map, centered as centered, fold, own as own, put as put
    from .options import Ablation
    from .rescaling import in_turn as in_turn, scale as scale
    from .streams import find_streams as find_streams
    from .tracer import find_norms as find_norms, trace as trace
    from .twin import layernorm_twin
else:
    __getattr__ = lazy(__name__, __file__)
