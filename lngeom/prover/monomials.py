"""Monomials: their order, their quotients, and where one stands inside another."""

import functools
from collections.abc import Iterable, Iterator

from .terms import Term, _is_vector_atom, sqrt


@functools.lru_cache(1 << 16)
def _atom_weight(atom: tuple) -> int:
    match atom[0]:
        case "d":
            return 0
        case "S":
            return _degree(atom[1]) + 1
        case "sqrt":
            return max(_degree(monomial) for monomial, _ in atom[1]) // 2 + 2
        case "inv":
            return max(_degree(monomial) for monomial, _ in atom[1]) + 1
    return 2


def _degree(monomial: tuple) -> int:
    return sum(_atom_weight(atom) * exponent for atom, exponent in monomial)


@functools.lru_cache(1 << 16)
def weight(monomial: tuple) -> tuple:
    """Order of monomials: by degree, then lexicographically, powers of d last."""
    return _degree(monomial), tuple(p for p in reversed(monomial) if p[0] != ("d",)), monomial


def power_of_d(monomial: tuple) -> int:
    """The exponent of d in a monomial."""
    return dict(monomial).get(("d",), 0)


def divide(monomial: tuple, divisor: tuple) -> tuple | None:
    """The quotient of two monomials; None where a power would be negative."""
    powers = dict(monomial)
    for atom, k in divisor:
        powers[atom] = powers.get(atom, 0) - k
        if powers[atom] < 0 and atom != ("d",):
            return None
    return tuple(sorted((atom, k) for atom, k in powers.items() if k))


def argument(atom: tuple) -> Term:
    """The term under the root, or the divisor, of `atom`."""
    return Term(atom[1])


@functools.lru_cache(1 << 16)
def _split(monomial: tuple) -> tuple[tuple, tuple]:
    """Scalar and vector part."""
    inner = tuple(power for power in monomial if _is_vector_atom(power[0]))
    return tuple(power for power in monomial if power not in inner), inner


def match(monomial: tuple, lead: tuple) -> Iterator[tuple[tuple, tuple | None]]:
    """Ways to find `lead` in a monomial: (a, None) outside sums, (a, b) inside one: monomial = a·S(b·lead)."""
    quotient = divide(monomial, lead)
    if quotient is not None:
        yield quotient, None
    outer, inner = _split(lead)
    for atom, _ in monomial if inner else ():
        if atom[0] == "S":
            b = divide(atom[1], inner)
            a = divide(divide(monomial, ((atom, 1),)) or (), outer)
            if b is not None and a is not None:
                yield a, b


def polynomial_roots(t: Term) -> Iterator[tuple[Term, Term]]:
    """The polynomials p, of two summands or more, and the monomial m with t = p²·m: none, or one and its opposite."""
    least = {atom: min(dict(m).get(atom, 0) for m, _ in t) for atom, _ in next(iter(t), ((), 0))[0]}
    common = tuple(sorted((atom, k) for atom, k in least.items() if k))
    c = {divide(monomial, common) or (): c for monomial, c in t}
    squares = [m for m in c if c[m] > 0 and all(k % 2 == 0 for _, k in m)]
    if len(squares) < 2 or len(c) > len(squares) * (len(squares) + 1) // 2:
        return
    first, *others = (sqrt(c[m]) * Term({tuple((atom, k // 2) for atom, k in m): 1}) for m in squares)
    p = sum((r if c.get((first * r).pairs[0][0], 0) > 0 else -r for r in others), first)
    if p * p == Term(c):
        yield from ((p, Term({common: 1})), (-p, Term({common: 1})))


def quotients(t: Iterable, u: Term) -> Iterator[Term]:
    """Monomial quotients of the summands of t by the heaviest summand of u."""
    lead, coefficient = max(u, key=lambda pair: weight(pair[0]))
    for monomial, c in t:
        quotient = divide(monomial, lead)
        if quotient is not None:
            yield Term({quotient: c / coefficient})


def atoms_of(terms: Iterable[Term]) -> set[tuple]:
    """All atoms of terms, including those inside functions."""
    atoms: set[tuple] = set()
    waiting = [atom for t in terms for monomial, _ in t for atom, _ in monomial]
    while waiting:
        atom = waiting.pop()
        if atom in atoms:
            continue
        atoms.add(atom)
        if atom[0] == "S":
            waiting += [inner for inner, _ in atom[1]]
        elif atom[0] in ("inv", "sqrt"):
            waiting += [inner for monomial, _ in atom[1] for inner, _ in monomial]
    return atoms
