"""The numbers on the pages, computed from the committed tables whenever the site is built.

A page writes ``{{ smollm2.tokens }}`` for one of :func:`numbers`, ``{{ price("whisper", "rms_norm", "all") }}`` for a
row of a table of ``lngeom ablate``, and ``{{ attack_table }}``, on a line of its own, for a table.
"""

import ast
import json
import math
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from lngeom_records import table as markdown
from lngeom_study import report
from scipy import stats

from empirical.support import Row, Rows, read_table
from experiments.training import tables as training
from experiments.training.tables import CELL, Table, short
from proofs import theorems
from proofs.claims import claims

DOCS = Path(__file__).parents[1]
DTYPES = ("float32", "float16")


@cache
def table(name: str, *words: str) -> Rows:
    """The rows of a committed table, by its path below ``docs/results``; some columns hold words."""
    return read_table(DOCS / "results" / f"{name}.csv", words=words)


@cache
def results(name: str) -> Table:
    """The same as a table of pandas."""
    return pd.read_csv(DOCS / "results" / f"{name}.csv")


def numbers() -> dict[str, Any]:
    """Everything that a page can refer to, by name."""
    return {
        "smollm2": smollm2(),
        "whisper": whisper(),
        "gauge": gauge(),
        "study": study(),
        "report": report(DOCS / "results" / "training"),
        "records": records(),
        "architectures": architectures(),
        "wild": wild(),
        "faults": {name: seeded_faults(name) for name in ("numpy", "torch", "jax")},
        "cost": cost(),
        "price": price,
        "priced_tokens": priced_tokens,
        "correlations_table": correlations_table(),
        "whisper_gauges": gauge_table("whisper"),
        "recorded_gauges": gauge_table("recorded"),
        "smollm2_gauges": gauge_table("smollm2"),
        "orbit_table": orbit_table(),
        "attack_table": attack_table(),
        "drawn": drawn_directions(),
        "paid": paid,
        "rank_widths": rank_widths(),
        "checker_lines": f"{lines_of_code(DOCS.parent / 'lngeom' / 'checker.py')}",
    }


# Formats.


def signed(text: str) -> str:
    """A number with the mathematical minus sign."""
    return text.replace("-", "−")


def interval(value: float, low: float, high: float, digits: str) -> str:
    """A value with its interval: ``1.83 [1.66, 2.00]``."""
    return signed(f"{value:{digits}} [{low:{digits}}, {high:{digits}}]")


def with_interval(row: Row, column: str, digits: str) -> str:
    """A value of a table with the interval that stands beside it."""
    return interval(*(row[column + end] for end in ("", "_low", "_high")), digits)


def ends(rows: Iterable[Row], column: str, digits: str) -> list[str]:
    """The smallest and the largest value of a column."""
    values = [row[column] for row in rows]
    return [format(min(values), digits), format(max(values), digits)]


def change_of(name: str, change: str, site: str = "all") -> Row:
    """The row of one change in a table of ``lngeom ablate``."""
    (row,) = (row for row in table(PRICES[name]) if (row["change"], row["site"]) == (change, site))
    return row


def price(name: str, change: str, site: str, digits: str) -> str:
    """Nats per token that a change costs a network, with its interval."""
    return with_interval(change_of(name, change, site), "nats", digits)


PRICES = {
    "smollm2": "smollm2/ablation",
    "drawn": "smollm2/directions",
    "whisper": "whisper/ablation",
    "layer": "training/ablation-layer",
    "rms": "training/ablation-rms",
}


def priced_tokens(name: str) -> str:
    """Tokens on which the changes of many norms were measured."""
    return f"{table(PRICES[name])[0]['tokens']:,}"


# Measured networks.


