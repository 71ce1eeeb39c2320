"""Terms, formulas and theorems as text, in the notation of the derivations."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from ._kernel import Formula, Term, Theorem

_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_GREEK = {"alpha": "α", "beta": "β", "eps": "ε", "kappa": "κ", "lam": "λ", "mu": "μ"}
_SIGN = {"=": "=", "!=": "≠", ">": ">", ">=": "≥"}


def _name(name: str) -> str:
    stem, digits = name.rstrip("0123456789"), name[len(name.rstrip("0123456789")) :]
    primes = stem[len(stem.rstrip("_")) :].replace("_", "′")
    subscript = "".join(chr(ord("₀") + int(digit)) for digit in digits)
    return _GREEK.get(stem.rstrip("_"), stem.rstrip("_")) + subscript + primes


def _power(base: str, exponent: int) -> str:
    return base if exponent == 1 else base + str(exponent).translate(_SUPERSCRIPT)


def _atom(atom: tuple) -> str:
    kind = atom[0]
    if kind == "d":
        return "d"
    if kind == "S":
        return f"S({_monomial(atom[1])})"
    if kind in ("inv", "sqrt"):
        inside = text(atom[1])
        return f"√({inside})" if kind == "sqrt" else f"inv({inside})"
    return _name(atom[1])


def _monomial(monomial: tuple) -> str:
    return "·".join(_power(_atom(atom), exponent) for atom, exponent in monomial)


def _parts(term: Term) -> Iterator[tuple[Fraction, str]]:
    for monomial, coefficient in term:
        above = _monomial(tuple((atom, k) for atom, k in monomial if k > 0))
        below = _monomial(tuple((atom, -k) for atom, k in monomial if k < 0))
        yield coefficient, (above or ("1" if below else "")) + (f"/{below}" if below else "")


def text(term: Term) -> str:
    """A term as text: ``S(x²)/d − S(x)²/d²``."""
    pieces = []
    for coefficient, monomial in _parts(term):
        size = "" if abs(coefficient) == 1 and monomial else str(abs(coefficient))
        sign = ("−" if coefficient < 0 else "") if not pieces else (" − " if coefficient < 0 else " + ")
        pieces.append(sign + size + ("·" if size and monomial else "") + monomial)
    return "".join(pieces) or "0"


def formula(statement: Formula) -> str:
    """A formula as text: ``S(x²)/d − S(x)²/d² > 0``."""
    return f"{text(statement.term)} {_SIGN[statement.relation]} 0"


def sequent(theorem: Theorem) -> str:
    """What a theorem says: its hypotheses, the turnstile, its conclusion."""
    hypotheses = ", ".join(sorted(formula(hypothesis) for hypothesis in theorem.hypotheses))
    return f"{hypotheses}{' ' if hypotheses else ''}⊢ {formula(theorem.conclusion)}"


def certificate(theorem: Theorem) -> list[str]:
    """The proof of a theorem, a numbered line for each step, every premise before its use."""
    lines: list[str] = []
    numbers: dict[int, int] = {}

    def visit(step: Theorem) -> int:
        if id(step) not in numbers:
            rule, terms, used = step.certificate
            premises = [visit(premise) for premise in used]
            numbers[id(step)] = len(numbers) + 1
            lines.append(
                f"{numbers[id(step)]:>3}. {formula(step.conclusion)}    [{_reason(rule, terms, premises)}]"
            )
        return numbers[id(step)]

    visit(theorem)
    return lines


def _reason(rule: str, terms: tuple, premises: list[int]) -> str:
    if rule != "combine":
        cited = ", ".join(f"({number})" for number in premises)
        return f"{rule.replace('_', ' ')}{' of ' if cited else ''}{cited}"
    pieces = []
    for number, a, b in zip(premises, terms[1::2], terms[2::2], strict=True):
        pieces.append(_factor(a) + (f"({number})" if b is None else f"S({_factor(b)}({number}))"))
    return " + ".join(pieces) or "normal form"


def _factor(term: Any) -> str:
    shown = text(term)
    return "" if shown == "1" else (f"({shown})·" if len(term) > 1 else f"{shown}·")
