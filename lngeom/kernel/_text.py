"""Terms, formulas and theorems as text, in the notation of the derivations."""

from collections.abc import Iterator, Mapping
from fractions import Fraction

from ._monomials import is_vector
from ._rules import Formula, Proved
from ._terms import Term

__all__ = ["formula", "proof_text", "sequent", "text"]

_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_GREEK = {"alpha": "α", "beta": "β", "eps": "ε", "kappa": "κ", "lam": "λ", "mu": "μ"}
_FUNCTIONS = {"inv": "inv", "sqrt": "√"}
_SCALARS = ("a", "c", "s", "t")
_ARROW, _SUBSCRIPT_S = "\N{COMBINING RIGHT ARROW ABOVE}", "ₛ"
NO_NAMES: Mapping[tuple, str] = {}
_SIGN = {"=": "=", "!=": "≠", ">": ">", ">=": "≥"}


def _name(atom: tuple) -> str:
    kind, name = atom
    stem, digits = name.rstrip("0123456789"), name[len(name.rstrip("0123456789")) :]
    primes = stem[len(stem.rstrip("_")) :].replace("_", "′")
    base = stem.rstrip("_")
    of_scalars = base in _GREEK or base in _SCALARS
    plain = of_scalars == (kind == "s") and base != "d"  # d itself is the dimension
    mark = "" if plain else _ARROW if kind == "v" else _SUBSCRIPT_S
    return _GREEK.get(base, base) + mark + "".join(chr(ord("₀") + int(digit)) for digit in digits) + primes


def _power(base: str, exponent: int) -> str:
    return base if exponent == 1 else base + str(exponent).translate(_SUPERSCRIPT)


Names = Mapping[tuple, str]
"""Abbreviations of roots and inverses."""


def _atom(atom: tuple, names: Names) -> str:
    kind = atom[0]
    if kind == "d":
        return "d"
    if atom in names:
        return names[atom]
    if kind == "S":
        return f"S({_monomial(atom[1], names)})"
    if kind in ("inv", "sqrt"):
        return f"{_FUNCTIONS[kind]}({text(Term(atom[1]), names)})"
    return _name(atom)


def _monomial(monomial: tuple, names: Names) -> str:
    return "·".join(_power(_atom(atom, names), exponent) for atom, exponent in monomial)


def _parts(term: Term, names: Names) -> Iterator[tuple[Fraction, str]]:
    for monomial, coefficient in term:
        above = _monomial(tuple((atom, k) for atom, k in monomial if k > 0), names)
        below = _monomial(tuple((atom, -k) for atom, k in monomial if k < 0), names)
        yield coefficient, (above or ("1" if below else "")) + (f"/{below}" if below else "")


def text(term: Term, names: Names = NO_NAMES) -> str:
    """A term as text, in the notation of the derivations.

    Digits at the end of a name become subscripts, ``eps`` becomes ε, and ``_`` at the end a prime. Greek letters, a,
    c, s and t are scalars and other names vectors; a vector of such a name has an arrow, a⃗, and a scalar of another a
    subscript, xₛ. A vector of equal components is a multiple of 𝟏. So different terms never read alike.

    >>> import lngeom as lg
    >>> from lngeom.kernel import text, vector
    >>> print(text(lg.moments(vector("x1"))[1]))
    −S(x₁)²/d² + S(x₁²)/d
    """
    pieces = []
    for coefficient, monomial in _parts(term, names):
        size = "" if abs(coefficient) == 1 and monomial else str(abs(coefficient))
        sign = ("−" if coefficient < 0 else "") if not pieces else (" − " if coefficient < 0 else " + ")
        pieces.append(sign + size + ("·" if size and monomial else "") + monomial)
    shown = "".join(pieces) or "0"
    if term.is_scalar or any(is_vector(atom) for monomial, _ in term for atom, _ in monomial):
        return shown
    return "𝟏" if shown == "1" else f"({shown})·𝟏" if len(pieces) > 1 else f"{shown}·𝟏"


def formula(statement: Formula, names: Names = NO_NAMES) -> str:
    """A formula as text.

    >>> from lngeom.kernel import dot, formula, greater, vector
    >>> print(formula(greater(dot(vector("x"), vector("y")))))
    S(x·y) > 0
    """
    return f"{text(Term(statement.term.pairs), names)} {_SIGN[statement.relation]} 0"