def smollm2() -> dict[str, Any]:
    rows = [row for row in table("smollm2/sites") if row["bucket"] == "all"]
    before, after = ([row for row in rows if row["side"] == side] for side in ("input", "output"))
    above = [row for row in before if row["d_cos2_low"] > 1]
    layers = [row["layer"] for row in above if row["layer"] is not None]
    final = next(row for row in before if row["role"] == "final")
    fits = {fit["law"]: fit for fit in table("smollm2/growth") if fit["first_depth"] == 1}
    # Two sides a norm, two norms a block: what enters the first and the second block.
    norms = [row["norm_mean"] for row in table("smollm2/sites") if row["bucket"] == "rest"]
    few = {row["site"]: row for row in table("smollm2/sites-16k") if (row["bucket"], row["side"]) == ("all", "input")}
    shown = next(iter(few.values()))
    changes = {row["site"]: row for row in table("smollm2/ablation")[1:]}
    return {
        "tokens": f"{rows[0]['tokens']:,}",
        "sequences": rows[0]["sequences"],
        "length": rows[0]["tokens"] // rows[0]["sequences"],
        "articles": rows[0]["documents"],
        "norms": len(before),
        "isotropic_spread": f"{math.degrees(rows[0]['d'] ** -0.5):.2f}°",
        "before": ends(before, "angle_mean_deg", ".2f"),
        "after": ends(after, "angle_mean_deg", ".2f"),
        "tilt": ends(before, "tilt_mean_deg", ".2f"),
        "distance": ends(before, "distance_mean", ".3f"),
        "farthest": f"{max(row['distance_max'] for row in before):.2f}",
        "energy": ends(before, "d_cos2", ".3g"),
        "below_median": sum(row["rank_among_random"] < 64 / 2 for row in before),
        "above": len(above),
        "above_blocks": f"{min(layers)} to {max(layers)}",
        "final": with_interval(final, "d_cos2", ".2f"),
        "gauge": f"{min(row['gauge_mean'] for row in before):.4f}",
        "first_block": f"{norms[4] / norms[0]:.0f}",
        "exponential": interval(*(fits["exponential"][name] for name in ("estimate", "low", "high")), ".3f"),
        "power": interval(*(fits["power"][name] for name in ("estimate", "low", "high")), ".2f"),
        "misfits": [f"{fits[law]['misfit']:.2f}" for law in ("exponential", "power")],
        "few_tokens": f"{shown['tokens']:,}",
        "few_articles": shown["documents"],
        "differ": sum(_differ(row, few[row["site"]]) for row in before),
        **_ranks(before),
        "top1": {site: f"{100 * row['top1']:.1f} %" for site, row in changes.items()},
    }


def _ranks(before: list[Row]) -> dict[str, Any]:
    """How often 1 is in the lowest tenth or quarter of the ranks among the 64 random directions."""
    ranks = [row["rank_among_random"] for row in before]
    return {
        "lowest_tenth": sum(rank <= 64 / 10 for rank in ranks),
        "lowest_quarter": sum(rank <= 64 / 4 for rank in ranks),
        "early_rank": max(rank for rank, row in zip(ranks, before, strict=True) if 2 <= (row["layer"] or 0) <= 22),
    }


def paid(part: str) -> str:
    """What measuring adds to a pass with one token in eight projected, in percent."""
    row = benchmarks(part)[-1]
    median, low, high = (signed(f"{100 * (row[name] - 1):.0f}") for name in ("ratio", "low", "high"))
    return f"{median} percent ({low} to {high} in single rounds)"


def rank_widths() -> dict[str, Any]:
    """How wide intervals of ranks are, with one token in eight projected on the random directions and with all."""
    few = results("smollm2/sites-16k").query("bucket == 'all'")
    both = results("smollm2/ranks-16k").merge(few, on=["site", "side"], suffixes=("", "_few"))
    every, some = (both[f"rank_high{end}"] - both[f"rank_low{end}"] for end in ("", "_few"))
    return {
        "places": len(both),
        "some": f"{some.median():g}",
        "all": f"{every.median():g}",
        "inside": both["rank_among_random"].between(both["rank_low_few"], both["rank_high_few"]).sum(),
        "apart": f"{(both['rank_among_random'] - both['rank_among_random_few']).abs().mean():.1f}",
        "narrow": (every < 2).sum(),
    }


def drawn_directions() -> dict[str, Any]:
    nats = results(PRICES["drawn"]).query("change == 'u_norm'")["nats"]
    found = {name: f"{nats.quantile(part):.3f}" for name, part in (("least", 0), ("median", 0.5), ("most", 1))}
    cheaper = (nats < change_of("drawn", "centred")["nats"]).sum()
    return {**found, "count": len(nats), "tokens": priced_tokens("drawn"), "cheaper": cheaper}


def _differ(row: Row, other: Row) -> bool:
    """Whether two measured energies are apart by more than 1.96 standard errors of both."""

    def error(row: Row) -> float:
        return (row["d_cos2_high"] - row["d_cos2_low"]) / 2 / float(stats.t.ppf(0.975, row["documents"] - 1))

    return abs(row["d_cos2"] - other["d_cos2"]) > 1.96 * math.hypot(error(row), error(other))


