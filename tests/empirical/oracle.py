"""Every column of the table against a second computation: stored hidden states, float64, textbook formulas.

The hidden states of one forward pass of each architecture are kept while the observer measures them, so that both see
the same numbers. The second path shares no formula with the first: angles are Kahan's 2 atan2(‖â − b̂‖, ‖â + b̂‖), the
gauge is the length of the normalized vector, tilt and distance are the angle and the distance between the two
normalized vectors, quantiles are order statistics and the interval is that of scipy.

The bounds. Let u be the unit roundoff of the reductions and γ = nu/(1 − nu) with n = d + 8: whatever the order of a sum
of d products, its error is at most γ times the sum of their magnitudes (Higham, Accuracy and Stability of Numerical
Algorithms, section 3.1), 8 leaving room for the roundings around it. To γ is added what float64 takes on either path,
(N + 2d + 8)·2⁻⁵³ for N tokens. With ρ = ‖x‖/√d and κ = ρ/σ, in first order with some room for the second:

- mean: |δμ| ≤ γρ, since the mean of |x_i| is at most ρ; σ̂² is within a factor 1 ± γ of σ² + δμ², so that
  |δσ| ≤ γσ + (1 + γ)|δμ|, at most 2.1γρ;
- (μ, σ) moves by at most √(1 + 2.1²)γρ, so that ‖x‖ is right to 3γ‖x‖ and the angle atan2(σ, μ) to 3γ;
- a projection is right to γ‖x‖ (Cauchy–Schwarz), the cosine with a random direction to 4γ;
- the product x·z is right to γ‖x‖‖z‖, and so the cosine of the rotation, divided by two lengths, to 8γ;
- x·z − dμ_xμ_z is right to 3.1γ‖x‖‖z‖; divided by √dσ‖z‖, σ right to 3.1κγσ, the cosine is right to 9κγ ≥ 8γ;
- from a cosine right to δ, the arc cosine is right to the smaller of δ/√(1 − (|c| + δ)²) and arccos(1 − δ);
- cos² is right to δ(2|c| + δ), where δ is the error of the cosine, at most that of the angle;
- in the plane of 1 and x the outputs of RMSNorm and LayerNorm are (μ, σ)/r and (0, σ/s) with r = √(ρ² + ε) ≥ ρ and
  s = √(σ² + ε) ≥ σ, maps with derivatives of norm at most 1/r and 1/s: their distance is right to 2.4γ + 2.1κγ;
- the gauge √(m/(m + ε)) is right to half the relative error of m, which is 6γ for ‖x‖²/d and 6.2κγ for σ².

A mean over tokens is then right to the mean of the bounds, a standard deviation to their root mean square (it is a
seminorm), a maximum or an order statistic to the largest; a quantile of a histogram has half a bin on top.
"""

import math
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.stats
import torch

from lngeom.empirical import observe
from lngeom.empirical.models import NormSite, sites_of
from lngeom.empirical.observe import Observer, random_directions, sign_directions

from .conftest import VOCABULARY

OF_HEADS = ("q_norm", "k_norm")
"""Norms of queries and keys, which are not vectors of the stream."""


class Value(NamedTuple):
    """The true value of a column, and a bound on the error."""

    expected: float
    bound: float


Column = Value | int | str | None
"""A number with its bound, or what has to be exactly so."""
Row = dict[str, Column]


class Values(NamedTuple):
    """A number per token and its bound, each of shape (sequences, positions)."""

    value: np.ndarray
    bound: np.ndarray


def angle(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Angle between vectors along the last axis, in radians, by Kahan's formula."""
    a = a / np.linalg.norm(a, axis=-1, keepdims=True)
    b = b / np.linalg.norm(b, axis=-1, keepdims=True)
    return 2 * np.arctan2(np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1))


def by_cosine(radians: np.ndarray, delta: Any) -> Values:
    """An angle in degrees that was computed from a cosine right to `delta`."""
    delta = np.minimum(np.broadcast_to(delta, radians.shape), 2.0)
    reach = np.minimum(np.abs(np.cos(radians)) + delta, 1.0)
    with np.errstate(divide="ignore"):
        inside = delta / np.sqrt(1 - reach * reach)
    return Values(np.degrees(radians), np.degrees(np.minimum(inside, np.arccos(1 - delta))))


