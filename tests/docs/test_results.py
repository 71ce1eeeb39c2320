"""Numbers that the pages quote are those of the committed tables."""

import ast
import json
import math
import re
import runpy
import statistics
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from empirical.models import KNOWN_MODELS
from empirical.observe import read_csv
from empirical.support import read_table
from proofs import theorems
from proofs.claims import DOCUMENTS, claims, find

from ..faults.areas import AREAS

DOCS = Path(__file__).parents[2] / "docs"
RUN = DOCS / "results" / "smollm2"
BRACKET = r"\[([\d.]+), ([\d.]+)\]"
"""An interval of positive numbers."""


@pytest.fixture(scope="module")
def table() -> list[dict[str, Any]]:
    return [row for row in read_csv(RUN / "sites.csv") if row["bucket"] == "all"]


def side(table: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [row for row in table if row["side"] == name]


def said(page: str) -> str:
    """A page in one line, without the marks of Markdown that numbers do not need."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.sub(r"\s+", " ", text.replace("$", ""))


def span(rows: list[dict[str, Any]], column: str, digits: str) -> tuple[str, str]:
    values = [row[column] for row in rows]
    return format(min(values), digits), format(max(values), digits)


def test_smollm2_was_measured_as_the_page_says(table: list[dict[str, Any]]) -> None:
    page = said("results/smollm2.md")
    (tokens,) = {row["tokens"] for row in table}
    (sequences,) = {row["sequences"] for row in table}
    (d,) = {row["d"] for row in table}
    assert f"on {tokens:,} tokens" in page
    assert f"into {sequences} sequences of {tokens // sequences} tokens" in page
    assert f"d = {d}" in page
    assert f"a spread of {math.degrees(d**-0.5):.2f}°" in page
    assert f"{len({row['site'] for row in table})} norm layers" in page


def test_smollm2_has_the_angles_that_the_page_says(table: list[dict[str, Any]]) -> None:
    page = said("results/smollm2.md")
    before = span(side(table, "input"), "angle_mean_deg", ".2f")
    after = span(side(table, "output"), "angle_mean_deg", ".2f")
    assert f"runs from {before[0]}° to {before[1]}°, after them from {after[0]}° to {after[1]}°" in page
    tilt = span(side(table, "input"), "tilt_mean_deg", ".2f")
    assert f"between {tilt[0]}° and {tilt[1]}°" in page
    apart = span(side(table, "input"), "distance_mean", ".3f")
    assert f"the two outputs are {apart[0]} to {apart[1]} apart" in page
    assert f"farthest apart reads {max(row['distance_max'] for row in side(table, 'input')):.2f}" in page


def test_smollm2_grows_as_the_page_says() -> None:
    page = said("results/smollm2.md")
    fits = {fit["law"]: fit for fit in read_table(RUN / "growth.csv") if fit["first_depth"] == 1}
    exponential, power = fits["exponential"], fits["power"]
    assert exponential["better"] == power["better"] == "undecided"
    assert "{estimate:.3f} [{low:.3f}, {high:.3f}] per block".format(**exponential) in page
    assert "p = {estimate:.2f} [{low:.2f}, {high:.2f}]".format(**power) in page
    assert f"norm by {exponential['misfit']:.2f}, the power law by {power['misfit']:.2f}" in page
    norms = [row["norm_mean"] for row in read_csv(RUN / "sites.csv") if row["bucket"] == "rest"]
    # Two sides a norm, two norms a block: what enters the first and the second block.
    times = f"{norms[4] / norms[0]:.0f}"
    assert f"multiplies the mean norm of the stream by {times};" in page
    assert f"the first block alone multiplies the norm by {times}." in said("derivations/residual.md")


def test_smollm2_has_the_energies_that_the_page_says(table: list[dict[str, Any]]) -> None:
    page = said("results/smollm2.md")
    rows = side(table, "input")
    least, most = span(rows, "d_cos2", ".3g")
    assert f"runs from {least} to {most}" in page
    below = sum(row["d_cos2"] < row["random_d_cos2_median"] for row in rows)
    assert f"At {below} of {len(rows)} norms it lies below the median" in page
    above = [row for row in rows if row["d_cos2_low"] > 1]
    layers = [row["layer"] for row in above if row["layer"] is not None]
    assert f"above 1 it lies at {len(above)}, in blocks {min(layers)} to {max(layers)} and before the final" in page
    (final,) = [row for row in rows if row["role"] == "final"]
    assert f"{final['d_cos2']:.2f} [{final['d_cos2_low']:.2f}, {final['d_cos2_high']:.2f}]" in page


def test_a_sixth_of_the_tokens_says_the_same_of_smollm2(table: list[dict[str, Any]]) -> None:
    def measured(row: dict[str, Any]) -> tuple[float, float]:
        reach = (row["d_cos2_high"] - row["d_cos2_low"]) / 2
        return row["d_cos2"], reach / float(stats.t.ppf(0.975, row["documents"] - 1))

    few = {
        row["site"]: row for row in read_csv(RUN / "sites-16k.csv") if (row["bucket"], row["side"]) == ("all", "input")
    }
    pairs = [(measured(row), measured(few[row["site"]])) for row in side(table, "input")]
    apart = sum(abs(a - b) > 1.96 * math.hypot(u, v) for (a, u), (b, v) in pairs)
    page = said("results/smollm2.md")
    assert apart <= 5
    assert f"at {apart} of {len(pairs)} norms the input's value" in page
    assert f"spread over {table[0]['documents']} articles" in page
    assert f"{few['norm']['tokens']:,} tokens of {few['norm']['documents']} articles" in page


def test_derivations_quote_the_measured_gauge(table: list[dict[str, Any]]) -> None:
    gauges = sorted((row["gauge_mean"], row["site"]) for row in side(table, "input"))
    assert gauges[0][1] == "layers.0.input_layernorm"
    assert f"the mean gauge is {gauges[0][0]:.4f} before the first norm" in said("derivations/epsilon.md")


def test_study_is_quoted_as_its_tables_say() -> None:
    quoted = said("results/training/index.md")
    report = said("results/training/study.md")
    known = {Decimal(number) for pair in re.findall(BRACKET, report) for number in pair}
    # The table of the page is that of the report with fewer digits.
    source = (DOCS / "results" / "training" / "index.md").read_text(encoding="utf-8")
    rows = [row for row in re.findall(r"^\| (?:AdamW|SGD).*$", source, flags=re.MULTILINE) if "[" in row]
    assert len(rows) == 4
    for number in (Decimal(number) for row in rows for pair in re.findall(BRACKET, row) for number in pair):
        unit = Decimal(1).scaleb(int(number.as_tuple().exponent))
        assert min(abs(number - exact) for exact in known) <= unit / 2, number
    assert "1200 of 1200 gradients" in quoted
    assert "LayerNorm: 1200 of 1200 gradients" in report
    assert "RMSNorm: 0 of 1200 gradients" in report


TRAINING = DOCS / "results" / "training"
ARMS = {"layer": "LayerNorm", "rms": "RMSNorm", "u": "u-Norm", "post": "Post-LN", "none": "no norm"}
OPTIMIZERS = {"adamw": "AdamW", "sgd": "SGD with momentum"}


def ended(name: str) -> list[dict[str, Any]]:
    """What a table of training says of the last step."""
    return [row for row in read_table(TRAINING / name) if row["step"] == 300]


def student(values: list[float], quantile: float = 0.975) -> tuple[float, float, float]:
    """Mean and interval of Student, in the words of the page: m ± t s/√n."""
    n, mean = len(values), sum(values) / len(values)
    reach = float(stats.t.ppf(quantile, n - 1)) * statistics.stdev(values) / math.sqrt(n)
    return mean, mean - reach, mean + reach


def geometric(values: list[float]) -> str:
    """The same of logarithms, as the page prints it."""
    mean, low, high = (printed(math.exp(x)) for x in student([math.log(value) for value in values]))
    return f"{mean} [{low}, {high}]"


def by_chance(ranks: list[int], directions: int) -> float:
    """The probability that n uniform numbers have a sum of at most Σ(r + 1)/(K + 1), by Irwin and Hall."""
    s, n = sum(Fraction(rank + 1, directions + 1) for rank in ranks), len(ranks)
    terms = ((-1) ** k * math.comb(n, k) * (s - k) ** n for k in range(math.floor(s) + 1))
    return float(sum(terms, Fraction(0)) / math.factorial(n))


def printed(chance: float) -> str:
    return f"{chance:.3g}" if chance >= 1e-3 else f"{chance:.1e}"


def of_seeds(rows: list[dict[str, Any]], column: str) -> list[float]:
    """The geometric mean over sites of each seed."""
    seeds = sorted({row["seed"] for row in rows})
    return [statistics.geometric_mean(row[column] for row in rows if row["seed"] == seed) for seed in seeds]


def test_the_headline_of_the_study_follows_from_its_table() -> None:
    page, readme = said("results/training/index.md"), said("../README.md")
    table = [row for row in ended("study.csv") if (row["layers"], row["width"]) == (4, 128)]
    for optimizer, decay in (("adamw", 0), ("adamw", 0.1), ("sgd", 0), ("sgd", 0.0005)):
        line = f"| {OPTIMIZERS[optimizer]}, {decay} |"
        for norm in ("layer", "rms"):
            wanted = (norm, optimizer, decay)
            cell = [row for row in table if (row["norm"], row["optimizer"], row["weight_decay"]) == wanted]
            ranks = [row["rank_among_random"] for row in cell if row["role"] == "final"]
            line += f" {', '.join(map(str, ranks))} | {printed(by_chance(ranks, 256))} |"
            deep = [row for row in cell if row["layer"] != 0]
            assert geometric(of_seeds(deep, "d_cos2")) in said("results/training/study.md")
        assert line in page
        if (optimizer, decay) == ("adamw", 0):
            layer, chance, rms = (part.strip() for part in line.split("|")[2:5])
            assert f"1 ranks {layer} among 256 random directions" in readme
            assert f"by chance with probability {chance} if" in readme
            assert f"With RMSNorm its ranks are {rms}." in readme


def test_the_controls_follow_from_their_table() -> None:
    page = said("results/training/index.md")
    table = [row for row in ended("controls.csv") if row["site"] != "h.0"]
    for norm, (optimizer, decay) in product(("u", "none", "post"), (("adamw", 0.1), ("sgd", 0))):
        line = f"| {ARMS[norm]} | {OPTIMIZERS[optimizer]}, {decay} |"
        chance = 1.0
        for direction in ("1", "u"):
            wanted = (norm, optimizer, direction)
            arm = [row for row in table if (row["norm"], row["optimizer"], row["direction"]) == wanted]
            line += f" {geometric(of_seeds(arm, 'd_cos2'))} |"
            chance = by_chance([row["rank_among_random"] for row in arm if row["site"] == "ln_f"], 256)
        assert f"{line} {printed(chance)} |" in page


def held_out(table: str, norm: str) -> dict[tuple[Any, ...], float]:
    """The last loss on held-out text by optimizer, weight decay, layers, width and seed."""
    cell = ("optimizer", "weight_decay", "layers", "width", "seed")
    return {tuple(row[name] for name in cell): row["held_out_loss"] for row in ended(table) if row["norm"] == norm}


def test_the_losses_are_as_equivalent_as_the_pages_say() -> None:
    layer, rms = held_out("study.csv", "layer"), held_out("study.csv", "rms")
    pairs = [loss - rms[cell] for cell, loss in layer.items()]
    mean, low, high = student(pairs)
    assert f"{len(pairs)} pairs of seeds the difference is {mean:.4f} [{low:.4f}, {high:.4f}]" in said(
        "results/training/index.md"
    )
    assert f"differ by −{-mean:.3f} ± {high - mean:.3f} nats over {len(pairs)} pairs" in said("../README.md")
    _, low, high = student(pairs, 0.95)
    assert -0.05 < low < high < 0.05


@pytest.mark.parametrize(
    ("norm", "optimizer", "id"), [("none", "sgd", "1-59"), ("none", "sgd", "4-25"), ("post", "adamw", "4-17")]
)
def test_the_ledger_quotes_the_controls_as_their_table_says(norm: str, optimizer: str, id: str) -> None:
    layer, control = held_out("study.csv", "layer"), held_out("controls.csv", norm)
    pairs = [loss - layer[cell] for cell, loss in control.items() if cell[0] == optimizer]
    mean, low, high = student(pairs)
    assert f"{mean:.2f} [{low:.2f}, {high:.2f}] nats" in find(id).correction


def test_the_readme_counts_verdicts_as_the_ledger_does() -> None:
    readme, found = said("../README.md"), Counter(claim.verdict for claim in claims())
    assert f"Of {len(claims())} claims {found['true']} are proved as stated" in readme
    for verdict, words in (
        ("true_under", "are proved under hypotheses"),
        ("false", "are refuted"),
        ("non_sequitur", "do not follow"),
        ("false_by_source", "are history"),
        ("empirical", "are about networks or kernels"),
        ("convention", "are definitions and practice"),
    ):
        assert f"{found[verdict]} {words}" in readme, verdict
    assert len(DOCUMENTS) == 14
    assert readme.count("fourteen texts") == 2
    first = (
        f"**{found['false']} of {len(claims())} claims** of the literature are false, {found['true_under']} true only"
    )
    assert first in readme


def test_the_readme_begins_with_numbers_of_the_records() -> None:
    readme = said("../README.md")
    kinds = Counter(theorem.kind for theorem in theorems())
    rest = kinds.total() - kinds["theorem"]
    assert f"**{kinds['theorem']} theorems** and {rest} identities and definitions hold for every dimension" in readme
    assert f"**{prices()['rms_norm', 'all']['nats']:.2f} nats a token**" in readme
    most = max(row["ratio"] for row in recorded("shapes"))
    assert f"**+{100 * (most - 1):.1f} %** at most" in readme
    assert "of seven published shapes" in readme
    assert len(recorded("shapes")) == 7


def prices() -> dict[tuple[str, str], dict[str, Any]]:
    """What each change costs Whisper."""
    return {(row["change"], row["site"]): row for row in read_table(DOCS / "results" / "whisper" / "ablation.csv")}


def priced(row: dict[str, Any], digits: str) -> str:
    return f"{row['nats']:{digits}} [{row['nats_low']:{digits}}, {row['nats_high']:{digits}}]"


def test_whisper_costs_norm_by_norm_what_its_table_says() -> None:
    page, table = said("results/whisper.md"), prices()
    assert f"cost this network {table['rms_norm', 'all']['nats']:.2f} nats per token; folded first" in page
    norms = {site: row for (change, site), row in table.items() if change == "rms_norm" and site.count(".") > 1}
    encoder = sorted((row for site, row in norms.items() if ".encoder." in site), key=lambda row: row["nats"])
    assert f"between {priced(encoder[0], '.3f')} and {priced(encoder[-1], '.2f')} nats" in page
    assert f"before the head, costs {priced(norms.pop('model.decoder.layer_norm'), '.3f')}." in page
    others = [row for site, row in norms.items() if ".decoder." in site]
    assert len(others) == 12
    assert f"twelve of thirteen cost at most {priced(max(others, key=lambda row: row['nats']), '.4f')}" in page


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_whisper_has_the_angles_that_the_page_says(stack: str) -> None:
    rows = read_table(DOCS / "results" / "whisper" / "angles.csv")
    mine = [row for row in rows if row["site"].startswith(f"model.{stack}.")]
    angles = [row["angle_mean_deg"] for row in mine if row["frames"] == "all"]
    if stack == "encoder":
        heard = [row["angle_mean_deg"] for row in mine if row["frames"] == "speech"]
        assert f"frames of speech alone at {min(heard):.1f}° to {max(heard):.1f}°" in said("results/whisper.md")
    assert re.search(
        rf"The {stack}'s (?:stream )?lies at {min(angles):.1f}° to {max(angles):.1f}°", said("results/whisper.md")
    )
    assert {row["rank_among_random"] for row in rows} == {0, 256}


def test_the_readme_counts_theorems_by_kind_and_by_status() -> None:
    kinds = Counter(theorem.kind for theorem in theorems())
    status = Counter("cited" if one.cites else "coq" if one.last_step else "proved" for one in theorems())
    by_kind = f"{kinds['theorem']} theorems, {kinds['identity']} identities and {kinds['definition']} definitions"
    by_status = (
        f"{status['proved']} proved by the kernel, {status['coq']} in Coq besides, {status['cited']} up to a cited fact"
    )
    assert f"{by_kind}, for every dimension: {by_status}" in said("../README.md")


def test_the_kernels_are_timed_as_the_ledger_says() -> None:
    rows = read_table(DOCS / "results" / "cost" / "kernels.csv")
    layer, rms = (min(r["milliseconds"] for r in rows if r["norm"] == name) for name in ("layer_norm", "rms_norm"))
    assert f"rms_norm takes {rms / layer:.1f} times the time of layer_norm" in find("0-6").correction


def recorded(part: str) -> list[dict[str, Any]]:
    return json.loads((DOCS / "results" / "benchmarks.json").read_text(encoding="utf-8"))[part]["results"]


def test_cost_keeps_to_what_its_page_says() -> None:
    assert [row["model"] for row in recorded("shapes")] == list(KNOWN_MODELS)
    assert all(row["observed_mb"] < 1.1 * row["bare_mb"] for row in recorded("memory"))
    (training,) = (row for row in recorded("models") if "training" in row["work"])
    assert training["high"] <= 1.02
    shares = {row["work"]: row["ratio"] for row in recorded("floor")}
    floors = sum(share for name, share in shares.items() if name.startswith("floor"))
    (whole,) = (row["ratio"] for row in recorded("compiled"))
    assert 0.05 < floors < whole - 1 < 2 * floors


def test_the_sweep_is_cheaper_than_what_sees_as_much() -> None:
    ours, *peers = recorded("peers")
    assert (ours["peer"], len(peers)) == ("lngeom", 5)
    seen = [row for row in peers if row["places"] == ours["places"]]
    assert len(seen) == 4
    assert all(ours["ratio"] < row["ratio"] and ours["peak_megabytes"] < row["peak_megabytes"] for row in seen)
    (less,) = (row for row in peers if row not in seen)
    assert (less["peer"], less["places"], ours["places"]) == ("output_hidden_states", 31, 122)
    assert less["ratio"] < ours["ratio"]


@pytest.mark.parametrize("page", ["cost", "benchmarks"])
def test_the_tables_of_benchmarks_are_those_of_the_records(page: str) -> None:
    made = runpy.run_path(str(DOCS.parent / "experiments" / "benchmarks" / "run.py"))
    found = json.loads((DOCS / "results" / "benchmarks.json").read_text(encoding="utf-8"))
    assert (DOCS / "results" / f"{page}.txt").read_text(encoding="utf-8") == made["tables"](found, page)
    assert f"{{include}} {page}.txt" in (DOCS / "results" / f"{page}.md").read_text(encoding="utf-8")
    assert set(made["PAGES"][page]) <= set(made["PARTS"]) == set(sum(made["PAGES"].values(), ()))


def test_the_page_of_the_attack_has_its_table() -> None:
    page, rows = said("results/attack.md"), read_table(DOCS / "results" / "attack.csv")
    assert [row["area"] for row in rows] == list(AREAS)
    for row in rows:
        assert "| {area} | {tried:,} | {right:,} | {wrong} |".format(**row) in page
        assert (row["right"], row["wrong"]) == (row["tried"], 0)


def lines_of_code(source: str) -> int:
    """Lines that are neither empty nor a comment nor part of a docstring."""
    described = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    lines = enumerate(source.splitlines(), 1)
    return sum(bool(line.strip()) and not line.strip().startswith("#") and n not in described for n, line in lines)


def test_trusted_kernel_is_as_short_as_the_page_says() -> None:
    assert lines_of_code('"""Words."""\n# a comment\n\nx = (\n    1,\n)\n') == 3
    assert "Two files of together about four hundred lines of code" in said("trust.md")
    trusted = (DOCS.parent / "lngeom" / "kernel" / name for name in ("_terms.py", "_rules.py"))
    assert 380 < sum(lines_of_code(path.read_text(encoding="utf-8")) for path in trusted) < 450


def test_the_page_of_architectures_counts_its_table() -> None:
    rows = read_table(DOCS / "results" / "architectures" / "types.csv")
    built = [row for row in rows if row["model"]]
    concerned = [row for row in built if row["norms"] or row["missed"]]
    complete = [row for row in concerned if not row["missed"]]
    page = said("results/architectures.md")
    for what, count in {
        "model types": len(rows),
        "default configuration": len(built),
        "LayerNorm or RMSNorm": len(concerned),
        "such module was recognized": len(complete),
        "recognized as norms": sum(row["norms"] for row in built),
        "the parameters of a norm, refused": sum(row["missed"] + row["others"] for row in built),
    }.items():
        assert re.search(rf"{what}\**,? \| {count:,} \|", page.replace("**", "")), (what, count)
    assert len(concerned) - len(complete) == 24
    assert len(complete) >= 490
    otherwise = {name for row in built if row["named_otherwise"] for name in row["named_otherwise"].split(", ")}
    assert otherwise == set(re.findall(r"`(Llama4TextL2Norm|MoonshineStreamingFrameCMVN)`", page))


def test_norms_in_the_wild_begin_with_the_counts_of_their_table() -> None:
    rows = read_csv(DOCS / "results" / "norms_in_the_wild.csv")
    page, sizes = said("results/norms_in_the_wild.md").replace("*", ""), Counter()
    packages = {row["package"].partition("/")[0] for row in rows}
    sources = {row["norm"] for row in rows if row["package"] == "transformers"}
    for row in rows:
        if row["direction"] == "forward":
            sizes[row["dtype"], row["verdict"]] += int(row["classes"])
    checked = {
        dtype: sum(n for (own, verdict), n in sizes.items() if own == dtype and verdict != "not checked")
        for dtype in ("float32", "float16")
    }
    defined = sizes["float32", "rounding"] + sizes["float32", "variant"]
    every = checked["float32"] + sizes["float32", "not checked"]
    assert len(packages) == 14
    assert f"Of {every} norm classes of fourteen packages {checked['float32']} could be checked" in page
    assert f"`float32`: {defined} compute" in page
    assert sizes["float32", "unstable"] == sizes["float32", "bug"] == 3
    lost = sizes["float16", "unstable"] + sizes["float16", "bug"]
    assert f"In `float16` {lost} of {checked['float16']} are unstable or wrong" in page
    assert f"{len(sources)} sources" in page


@pytest.mark.parametrize(("framework", "name"), [("numpy", "NumPy"), ("torch", "PyTorch"), ("jax", "JAX")])
def test_seeded_faults_are_counted_as_their_table_has_them(framework: str, name: str) -> None:
    rows = [row for row in read_csv(DOCS / "results" / "seeded_faults.csv") if row["framework"] == framework]
    shown = [row for row in rows if row["should_be"] != "rounding"]
    assert all(row["as_it_should"] in (True, "True") for row in rows)
    correct = sum(row["vectors"] not in (None, "") for row in rows)
    hidden = len(rows) - len(shown) - correct
    told = f"{name} | {len(shown)} of {len(shown)}, all named rightly; {hidden} undetectable | 0 of {correct} |"
    assert told in said("results/norms_in_the_wild.md").replace("`", "")
