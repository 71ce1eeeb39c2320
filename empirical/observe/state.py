"""The state of one side of one norm layer: statistics of all its hidden states, and how two states merge."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Annotated, Literal, get_type_hints

import array_api_compat
import numpy as np

from lngeom.carriers import Array
from lngeom.errors import InputError

Side = Literal["input", "output"]
SIDES: tuple[Side, ...] = ("input", "output")

UNKNOWN = -1
"""Number of a document that is not known: each such sequence counts as a document of its own, also when merged."""

BUCKETS = ("first", "rest")
"""Where a token stands: at the first position of its sequence, or after it."""

BINS_PER_DEGREE = 100
ANGLE_BINS = 180 * BINS_PER_DEGREE
"""Bins of the histogram of angles, 0.01° each, from 0° to 180°."""

BINS_PER_OCTAVE = 16
NORM_OCTAVES = 32
NORM_BINS = 2 * NORM_OCTAVES * BINS_PER_OCTAVE
"""Bins of the histogram of norms, 1/16 octave each, from 2⁻³² to 2³²; the outermost bins hold all beyond."""

FEATURES: dict[Side, tuple[str, ...]] = {
    "input": ("angle", "angle_a", "angle_b", "norm", "tilt", "distance", "gauge"),
    "output": ("angle", "angle_a", "angle_b", "norm", "rotation", "affine_rotation"),
}
"""Numbers per token whose mean, spread and maximum are kept; angles in degrees.

``angle`` to the all-ones vector 1; ``angle_a`` and ``angle_b`` to the first two random directions; ``norm`` ‖x‖;
``tilt`` |90° − angle|, which is the angle between the LayerNorm and the RMSNorm of x at ε = 0, and ``distance`` how far
apart the two are (:func:`lngeom.norms.layer_rms_distance`); ``gauge`` r of the layer;
``rotation`` from input to output; ``affine_rotation`` from the normalized vector, before gain and bias, to the output.
"""

RANDOM = slice(1, 3)
"""Which of the features are angles to random directions."""

Sum = Annotated[Array, "sum"]
"""An array, and the rule by which :func:`merge_sites` merges it."""
Columns = Annotated[Array, "columns"]


@dataclass(frozen=True, eq=False)
class SiteState:
    r"""Statistics of one side of one norm layer, as arrays of one library: PyTorch from :func:`reduce`, then NumPy.

    B = 2 buckets of position (:data:`BUCKETS`), S = 3 of them with all tokens together as the last, F features
    (:data:`FEATURES`), K random directions, C documents or, where documents are not known, sequences. One state may
    hold several layers, as the first axis of all arrays. The *null* is the set of tokens, all or some, that were
    projected on the directions.

    Attributes:
        tokens: int64, (B,). Tokens in the statistics.
        nonfinite: int64, (B,). Tokens left out: a component is NaN or infinite, or so large that the squares overflow.
        underflow: int64, (B,). Tokens left out: so small that squares lose bits to underflow, see :func:`reduce`.
        zero: int64, (B,). Tokens left out: zero vectors, which have no angle, and outputs of zero vectors, which
            have no rotation.
        mean, m2, maximum: float64, (F, B). Mean, sum of squared deviations from it, and maximum of each feature; of
            angles to random directions, over the null.
        least: float64, (B,). Smallest norm.
        angles: int64, (B, ANGLE_BINS). Histogram of the angle to 1.
        norms: int64, (B, NORM_BINS). Histogram of log₂‖x‖.
        sequences: int64, (S,). Sequences with at least one token.
        cos2: float64, (S, 1 + K). Σcos²θ over the null, for the all-ones vector (first) and the K random ones.
        documents: int64, (C,). Numbers of the documents; ``UNKNOWN`` for a sequence taken as one of its own.
        document_tokens: int64, (B, C). Tokens of each.
        document_cos2: float64, (B, C). Σcos²θ of the all-ones vector over them.
        document_null_tokens, document_null_cos2: The same of the null.
        document_null_cos: float64, (B, C). Σcosθ of the all-ones vector over the null.
        sign_cos2: float64, (S, K). The same for the random sign vectors.
        cos: float64, (S, 1 + 2K). Σcosθ over the null, for the all-ones vector, the random ones and the sign vectors.
        units: float64, (B, d + 1) of inputs: the sum of their unit vectors, centred before a LayerNorm, and their
            number. (B, 0) of outputs.
        squares: float64, (B, d) of inputs: Σx² of each component. (B, 0) of outputs.
    """

    tokens: Sum
    nonfinite: Sum
    underflow: Sum
    zero: Sum
    mean: Annotated[Array, "mean"]
    m2: Annotated[Array, "m2"]
    maximum: Annotated[Array, "maximum"]
    least: Annotated[Array, "least"]
    angles: Sum
    norms: Sum
    sequences: Sum
    cos2: Sum
    documents: Annotated[Array, "documents"]
    document_tokens: Columns
    document_cos2: Columns
    document_null_tokens: Columns
    document_null_cos2: Columns
    document_null_cos: Columns
    sign_cos2: Sum
    cos: Sum
    units: Sum
    squares: Sum

    @property
    def directions(self) -> int:
        """Number K of random directions."""
        return self.cos2.shape[-1] - 1

    @property
    def counts(self) -> Array:
        """Tokens of each feature, int64, (F, B); angles to random directions have the null's."""
        return counts_of_features(self.tokens, self.document_null_tokens, self.mean.shape[-2])

    def numpy(self) -> SiteState:
        """The same state as NumPy arrays on the host, each document that has tokens once."""
        state = SiteState(*(_host(getattr(self, field.name)) for field in fields(self)))
        some = state.document_tokens.any(0)
        known, alone = some & (state.documents != UNKNOWN), some & (state.documents == UNKNOWN)
        names, place = np.unique(state.documents[known], return_inverse=True)

        def summed(values: np.ndarray) -> np.ndarray:
            total = np.zeros((len(names), len(values)), values.dtype)
            np.add.at(total, place, values[:, known].T)
            return np.concatenate([total.T, values[:, alone]], axis=1)

        return replace(
            state,
            documents=np.concatenate([names, state.documents[alone]]),
            **{name: summed(getattr(state, name)) for name, rule in RULES.items() if rule == "columns"},
        )

    def layers(self) -> list[SiteState]:
        """The states of the layers that stand in this one, as NumPy arrays on the host."""
        together = [_host(getattr(self, field.name)) for field in fields(self)]
        return [SiteState(*columns).numpy() for columns in zip(*together, strict=True)]


