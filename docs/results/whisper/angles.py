"""Angles at every norm of Whisper, and whether they tell its price: ``angles.py ALL SPEECH ABLATION OUTPUT``.

ALL and SPEECH are the runs of ``lngeom sweep`` on all frames and on those of speech, ABLATION that of ``lngeom
ablate``. Writes the table OUTPUT, and prints the rank correlations over the norms of each stack.
"""

import sys
from pathlib import Path
from typing import Any

from scipy.stats import spearmanr

from lngeom.empirical.support import read_table, write_table
from lngeom.empirical.sweep import read_finished

COLUMNS = (
    "tokens", "angle_mean_deg", "tilt_mean_deg", "d_cos2", "d_cos2_low", "d_cos2_high", "random_d_cos2_median",
    "rank_among_random", "distance_mean", "rank_among_signs", "sign_d_cos2_median", "centred_d_cos2",
    "centred_sign_d_cos2_median", "centred_rank_among_signs",
)  # fmt: skip


def main(every: str, speech: str, ablation: str, output: str) -> None:
    """Join, write, print."""
    cost = {row["site"]: row["nats"] for row in read_table(Path(ablation, "ablation.csv"))}
    table: list[dict[str, Any]] = []
    for frames, run in (("all", every), ("speech", speech)):
        for row in read_finished(run).rows:
            site = row["site"]
            if (row["bucket"], row["side"]) == ("all", "input") and (frames == "all" or "encoder." in site):
                chosen = {name: row[name] for name in COLUMNS}
                table.append({"site": site, "frames": frames, **chosen, "nats": cost[site]})
    write_table(Path(output), table, digits=6)
    for stack in ("encoder", "decoder", ""):
        rows = [row for row in table if row["frames"] == "all" and stack in row["site"].split(".")[1]]
        for name in ("tilt_mean_deg", "distance_mean", "d_cos2"):
            found = spearmanr([row[name] for row in rows], [row["nats"] for row in rows])
            line = f"{stack or 'both'}: {len(rows)} norms, {name} and nats"
            print(f"{line}: ρ = {found.statistic:.2f}, p = {found.pvalue:.2g}")


if __name__ == "__main__":
    main(*sys.argv[1:])
