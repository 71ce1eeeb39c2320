"""Folding moves mean subtraction into the weights; ablation measures the cost of removing it, in nats.

A gauge changes the residual stream, and with it the angles to 𝟏, but in exact arithmetic no output.
"""

from typing import TYPE_CHECKING

from lngeom.lazy import ROOMS, lazy

if ROOMS:
    from .ablation import summarize
    from .certificate import NOT_CHECKED, compare, describe_comparison
    from .gauge import Batches, angles_of, direction_at, dominant, entering, mean_angles
    from .inputs import compared_on, passages_for, sample_inputs, tensors
    from .network import centered, own, put
    from .streams import find_streams
    from .tracer import find_norms, trace
if TYPE_CHECKING:
    from .ablation import run_ablation
    from .certificate import load_folded, refuse_existing, verify_fold, write_fold
    from .changes import Change, applied, plan_changes
    from .gauge import rotate, shift
    from .measurement import Measurement
    from .network import Fold, Map, fold
    from .options import Ablation
    from .twin import layernorm_twin
else:
    __getattr__ = lazy(__name__, __file__)
