"""The gauge of a residual stream: the affine maps of its states that readers undo, and the columns that they move."""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..models import Kind, NormSite
from ..support import Rows
from .observer import Observer
from .state import Side
from .table import COLUMNS, rows

_GAUGES, _STATES, _EPS = 4, (12, 6, 8), 0.1


@dataclass(frozen=True)
class Gauge:
    """x ↦ c·Qx + (w·x + s)𝟏, with c²ε in place of ε, before a norm layer that gets another gain and bias.

    By the theorems gauge.complete and gauge.complete_rms readers undo this and no other affine map: with LayerNorms an
    orthogonal `rotation` Q with Q𝟏 = 𝟏, any `along` w and `shift` s, with RMSNorms any orthogonal Q, w = 0 and s = 0.
    """

    scale: float
    rotation: np.ndarray
    along: np.ndarray
    shift: float
    gain: np.ndarray
    bias: np.ndarray

    def states(self, x: Tensor) -> Tensor:
        """The inputs of a norm in this gauge, (..., d), float64."""
        rotation, along = torch.from_numpy(self.rotation), torch.from_numpy(self.along)
        return self.scale * x @ rotation.T + (x @ along + self.shift)[..., None]

    def eps(self, eps: float) -> float:
        """ε of the norm in this gauge."""
        return self.scale**2 * eps


def reflection(direction: np.ndarray) -> np.ndarray:
    """The Householder reflection that exchanges a unit vector and 𝟏/√d."""
    d = len(direction)
    normal = direction - d**-0.5
    square = normal @ normal
    return np.eye(d) - (2 / square) * np.outer(normal, normal) if square > 0 else np.eye(d)


def random_rotation(d: int, seed: int | np.random.Generator, *, fix_one: bool = False) -> np.ndarray:
    """An orthogonal matrix drawn uniformly, of all or of those that fix 𝟏.

    It is the Q of a Gaussian matrix, its R with a positive diagonal; a reflection brings its fixed axis to 𝟏.
    """
    free = d - fix_one
    q, r = np.linalg.qr(np.random.default_rng(seed).standard_normal((free, free)))
    rotation = np.eye(d)
    rotation[d - free :, d - free :] = q * np.sign(np.diag(r))
    mirror = reflection(np.eye(d)[0]) if fix_one else np.eye(d)
    return mirror @ rotation @ mirror


def random_gauge(kind: Kind, d: int, rng: np.random.Generator) -> Gauge:
    """A gauge of a stream that norms of one kind read, every part of it drawn at random."""
    layer, scale = kind == "layernorm", float(np.exp(rng.standard_normal()))
    along = (rng.standard_normal(d) + scale * rng.standard_normal()) / d  # the second part multiplies means by a number
    shift, rotation = float(rng.standard_normal()), random_rotation(d, rng, fix_one=layer)
    return Gauge(scale, rotation, along * layer, shift * layer, *rng.standard_normal((2, d)))


def norm_table(kind: Kind, x: Tensor, eps: float, gain: np.ndarray, bias: np.ndarray) -> Rows:
    """The table of one norm layer that reads the states x, (sequences, positions, d), in float64."""
    norm: Any = (nn.LayerNorm if kind == "layernorm" else nn.RMSNorm)(x.shape[-1], eps=eps, dtype=torch.float64)
    norm.load_state_dict({"weight": torch.from_numpy(gain), "bias": torch.from_numpy(bias)}, strict=kind == "layernorm")
    site = NormSite("0", None, "final", kind, eps, x.shape[-1])
    with Observer(model := nn.Sequential(norm), [site]) as observer, torch.inference_mode():
        model(x)
    return rows(observer.states, [site])


def moved_columns(kind: Kind, x: Tensor, eps: float, gauges: list[Gauge]) -> set[tuple[str, Side]]:
    """The columns, with their side, that differ between the table of the states and that in some of the gauges."""
    d = x.shape[-1]
    before = norm_table(kind, x, eps, np.ones(d), np.zeros(d))
    moved = set[tuple[str, Side]]()
    for gauge in gauges:
        after = norm_table(kind, gauge.states(x), gauge.eps(eps), gauge.gain, gauge.bias)
        moved |= {
            (name, a["side"])
            for a, b in zip(before, after, strict=True)
            for name in COLUMNS
            if _apart(a[name], b[name])
        }
    return moved


def _apart(a: Any, b: Any) -> bool:
    # Half the digits, as of a probe: rounding is far below, and a gauge moves a column by order one.
    if not isinstance(a, float) or not isinstance(b, float):
        return a != b
    return not np.isclose(a, b, rtol=np.sqrt(np.finfo(float).eps), atol=0, equal_nan=True)


@functools.cache
def _moved(kind: Kind) -> set[tuple[str, Side]]:
    rng = np.random.default_rng(0)
    sizes = 2.0 ** -np.arange(_STATES[-1])  # a few components carry the states
    x = torch.from_numpy((rng.standard_normal(_STATES) + rng.standard_normal(_STATES[-1])) * sizes)
    return moved_columns(kind, x, _EPS, [random_gauge(kind, _STATES[-1], rng) for _ in range(_GAUGES)])


def gauge_dependent(name: str, kind: Kind, side: Side) -> bool:
    """Whether an affine gauge changes a column, decided by the table of random states in random gauges."""
    return (name, side) in _moved(kind)
