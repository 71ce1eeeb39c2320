"""A certificate as a person reads it: an ordered list, each step with its rule, what it uses, and its formula in TeX.

Reads the files of ``lngeom prove --certificates``: the page shows what the checkers read.
"""

import html
import json
from typing import Any, ClassVar

from lngeom.prover import ATOM, PRODUCT, SUM, Printer

GREEK = {name: f"\\{name}" for name in ("alpha", "beta", "kappa", "mu")}
GREEK |= {"eps": r"\varepsilon", "lam": r"\lambda"}


class TeX(Printer):
    """TeX of the nodes of a table of terms."""

    forms: ClassVar = {"d": "d", "neg": ("-{}", SUM, PRODUCT), "-": ("{} - {}", SUM, SUM, PRODUCT)}
    forms |= {"/": r"\frac{{{}}}{{{}}}", "S": r"\operatorname{{S}}({})", "mean": r"\operatorname{{mean}}({})"}
    forms |= {"sqrt": r"\sqrt{{{}}}", "abs": r"\left|{}\right|", "trace": r"\operatorname{{tr}}_{{{}}}({})"}
    relations: ClassVar = {"=": "=", "!=": r"\ne", ">": ">", ">=": r"\ge"}
    brackets, fraction, minus = r"\left({}\right)", r"\tfrac{{{}}}{{{}}}", "-"

    def name(self, kind: str, name: str) -> str:
        """A letter: digits at the end are an index, ``_`` at the end is a prime, as in the prover's texts."""
        stem = name.rstrip("0123456789")
        bare = stem.rstrip("_")
        escaped, index = bare.replace("_", r"\_"), name[len(stem) :]
        head = GREEK.get(bare) or (bare if len(bare) == 1 else rf"\mathit{{{escaped}}}")
        return head + "'" * (len(stem) - len(bare)) + (f"_{{{index}}}" if index else "")

    def special(self, k: int) -> tuple[str, int]:
        """A product as a person writes it: the sign in front, numbers first, inverses in one denominator."""
        terms = self.nodes
        sign, above, below = "", [], []
        for j in terms[k][1:] if terms[k][0] == "*" else (k,):
            j, power = (terms[j][1], terms[j][2]) if terms[j][0] == "^" else (j, 1)
            if terms[j][0] == "q":
                p, q = terms[j][1:]
                sign = "-" * ((p**power < 0) != bool(sign))
                above += [str(abs(p) ** power)] * (abs(p) != 1)
                below += [str(q**power)] * (q != 1)
                continue
            inverted = terms[j][0] == "inv"
            alone = inverted and power == 1 and not above and terms[k][0] == "inv"
            base = self.part(terms[j][1] if inverted else j, SUM if alone else ATOM)
            (below if inverted else above).append(base if power == 1 else rf"{{{base}}}^{{{power}}}")
        text = r"\,".join(above) or "1"
        if below:
            denominator = r"\,".join(below)
            text = rf"\frac{{{text}}}{{{denominator}}}"
        # A fraction or a single letter may be raised to a power as it stands, a product or a power may not.
        alone = bool(below) or (len(above) == 1 and "^" not in text)
        return sign + text, SUM if sign else ATOM if alone else PRODUCT


def as_html(certificate: dict[str, Any]) -> str:
    """The steps of a certificate as an ordered list of class ``certificate``; its formulas wait until it is opened."""
    printer, name = TeX(certificate["terms"]), certificate["id"].replace(".", "-")

    def formula(one: list[Any]) -> str:
        return html.escape(rf"\({printer.formula(*one)}\)")

    items: list[str] = []
    assumed: dict[str, int] = {}
    for number, step in enumerate(certificate["steps"], 1):
        links = ", ".join(f'<a href="#{name}-{k + 1}">{k + 1}</a>' for k in step["premises"])
        uses = f" of {links}" if links else ""
        hypotheses = ""
        if step["rule"] == "assume":
            assumed.setdefault(json.dumps(step["conclusion"]), number)
        elif step["hypotheses"]:
            places = [assumed.get(json.dumps(one)) for one in step["hypotheses"]]
            hypotheses = ", ".join(
                f'<a href="#{name}-{at}">({at})</a>' if at else formula(one)
                for one, at in zip(step["hypotheses"], places, strict=True)
            )
        items.append(
            f'<li id="{name}-{number}"><span class="rule"><code>{step["rule"]}</code>{uses}</span>'
            f'<span class="sequent">{hypotheses + " ⊢ " if hypotheses else ""}{formula(step["conclusion"])}</span></li>'
        )
    return f'<ol class="certificate tex2jax_ignore">{"".join(items)}</ol>'
