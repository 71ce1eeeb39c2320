"""The words of messages, help, docstrings and pages: one name for one thing, in English as it is spoken."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BEFORE = "a|the|its|their|this|small|measured|largest|\\w+'s"
RULES = {
    "d·E[cos²θ] is the energy along a direction, not its share": rf"\b({BEFORE}) shares?\b|\bshares? (of|along)\b",
    "something is not a thing, rather than no thing": r"(?<!here )\b(is|are) no (?!longer|more|need|\w+er\b)\w"
    r"|\bis none (?!of them|%)\w|\bhas no part in\b|\bsame command goes on\b|\bstart anew\b",
}


def texts() -> dict[str, str]:
    """Every tracked file that people read, tests apart; of tables of a run neither names nor contents."""
    listed = subprocess.run(
        ["git", "ls-files", "*.py", "*.md", "*.html", "*.toml"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    rooms = ("empirical/", "lngeom/", "proofs/", "docs/", "README.md", "CONTRIBUTING.md")
    kept = [name for name in listed if name.startswith(rooms) and "/results/smollm2/" not in name]
    return {name: (ROOT / name).read_text(encoding="utf-8") for name in kept}


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="which files are the project's is known to git alone")
@pytest.mark.parametrize("rule", RULES)
def test_a_thing_has_one_name_and_sentences_are_english(rule: str) -> None:
    found = [
        f"{name}: {line.strip()}"
        for name, text in texts().items()
        for line in text.splitlines()
        if re.search(RULES[rule], line)
    ]
    assert found == [], rule


@pytest.mark.parametrize("rule", RULES)
def test_what_breaks_a_rule_is_found(rule: str) -> None:
    assert any(re.search(RULES[rule], line) for line in ("the share falls", "5 is no square", "it is none of these"))