Directions = tuple[np.ndarray, np.ndarray]
"""Random directions and sign vectors."""


class Oracle:
    """The rows of one norm layer from its stored inputs and outputs, shape (sequences, positions, d)."""

    def __init__(
        self, module: Any, site: NormSite, x: torch.Tensor, z: torch.Tensor, directions: Directions, first: int = 1
    ) -> None:
        self.first = first  # vectors at the first position of a sequence: as many as there are heads
        work = torch.finfo(torch.promote_types(x.dtype, torch.float32))
        self.x, self.z = (t.to(torch.float64).numpy() for t in (x, z))
        self.site, self.d = site, self.x.shape[-1]
        self.directions, self.signs = directions
        kept = (getattr(module, name, None) for name in ("variance_epsilon", "eps"))
        self.eps = site.eps if site.role == "norm" else float(next(each for each in kept if each is not None))
        self.layernorm = isinstance(module, torch.nn.LayerNorm) or "LayerNorm" in type(module).__name__
        self.layernorm = self.layernorm and not type(module).__name__.startswith("T5")
        n = self.d + 8
        unit = work.eps / 2
        self.gamma = n * unit / (1 - n * unit) + (x[..., 0].numel() + 2 * self.d + 8) * 2.0**-53
        centred = self.x - np.mean(self.x, axis=-1, keepdims=True) if self.layernorm else self.x
        mean_square = np.mean(centred**2, axis=-1, keepdims=True)
        self.normalized = centred / np.sqrt(mean_square + self.eps)
        self.kappa = (np.linalg.norm(self.x, axis=-1) / np.linalg.norm(centred, axis=-1)) * np.ones(self.x.shape[:-1])

    def distance(self) -> Values:
        centred = self.x - np.mean(self.x, axis=-1, keepdims=True)
        layer, rms = (v / np.sqrt(np.mean(v**2, axis=-1, keepdims=True) + self.eps) for v in (centred, self.x))
        kappa = np.linalg.norm(self.x, axis=-1) / np.linalg.norm(centred, axis=-1)
        value = np.linalg.norm(layer - rms, axis=-1) / math.sqrt(self.d)
        return Values(value, (2.4 + 2.1 * kappa) * self.gamma)

    def features(self, side: str) -> dict[str, Values]:
        v, gamma = (self.x if side == "input" else self.z), self.gamma
        norm = np.linalg.norm(v, axis=-1)
        everywhere = np.full(norm.shape, math.degrees(3 * gamma))
        found = {
            "angle": Values(np.degrees(angle(v, np.ones(self.d))), everywhere),
            "random_a_angle": by_cosine(angle(v, self.directions[0]), 4 * gamma),
            "random_b_angle": by_cosine(angle(v, self.directions[1]), 4 * gamma),
            "norm": Values(norm, 3 * gamma * norm),
        }
        if side == "input":
            centred = self.x - np.mean(self.x, axis=-1, keepdims=True)
            found["tilt"] = Values(np.degrees(angle(self.x, centred)), everywhere)
            found["distance"] = self.distance()
        else:
            found["rotation"] = by_cosine(angle(self.x, self.z), 8 * gamma)
            found["affine_rotation"] = by_cosine(angle(self.normalized, self.z), 9 * self.kappa * gamma)
        return found

    def gauge(self) -> Values:
        r = np.linalg.norm(self.normalized, axis=-1) / math.sqrt(self.d)
        return Values(r, 3.1 * self.kappa * self.gamma * r)

    def mean_cosine(self, keep: slice) -> Value:
        """Over pairs of tokens; û is right to 5κγ, and a sum of N terms of length κ or less to their sum times γ_N."""
        centred = self.x - np.mean(self.x, axis=-1, keepdims=True) if self.layernorm else self.x
        units = (centred / np.linalg.norm(centred, axis=-1, keepdims=True))[:, keep].reshape(-1, self.d)
        n, kappa = len(units), self.kappa[:, keep].sum()
        off = kappa * self.gamma * (5 + (n + 8) / (self.d + 8))
        cosines = units @ units.T
        reach = np.linalg.norm(units.sum(0))
        return Value(float(cosines.sum() - np.trace(cosines)) / (n * (n - 1)), off * (2 * reach + off) / (n * (n - 1)))

    def components(self, side: str, keep: slice) -> Row:
        """The largest components; one as large as another, up to rounding, may stand in its place."""
        names = [f"top_{place}{end}" for place in (1, 2, 3) for end in ("", "_share")]
        if side == "output":
            return dict.fromkeys([*names, "components_99"])
        rows = self.x[:, keep].reshape(-1, self.d)
        squares, off = (rows**2).sum(0), 4 * self.gamma * (1 + len(rows) / (self.d + 8))  # a sum of as many terms
        shares = np.sort(squares / squares.sum())[::-1]
        order, found = np.argsort(-squares), dict[str, Any]()
        for place, share in enumerate(shares[:3]):
            alike = np.flatnonzero(np.abs(squares / squares.sum() - share) <= off)
            found[f"top_{place + 1}"] = Value(float(order[place]), float(np.abs(alike - order[place]).max()))
            found[f"top_{place + 1}_share"] = Value(float(share), off)
        fewest, most = (int((np.cumsum(shares) + sign * off < 0.99).sum()) + 1 for sign in (1, -1))
        return {**found, "components_99": Value((fewest + most) / 2, (most - fewest) / 2)}

    def cosines(self, side: str) -> tuple[Values, list[Values], list[Values]]:
        v = self.x if side == "input" else self.z
        norm = np.linalg.norm(v, axis=-1)

        def of(direction: np.ndarray, delta: float) -> Values:
            cosine = (v @ direction) / (norm * np.linalg.norm(direction))
            return Values(cosine, np.full(cosine.shape, delta))

        random, signs = ([of(u, 4 * self.gamma) for u in each] for each in (self.directions, self.signs))
        return of(np.ones(self.d), 3 * self.gamma), random, signs

    def rows(self) -> Iterator[Row]:
        gauge = self.gauge()
        for side in ("input", "output"):
            features = {**self.features(side), "gauge": gauge}
            uniform, random, signs = self.cosines(side)
            first = self.first
            parts = {"first": slice(0, first), "rest": slice(first, None), "all": slice(None)}
            for bucket, keep in parts.items():
                there = {name: cut(pair, keep) for name, pair in features.items()}
                isotropic, flat = (
                    energies(self.d, cut(uniform, keep), [cut(pair, keep) for pair in null]) for null in (random, signs)
                )
                alike = self.mean_cosine(keep) if side == "input" else None
                yield {
                    **self.row(side, bucket, there), "mean_cosine": alike, **self.components(side, keep),
                    **{name: value for name, value in isotropic.items() if name != "centred_median"},
                    **{name: flat[of_random] for name, of_random in OF_SIGNS.items()},
                }  # fmt: skip

    def row(self, side: str, bucket: str, features: dict[str, Values]) -> Row:
        """The columns that do not depend on cos² in one line."""
        sequences, positions = features["norm"].value.shape
        numbered = re.search(r"(?:^|\.)(\d+)\.", self.site.path)
        found: Row = {
            "site": self.site.path,
            "layer": None if numbered is None else int(numbered[1]),
            "role": self.site.role,  # this and the next are the subject of the tests of the families
            "same_input_as": self.site.same_input_as,
            "norm": "layernorm" if self.layernorm else "rmsnorm",
            "side": side,
            "bucket": bucket,
            "tokens": sequences * positions,
            "d": self.d,
            "eps": Value(self.eps, 0),
            "sequences": sequences,
            "documents": sequences,
            "underflow": 0,
            "nonfinite": 0,
            "zero": 0,
            "tilt_mean_deg": None,
            "rotation_mean_deg": None,
            "rotation_std_deg": None,
            "affine_rotation_mean_deg": None,
            "distance_mean": None,
            "distance_max": None,
        }
        for name, (value, bound) in features.items():
            unit = "" if name in ("norm", "gauge", "distance") else "_deg"
            found[f"{name}_mean{unit}"] = Value(float(np.mean(value)), float(np.mean(bound)))
            if name not in ("tilt", "distance", "affine_rotation", "gauge"):
                found[f"{name}_std{unit}"] = Value(float(np.std(value)), math.sqrt(np.mean(bound**2)))
        norms, angles = features["norm"], features["angle"]
        for name in features.keys() & {"norm", "distance"}:
            found[f"{name}_max"] = Value(*(float(np.max(part)) for part in features[name]))
        for name, q in (("median", 0.5), ("p01", 0.01), ("p99", 0.99)):
            place = float(np.quantile(angles.value, q, method="inverted_cdf"))
            found[f"angle_{name}_deg"] = Value(place, 0.01 / 2 + float(np.max(angles.bound)))
        middle = float(np.quantile(norms.value, 0.5, method="inverted_cdf"))
        found["norm_median"] = Value(middle, middle * (2 ** (1 / 32) * (1 + 3 * self.gamma) - 1))
        return found