def whisper() -> dict[str, Any]:
    singles = [row for row in table("whisper/ablation") if row["change"] == "rms_norm" and row["site"].count(".") > 1]
    singles.sort(key=lambda row: row["nats"])
    replaced = change_of("whisper", "rms_norm")["nats"]
    encoder = [row["site"] for row in singles if ".encoder." in row["site"]]
    *others, last = (row["site"] for row in singles if ".decoder." in row["site"])

    def angles(stack: str, frames: str) -> list[str]:
        rows = (row for row in table("whisper/angles") if f".{stack}." in row["site"] and row["frames"] == frames)
        return ends(rows, "angle_mean_deg", ".1f")

    return {
        "replaced": f"{replaced:.2f}",
        "saturated": f"1.154 + {replaced:.3f} = 10.0",
        "single_tokens": f"{singles[0]['tokens']:,}",
        "encoder_least": price("whisper", "rms_norm", encoder[0], ".3f"),
        "encoder_most": price("whisper", "rms_norm", encoder[-1], ".2f"),
        "decoder_others": price("whisper", "rms_norm", others[-1], ".4f"),
        "decoder_last": price("whisper", "rms_norm", last, ".3f"),
        "encoder": angles("encoder", "all"),
        "speech": angles("encoder", "speech"),
        "decoder": angles("decoder", "all"),
    }


def correlations_table() -> str:
    """Rank correlations of three numbers of a norm of Whisper with its price."""

    def cell(column: str, stack: str) -> str:
        rows = table("whisper/angles")
        norms = [row for row in rows if row["frames"] == "all" and row["site"].startswith(f"model.{stack}")]
        found: Any = stats.spearmanr([row[column] for row in norms], [row["nats"] for row in norms])
        digits, _, exponent = f"{found.pvalue:.0e}".partition("e")
        chance = rf"{digits}\cdot10^{{{int(exponent)}}}" if found.pvalue < 1e-3 else f"{found.pvalue:.1g}"
        return f"{found.statistic:.2f} ($p = {chance}$)"

    columns = ("tilt_mean_deg", "distance_mean", "d_cos2")
    rows = [[f"`{column}`", *(cell(column, stack) for stack in ("", "encoder", "decoder"))] for column in columns]
    return markdown(["", "all 22 norms", "encoder, 9", "decoder, 13"], rows)


# Gauges.

SQUARE_PER_ANGLE = 0.7247
"""Above every sin²θ/θ, which is largest where tan θ = 2θ: 0.72461 at θ = 1.16556."""


def gauge() -> dict[str, Any]:
    rows = table("gauge/orbit")
    curves = [row for row in rows if row["angle"] is not None]
    stored, folded = (next(r for r in rows if (r["weights"], r["angle"]) == (w, None)) for w in ("as stored", "folded"))
    least, most = (pick(curves, key=lambda row: row["nats"]) for pick in (min, max))
    models = {name: table(f"gauge/{name}")[-1] for name in ("whisper", "recorded", "smollm2")}
    *norms, everywhere = table("gauge/smollm2-least")
    shares = [everywhere["share_most"], max(row["share_most"] for row in norms)]
    return {
        **{
            name: {"tokens": f"{row['tokens']:,}", **{k: row[k] for k in ("documents", "maps")}}
            for name, row in models.items()
        },
        "held_out": {
            row["gauge"]: f"{row['angle_least']:.1f}° to {row['angle_most']:.1f}°" for row in table("gauge/recorded")
        },
        "least": ends(norms, "angle_mean_deg", ".1f"),
        "shares": [f"{share:.2f}" for share in shares],
        "no_less": [f"{math.floor(math.degrees((1 - share) / SQUARE_PER_ANGLE)):d}" for share in shares],
        "reflected": f"{models['smollm2']['angle']:.1f}",
        "needed": f"{1 - SQUARE_PER_ANGLE * math.radians(10):.2f}",
        "orbit": {
            "tokens": f"{stored['tokens']:,}",
            "documents": 10,
            "least": with_interval(least, "nats", ".3f"),
            "where": f"{least['weights']} and shifted to {least['angle']}°",
            "most": with_interval(most, "nats", ".2f"),
            "stored": with_interval(stored, "nats", ".2f"),
            "folded": with_interval(folded, "nats", ".7f"),
        },
    }


def gauge_table(name: str) -> str:
    words = "gauge|mean angle to 1 where fitted|held out (norms)|loss|difference|largest logit difference|in float64"
    rows = []
    for row in table(f"gauge/{name}"):
        ends = [[row[f"{name}{end}"] for end in ("", "_least", "_most")] for name in ("fitted", "angle")]
        angles = [f"{mean:.1f}° ({least:.1f}° to {most:.1f}°)" for mean, least, most in ends]
        apart = ["–", "–"]
        if row["maps"]:
            apart = [f"{row['largest_difference']:.1e} of {row['largest_output']:.1f}"]
            apart += [f"{row['difference_in_float64']:.1e}"]
        difference = with_interval(row, "difference", ".1e")
        rows.append([row["gauge"], *angles, with_interval(row, "loss", ".4f"), difference, *apart])
    return markdown(words.split("|"), rows)


