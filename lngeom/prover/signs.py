"""The search for signs: along the structure of a term, from known signs, squares and variances."""

import functools
import itertools
from collections.abc import Iterable, Iterator
from fractions import Fraction

from . import rules
from .monomials import argument, divide, polynomial_roots, quotients
from .rules import Formula, Proved
from .terms import ONE, ProofError, S, Term, d

MAX_DEPTH = 6


class Signs:
    """Known signs, and the search for those that follow."""

    def __init__(self, facts: Iterable[Proved]) -> None:
        self.facts = list(facts)
        self.depth = 0
        self.missing: set[Formula] = set()
        self._of: dict[Term, list[Proved]] = {}
        for fact in self.facts:
            self._of.setdefault(fact.conclusion.term, []).append(fact)
        self._spreads: dict[Term, Proved] = {}
        self._asked: dict[tuple[Term, str], tuple[int, Proved | None]] = {}

    def find(self, t: Term, relation: str) -> Proved | None:
        """Proved ``t relation 0``, or None."""
        depth, found = self._asked.get((t, relation), (MAX_DEPTH + 1, None))
        if found or self.depth >= depth:
            return found
        self.depth += 1
        try:
            found = self._known(t, relation) or self._search(t, relation)
        finally:
            self.depth -= 1
        self._asked[t, relation] = self.depth, found
        return found

    def _known(self, t: Term, relation: str) -> Proved | None:
        for fact in self._of.get(t, ()):
            known = fact.conclusion.relation
            if known == relation:
                return fact
            if known == ">":
                return rules.weaken(fact, relation)
        if relation == ">":
            weak, nonzero = self._fact(t, ">="), self._fact(t, "!=")
            return rules.strengthen(weak, nonzero) if weak and nonzero else None
        return None

    def _fact(self, t: Term, relation: str) -> Proved | None:
        return next((fact for fact in self._of.get(t, ()) if fact.conclusion.relation == relation), None)

    def _search(self, t: Term, relation: str) -> Proved | None:
        if len(t) == 1 or not t:
            return self._monomial(t, relation)
        if relation == "!=":
            return self._nonzero(t)
        return self._scaled(t, relation) or self._sum(t, relation) or self._peeled(t, relation)

    def _nonzero(self, t: Term) -> Proved | None:
        scaled = self._scaled(t, "!=")
        if scaled:
            return scaled
        above = self.find(t, ">")
        if above:
            return rules.weaken(above, "!=")
        below = self.find(-t, ">")
        return rules.multiply(rules.weaken(below, "!="), rules.constant(-1, "!=")) if below else None

    def _monomial(self, t: Term, relation: str) -> Proved | None:
        if not t:
            return rules.constant(0, ">=") if relation == ">=" else None
        ((monomial, coefficient),) = tuple(t)
        factors = []
        for atom, exponent in monomial:
            factor = self._power(atom, exponent, relation)
            if factor is None and relation != "!=":
                factor, coefficient = self._negative(atom, exponent, relation), coefficient * (-1) ** exponent
            if factor is None:
                return None
            factors.append(factor)
        if coefficient != 1 or not factors:
            try:
                factors.insert(0, rules.constant(coefficient, relation))
            except ProofError:
                return None
        return functools.reduce(rules.multiply, factors)

    def _negative(self, atom: tuple, exponent: int, relation: str) -> Proved | None:
        """Sign of (−atom)^exponent."""
        if atom[0] in ("d", "sqrt"):
            return None
        if atom[0] == "inv":
            below = self.find(-argument(atom), relation)
            sign = rules.inverse_sign(below) if below else None
        else:
            sign = self._known(-Term({((atom, 1),): Fraction(1)}), relation)
        return _repeat(sign, exponent) if sign else None

    def _power(self, atom: tuple, exponent: int, relation: str) -> Proved | None:
        if atom == ("d",):
            positive = rules.add(rules.dimension(), rules.constant(1, ">"))
            sign = positive if exponent > 0 else rules.inverse_sign(positive)
            return _repeat(sign if relation == ">" else rules.weaken(sign, relation), abs(exponent))
        base = Term({((atom, 1),): Fraction(1)})
        sign = self._known(base, relation) or self._atom(atom, base, relation)
        if sign:
            return _repeat(sign, exponent)
        if exponent % 2 or relation == "!=":
            return None
        squared = rules.square(base ** (exponent // 2))
        if relation == ">=":
            return squared
        nonzero = self.find(base, "!=")
        return rules.strengthen(squared, _repeat(nonzero, exponent)) if nonzero else None

    def _atom(self, atom: tuple, base: Term, relation: str) -> Proved | None:
        kind = atom[0]
        if kind == "sqrt":
            if relation == ">=":
                return rules.root_nonnegative(argument(atom))
            inside = self.find(argument(atom), ">")
            positive = rules.root_positive(inside) if inside else None
            return rules.weaken(positive, relation) if positive and relation == "!=" else positive
        if kind == "inv":
            inside = self.find(argument(atom), relation)
            return rules.inverse_sign(inside) if inside else None
        if kind == "S":
            inside = self.find(Term({atom[1]: Fraction(1)}), relation) if relation != "!=" else None
            if inside:
                return rules.total(inside)
        if kind in ("v", "s", "S"):
            self.missing.add(Formula(base, relation))
        negative = self._known(-base, ">") if relation == "!=" else None
        return rules.multiply(rules.weaken(negative, "!="), rules.constant(-1, "!=")) if negative else None

    def _scaled(self, t: Term, relation: str) -> Proved | None:
        for fact in self.facts:
            u, known = fact.conclusion
            if len(u) != len(t) or len(t) < 2:
                continue
            for quotient in quotients(tuple(t)[:1], u):
                if quotient * u != t:
                    continue
                factor = self.find(quotient, relation)
                premise = fact if known == relation else None
                if known == ">" and relation != ">":
                    premise = rules.weaken(fact, relation)
                if factor and premise:
                    return rules.multiply(factor, premise)
        return None

    def _sum(self, t: Term, relation: str) -> Proved | None:
        """Every summand is nonnegative, and one positive if need be."""
        whole, strict = None, False
        for monomial, coefficient in t:
            summand = Term({monomial: coefficient})
            sign = (self.find(summand, ">") if relation == ">" and not strict else None) or self.find(summand, ">=")
            if sign is None:
                return None
            strict |= sign.conclusion.relation == ">"
            whole = rules.add(whole, sign) if whole else sign
        return whole if strict or relation == ">=" else None

    def _variances(self, t: Term) -> Iterator[Proved]:
        """|- S(v²) − S(v)²/d >= 0 for the squares that are summed in t."""
        for v in _squared(t):
            if v not in self._spreads:
                self._spreads[v] = rules.total(rules.square(v - S(v) / d))
            yield self._spreads[v]

    def _peeled(self, t: Term, relation: str) -> Proved | None:
        """A multiple of a known sign, or of a variance, plus a shorter rest; or a known sign plus a number."""
        own = dict(t.pairs)
        for fact in itertools.chain(self.facts, self._variances(t)):
            u, known = fact.conclusion
            if known == "!=" or len(u) < 2:
                continue
            for quotient in quotients(t, u):
                part = quotient * u
                less = sum(1 if own.get(m) == c else -(m not in own) for m, c in part.pairs)
                if less < 2 and quotient != ONE:
                    continue
                rest = t - part
                if less < 2 and [m for m, _ in rest] != [()]:
                    continue
                factor = self.find(quotient, ">") or self.find(quotient, ">=")
                if factor is None:
                    continue
                head = rules.multiply(factor, fact)
                strict = head.conclusion.relation == ">"
                tail = self.find(rest, ">=" if strict or relation == ">=" else ">") if rest else None
                if (tail or not rest) and (strict or relation == ">=" or tail):
                    both = rules.add(head, tail) if tail else head
                    return rules.weaken(both, ">=") if strict and relation == ">=" else both
        return None


def _squared(t: Term) -> Iterator[Term]:
    """The vectors whose squares are summed in t: sums, whose squares are multiplied out, and products."""
    multiplied: dict[tuple, Term] = {}
    for monomial, c in t:
        sums = tuple(power for power in monomial if power[0][0] == "S")
        if [k for _, k in sums] == [1]:
            factor = divide(monomial, sums) or ()
            multiplied[factor] = multiplied.get(factor, Term({})) + Term({sums[0][0][1]: c})
    for whole in multiplied.values():
        yield from (v for v, factor in itertools.islice(polynomial_roots(whole), 1) if factor == ONE)
    for atom in dict.fromkeys(atom for monomial, _ in t.pairs for atom, _ in monomial if atom[0] == "S"):
        if all(k % 2 == 0 for _, k in atom[1]):
            yield Term({tuple((a, k // 2) for a, k in atom[1]): Fraction(1)})


def _repeat(theorem: Proved, times: int) -> Proved:
    return functools.reduce(rules.multiply, [theorem] * times)