def cut(pair: Values, keep: slice) -> Values:
    return Values(pair.value[:, keep], pair.bound[:, keep])


OF_SIGNS = {
    "sign_d_cos2_median": "random_d_cos2_median",
    "rank_among_signs": "rank_among_random",
    "sign_d_cos2_low": "random_d_cos2_low",
    "sign_d_cos2_high": "random_d_cos2_high",
    "sign_rank_low": "rank_low",
    "sign_rank_high": "rank_high",
    "centred_sign_d_cos2_median": "centred_median",
    "centred_rank_among_signs": "centred_rank_among_random",
    "centred_sign_rank_low": "centred_rank_low",
    "centred_sign_rank_high": "centred_rank_high",
}
"""What the columns of the sign vectors are called where they are about the random directions."""


def squared(cosine: Values) -> Values:
    return Values(cosine.value**2, cosine.bound * (2 * np.abs(cosine.value) + cosine.bound))


def centred(d: int, cosine: Values) -> Value:
    """d·E[cos²θ] − d·E[cosθ]², both computed with the cosines' errors."""
    (square, off), (mean, by) = ([float(np.mean(part)) for part in pair] for pair in (squared(cosine), cosine))
    return Value(d * (square - mean**2), d * (off + by * (2 * abs(mean) + by)))