def orbit_table() -> str:
    prices = {(row["weights"], row["angle"]): with_interval(row, "nats", ".3f") for row in table("gauge/orbit")}
    angles = sorted({angle for _, angle in prices if angle is not None})
    kinds = ("as stored", "writers centred")
    rows = [[f"{angle}°", *(prices.get((kind, angle), "–") for kind in kinds)] for angle in angles]
    return markdown(
        ["mean angle at every norm", "weights as stored, then shifted", "writers centred, then shifted"], rows
    )


# The study of training.


@cache
def cells() -> dict[tuple[str, float], tuple[Any, Any]]:
    """What became of 1 with LayerNorm and with RMSNorm, by optimizer and weight decay."""
    found = training.summarize(training.at_tiny(results("training/study")), CELL[:3])
    return {kind: tuple(pair.itertuples()) for kind, pair in found.groupby(CELL[1:3], sort=False)}


def listed(ranks: Iterable[int]) -> str:
    """Ranks before the final norm, seed by seed."""
    return ", ".join(map(str, ranks))


def study() -> dict[str, Any]:
    layer, rms = cells()["adamw", 0]
    against = training.loss_against(results("training/controls"), results("training/study").query("norm == 'layer'"))
    controls = against.groupby(["norm", "optimizer"])["difference"].apply(training.student_mean)
    return {
        **_outcome(""),
        "repeat": {**_outcome("repeat/"), **_last_steps()},
        **_adamw(),
        "u_adamw": interval(*controls["u", "adamw"][:3], ".4f"),
        "post_adamw": interval(*controls["post", "adamw"][:3], ".2f"),
        "none_sgd": interval(*controls["none", "sgd"][:3], ".2f"),
        "ranks_layer": listed(layer.ranks),
        "ranks_rms": listed(rms.ranks),
    }


def _outcome(folder: str) -> dict[str, Any]:
    """The results of a run of the study: losses, gradients, and how many pairs of cells confirm the prediction."""
    rows, gradients = (results(f"training/{folder}{name}") for name in ("study", "gradients"))
    pairs = training.paired_losses(rows)
    mean, low, high, seeds = pooled = training.pooled_loss(pairs)
    verdicts = list(training.verdicts(training.summarize(rows)).values())
    within = gradients["norm"][gradients["excess"] <= 1] if "excess" in gradients else gradients["norm"][:0]
    return {
        "pairs": len(pairs),
        "seeds": seeds,
        "loss": interval(mean, low, high, ".4f"),
        "loss_about": signed(f"{mean:.3f} ± {high - mean:.3f}"),
        "equivalence": training.equivalence(pooled),
        "confirmed": f"{verdicts.count('holds')} of {len(verdicts)}",
        "orthogonal": {norm: (within == norm).sum() for norm in ("layer", "rms")},
        "gradients": gradients["norm"].value_counts().to_dict(),
    }


def _last_steps() -> dict[str, Any]:
    """The last step of AdamW on each writer of the LayerNorm networks that were trained again."""
    rows = results("training/repeat/writers").query("norm == 'layer'").dropna(subset="step_cv2")
    return {
        "steps": len(rows),
        "step_excess": f"{rows['step_excess'].max():.2f}",
        "step_ratio": _spread(_to_prediction(rows)),
    }


def _to_prediction(steps: Table) -> Table:
    """A step's share along 1 over CV²/(1 + CV²)."""
    return steps["step_share"] * (1 + steps["step_cv2"]) / steps["step_cv2"]


def _spread(ratios: Table) -> list[str]:
    """Median, 5th and 95th percentile."""
    return [f"{value:.2f}" for value in ratios.quantile([0.5, 0.05, 0.95])]


def _adamw() -> dict[str, Any]:
    """The steps of AdamW that were measured."""
    rows = results("training/adamw")
    tied, untied = (arm for _, arm in rows.groupby("embeddings"))
    ratios, steady = _to_prediction(untied), training.after_training(untied)

    def ends(values: Table) -> list[str]:
        return [short(values.min()), short(values.max())]

    return {
        "steps": f"{len(rows):,}",
        "step_writers": rows["writer"].nunique(),
        "step_checkpoints": rows["step"].nunique(),
        "step_seeds": rows["seed"].nunique(),
        "step_by_seed": interval(*training.student_mean(ratios.groupby(untied["seed"]).median())[:3], ".2f"),
        "step_excess": f"{rows['step_excess'].max():.2f}",
        "step_ratio": _spread(ratios),
        "momentum": short(untied["momentum_share"].max()),
        "momentum_tied": ends(tied[tied["writer"] == "transformer.wte.weight"]["momentum_share"]),
        "last_cv2": ends(steady["step_cv2"]),
        "last_share": ends(steady["step_share"]),
    }