def counts_of_features(tokens: Array, null_tokens: Array, features: int) -> Array:
    """Tokens of each feature, (F, B): the null's for angles to random directions."""
    xp = array_api_compat.array_namespace(tokens)
    rows, null = range(features), xp.sum(null_tokens, axis=-1)
    return xp.stack([null if row in rows[RANDOM] else tokens for row in rows], axis=-2)


RULES = {name: hint.__metadata__[0] for name, hint in get_type_hints(SiteState, include_extras=True).items()}
"""How each field of a state merges."""

States = dict[tuple[str, Side], SiteState]
"""States by site path and side."""


def _host(array: Array) -> np.ndarray:
    # A copy: the tensors are added to in place.
    return array.cpu().numpy().copy() if array_api_compat.is_torch_array(array) else np.asarray(array)


def merge_sites(a: SiteState, b: SiteState, **kept: Array) -> SiteState:
    """The state of the tokens of `a` and `b` together: counts exactly, means and deviations by Chan's formula.

    Args:
        a, b: States of one side of one layer, arrays of one library, with as many random directions.
        kept: Fields that are not merged but given.

    References:
        Chan, Golub and LeVeque, The American Statistician 37 (1983), 242-247.
    """
    xp = array_api_compat.array_namespace(a.mean, b.mean)
    left, right = (xp.astype(state.counts, xp.float64) for state in (a, b))
    both = xp.where(left + right > 0, left + right, xp.ones_like(left))
    distance = b.mean - a.mean
    rules: dict[str, Callable[[Array, Array], Array]] = {
        "sum": operator.add,
        **dict.fromkeys(("documents", "columns"), lambda x, y: xp.concat([x, y], axis=-1)),
        "mean": lambda x, _: x + distance * (right / both),
        "m2": lambda x, y: x + y + distance * distance * (left * right / both),
        "maximum": xp.maximum,
        "least": xp.minimum,
    }
    merged = {name: rules[RULES[name]](getattr(a, name), getattr(b, name)) for name in RULES.keys() - kept}
    return SiteState(**merged, **kept)


def merge(a: States, b: States) -> States:
    """Merge two states site by site.

    Merging is associative: exactly for counts, histograms, maxima and minima, up to rounding for sums and means.

    Args:
        a, b: By site path and side, NumPy arrays.

    Raises:
        InputError: If the two were not measured at the same sites with as many random directions.
    """
    if a.keys() != b.keys():
        path, side = min(a.keys() ^ b.keys())
        raise InputError(f"the {side} of {path} is in one state and not in the other: merge states of one model")
    for key in a:
        if a[key].directions != b[key].directions:
            raise InputError(
                f"{key[0]} has {a[key].directions} random directions in one state and {b[key].directions} in the "
                "other: merge states with the same directions and seed"
            )
    return {key: merge_sites(a[key], b[key]).numpy() for key in a}
