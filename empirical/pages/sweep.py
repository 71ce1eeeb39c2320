"""The report of a run: one HTML file that opens offline, with the figures, the verdicts and the table inside."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from lngeom.errors import RunError
from lngeom.files import Json, read_json
from lngeom.verdicts import PREDICTION_VERDICTS, Verdict

from .. import observe
from ..judge import ISOTROPY, MODEL, Prediction, count_verdicts
from ..runs import ENVIRONMENT
from ..support import Row, read_records
from .console import NULLS, by_chance, quarters, summary
from .html import read_svgs, write_page
from .sweep_figures import ROLES, subject_of

_FIGURES = ("radius", "cosine", "energy", "more", "angle_before", "angle_after")
_KINDS = {"layernorm": "LayerNorm", "rmsnorm": "RMSNorm", "none": "block"}


class ExactVerdicts(NamedTuple):
    """The verdicts on theorems, without the null laws, which a network may reject; and the first violated one."""

    counts: Counter[Verdict]
    violated: Prediction | None


def exact_verdicts(predictions: Iterable[Prediction]) -> ExactVerdicts:
    """Count the verdicts on theorems."""
    exact = [each for each in predictions if each.theorem != ISOTROPY]
    violated = (each for each in exact if each.verdict == "violated")
    return ExactVerdicts(Counter(each.verdict for each in exact), next(violated, None))


def extremes(rows: Iterable[Row]) -> Row | None:
    """Where ε counts most, how alike states are, where 1 stands out, where the norms differ, where a vector is longest.

    Rows of the norms' inputs; None where none is finite.
    """
    measured = (row for row in rows if row["bucket"] == "all" and row["tokens"] > 0 and row.get("role") != "stream")
    before = [row for row in measured if row["side"] == "input"]
    if not before:
        return None
    apart = [row for row in before if row["distance_mean"] is not None]
    alike = sorted((row for row in before if row.get("mean_cosine") is not None), key=lambda row: row["mean_cosine"])
    return {
        "count": len(before),
        "radius": min(before, key=lambda row: row["gauge_mean"]),
        "alike": alike[:: len(alike) - 1] if len(alike) > 1 else [],
        "quarters": {words: quarters(before, null) for null, words in NULLS.items()},
        "by_chance": by_chance(before),
        "least": min(before, key=lambda row: row["d_cos2"]),
        "most": max(before, key=lambda row: row["d_cos2"]),
        "apart": max(apart, key=lambda row: row["distance_mean"], default=None),
        "long": max(before, key=lambda row: row["norm_max"] / row["norm_mean"] if row["norm_mean"] else 0.0),
    }


def write_report(directory: Path) -> Path:
    """Write ``report.html`` of a run from its manifest, tables and figures; returns its path."""
    try:
        manifest = read_json(directory / "manifest.json")
        rows = observe.read_sites(directory / "sites.csv")
        verdicts = directory / "predictions.csv"
        judged = read_records(verdicts, Prediction) if verdicts.exists() else []
    except (OSError, ValueError) as error:
        raise RunError(f"{directory}: holds no finished run ({error}); give the output directory of a sweep") from None
    of_norms = [each for each in judged if each.site != MODEL]
    intervals = sum(each.low is not None for each in of_norms)
    return write_page(
        directory / "report.html",
        "run.html",
        subject=subject_of(manifest),
        facts=_facts(manifest, rows),
        manifest=manifest,
        environment=[name for name in ENVIRONMENT if name in manifest],
        exact=exact_verdicts(of_norms),
        extremes=extremes(rows),
        summary=summary(rows),
        verdict_lines=verdict_lines(of_norms),
        network=[each for each in judged if each.site == MODEL],
        intervals=intervals,
        alarms=observe.false_alarms(intervals),
        # Violated, undecided, then confirmed; otherwise in the order of the layers.
        judged=sorted(of_norms, key=lambda each: -PREDICTION_VERDICTS.index(each.verdict)),
        figures=read_svgs(directory, _FIGURES),
        rows=rows,
        roles=ROLES,
        columns=sorted((column for column in observe.TABLE if column.heading), key=lambda column: column.is_stored),
        stored=[column.name for column in observe.TABLE if column.is_stored],
    )


def _facts(manifest: Json, rows: Sequence[Row]) -> list[str]:
    """The line under the title: model, corpus, date, tokens, norms, d and format."""
    norms = Counter((row["norm"], row["d"]) for row in rows if (row["side"], row["bucket"]) == ("input", "all"))
    counts = [f"{count} {_KINDS[kind]}{'s' * (count != 1)} with d = {d}" for (kind, d), count in norms.items()]
    subject = subject_of(manifest) + (f" of {manifest['corpus']}" if "corpus" in manifest else "")
    return [subject, *counts, *(str(manifest[name]) for name in ("dtype", "date") if name in manifest)]


class VerdictLine(NamedTuple):
    """A prediction over all layers: how often it held, and the place where it came nearest to failing."""

    prediction: str
    theorem: str
    counts: dict[Verdict, int]
    extreme: Prediction | None

    @property
    def null(self) -> bool:
        """Whether this is the null law of isotropy, which a network may reject."""
        return self.theorem == ISOTROPY


def _strain(each: Prediction) -> float:
    """How near to failing: the fraction of the bound that is used up, or for a mean how many times it is off."""
    if not each.measured or not each.bound:
        return 0.0
    ratio = each.measured / each.bound
    return max(ratio, 1 / ratio) if each.theorem == ISOTROPY else ratio


def verdict_lines(predictions: Sequence[Prediction]) -> list[VerdictLine]:
    """One line for each prediction, in the order in which they first appear."""
    groups: dict[tuple[str, str], list[Prediction]] = {}
    for each in predictions:
        groups.setdefault((each.prediction, each.theorem), []).append(each)
    lines = []
    for (name, theorem), group in groups.items():
        measured = [each for each in group if each.measured is not None]
        lines.append(VerdictLine(name, theorem, count_verdicts(group), max(measured, key=_strain, default=None)))
    return lines
