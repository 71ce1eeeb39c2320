"""The search for proofs: untrusted, because all it can do is call the rules of the kernel.

Equations are proved by rewriting: every known equation is solved for its heaviest monomial, which is replaced
wherever it divides a monomial of the goal, outside sums or inside. The multipliers are collected, and the kernel
checks that the goal is their combination. Signs are proved along the structure of the term.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any

from . import _kernel as kernel
from ._kernel import ONE, Formula, ProofError, S, Term, Theorem, d, term
from ._text import formula, text

Rule = tuple[Theorem, Term, Fraction, tuple, Callable[[int], bool]]
"""An equation e = 0, e, the coefficient and monomial it is solved for, and the powers of d it may be multiplied by."""

MAX_STEPS = 2000
MAX_LENGTH = 400
MAX_DEPTH = 6
MAX_ROUNDS = 8


def prove(goal: Formula, *facts: Theorem | tuple[Theorem, Any], remainder: Any = None) -> Theorem:
    """Prove a formula from theorems.

    Parameters
    ----------
    goal : Formula
    *facts : Theorem, or pair (Theorem, term)
        What may be used; hypotheses enter as ``assume(formula)``. A pair says for which monomial the equation is
        to be solved; otherwise for its heaviest.
    remainder : Term, optional
        For an inequality: an equal term of evident sign.

    Returns
    -------
    Theorem
        Its conclusion is `goal`.

    Raises
    ------
    ProofError
        If none is found; the message shows what is left of the goal.
    """
    pairs = [fact if isinstance(fact, tuple) else (fact, None) for fact in facts]
    equations = [(theorem, solved) for theorem, solved in pairs if theorem.conclusion.relation == "="]
    signs = [theorem for theorem, _ in pairs if theorem.conclusion.relation != "="]
    if goal.relation == "=":
        return _rewrite(goal.term, equations, signs)
    if remainder is not None:
        same = _rewrite(goal.term - remainder, equations, signs)
        return kernel.transport(goal.term, same, prove(Formula(term(remainder), goal.relation), *signs))
    found = _Signs(signs).find(goal.term, goal.relation)
    if found is None:
        msg = f"no proof found of {formula(goal)}"
        raise ProofError(msg)
    return found


# --------------------------------------------------------------------------------------------------------- signs


class _Signs:
    """Known signs, and the search for those that follow."""

    def __init__(self, facts: Iterable[Theorem]) -> None:
        self.facts = list(facts)
        self.depth = 0

    def find(self, t: Term, relation: str) -> Theorem | None:
        """Theorem ``t relation 0``, or None."""
        if self.depth > MAX_DEPTH:
            return None
        self.depth += 1
        try:
            return self._known(t, relation) or self._search(t, relation)
        finally:
            self.depth -= 1

    def _known(self, t: Term, relation: str) -> Theorem | None:
        for fact in self.facts:
            if fact.conclusion.term == t:
                known = fact.conclusion.relation
                if known == relation:
                    return fact
                if known == ">":
                    return kernel.weaken(fact, relation)
        if relation == ">":
            weak, nonzero = self._fact(t, ">="), self._fact(t, "!=")
            return kernel.strengthen(weak, nonzero) if weak and nonzero else None
        return None

    def _fact(self, t: Term, relation: str) -> Theorem | None:
        return next((fact for fact in self.facts if fact.conclusion == (t, relation)), None)

    def _search(self, t: Term, relation: str) -> Theorem | None:
        if len(t) == 1 or not t:
            return self._monomial(t, relation)
        if relation == "!=":
            return self._nonzero(t)
        return self._scaled(t, relation) or self._sum(t, relation) or self._peeled(t, relation)

    def _nonzero(self, t: Term) -> Theorem | None:
        scaled = self._scaled(t, "!=")
        if scaled:
            return scaled
        above = self.find(t, ">")
        if above:
            return kernel.weaken(above, "!=")
        below = self.find(-t, ">")
        return kernel.multiply(kernel.weaken(below, "!="), kernel.constant(-1, "!=")) if below else None

    def _monomial(self, t: Term, relation: str) -> Theorem | None:
        if not t:
            return kernel.constant(0, ">=") if relation == ">=" else None
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
                factors.insert(0, kernel.constant(coefficient, relation))
            except ProofError:
                return None
        return functools.reduce(kernel.multiply, factors)

    def _negative(self, atom: tuple, exponent: int, relation: str) -> Theorem | None:
        """Sign of (−atom)^exponent."""
        if atom[0] in ("d", "sqrt"):
            return None
        if atom[0] == "inv":
            below = self.find(-atom[1], relation)
            one = kernel.inverse_sign(below) if below else None
        else:
            one = self._known(-Term({((atom, 1),): Fraction(1)}), relation)
        return _repeat(one, exponent) if one else None

    def _power(self, atom: tuple, exponent: int, relation: str) -> Theorem | None:
        if atom == ("d",):
            positive = kernel.add(kernel.dimension(), kernel.constant(1, ">"))
            one = positive if exponent > 0 else kernel.inverse_sign(positive)
            return _repeat(one if relation == ">" else kernel.weaken(one, relation), abs(exponent))
        base = Term({((atom, 1),): Fraction(1)})
        one = self._known(base, relation) or self._atom(atom, base, relation)
        if one:
            return _repeat(one, exponent)
        if exponent % 2 or relation == "!=":
            return None
        squared = kernel.square(base ** (exponent // 2))
        if relation == ">=":
            return squared
        nonzero = self.find(base, "!=")
        return kernel.strengthen(squared, _repeat(nonzero, exponent)) if nonzero else None

    def _atom(self, atom: tuple, base: Term, relation: str) -> Theorem | None:
        kind = atom[0]
        if kind == "sqrt":
            if relation == ">=":
                return kernel.root_nonnegative(atom[1])
            inside = self.find(atom[1], ">")
            found = kernel.root_positive(inside) if inside else None
            return kernel.weaken(found, relation) if found and relation == "!=" else found
        if kind == "inv":
            inside = self.find(atom[1], relation)
            return kernel.inverse_sign(inside) if inside else None
        if kind == "S":
            inside = self.find(Term({atom[1]: Fraction(1)}), relation) if relation != "!=" else None
            if inside:
                return kernel.total(inside)
        if relation == "!=":
            positive, negative = self._known(base, ">"), self._known(-base, ">")
            if negative and not positive:
                return kernel.multiply(kernel.weaken(negative, "!="), kernel.constant(-1, "!="))
            return kernel.weaken(positive, "!=") if positive else None
        return None

    def _scaled(self, t: Term, relation: str) -> Theorem | None:
        for fact in self.facts:
            u, known = fact.conclusion
            if len(u) != len(t) or len(t) < 2:
                continue
            for quotient in _quotients(tuple(t)[:1], u):
                if quotient * u != t:
                    continue
                factor = self.find(quotient, relation)
                premise = fact if known == relation else None
                if known == ">" and relation != ">":
                    premise = kernel.weaken(fact, relation)
                if factor and premise:
                    return kernel.multiply(factor, premise)
        return None

    def _sum(self, t: Term, relation: str) -> Theorem | None:
        """Every summand is nonnegative, and one positive if need be."""
        found, strict = None, False
        for monomial, coefficient in t:
            one = Term({monomial: coefficient})
            sign = (self.find(one, ">") if relation == ">" and not strict else None) or self.find(one, ">=")
            if sign is None:
                return None
            strict |= sign.conclusion.relation == ">"
            found = kernel.add(found, sign) if found else sign
        return found if strict or relation == ">=" else None

    def _peeled(self, t: Term, relation: str) -> Theorem | None:
        """A multiple of a known sign, or of a variance, plus a shorter rest."""
        for fact in itertools.chain(self.facts, _variances(t)):
            u, known = fact.conclusion
            if known == "!=" or len(u) < 2:
                continue
            for quotient in _quotients(t, u):
                rest = t - quotient * u
                if len(rest) > len(t) - 2:
                    continue
                factor = self.find(quotient, ">") or self.find(quotient, ">=")
                if factor is None:
                    continue
                head = kernel.multiply(factor, fact)
                strict = head.conclusion.relation == ">"
                tail = self.find(rest, ">=" if strict or relation == ">=" else ">") if rest else None
                if (tail or not rest) and (strict or relation == ">=" or tail):
                    both = kernel.add(head, tail) if tail else head
                    return kernel.weaken(both, ">=") if strict and relation == ">=" else both
        return None


def _repeat(theorem: Theorem, times: int) -> Theorem:
    result = theorem
    for _ in range(times - 1):
        result = kernel.multiply(result, theorem)
    return result


def _quotients(t: Iterable, u: Term) -> Iterator[Term]:
    """Monomial quotients of the summands of t by the heaviest summand of u."""
    lead, coefficient = max(u, key=lambda pair: _weight(pair[0]))
    for monomial, c in t:
        quotient = _divide(monomial, lead)
        if quotient is not None:
            yield Term({quotient: c / coefficient})


def _variances(t: Term) -> Iterator[Theorem]:
    """|- S(m²) − S(m)²/d >= 0 for the sums of squares in t."""
    for monomial, _ in t:
        for atom, _ in monomial:
            if atom[0] == "S" and all(k % 2 == 0 for _, k in atom[1]):
                half = Term({tuple((a, k // 2) for a, k in atom[1]): Fraction(1)})
                yield kernel.total(kernel.square(half - S(half) / d))


# ---------------------------------------------------------------------------------------------------- equations


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


def _weight(monomial: tuple) -> tuple:
    """Order of monomials: by degree, then lexicographically, powers of d last."""
    return _degree(monomial), tuple(p for p in reversed(monomial) if p[0] != ("d",)), monomial


def _divide(monomial: tuple, divisor: tuple) -> tuple | None:
    powers = dict(monomial)
    for atom, k in divisor:
        powers[atom] = powers.get(atom, 0) - k
        if powers[atom] < 0 and atom != ("d",):
            return None
    return tuple(sorted((atom, k) for atom, k in powers.items() if k))


def _split(monomial: tuple) -> tuple[tuple, tuple]:
    """Scalar and vector part."""
    inner = tuple(power for power in monomial if power[0][0] == "v" or power[0][-1] is True)
    return tuple(power for power in monomial if power not in inner), inner


def _match(monomial: tuple, lead: tuple) -> Iterator[tuple[tuple, tuple | None]]:
    """Ways to find `lead` in a monomial: (a, None) outside sums, (a, b) inside one: monomial = a·S(b·lead)."""
    quotient = _divide(monomial, lead)
    if quotient is not None:
        yield quotient, None
    outer, inner = _split(lead)
    for atom, _ in monomial if inner else ():
        if atom[0] == "S":
            b = _divide(atom[1], inner)
            a = _divide(_divide(monomial, ((atom, 1),)) or (), outer)
            if b is not None and a is not None:
                yield a, b


def _atoms(terms: Iterable[Term]) -> set[tuple]:
    """All atoms of terms, also those inside functions."""
    found: set[tuple] = set()
    waiting = [atom for t in terms for monomial, _ in t for atom, _ in monomial]
    while waiting:
        atom = waiting.pop()
        if atom in found:
            continue
        found.add(atom)
        if atom[0] == "S":
            waiting += [inner for inner, _ in atom[1]]
        elif atom[0] in ("inv", "sqrt"):
            waiting += [inner for monomial, _ in atom[1] for inner, _ in monomial]
    return found


def _laws(terms: Iterable[Term], find: Callable[[Term, str], Theorem | None]) -> Iterator[Theorem]:
    """Equations of the roots and inverses in terms, as far as signs allow."""
    for atom in sorted(_atoms(terms)):
        if atom[0] == "sqrt":
            inside = find(atom[1], ">=")
            if inside:
                yield kernel.square_of_root(inside)
        elif atom[0] == "inv":
            u = atom[1]
            nonzero = find(u, "!=")
            if nonzero is None:
                yield kernel.inverse_total(u)
                continue
            law = kernel.inverse(nonzero)
            yield law
            ((monomial, _), *more) = tuple(u)
            if not more and len(monomial) == 1 and monomial[0][0][0] == "sqrt":
                inside = find(monomial[0][0][1], ">")
                if (
                    inside
                ):  # for i = inv √w also i·w = √w and i² = inv w, so that every way of rewriting ends equal
                    i, w = kernel.inv(u), monomial[0][0][1]
                    j, root = kernel.inverse(kernel.weaken(inside, "!=")), kernel.square_of_root(inside)
                    yield kernel.combine(i * w - u, [(u, None, law), (-i, None, root)])
                    above = kernel.combine(i * i * w - 1, [(i * u + 1, None, law), (-i * i, None, root)])
                    yield kernel.combine(
                        i * i - kernel.inv(w), [(-i * i, None, j), (kernel.inv(w), None, above)]
                    )


def _proportional_roots(terms: Iterable[Term], signs: list[Theorem]) -> Iterator[tuple[Theorem, Term]]:
    """√u = r√w, and the same for inverses, where u = r²w for a monomial r >= 0; solved for the left side."""
    radicands = sorted(
        (atom[1] for atom in _atoms(terms) if atom[0] == "sqrt"), key=lambda t: (len(repr(t)), t)
    )
    done: set[Term] = set()
    for k, w in enumerate(radicands):
        for u in radicands[k + 1 :]:
            r = _root_of_quotient(u, w) if u not in done and len(w) > 1 else None
            if r is None:
                continue
            same = _same_root(u, r * kernel.sqrt(w), signs) or _same_root(u, -r * kernel.sqrt(w), signs)
            if same:
                done.add(u)
                yield from same


def _monomial_roots(terms: Iterable[Term], signs: list[Theorem]) -> Iterator[tuple[Theorem, Term]]:
    """√(uw) = r√w for the nonnegative factors u = r² of a monomial, and the same for inverses."""
    find = _Signs(signs).find
    for atom in sorted(_atoms(terms)):
        if atom[0] != "sqrt" or len(atom[1]) != 1:
            continue
        r, w = ONE, ONE
        for inner, k in next(iter(atom[1]))[0]:
            base = Term({((inner, 1),): Fraction(1)})
            even, odd = divmod(k, 2)
            if inner == ("d",) or find(base, ">="):
                root = kernel.inv(kernel.sqrt(inner[1])) if inner[0] == "inv" else kernel.sqrt(base)
                r *= Term({((inner, even),): Fraction(1)} if even else {(): Fraction(1)}) * root**odd
            else:
                w *= base**k
        c = next(iter(atom[1]))[1]
        root = r * kernel.sqrt(c * w)
        if root != Term({((atom, 1),): Fraction(1)}):
            yield from _same_root(atom[1], root, signs)


def _same_root(u: Term, root: Term, signs: list[Theorem]) -> list[tuple[Theorem, Term]]:
    """√u = root and its inverse, each solved for the left side; empty where it is not proved."""
    try:
        positive = prove(Formula(root, ">="), *signs)
        same = kernel.root_of_square(u, positive, _rewrite(root * root - u, [], signs, related=False))
    except ProofError:
        return []
    left = kernel.sqrt(u)
    return [(same, left), (kernel.congruence("inv", left, root, same), kernel.inv(left))]


def _root_of_quotient(u: Term, w: Term) -> Term | None:
    for quotient in _quotients(u, w):
        if quotient * w == u:
            ((monomial, c),) = tuple(quotient)
            odd = Term({tuple((atom, 1) for atom, k in monomial if k % 2): c})
            return kernel.sqrt(odd) * Term(
                {tuple((atom, k // 2) for atom, k in monomial if k // 2): Fraction(1)}
            )
    return None


def _closure(
    goal: Term, equations: list[tuple[Theorem, Any]], signs: list[Theorem], related: bool
) -> list[Rule]:
    """The equations with the laws of all roots and inverses met, until no new ones come in.

    With `related` also the relations between different roots; their own proofs do without.
    """
    find = _Signs(signs).find
    terms = [goal, *(theorem.conclusion.term for theorem, _ in equations)]
    inner: list[tuple[Theorem, Any]] = []
    laws: list[tuple[Theorem, Any]] = []
    for _ in range(MAX_ROUNDS):
        atoms = _atoms(terms)
        roots = []
        if related:
            roots = [*_proportional_roots(terms, signs), *_monomial_roots(terms, signs)]
        laws = [*roots, *((law, None) for law in _laws(terms, find))]
        rules = [rule for theorem, solved in inner + equations + laws for rule in _solved(theorem, solved)]
        before = len(inner)
        inner = list(_inner(atoms, rules)) if related else []
        more = [theorem.conclusion.term for theorem, _ in laws + inner]
        if _atoms([*terms, *more]) == atoms and len(inner) == before:
            break
        terms = [*terms, *more]
    return [rule for theorem, solved in inner + equations + laws for rule in _solved(theorem, solved)]


def _inner(atoms: Iterable[tuple], rules: list[Rule]) -> Iterator[tuple[Theorem, Any]]:
    """f(u) = f(v) for functions of terms u that the rules rewrite into v."""
    for atom in sorted(atoms):
        if atom[0] in ("inv", "sqrt"):
            v, parts = _reduce(atom[1], rules)
            if v != atom[1] and len(v) <= len(atom[1]):
                same = _combined(atom[1] - v, parts, rules)
                yield kernel.congruence(atom[0], atom[1], v, same), Term({((atom, 1),): Fraction(1)})


Parts = dict[tuple[int, tuple | None], Term]


def _reduce(left: Term, rules: list[Rule]) -> tuple[Term, Parts]:
    """What the rules leave of a term, and the multiples of them that were subtracted."""
    parts: Parts = {}
    for _ in range(MAX_STEPS):
        step = _step(left, rules) if len(left) <= MAX_LENGTH else None
        if step is None:
            break
        k, a, b = step
        e = rules[k][1]
        left -= a * (e if b is None else S(Term({b: Fraction(1)}) * e))
        parts[k, b] = parts.get((k, b), term(0)) + a
    return left, parts


def _combined(goal: Term, parts: Parts, rules: list[Rule]) -> Theorem:
    chosen = [
        (a, None if b is None else Term({b: Fraction(1)}), rules[k][0]) for (k, b), a in parts.items() if a
    ]
    return kernel.combine(goal, chosen)


def _rewrite(
    goal: Term, equations: list[tuple[Theorem, Any]], signs: list[Theorem], *, related: bool = True
) -> Theorem:
    rules = _closure(goal, equations, signs, related)
    left, parts = _reduce(goal, rules)
    if left:
        msg = f"no proof found: {text(left)} = 0 is left"
        raise ProofError(msg)
    return _combined(goal, parts, rules)


def _solved(theorem: Theorem, solved: Any) -> Iterator[Rule]:
    """An equation solved for its heaviest monomial, in all powers of d.

    If it has several heaviest monomials that differ in the power of d, those powers are reduced from above and from
    below to the same few: each is a rule of its own.
    """
    e = theorem.conclusion.term
    if not e:
        return
    coefficients = dict(e)
    if solved is not None:
        wanted = _divide(next(iter(term(solved)))[0], ((("d",), _power_of_d(next(iter(term(solved)))[0])),))
        same = [m for m in coefficients if _divide(m, ((("d",), _power_of_d(m)),)) == wanted]
        if len(same) != 1:
            msg = f"{formula(theorem.conclusion)} cannot be solved for {text(term(solved))}"
            raise ProofError(msg)
        yield theorem, e, coefficients[same[0]], same[0], lambda k: True
        return
    heaviest = max(_weight(monomial)[:2] for monomial in coefficients)
    leads = sorted((m for m in coefficients if _weight(m)[:2] == heaviest), key=_power_of_d)
    if len(leads) == 1:
        yield theorem, e, coefficients[leads[0]], leads[0], lambda k: True
        return
    low = _power_of_d(leads[0])
    yield theorem, e, coefficients[leads[-1]], leads[-1], lambda k: k >= -low
    yield theorem, e, coefficients[leads[0]], leads[0], lambda k: k < -low


def _power_of_d(monomial: tuple) -> int:
    return dict(monomial).get(("d",), 0)


def _step(left: Term, rules: list[Rule]) -> tuple[int, Term, tuple | None] | None:
    for monomial, coefficient in sorted(left, key=lambda pair: _weight(pair[0]), reverse=True):
        for k, (_, _, leading, lead, allowed) in enumerate(rules):
            for a, b in _match(monomial, lead):
                if allowed(_power_of_d(a)):
                    return k, Term({a: coefficient / leading}), b
    return None
