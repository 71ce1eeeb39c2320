"""Numbers on the pages that move with the code and with ``make bench``; those of a committed run stand on its page.

A page writes ``{{ records.claims }}`` for one of :func:`numbers`.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from lngeom.check import NEVER
from lngeom.empirical.support import Row
from lngeom.proofs import theorems
from lngeom.proofs.claims import claims, document_of

DOCS = Path(__file__).parents[1]


def numbers() -> dict[str, Any]:
    """Everything that a page can refer to, by name."""
    return {
        "records": records(),
        "cost": cost(),
        "paid": paid,
        "never": "\n".join(f"- {words}" for words in NEVER),
        "checker_lines": str(len((DOCS.parent / "lngeom" / "checker.py").read_text(encoding="utf-8").splitlines())),
    }


def records() -> dict[str, Any]:
    """Theorems, and claims by verdict; misprints and repetitions are no claims of their own."""
    kinds = Counter(theorem.kind for theorem in theorems())
    distinct = [claim for claim in claims() if claim.is_distinct]
    verdicts = Counter(claim.verdict for claim in distinct)
    texts = Counter(document_of(claim).title for claim in distinct if claim.verdict == "false")
    refuted = ", ".join(f"{count} in “{title}”" for title, count in texts.items())
    return {**kinds, **verdicts, "claims": verdicts.total(), "refuted": refuted}


def benchmarks(part: str) -> list[Row]:
    """Results of one part of the benchmarks."""
    return json.loads((DOCS / "results" / "benchmarks.json").read_text(encoding="utf-8"))[part]["results"]


def percent(ratio: float) -> str:
    """What a ratio of times adds, with the mathematical minus sign."""
    return f"{100 * (ratio - 1):.0f}".replace("-", "−")


def paid(part: str) -> str:
    """What measuring adds to a pass with one token in eight projected, in percent."""
    median, low, high = (percent(benchmarks(part)[-1][name]) for name in ("ratio", "low", "high"))
    return f"{median} percent ({low} to {high} in single rounds)"


def cost() -> dict[str, str]:
    """What measuring adds to passes of wide models, in percent: least and most in the median, and in single rounds."""
    ends = {"least": (min, "ratio"), "most": (max, "ratio"), "low": (min, "low"), "high": (max, "high")}
    return {name: percent(end(row[key] for row in benchmarks("shapes"))) for name, (end, key) in ends.items()}
