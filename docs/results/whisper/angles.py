"""Angles at every norm of Whisper, and whether they tell its price: ``angles.py OUTPUT ABLATION [COUNT]``.

OUTPUT is what prepare.py wrote, ABLATION the run of ``lngeom ablate``. Writes OUTPUT/angles.csv and prints the rank
correlations over the norms of each stack.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import spearmanr

import lngeom
from empirical.folding import find_norms, sample_inputs
from empirical.models import find_model, load_network
from empirical.runs import read_table, write_table
from empirical.statistics import ratio_interval


def observed(network: Any, paths: list[str], path: Path) -> dict[tuple[str, str], np.ndarray]:
    """For each norm and kind of frame: vectors, and sums of angles, d·cos²θ and distances, over one passage."""
    rows: dict[tuple[str, str], np.ndarray] = {}
    with np.load(path) as case:
        inputs = {name: torch.from_numpy(case[name])[None] for name in ("input_features", "decoder_input_ids")}
        speech = torch.from_numpy(case["speech"])

    def hook(name: str, eps: float) -> Any:
        def observe(_: Any, args: tuple[torch.Tensor, ...]) -> None:
            x = args[0][0].double()
            theta = lngeom.angle_to_uniform(x)
            distance = lngeom.layer_rms_distance(x, eps=eps)
            terms = torch.stack(
                [torch.ones_like(theta), torch.rad2deg(theta), x.shape[-1] * theta.cos() ** 2, distance]
            )
            rows[name, "all"] = terms.sum(1).numpy()
            if "encoder." in name:
                rows[name, "speech"] = terms[:, speech].sum(1).numpy()

        return observe

    modules = [network.get_submodule(name) for name in paths]
    handles = [m.register_forward_pre_hook(hook(n, m.eps)) for n, m in zip(paths, modules, strict=True)]
    with torch.inference_mode():
        network(**inputs)
    for handle in handles:
        handle.remove()
    return rows


def main(output: Path, ablation: Path, count: int) -> None:
    """Measure, write, print."""
    network = load_network(find_model(str(output / "model")))
    paths = list(find_norms(network, sample_inputs(network)))
    passages = [observed(network, paths, path) for path in sorted((output / "passages").glob("*.npz"))[:count]]
    cost = {row["site"]: row["nats"] for row in read_table(ablation / "ablation.csv")}
    table: list[dict[str, Any]] = []
    for site, frames in passages[0]:
        sums = np.array([passage[site, frames] for passage in passages])
        n, energy = sums[:, 0], sums[:, 2]
        mean, low, high = ratio_interval(
            energy.sum(), (energy**2).sum(), (energy * n).sum(), int(n.sum()), int((n**2).sum()), len(n)
        )
        table.append(
            {
                "site": site, "frames": frames, "vectors": int(n.sum()), "angle_mean_deg": sums[:, 1].sum() / n.sum(),
                "d_cos2": float(mean), "d_cos2_low": float(low), "d_cos2_high": float(high),
                "distance_mean": sums[:, 3].sum() / n.sum(), "nats": cost.get(site),
            }
        )  # fmt: skip
    write_table(output / "angles.csv", table)
    for stack in ("encoder", "decoder", ""):
        rows = [row for row in table if row["frames"] == "all" and stack in row["site"].split(".")[1]]
        for name, values in (
            ("tilt |90° - θ|", [abs(90 - row["angle_mean_deg"]) for row in rows]),
            ("distance_mean", [row["distance_mean"] for row in rows]),
        ):
            found = spearmanr(values, [row["nats"] for row in rows])
            line = f"{stack or 'both'}: {len(rows)} norms, {name} and nats"
            print(f"{line}: ρ = {found.statistic:.2f}, p = {found.pvalue:.2g}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 40)