def energies(d: int, uniform: Values, random: list[Values]) -> Row:
    """d·E[cos²θ] for 1, its interval, and the same for the random directions; and without the token mean."""
    own, others = centred(d, uniform), [centred(d, pair) for pair in random]
    middle, by = (float(np.mean(part)) for part in uniform)
    around = squared(Values(uniform.value - middle, uniform.bound + by))
    uniform, random = squared(uniform), [squared(pair) for pair in random]
    mean, off, low, high, slack = interval(d, uniform)
    _, _, least, largest, room = interval(d, around)
    averages = np.array([d * np.mean(pair.value) for pair in random])
    most = max(float(d * np.mean(pair.bound)) for pair in random)

    def rank(energy: float, error: float, among: np.ndarray = averages, most: float = most) -> Value:
        # Directions nearer than both errors together may be counted either way.
        fewest, largest = (int(np.sum(among < energy + sign * (error + most))) for sign in (-1, 1))
        return Value((fewest + largest) / 2, (largest - fewest) / 2)

    spreads, apart = np.array([each.expected for each in others]), max(each.bound for each in others)

    return {
        "d_cos2": Value(mean, off),
        "d_cos2_low": Value(low, slack),
        "d_cos2_high": Value(high, slack),
        "random_d_cos2_median": Value(float(np.median(averages)), most),
        "random_d_cos2_low": Value(float(np.quantile(averages, 0.05)), most),
        "random_d_cos2_high": Value(float(np.quantile(averages, 0.95)), most),
        "rank_among_random": rank(mean, off),
        "rank_low": rank(low, slack),
        "rank_high": rank(high, slack),
        "null_tokens": uniform.value.size,
        "directions": len(random),
        "centred_d_cos2": own,
        "centred_d_cos2_low": Value(least, room),
        "centred_d_cos2_high": Value(largest, room),
        "centred_median": Value(float(np.median(spreads)), apart),
        "centred_rank_among_random": rank(*own, spreads, apart),
        "centred_rank_low": rank(least, room, spreads, apart),
        "centred_rank_high": rank(largest, room, spreads, apart),
    }


