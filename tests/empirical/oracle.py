"""Every column of the table against a second computation: stored hidden states, float64, textbook formulas.

The hidden states of one forward pass of each architecture are kept while the observer measures them, so that both see
the same numbers. The second path shares no formula with the first: angles are Kahan's 2 atan2(‖â − b̂‖, ‖â + b̂‖), the
gauge is the length of the normalized vector, tilt and distance are the angle and the distance between the two
normalized vectors, quantiles are order statistics and the interval is that of scipy.

Whatever the order of a sum of d products in a format of unit roundoff u, its error is at most (d + 8)u times the sum of
their magnitudes, 8 leaving room for the roundings around it (Higham, Accuracy and Stability of Numerical Algorithms,
section 3.1). A number of the table takes a few such sums; `CONDITION` pays for these and for the condition of angles,
which are not near 0° or 180° here, and of norms whose mean is not large beside their spread. The quantile of a
histogram has half a bin on top, and a rank counts directions that lie within the error either way.
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
from tests.support import CONDITION

from .conftest import VOCABULARY

OF_HEADS = ("q_norm", "k_norm")
"""Norms of queries and keys, which are not vectors of the stream."""


class Value(NamedTuple):
    """The true value of a column, and a bound on the error."""

    expected: float
    bound: float


Row = dict[str, Any]
"""Values by column, and what has to be exactly so."""
Directions = tuple[np.ndarray, np.ndarray]
"""Random directions and sign vectors."""


def angle(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Angle between vectors along the last axis, in degrees, by Kahan's formula."""
    a, b = (v / np.linalg.norm(v, axis=-1, keepdims=True) for v in (a, b))
    return np.degrees(2 * np.arctan2(np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1)))


