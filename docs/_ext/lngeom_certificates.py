"""A certificate as a person reads it: an ordered list, each step with its rule, what it uses, and its formula in TeX.

Reads the files of ``lngeom prove --certificates`` and imports nothing of lngeom: the page shows what the checkers read.
"""

import html
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

Node = list[Any]

SIGNS = {"=": "=", "!=": r"\ne", ">": ">", ">=": r"\ge"}
RULES = {
    "assume": "hypothesis",
    "constant": "sign of a number",
    "dimension": "the dimension is at least 1",
    "combine": "linear combination",
    "cancel": "cancel a factor that is not zero",
    "inverse": "t · 1/t = 1 where t is not zero",
    "inverse_total": "t · t · 1/t = t for every t",
    "inverse_sign": "1/t has the sign of t",
    "square_of_root": "the square of the root",
    "root_nonnegative": "a root is not negative",
    "root_positive": "the root of what is positive",
    "root_of_square": "the root is the only nonnegative number with this square",
    "congruence": "equal arguments, equal values",
    "definite": "a sum of squares vanishes only with its terms",
    "square": "a square is not negative",
    "total": "the sum of what has a sign",
    "add": "sum of inequalities",
    "multiply": "product of signs",
    "strengthen": "not negative and not zero",
    "weaken": "weaken",
    "transport": "replace by what is equal",
    "instantiate": "put in particular terms",
    "cut": "use a lemma",
}
GREEK = ("alpha", "beta", "eps", "kappa", "lam", "mu")
SUM, PRODUCT, ATOM = range(3)
"""How tightly a piece of TeX binds."""


def tex(terms: list[Node], root: int, names: Mapping[int, str] = MappingProxyType({})) -> str:
    """TeX of one node of a table of terms, in which other nodes may have names."""
    made: dict[int, tuple[str, int]] = {}

    def piece(k: int, level: int) -> str:
        if k in names and k != root:
            return names[k]
        if k not in made:
            made[k] = _product(terms, k, piece) if terms[k][0] in ("*", "^", "inv") else _node(terms[k], piece)
        text, binds = made[k]
        return text if binds >= level else rf"\left({text}\right)"

    return piece(root, SUM)


FORMS = {
    "/": r"\frac{{{}}}{{{}}}",
    "S": r"\operatorname{{S}}({})",
    "sqrt": r"\sqrt{{{}}}",
    "mean": r"\operatorname{{mean}}({})",
    "abs": r"\left|{}\right|",
}
"""What encloses its arguments, so that nothing around it can tear them apart."""


def _node(node: Node, piece: Any) -> tuple[str, int]:
    kind, *rest = node
    match kind, rest:
        case ("v" | "s", [name]):
            return _name(name), ATOM
        case "d", _:
            return "d", ATOM
        case "q", [p, q]:
            return str(p) if q == 1 else rf"\tfrac{{{p}}}{{{q}}}", ATOM if p >= 0 else SUM
        case "+", _:
            first, *others = (piece(k, SUM) for k in rest)
            return first + "".join(part if part.startswith("-") else f" + {part}" for part in others), SUM
        case "-", [k]:
            return f"-{piece(k, PRODUCT)}", SUM
        case "-", [k, j]:
            return f"{piece(k, SUM)} - {piece(j, PRODUCT)}", SUM
        case "trace", [index, k]:
            return rf"\operatorname{{tr}}_{{{index}}}({piece(k, SUM)})", ATOM
        case "f", [name, k]:
            return rf"{name}({piece(k, SUM)})", ATOM
    if kind in FORMS:
        return FORMS[kind].format(*(piece(k, SUM) for k in rest)), ATOM
    raise ValueError(f"unknown node {kind!r} in a certificate")


def _product(terms: list[Node], k: int, piece: Any) -> tuple[str, int]:
    """A product as a person writes it: the sign in front, numbers first, and inverses in one denominator."""
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
        base = piece(terms[j][1] if inverted else j, SUM if alone else ATOM)
        (below if inverted else above).append(base if power == 1 else rf"{{{base}}}^{{{power}}}")
    text = r"\,".join(above) or "1"
    if below:
        denominator = r"\,".join(below)
        text = rf"\frac{{{text}}}{{{denominator}}}"
    # A fraction or a single letter may be raised to a power as it stands, a product or a power may not.
    alone = bool(below) or (len(above) == 1 and "^" not in text)
    return sign + text, SUM if sign else ATOM if alone else PRODUCT


def _name(name: str) -> str:
    """A letter in TeX: digits at the end are an index, ``_`` at the end is a prime, as in the texts of the kernel."""
    stem = name.rstrip("0123456789")
    bare = stem.rstrip("_")
    head = (
        {"eps": r"\varepsilon", "lam": r"\lambda"}.get(bare, f"\\{bare}") if bare in GREEK else bare.replace("_", r"\_")
    )
    head = head if len(bare) == 1 or bare in GREEK else rf"\mathit{{{head}}}"
    index = name[len(stem) :]
    return head + "'" * (len(stem) - len(bare)) + (f"_{{{index}}}" if index else "")


def as_html(certificate: dict[str, Any]) -> str:
    """The steps of a certificate as an ordered list of class ``certificate``; its formulas wait until it is opened."""
    terms, name = certificate["terms"], certificate["id"].replace(".", "-")

    def formula(one: list[Any]) -> str:
        return html.escape(rf"\({tex(terms, one[0])} {SIGNS[one[1]]} 0\)")

    items: list[str] = []
    assumed: dict[str, int] = {}
    for number, step in enumerate(certificate["steps"], 1):
        uses = ", ".join(f'<a href="#{name}-{k + 1}">{k + 1}</a>' for k in step["premises"])
        hypotheses = ""
        if step["rule"] == "assume":
            assumed.setdefault(json.dumps(step["conclusion"]), number)
        elif step["hypotheses"]:
            known = [assumed.get(json.dumps(one)) for one in step["hypotheses"]]
            hypotheses = ", ".join(
                f'<a href="#{name}-{at}">({at})</a>' if at else formula(one)
                for one, at in zip(step["hypotheses"], known, strict=True)
            )
        items.append(
            f'<li id="{name}-{number}"><span class="rule">{html.escape(RULES.get(step["rule"], step["rule"]))}'
            f" <code>{step['rule']}</code>{f' of {uses}' if uses else ''}</span>"
            f'<span class="sequent">{hypotheses + " ⊢ " if hypotheses else ""}{formula(step["conclusion"])}</span></li>'
        )
    return f'<ol class="certificate tex2jax_ignore">{"".join(items)}</ol>'
