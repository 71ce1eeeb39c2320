import html
import json
import re
from pathlib import Path

from lngeom.proofs import CHAPTERS

from .conftest import DOCS, PAGES

EVIDENCE = DOCS / "_build" / "evidence"


def boxes(site: Path, chapter: str) -> dict[str, str]:
    """The boxes of evidence of a chapter by theorem, without certificates."""
    page = (site / "derivations" / PAGES[chapter].with_suffix(".html").name).read_text(encoding="utf-8")
    parts = re.split(r'<div class="evidence docutils container">', page)[1:]
    labels = re.findall(r"^:label: (\S+)$", PAGES[chapter].read_text("utf-8"), flags=re.M)
    without = [part.partition('<details class="certificate">')[0] for part in parts]
    return dict(zip(labels, without, strict=True))


def test_boxes_say_what_the_records_say(site: Path) -> None:
    theorems = json.loads((EVIDENCE / "theorems.json").read_text(encoding="utf-8"))["theorems"]
    claims = json.loads((EVIDENCE / "claims.json").read_text(encoding="utf-8"))
    by_id = {id: box for chapter in CHAPTERS for id, box in boxes(site, chapter).items()}
    for theorem in theorems:
        box = by_id[theorem["id"]]
        words = html.unescape(re.sub(r"<[^>]+>", "", box))
        assert theorem["status"] in words
        assert f"{theorem['steps']} step" in words
        assert ("this very certificate replayed" in words) == bool(theorem["replayed"])
        assert words.count("false at") >= sum(text.startswith("false at") for text in theorem["mutants"].values())
        resting = {
            claim["id"].replace(".", "-") for claim in claims if f"theorem {theorem['id']}" in claim["settled_by"]
        }
        assert resting <= set(re.findall(r'href="[^"]*#claim-([\w-]+)"', box)), theorem["id"]


def test_the_first_screen_counts_what_the_records_hold(site: Path) -> None:
    theorems = json.loads((EVIDENCE / "theorems.json").read_text(encoding="utf-8"))["theorems"]
    claims = json.loads((EVIDENCE / "claims.json").read_text(encoding="utf-8"))
    claims = [claim for claim in claims if not claim["misprint"] and not claim["repeats"]]
    false = sum(claim["verdict"] == "false" for claim in claims)
    proved = sum(record["kind"] == "theorem" and not record["faults"] for record in theorems)
    words = re.sub(r"<[^>]+>", "", (site / "index.html").read_text(encoding="utf-8"))
    assert f"There are {proved} theorems. Each holds in every dimension" in words
    assert f"{len(claims)} claims from the literature" in words
    assert f"We judged {false} to be false" in words
