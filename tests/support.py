"""What tests of several rooms share."""

import re


def refused(outcome: tuple[str, str], line: str) -> None:
    """Whether a command ended with just this line, in which the next step follows what is wrong."""
    assert outcome[0] == "refused", outcome
    assert re.search(line, outcome[1]), outcome
    assert re.search(r"^lngeom \w+: .+[;:] \w", outcome[1])