def sequent(theorem: Proved) -> str:
    """The statement of a theorem: its hypotheses, the turnstile, its conclusion.

    >>> from lngeom.kernel import assume, dot, greater, sequent, vector
    >>> print(sequent(assume(greater(dot(vector("x"), vector("y"))))))
    S(x·y) > 0 ⊢ S(x·y) > 0
    """
    hypotheses = ", ".join(sorted(formula(hypothesis) for hypothesis in theorem.hypotheses))
    return f"{hypotheses}{' ' if hypotheses else ''}⊢ {formula(theorem.conclusion)}"


def numbered(theorem: Proved) -> list[tuple[Proved, list[int]]]:
    """The steps of a proof with the places of their premises, which come first; what is proved twice stands once."""
    steps: list[tuple[Proved, list[int]]] = []
    places: dict[tuple, int] = {}
    visited: dict[int, int] = {}

    def visit(step: Proved) -> int:
        if id(step) not in visited:
            statement = (step.conclusion, step.hypotheses)
            if statement not in places:
                premises = [visit(premise) for premise in step.premises]
                places[statement] = len(steps)
                steps.append((step, premises))
            visited[id(step)] = places[statement]
        return visited[id(step)]

    visit(theorem)
    return steps


def proof_text(theorem: Proved) -> list[str]:
    """The proof of a theorem: abbreviations of roots and inverses, then a numbered line for each step.

    Every premise comes before its use, and what is proved twice appears once.

    >>> from lngeom.kernel import S, assume, combine, equal, proof_text, vector
    >>> x, y = vector("x"), vector("y")
    >>> balanced = assume(equal(S(x), 0))
    >>> for line in proof_text(combine(S(x) * S(y), [(S(y), None, balanced)])):
    ...     print(line.strip())
    1. S(x) = 0    [assume]
    2. S(x)·S(y) = 0    [S(y)·(1)]
    """
    steps = numbered(theorem)
    names: dict[tuple, str] = {}
    lines: list[str] = []
    for step, _ in steps:
        for term in (step.conclusion.term, *step.arguments):
            lines += _abbreviate(term, names) if isinstance(term, Term) else []
    for number, (step, premises) in enumerate(steps, start=1):
        rule, terms = step.rule, step.arguments
        reason = _reason(rule, terms, [place + 1 for place in premises], names)
        lines.append(f"{number:>3}. {formula(step.conclusion, names)}    [{reason}]")
    return lines


def _abbreviate(term: Term, names: dict[tuple, str]) -> Iterator[str]:
    """A name for each root and inverse of a sum in a term, inner ones first."""
    for monomial, _ in term:
        for atom, _ in monomial:
            if atom[0] == "S":
                yield from _abbreviate(Term({atom[1]: Fraction(1)}), names)
            elif atom[0] in _FUNCTIONS and atom not in names:
                yield from _abbreviate(Term(atom[1]), names)
                if len(atom[1]) > 1 or any(inner in names for m, _ in atom[1] for inner, _ in m):
                    function, number = _FUNCTIONS[atom[0]], len(names) + 1
                    names[atom] = function + "".join(chr(ord("₀") + int(digit)) for digit in str(number))
                    inside = text(Term(atom[1]), {key: name for key, name in names.items() if key != atom})
                    yield f"     {names[atom]} = {function}({inside})"


def _reason(rule: str, terms: tuple, premises: list[int], names: Names) -> str:
    if rule != "combine":
        cited = ", ".join(f"({number})" for number in premises)
        return f"{rule.replace('_', ' ')}{' of ' if cited else ''}{cited}"
    pieces = []
    for number, a, b in zip(premises, terms[1::2], terms[2::2], strict=True):
        inside = f"({number})" if b is None else f"S({_factor(b, names)}({number}))"
        pieces.append(_factor(a, names) + inside)
    return " + ".join(pieces) or "equal normal forms"


def _factor(term: Term, names: Names) -> str:
    shown = text(term, names)
    if shown in ("1", "−1"):
        return shown[:-1]
    return f"({shown})·" if len(term) > 1 else f"{shown}·"


Term.shown = staticmethod(text)
Proved.shown = staticmethod(sequent)
