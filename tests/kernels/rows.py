"""A row of a table of kernels: the kernel, what a check must say of it, and how the check is called."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lngeom.check import Finding, check

EPS = 1e-5


@dataclass(frozen=True)
class Row:
    """What is expected of a check of one kernel.

    Attributes:
        kernel: ``f(x, weight)`` of an RMSNorm, ``f(x, weight, bias)`` of a LayerNorm, or anything else that is checked.
        says: A regular expression that the report of the check must contain, see :func:`named`.
        options: Of :func:`lngeom.check.check`, where they differ from the usual ones of its table.
        threads: Paths below https://github.com/ where the fault was reported.
    """

    kernel: Callable[..., Any]
    says: str = "^ok"
    options: Mapping[str, Any] = field(default_factory=dict)
    threads: str = ""

    @property
    def kind(self) -> str:
        code = getattr(self.kernel, "__code__", None)
        return "layernorm" if code is not None and "bias" in code.co_varnames[: code.co_argcount] else "rmsnorm"

    def finding(self, name: str, **usual: Any) -> Finding:
        return check(self.kernel, **{"kind": self.kind, "eps": EPS, "d": 24, "name": name, **usual, **self.options})


def named(words: str, verdict: str = "bug") -> str:
    """Matches a report with this verdict, whose cause contains these words."""
    return rf"^{verdict}: [^\n]*{re.escape(words)}"


def expected(table: Mapping[str, Row], name: str, **usual: Any) -> Finding:
    """The finding on a kernel of a table, of which the check must say what the row says.

    Lines of its code that a trace quotes are left out, since they may say the same.
    """
    finding = table[name].finding(name, **usual)
    proof = finding.proof
    proved = f"PROVED: {proof.text}\n" if proof is not None and proof.status == "proved" else ""
    said = f"{'ok' if finding.verdict == 'rounding' else finding.verdict}: {finding.cause or finding.headline()}\n"
    report = proved + said + finding.told(verbose=True).replace("\n".join(proof.told()) if proof else "", "")
    assert re.search(table[name].says, report, re.DOTALL | re.MULTILINE), finding
    return finding
