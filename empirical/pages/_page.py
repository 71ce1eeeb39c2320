"""The report of a run: one HTML file that opens offline, with the figures, the verdicts and the table inside."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from lngeom.verdicts import PREDICTION_VERDICTS, Verdict

from .. import observe
from ..judge import ISOTROPY, Prediction, count_verdicts
from ..runs import ENVIRONMENT
from ..support import RunError, read_json, read_records, write_text
from ._console import summary
from ._figures import ROLES, subject_of
from ._html import embedded, render
from ._remarks import of_run

_FIGURES = {
    "angle_before": "Angle between the hidden states that enter each norm and the uniform vector 1, and two random "
    "directions. Lines are means over tokens, bands one standard deviation; the grey band is what isotropic vectors "
    "would give.",
    "angle_after": "The same for what leaves each norm, gain and bias included.",
    "energy": "Energy along a direction, d·E[cos²θ]: 1 for isotropic vectors, whatever the direction. The mean angle "
    "can be 90° where this is far from 1, since angles on both sides of 90° cancel.",
    "growth": "Mean norm of the residual stream after each block, position 0 of the sequences left out, and two laws "
    "of growth, each where it is a straight line: fitted from the embedding output (depth 0) on, and from the first "
    "block on. Bands are the laws with the ends of the 95 % interval of their slope.",
}


def _svg(path: Path, name: str) -> Markup:
    try:
        return embedded(path.read_text(encoding="utf-8"), name)
    except OSError as error:
        msg = f"{path}: cannot be read ({error.strerror}); draw the figures again with: lngeom report {path.parent}"
        raise RunError(msg) from None


def write_report(directory: Path) -> Path:
    """Write ``report.html`` of a run from its manifest, tables and figures; returns its path."""
    try:
        manifest = read_json(directory / "manifest.json")
        rows = observe.read_sites(directory / "sites.csv")
        verdicts = directory / "predictions.csv"
        judged = read_records(verdicts, Prediction) if verdicts.exists() else []
    except (OSError, ValueError) as error:
        raise RunError(f"{directory}: holds no finished run ({error}); give the output directory of a sweep") from None
    shown = {name: words for name, words in _FIGURES.items() if name != "growth" or not observe.stream(rows).reason}
    text = render(
        "run.html",
        subject=subject_of(manifest),
        manifest=manifest,
        environment=[name for name in ENVIRONMENT if name in manifest],
        remarks=of_run(rows, judged),
        summary=summary(rows),
        verdict_lines=verdict_lines(judged),
        # Violated, undecided, then what holds; otherwise in the order of the layers.
        judged=sorted(judged, key=lambda each: -PREDICTION_VERDICTS.index(each.verdict)),
        figures=[(name, _svg(directory / f"{name}.svg", name), words) for name, words in shown.items()],
        growth=observe.growth(rows),
        rows=rows,
        roles=ROLES,
        columns=[(column.name, column.heading) for column in observe.TABLE if column.heading],
    )
    path = directory / "report.html"
    write_text(path, text)
    return path


@dataclass(frozen=True)
class VerdictLine:
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
    for (name, theorem), found in groups.items():
        measured = [each for each in found if each.measured is not None]
        extreme = max(measured, key=_strain) if measured else None
        lines.append(VerdictLine(name, theorem, count_verdicts(found), extreme))
    return lines
