"""Terms, formulas and theorems as text, in the notation of the derivations."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from .export import Step
from .printer import ATOM, FACTOR, PRODUCT, SUM, Printer
from .recorded import Node, Table, operands
from .rules import Formula, Proved
from .terms import Term, _is_vector

__all__ = ["formula", "sequent", "text"]

_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_SUBSCRIPT = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_GREEK = {"alpha": "α", "beta": "β", "eps": "ε", "kappa": "κ", "lam": "λ", "mu": "μ"}
_SCALARS = ("a", "c", "s", "t")
_ARROW, _SUBSCRIPT_S = "\N{COMBINING RIGHT ARROW ABOVE}", "ₛ"


def _power(base: str, exponent: int) -> str:
    return base if exponent == 1 else base + str(exponent).translate(_SUPERSCRIPT)


class Text(Printer):
    """The notation of the derivations."""

    forms: ClassVar = {"d": "d", "S": "S({})", "mean": "mean({})", "sqrt": "√({})", "abs": "|{}|"}
    forms |= {"neg": ("−{}", SUM, PRODUCT), "-": ("{} − {}", SUM, SUM, PRODUCT)}
    forms |= {"/": ("{}/{}", PRODUCT, PRODUCT, FACTOR)}
    summand = PRODUCT
    relations: ClassVar = {"=": "=", "!=": "≠", ">": ">", ">=": "≥"}

    def name(self, kind: str, name: str) -> str:
        """Digits at the end become subscripts, ``_`` a prime; what could be taken for another has a mark."""
        stem = name.rstrip("0123456789")
        base = stem.rstrip("_")
        of_scalars = base in _GREEK or base in _SCALARS
        plain = of_scalars == (kind == "s") and base != "d"  # d itself is the dimension
        mark = "" if plain else _ARROW if kind == "v" else _SUBSCRIPT_S
        return _GREEK.get(base, base) + mark + name[len(stem) :].translate(_SUBSCRIPT) + "′" * (len(stem) - len(base))

    def special(self, k: int) -> tuple[str, int]:
        """A trace, or a product: numbers first, powers of 1/d last."""
        kind, *rest = self.nodes[k]
        match kind, rest:
            case "trace", [name, image]:
                return f"tr({self.name('v', name)} ↦ {self.part(image)})", ATOM
            case "inv", [divisor] if not self._divisors(k):
                return f"inv({self.part(divisor)})", ATOM
            case "^", [base, exponent] if not self._divisors(k):
                return _power(self.part(base, ATOM), exponent), FACTOR
        factors = rest if kind == "*" else [k]
        number = [self.part(factors.pop(0))] if self.nodes[factors[0]][0] == "q" else []
        above = [j for j in factors if not self._divisors(j)]
        written = [self.part(j, FACTOR if number or place else PRODUCT) for place, j in enumerate(above)] or ["1"]
        below = "".join("/" + _power("d", self._divisors(j)) for j in factors if j not in above)
        product = "·".join(number + written) + below
        return ("−" + product[3:] if product.startswith("−1·") else product), SUM if product[0] == "−" else PRODUCT

    def _divisors(self, k: int) -> int:
        """The n of a node d⁻ⁿ, 0 of any other."""
        kind, *rest = self.nodes[k]
        return rest[1] * self._divisors(rest[0]) if kind == "^" else int(kind == "inv" and self.nodes[rest[0]] == ["d"])


def text(term: Term) -> str:
    """A term as text, in the notation of the derivations.

    Digits at the end of a name become subscripts, ``eps`` becomes ε, and ``_`` at the end a prime. Greek letters, a,
    c, s and t are scalars and other names vectors; a vector of such a name has an arrow, a⃗, and a scalar of another a
    subscript, xₛ. A vector of equal components is a multiple of 𝟏. So different terms never read alike.
    """
    table = Table()
    shown = Text(table.nodes).part(table.written(term.pairs))
    if term.is_scalar or _is_vector(term.pairs):
        return shown
    return "𝟏" if shown == "1" else f"({shown})·𝟏" if len(term) > 1 else f"{shown}·𝟏"


def formula(statement: Formula) -> str:
    """A formula as text."""
    table = Table()
    return Text(table.nodes).formula(table.written(statement.term.pairs), statement.relation)


def sequent(theorem: Proved) -> str:
    """The statement of a theorem: its hypotheses, the turnstile, its conclusion."""
    hypotheses = ", ".join(sorted(formula(hypothesis) for hypothesis in theorem.hypotheses))
    return f"{hypotheses}{' ' if hypotheses else ''}⊢ {formula(theorem.conclusion)}"


def steps_text(steps: Sequence[Step], nodes: Sequence[Node]) -> list[str]:
    """The steps of a certificate: names for roots and inverses, then a numbered line for each, after its premises."""
    names: dict[int, str] = {}
    printer = Text(nodes, names)
    lines: list[str] = []
    for step in steps:
        given = [k for argument in step["arguments"] for k in (argument if isinstance(argument, list) else [argument])]
        for k in (step["conclusion"][0], *given):
            lines += _abbreviate(k, printer, names) if isinstance(k, int) else []
    for number, step in enumerate(steps, start=1):
        lines.append(f"{number:>3}. {printer.formula(*step['conclusion'])}    [{_reason(step, printer)}]")
    return lines


def _abbreviate(k: int, printer: Text, names: dict[int, str]) -> Iterator[str]:
    """A name for each root and inverse of a sum in a term, inner ones first."""
    if k in names:
        return
    node = printer.nodes[k]
    for j in operands(node):
        yield from _abbreviate(j, printer, names)
    if node[0] in ("inv", "sqrt"):
        (written, _), (plain, _) = printer.node(k), Text(printer.nodes).node(k)
        if printer.nodes[node[1]][0] == "+" or written != plain:
            names[k] = printer.name("v", f"{'√' if node[0] == 'sqrt' else 'inv'}{len(names) + 1}")
            yield f"     {names[k]} = {written}"


def _reason(step: Step, printer: Text) -> str:
    rule, premises = step["rule"], [f"({place + 1})" for place in step["premises"]]
    if rule != "combine":
        return f"{rule.replace('_', ' ')}{' of ' if premises else ''}{', '.join(premises)}"
    pieces = []
    for premise, (a, *b) in zip(premises, step["arguments"], strict=True):
        inside = f"S({_factor(b[0], printer)}{premise})" if b else premise
        pieces.append(_factor(a, printer) + inside)
    return " + ".join(pieces) or "equal normal forms"


def _factor(k: int, printer: Text) -> str:
    shown = printer.part(k)
    if shown in ("1", "−1"):
        return shown[:-1]
    return f"({shown})·" if printer.nodes[k][0] == "+" else f"{shown}·"


Term.shown = staticmethod(text)
Proved.shown = staticmethod(sequent)