# Proofs, and what was checked.


def records() -> dict[str, int]:
    """Theorems by kind and by status, claims by verdict."""
    kinds = Counter(theorem.kind for theorem in theorems())
    status = Counter("cited" if one.cites else "coq" if one.last_step else "proved" for one in theorems())
    verdicts = Counter(claim.verdict for claim in claims() if claim.is_distinct)
    return {**kinds, **status, **verdicts, "rest": kinds.total() - kinds["theorem"], "claims": verdicts.total()}


def lines_of_code(path: Path) -> int:
    """Lines of a file that are neither empty nor a comment nor part of a docstring."""
    source = path.read_text(encoding="utf-8")
    described = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    lines = enumerate(source.splitlines(), 1)
    return sum(bool(line.strip()) and not line.strip().startswith("#") and n not in described for n, line in lines)


def architectures() -> dict[str, str]:
    """Model types of transformers and their norms."""
    rows = results("architectures/types")
    built = rows[rows["model"].notna()]
    missed = int((built["missed"] > 0).sum())
    concerned = int(((built["norms"] > 0) | (built["missed"] > 0)).sum())
    counts = {"types": len(rows), "built": len(built), "concerned": concerned, "complete": concerned - missed}
    counts |= {"missed": missed, "recognized": int(built["norms"].sum())}
    counts |= {"refused": int(built[["missed", "others"]].sum().sum())}
    return {name: f"{count:,}" for name, count in counts.items()}


def wild() -> dict[str, int]:
    """Norm classes of other packages by dtype and verdict of the forward pass, and what is proved of them."""
    rows = results("norms_in_the_wild")
    forward = rows[rows["direction"] == "forward"]
    counts = {name: forward[forward["dtype"] == name].groupby("verdict")["classes"].sum() for name in DTYPES}
    found = {f"{name}_all": each.sum() for name, each in counts.items()}
    found |= {f"{name}_checked": each.drop("not checked").sum() for name, each in counts.items()}
    found |= {f"{name}_defined": each["rounding"] + each["variant"] for name, each in counts.items()}
    found |= {f"{name}_lost": each["unstable"] + each["bug"] for name, each in counts.items()}
    norms = rows.drop_duplicates(["package", "norm"])
    whose = norms["package"].map(lambda package: "exact" if package == "transformers" else "elsewhere")
    status = norms["exact"].str.partition(":")[0].str.replace(" ", "_")
    found |= {"_".join(key): count for key, count in norms.groupby([whose, status])["classes"].sum().items()}
    single = forward[forward["dtype"] == "float32"]
    right = (single["package"] == "transformers") & single["verdict"].isin(["rounding", "variant"])
    found |= {"right": single[right]["classes"].sum(), "distinct": len(single)}
    return {**found, "sources": (norms["package"] == "transformers").sum()}


def seeded_faults(framework: str) -> dict[str, int]:
    """Planted faults that were caught, and correct kernels."""
    rows = results("seeded_faults").query("framework == @framework")
    correct, visible = rows[rows["vectors"].notna()], rows[rows["should_be"] != "rounding"]
    hidden = len(rows) - len(visible) - len(correct)
    found = {"visible": len(visible), "named": visible["as_it_should"].sum(), "hidden": hidden}
    return {**found, "correct": len(correct), "accused": (~correct["as_it_should"]).sum()}


def attack_table() -> str:
    header = ["area", "tried", "right", "wrong"]
    return markdown(
        header, ([f"{row[name]:,}" if name != "area" else row[name] for name in header] for row in table("attack"))
    )


def benchmarks(part: str) -> list[Row]:
    """Results of one part of the benchmarks."""
    return json.loads((DOCS / "results" / "benchmarks.json").read_text(encoding="utf-8"))[part]["results"]


def cost() -> dict[str, str]:
    """What measuring adds to passes of wide models, in percent: least and most in the median, and in single rounds."""
    ends = {"least": (min, "ratio"), "most": (max, "ratio"), "low": (min, "low"), "high": (max, "high")}
    rows = benchmarks("shapes")
    return {name: signed(f"{round(100 * (end(row[key] for row in rows) - 1))}") for name, (end, key) in ends.items()}
