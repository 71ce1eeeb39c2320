import importlib
import runpy
from typing import Any

import pandas as pd

from lngeom.check import NEVER
from lngeom.proofs.claims import find

from .conftest import DOCS

RESULTS = DOCS / "results"


def results(name: str) -> Any:
    return pd.read_csv(RESULTS / f"{name}.csv")


def test_the_ledger_has_the_times_of_the_kernels() -> None:
    rounds = results("cost/kernels").pivot(index=["dtype", "d", "round"], columns="norm", values="milliseconds")

    def medians(work: str) -> str:
        ratios = rounds[f"rms_norm{work}"] / rounds[f"layer_norm{work}"]
        return span(ratios.groupby(level=["dtype", "d"]).median().dropna(), ".3g")

    said = find("summary.6").correction
    for works in (("", " and gradient"), (", compiled", ", compiled and gradient")):
        forward, gradient = map(medians, works)
        assert f"{forward} times as much forward, and {gradient} times as much with the gradient" in said


def span(values: Any, form: str) -> str:
    return f"{values.min():{form}} to {values.max():{form}}"


def angles(degrees: Any, digits: int) -> str:
    return span(degrees, f".{digits}f").replace(" ", "° ", 1) + "°"


def test_the_ledger_answers_from_the_tables() -> None:
    smollm2 = results("smollm2/sites")
    after = smollm2.query("side == 'output' and bucket == 'all'")
    before, rest, first = (smollm2.query(f"side == 'input' and bucket == '{of}'") for of in ("all", "rest", "first"))
    whisper = results("whisper/angles").query("frames == 'all'")["angle_mean_deg"]
    lengths = rest[rest["role"] != "pre_mlp"]["norm_mean"].to_numpy()
    energies = [
        "{d_cos2:#.3g} [{d_cos2_low:#.3g}, {d_cos2_high:#.3g}]".format(**row)
        for row in before.sort_values("d_cos2").iloc[[0, -1]].to_dict("records")
    ]
    off = [f"{(before[f'{of}angle_mean_deg'] - 90).abs().median():.2f}°" for of in ("", "random_a_", "random_b_")]
    said = {
        "gupta.38": [angles(before["angle_mean_deg"], 2), angles(before["angle_std_deg"], 2), angles(whisper[:9], 1)],
        "gupta.39": [angles(after["angle_mean_deg"], 2)],
        "gupta.40": [f"{((whisper - 90).abs() > 5).sum()} of its {len(whisper)} norms"],
        "gupta.44": [
            span(rest["d_cos2"], ".3g"),
            f"{first['d_cos2'].min():.3g} to {first['d_cos2'].max():#.3g}",
            f"{((rest['d_cos2_low'] > 1) | (rest['d_cos2_high'] < 1)).sum()} of the {len(rest)} norms",
        ],
        "gupta.46": [span(before["d_cos2"], ".3g")],
        "gupta.48": energies,
        "gupta.69": off,
        "depth.2": [
            f"{lengths[0]:.2f} to {lengths[1]:.1f}",
            span(lengths[2:] / lengths[1:-1], ".5g"),
            f"{lengths[-1]:.0f}",
        ],
    }
    for id, parts in said.items():
        assert [part for part in parts if part not in find(id).correction] == []


def test_the_table_of_ranks_is_that_of_the_run() -> None:
    page = (RESULTS / "smollm2.md").read_text(encoding="utf-8")
    before = results("smollm2/sites").query("side == 'input' and bucket == 'all'")
    lines = {
        "lowest tenth": ("", lambda share: share <= 1 / 10),
        "lowest quarter": ("", lambda share: share <= 1 / 4),
        "highest quarter": ("", lambda share: share >= 3 / 4),
        "lowest quarter, token mean removed": ("centred_", lambda share: share <= 1 / 4),
        "highest tenth, token mean removed": ("centred_", lambda share: share >= 9 / 10),
    }
    for name, (centred, counts) in lines.items():
        shares = (before[f"{centred}rank_among_{null}"] / before["directions"] for null in ("signs", "random"))
        chance = len(before) * sum(counts(rank / 64) for rank in range(65)) / 65
        assert "| {} | {} | {} | {:.1f} |".format(name, *(counts(share).sum() for share in shares), chance) in page
    assert f"(at {(before['sign_rank_high'] < 32).sum()} the whole interval of its rank is below 32)" in page
    first = results("smollm2/sites").query("side == 'input' and bucket == 'first' and rank_among_random == 44")
    assert len(first) == 32
    for name, digits in (("d_cos2", "energies of {:.2f} to {:.2f}"), ("rank_among_signs", "it ranks {} to {} there")):
        assert digits.format(first[name].min(), first[name].max()) in page


def test_the_first_page_has_the_angles_of_recordings_that_nothing_was_fitted_to() -> None:
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    rows = results("gauge/recorded").set_index("gauge").loc[["45°", "90°"], ["angle_least", "angle_most"]]
    (low, high), (least, most) = rows.to_numpy()
    assert f"{low:.1f}° to {high:.1f}° in the first checkpoint, and {least:.1f}° to {most:.1f}° in the second" in text


def test_the_page_of_training_says_of_adamw_what_the_table_has() -> None:
    page = (RESULTS / "training" / "index.md").read_text(encoding="utf-8")
    steps = results("training/adamw")
    share = steps["step_share"] * (1 + 1 / steps["step_cv2"])
    low, high = share.quantile([0.05, 0.95])
    assert f"{share.median():.3f} of the prediction (5 to 95 %: {low:.3f} to {high:.2f};" in page
    untied = steps[steps["embeddings"] == "untied"]["momentum_share"].max()
    assert f"without tying the mean gradient has at most {untied:.1e} along 1" in page
    least, most = steps[steps["step"] == 300]["step_cv2"].agg(["min", "max"])
    assert f"between {least:.4f} and {most:.2f}." in page


def test_trust_has_what_no_verdict_covers() -> None:
    told = importlib.import_module("lngeom_numbers").numbers()["never"]
    assert "{{ never }}" in (DOCS / "trust.md").read_text(encoding="utf-8")
    assert told.splitlines() == [f"- {words}" for words in NEVER]


def test_the_tables_of_benchmarks_are_those_of_the_records() -> None:
    made = runpy.run_path(str(DOCS.parent / "experiments" / "benchmarks" / "run.py"))
    records = made["json"].loads((RESULTS / "benchmarks.json").read_text(encoding="utf-8"))
    assert (RESULTS / "cost.txt").read_text(encoding="utf-8") == made["tables"](records)