def interval(d: int, uniform: Values) -> tuple[float, float, float, float, float]:
    """d times a mean over sequences and its error; the ends of its interval, and their error."""
    value, bound = d * uniform.value, d * uniform.bound
    mean, off = float(np.mean(value)), float(np.mean(bound))
    m = len(value)
    per_sequence, reach = np.mean(value, axis=1), np.mean(bound, axis=1)
    t = float(scipy.stats.t.ppf(0.975, m - 1))
    low, high = (mean + sign * t * scipy.stats.sem(per_sequence) for sign in (-1, 1))
    # The standard error is a seminorm of the means by sequence. The sums of squares it is taken from on the other
    # path cancel: 8 roundings of float64 relative to Σs², under a root.
    spread = math.sqrt(np.sum(reach**2) / (m * (m - 1)))
    cancelled = math.sqrt(8 * 2.0**-53 * np.sum(per_sequence**2) / (m * (m - 1)))
    return mean, off, max(low, 0.0), high, off + t * (spread + cancelled)


Pair = tuple[torch.Tensor, torch.Tensor]


def observed(
    model: Any, batch: dict[str, Any], sites: Sequence[NormSite], directions: int, seed: int
) -> tuple[list[dict[str, Any]], dict[str, list[Pair]]]:
    """The table of the observer, and what entered and left each norm layer in the same pass."""
    stored: dict[str, list[Pair]] = {site.path: [] for site in sites}

    def keep(path: str, _: Any, args: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        stored[path].append((args[0].clone(), output.clone()))

    handles = [model.get_submodule(path).register_forward_hook(partial(keep, path)) for path in stored]
    watching = Observer(model, sites, directions=directions, seed=seed)
    with watching as observer, torch.inference_mode():
        model(**batch)
    for handle in handles:
        handle.remove()
    return observe.rows(observer.states, sites), stored


def measured_and_stored(
    model: Any, ids: np.ndarray, directions: int, seed: int
) -> tuple[list[dict[str, Any]], list[Row]]:
    """The table of the observer, and the rows that the same hidden states give by the second path."""
    sites, modules = sites_of(model), dict(model.named_modules())
    norms = [path for path, one in modules.items() if "Norm" in type(one).__name__ and not path.endswith(OF_HEADS)]
    assert sorted(norms) == sorted(site.path for site in sites)
    table, stored = observed(model, {"input_ids": torch.from_numpy(ids.astype(np.int64))}, sites, directions, seed)
    compared, expected = random_directions(sites[0].d, directions, seed), []
    for site in sites:
        (pair,) = stored[site.path]
        x, z = (each.reshape(*ids.shape, -1) for each in pair)  # some architectures flatten the batch
        # In the dtype of the hidden states; of which length does not matter to an angle.
        rounded = torch.from_numpy(compared).to(torch.promote_types(x.dtype, z.dtype)).to(torch.float64).numpy()
        expected += Oracle(modules[site.path], site, x, z, (rounded, sign_directions(site.d, directions, seed))).rows()
    return table, expected


def disagreements(table: Sequence[dict[str, Any]], expected: Sequence[Row]) -> list[str]:
    assert [row["site"] for row in table] == [row["site"] for row in expected]
    found: list[str] = []
    for row, oracle in zip(table, expected, strict=True):
        assert tuple(row) == observe.COLUMNS
        assert oracle.keys() == row.keys(), "every column is compared"
        for name, want in oracle.items():
            have = row[name]
            if isinstance(want, Value):
                # Not (a > b), which NaN would pass.
                agrees = have is not None and abs(have - want.expected) <= want.bound
            else:
                agrees = have == want
            if not agrees:
                found.append(f"{row['site']} {row['side']} {row['bucket']} {name}: {have}, not {want}")
    return found


IDS = np.random.default_rng(7).integers(3, VOCABULARY, (5, 24))