class Oracle:
    """The rows of one norm layer from its stored inputs and outputs, shape (sequences, positions, d)."""

    def __init__(
        self, module: Any, site: NormSite, x: torch.Tensor, z: torch.Tensor, directions: Directions, first: int = 1
    ) -> None:
        self.first = first  # vectors at the first position of a sequence: as many as there are heads
        self.x, self.z = (t.to(torch.float64).numpy() for t in (x, z))
        self.site, self.d, self.directions = site, self.x.shape[-1], directions
        unit = torch.finfo(torch.promote_types(x.dtype, torch.float32)).eps / 2
        self.close = CONDITION * (self.d + 8) * unit
        kept = (getattr(module, name, None) for name in ("variance_epsilon", "eps"))
        self.eps = site.eps if site.role == "norm" else float(next(each for each in kept if each is not None))
        self.layernorm = isinstance(module, torch.nn.LayerNorm) or "LayerNorm" in type(module).__name__
        self.layernorm = self.layernorm and not type(module).__name__.startswith("T5")
        self.centred = self.x - np.mean(self.x, axis=-1, keepdims=True)
        self.read = self.centred if self.layernorm else self.x
        self.normalized = self.normal(self.read)

    def normal(self, v: np.ndarray) -> np.ndarray:
        return v / np.sqrt(np.mean(v**2, axis=-1, keepdims=True) + self.eps)

    def near(self, value: Any, more: float = 0.0) -> Value:
        return Value(float(value), self.close * (1 + abs(float(value))) + more)

    def features(self, side: str) -> dict[str, np.ndarray]:
        v, root = (self.x if side == "input" else self.z), math.sqrt(self.d)
        found = {
            "angle": angle(v, np.ones(self.d)),
            "random_a_angle": angle(v, self.directions[0][0]),
            "random_b_angle": angle(v, self.directions[0][1]),
            "norm": np.linalg.norm(v, axis=-1),
            "gauge": np.linalg.norm(self.normalized, axis=-1) / root,
        }
        if side == "input":
            apart = self.normal(self.centred) - self.normal(self.x)
            return found | {"tilt": angle(self.x, self.centred), "distance": np.linalg.norm(apart, axis=-1) / root}
        return found | {"rotation": angle(self.x, self.z), "affine_rotation": angle(self.normalized, self.z)}

    def mean_cosine(self, keep: slice) -> Value:
        """Over pairs of tokens."""
        units = (self.read / np.linalg.norm(self.read, axis=-1, keepdims=True))[:, keep].reshape(-1, self.d)
        cosines, n = units @ units.T, len(units)
        return self.near((cosines.sum() - np.trace(cosines)) / (n * (n - 1)))

    def components(self, side: str, keep: slice) -> Row:
        """The largest components; one as large as another, up to rounding, may stand in its place."""
        names = [f"top_{place}{end}" for place in (1, 2, 3) for end in ("", "_share")]
        if side == "output":
            return dict.fromkeys([*names, "components_99"])
        squares = (self.x[:, keep].reshape(-1, self.d) ** 2).sum(0)
        all_shares = squares / squares.sum()
        order, shares, found = np.argsort(-squares), np.sort(all_shares)[::-1], Row()
        for place, share in enumerate(shares[:3]):
            alike = np.flatnonzero(np.abs(all_shares - share) <= self.close)
            found[f"top_{place + 1}"] = Value(float(order[place]), float(np.abs(alike - order[place]).max()))
            found[f"top_{place + 1}_share"] = self.near(share)
        fewest, most = (int((np.cumsum(shares) + sign * self.close < 0.99).sum()) + 1 for sign in (1, -1))
        return {**found, "components_99": Value((fewest + most) / 2, (most - fewest) / 2)}

    def rows(self) -> Iterator[Row]:
        first = self.first
        for side in ("input", "output"):
            features, v = self.features(side), self.x if side == "input" else self.z
            v = v / np.linalg.norm(v, axis=-1, keepdims=True)
            cosines = v @ np.full(self.d, self.d**-0.5)
            nulls = [v @ (each / np.linalg.norm(each, axis=-1, keepdims=True)).T for each in self.directions]
            for bucket, keep in {"first": slice(0, first), "rest": slice(first, None), "all": slice(None)}.items():
                there = {name: values[:, keep] for name, values in features.items()}
                isotropic, flat = (self.energies(cosines[:, keep], each[:, keep]) for each in nulls)
                isotropic.pop("centred_median")
                yield {
                    **self.row(side, bucket, there), **self.components(side, keep), **isotropic,
                    "mean_cosine": self.mean_cosine(keep) if side == "input" else None,
                    **{name: flat[of_random] for name, of_random in OF_SIGNS.items()},
                }  # fmt: skip

    def row(self, side: str, bucket: str, features: dict[str, np.ndarray]) -> Row:
        """The columns that do not depend on cos² in one line."""
        sequences, positions = features["norm"].shape
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
            "eps": self.eps,
            "sequences": sequences,
            "documents": sequences,
            **dict.fromkeys(("underflow", "nonfinite", "zero"), 0),
            **dict.fromkeys(("tilt_mean_deg", "rotation_mean_deg", "rotation_std_deg", "affine_rotation_mean_deg")),
            **dict.fromkeys(("distance_mean", "distance_max")),
        }
        for name, values in features.items():
            unit = "" if name in ("norm", "gauge", "distance") else "_deg"
            found[f"{name}_mean{unit}"] = self.near(np.mean(values))
            if name not in ("tilt", "distance", "affine_rotation", "gauge"):
                found[f"{name}_std{unit}"] = self.near(np.std(values))
        for name in features.keys() & {"norm", "distance"}:
            found[f"{name}_max"] = self.near(np.max(features[name]))
        for name, q in (("median", 0.5), ("p01", 0.01), ("p99", 0.99)):
            place = np.quantile(features["angle"], q, method="inverted_cdf")
            found[f"angle_{name}_deg"] = self.near(place, 0.01 / 2)
        middle = float(np.quantile(features["norm"], 0.5, method="inverted_cdf"))
        found["norm_median"] = self.near(middle, middle * (2 ** (1 / 32) - 1))
        return found

    def energies(self, uniform: np.ndarray, random: np.ndarray) -> Row:
        """d·E[cos²θ] for 1, its interval, and the same for the directions; and without the token mean."""
        d = self.d
        around = d * (uniform - uniform.mean()) ** 2
        averages, spreads = (d * each for each in (np.mean(random**2, (0, 1)), np.var(random, (0, 1))))
        (low, high), (least, largest) = interval(d * uniform**2), interval(around)
        mean, own = d * np.mean(uniform**2), np.mean(around)

        def rank(energy: float, among: np.ndarray = averages) -> Value:
            off = 2 * self.near(energy).bound
            fewest, largest = (int(np.sum(among < energy + sign * off)) for sign in (-1, 1))
            return Value((fewest + largest) / 2, (largest - fewest) / 2)

        return {
            "d_cos2": self.near(mean),
            "d_cos2_low": self.near(low),
            "d_cos2_high": self.near(high),
            "random_d_cos2_median": self.near(np.median(averages)),
            "random_d_cos2_low": self.near(np.quantile(averages, 0.05)),
            "random_d_cos2_high": self.near(np.quantile(averages, 0.95)),
            "rank_among_random": rank(mean),
            "rank_low": rank(low),
            "rank_high": rank(high),
            "null_tokens": uniform.size,
            "directions": random.shape[-1],
            "centred_d_cos2": self.near(own),
            "centred_d_cos2_low": self.near(least),
            "centred_d_cos2_high": self.near(largest),
            "centred_median": self.near(np.median(spreads)),
            "centred_rank_among_random": rank(own, spreads),
            "centred_rank_low": rank(least, spreads),
            "centred_rank_high": rank(largest, spreads),
        }


def interval(values: np.ndarray) -> tuple[float, float]:
    """The ends of the interval of a mean over sequences of one length."""
    reach = scipy.stats.t.ppf(0.975, len(values) - 1) * scipy.stats.sem(np.mean(values, axis=1))
    return max(np.mean(values) - reach, 0.0), np.mean(values) + reach


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
