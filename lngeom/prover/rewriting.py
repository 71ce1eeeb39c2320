"""Rewriting: every equation is solved for its heaviest monomial, which is replaced wherever it stands.

Beside the equations given, the laws of the roots and inverses in a term are used, as far as signs allow, and the
relations between roots of proportional terms.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction

from . import rules
from .monomials import argument, atoms_of, divide, match, polynomial_roots, power_of_d, quotients, weight
from .rules import Formula, Proved
from .signs import Signs
from .terms import ONE, ProofError, S, Term, term
from .writing import formula, text

Rule = tuple[Proved, Term, Fraction, tuple, Callable[[int], bool]]
"""An equation e = 0, e, the coefficient and monomial it is solved for, and the powers of d it may be multiplied by."""

Equations = Sequence[tuple[Proved, object]]
"""Each with the term whose monomial it is to be solved for; None stands for its heaviest."""

Parts = dict[tuple[int, tuple | None], Term]
"""Multiples a of rules: ordinary ones under (rule, None), those inside a sum S(b·e) under (rule, b)."""

MAX_STEPS = 2000
MAX_LENGTH = 400
MAX_DEGREE = 64
"""Of a monomial that is looked at: an equation that raises powers would raise them without end."""
MAX_ROUNDS = 8


def rewrite(
    goal: Term, equations: Equations, signs: list[Proved], *, related: bool = True, short: bool = False
) -> Proved:
    """⊢ goal = its normal form modulo the equations."""
    rewrites = _closure(goal, equations, signs, related, short)
    left, parts = _reduce(goal, rewrites)
    if left:
        raise ProofError(f"no proof found: {formula(Formula(left, '='))} is left")
    return _combined(goal, parts, rewrites)


def reduced(goal: Term, equations: Equations, signs: list[Proved], *, short: bool = False) -> Term:
    """A term after rewriting by the equations and by the laws of roots and inverses."""
    return _reduce(goal, _closure(goal, equations, signs, True, short))[0]


def shortened(fact: Proved, equations: Equations, signs: list[Proved]) -> Proved:
    """The fact about what its term is reduced to."""
    short = reduced(fact.conclusion.term, equations, signs)
    return rules.transport(short, rewrite(short - fact.conclusion.term, equations, signs), fact)


def reducer(goal: Term, equations: Equations, signs: list[Proved]) -> Callable[[Term], Term]:
    """The same for many terms of the atoms that a goal has."""
    rewrites = _closure(goal, equations, signs, True)
    # Which rule is next depends on a monomial alone, so that each is reduced once.
    normal = functools.cache(lambda monomial: _reduce(Term({monomial: Fraction(1)}), rewrites)[0])
    return lambda t: sum((c * normal(monomial) for monomial, c in t), term(0))


def _closure(goal: Term, equations: Equations, signs: list[Proved], related: bool, short: bool = False) -> list[Rule]:
    """The equations with the laws of all roots and inverses met, until no new ones come in.

    With `related` also the relations between different roots; their own proofs do without. With `short`, no law
    makes a radicand longer.
    """
    find = Signs(signs).find
    # Atoms, and the laws about them, are the same in every round.
    laws_of = functools.cache(lambda atom: [(law, None) for law in _laws(atom, find)])
    roots_of = functools.cache(lambda atom: [*_monomial_roots(atom, find, signs)])
    squares_of = functools.cache(lambda atom: [*_square_roots(atom, signs)])
    terms = [goal, *(theorem.conclusion.term for theorem, _ in equations)]
    inner: Equations = []
    squares: Equations = []
    laws: Equations = []
    for _ in range(MAX_ROUNDS):
        atoms = atoms_of(terms)
        roots = []
        if related:
            squares = [root for atom in sorted(atoms) for root in squares_of(atom)]
            roots = [*_proportional_roots(terms, signs), *(root for atom in sorted(atoms) for root in roots_of(atom))]
        laws = [*roots, *(law for atom in sorted(atoms) for law in laws_of(atom))]
        rewrites = [rule for fact, solved in [*squares, *inner, *equations, *laws] for rule in _solved(fact, solved)]
        shorter = [*inner, *equations] if short else []
        plain = [rule for theorem, solved in shorter for rule in _solved(theorem, solved)]
        before = len(inner)
        inner = list(_inner(atoms, rewrites, plain)) if related else []
        more = [theorem.conclusion.term for theorem, _ in [*squares, *laws, *inner]]
        if atoms_of([*terms, *more]) == atoms and len(inner) == before:
            break
        terms = [*terms, *more]
    return [rule for each in (squares, inner, equations, laws) for pair in each for rule in _solved(*pair)]


def _inner(atoms: Iterable[tuple], rewrites: list[Rule], plain: list[Rule]) -> Iterator[tuple[Proved, Term | None]]:
    """f(u) = f(v) for functions of terms u that the rules rewrite into v, or the plain ones into a shorter one."""
    for atom in sorted(atoms):
        if atom[0] in ("inv", "sqrt"):
            u = argument(atom)
            (v, parts), used = _reduce(u, rewrites), rewrites
            brief = _reduce(u, plain) if plain and len(v) > 1 else (v, parts)
            if len(brief[0]) < len(v):
                (v, parts), used = brief, plain
            if v != u and len(v) <= len(u):
                same = _combined(u - v, parts, used)
                yield rules.congruence(atom[0], u, v, same), Term({((atom, 1),): Fraction(1)})


def _reduce(left: Term, rewrites: list[Rule]) -> tuple[Term, Parts]:
    """The rest of a term that the rules leave, and the multiples of them that were subtracted."""
    parts: Parts = {}
    for _ in range(MAX_STEPS):
        step = _step(left, rewrites) if len(left) <= MAX_LENGTH else None
        if step is None:
            break
        k, a, b = step
        e = rewrites[k][1]
        left -= a * (e if b is None else S(Term({b: Fraction(1)}) * e))
        parts[k, b] = parts.get((k, b), term(0)) + a
    return left, parts


def _combined(goal: Term, parts: Parts, rewrites: list[Rule]) -> Proved:
    chosen = [(a, None if b is None else Term({b: Fraction(1)}), rewrites[k][0]) for (k, b), a in parts.items() if a]
    return rules.combine(goal, chosen)


def _solved(theorem: Proved, solved: object) -> Iterator[Rule]:
    """An equation solved for its heaviest monomial, in all powers of d.

    If it has several heaviest monomials that differ in the power of d, those powers are reduced from above and from
    below to the same few: each is a rule of its own.
    """
    e = theorem.conclusion.term
    if not e:
        return
    coefficients = dict(e)
    if solved is not None:
        wanted = divide(next(iter(term(solved)))[0], ((("d",), power_of_d(next(iter(term(solved)))[0])),))
        same = [m for m in coefficients if divide(m, ((("d",), power_of_d(m)),)) == wanted]
        if len(same) != 1:
            raise ProofError(f"{formula(theorem.conclusion)} cannot be solved for {text(term(solved))}")
        yield theorem, e, coefficients[same[0]], same[0], lambda k: True
        return
    heaviest = max(weight(monomial)[:2] for monomial in coefficients)
    leads = sorted((m for m in coefficients if weight(m)[:2] == heaviest), key=power_of_d)
    if len(leads) == 1:
        yield theorem, e, coefficients[leads[0]], leads[0], lambda k: True
        return
    low = power_of_d(leads[0])
    yield theorem, e, coefficients[leads[-1]], leads[-1], lambda k: k >= -low
    yield theorem, e, coefficients[leads[0]], leads[0], lambda k: k < -low


def _step(left: Term, rewrites: list[Rule]) -> tuple[int, Term, tuple | None] | None:
    for monomial, coefficient in sorted(left, key=lambda pair: weight(pair[0]), reverse=True):
        if any(k > MAX_DEGREE for _, k in monomial):
            return None
        for k, (_, _, leading, lead, allowed) in enumerate(rewrites):
            for a, b in match(monomial, lead):
                if allowed(power_of_d(a)):
                    return k, Term({a: coefficient / leading}), b
    return None


def _laws(atom: tuple, find: Callable[[Term, str], Proved | None]) -> Iterator[Proved]:
    """Equations of a root or an inverse, as far as signs allow."""
    if atom[0] == "sqrt":
        inside = find(argument(atom), ">=")
        if inside:
            yield rules.square_of_root(inside)
    elif atom[0] == "inv":
        u = argument(atom)
        nonzero = find(u, "!=")
        if nonzero is None:
            yield rules.inverse_total(u)
            return
        law = rules.inverse(nonzero)
        yield law
        ((monomial, _), *more) = tuple(u)
        if not more and len(monomial) == 1 and monomial[0][0][0] == "sqrt":
            w = argument(monomial[0][0])
            inside = find(w, ">")
            if inside:  # for i = inv √w also i·w = √w and i² = inv w, so that every way of rewriting ends equal
                i = rules.inv(u)
                j, root = rules.inverse(rules.weaken(inside, "!=")), rules.square_of_root(inside)
                yield rules.combine(i * w - u, [(u, None, law), (-i, None, root)])
                above = rules.combine(i * i * w - 1, [(i * u + 1, None, law), (-i * i, None, root)])
                yield rules.combine(i * i - rules.inv(w), [(-i * i, None, j), (rules.inv(w), None, above)])


def _proportional_roots(terms: Iterable[Term], signs: list[Proved]) -> Iterator[tuple[Proved, Term]]:
    """√u = r√w, and the same for inverses, where u = r²w for a monomial r >= 0; solved for the left side."""
    radicands = sorted((argument(a) for a in atoms_of(terms) if a[0] == "sqrt"), key=lambda t: (len(repr(t)), t.pairs))
    done: set[Term] = set()
    for k, w in enumerate(radicands):
        for u in radicands[k + 1 :]:
            r = _root_of_quotient(u, w) if u not in done and len(w) > 1 else None
            if r is None:
                continue
            same = _same_root(u, r * rules.sqrt(w), signs) or _same_root(u, -r * rules.sqrt(w), signs)
            if same:
                done.add(u)
                yield from same


def _monomial_roots(
    atom: tuple, find: Callable[[Term, str], Proved | None], signs: list[Proved]
) -> Iterator[tuple[Proved, Term]]:
    """√(uw) = r√w for the nonnegative factors u = r² of a monomial, and the same for inverses."""
    if atom[0] != "sqrt" or len(atom[1]) != 1:
        return
    r, w = ONE, ONE
    ((monomial, c),) = argument(atom)
    for inner, k in monomial:
        base = Term({((inner, 1),): Fraction(1)})
        even, odd = divmod(k, 2)
        if inner == ("d",) or find(base, ">="):
            root = rules.inv(rules.sqrt(argument(inner))) if inner[0] == "inv" else rules.sqrt(base)
            r *= Term({((inner, even),): Fraction(1)} if even else {(): Fraction(1)}) * root**odd
        else:
            w *= base**k
    root = r * rules.sqrt(c * w)
    if root != Term({((atom, 1),): Fraction(1)}):
        yield from _same_root(argument(atom), root, signs)


def _square_roots(atom: tuple, signs: list[Proved]) -> Iterator[tuple[Proved, Term]]:
    """√(p²w) = p√w for a sum p >= 0 and a monomial w, and the same for inverses."""
    for p, w in polynomial_roots(argument(atom)) if atom[0] == "sqrt" else ():
        yield from _same_root(argument(atom), p * rules.sqrt(w), signs)


def _same_root(u: Term, root: Term, signs: list[Proved]) -> list[tuple[Proved, Term]]:
    """√u = root and its inverse, each solved for the left side; empty where it is not proved."""
    positive = Signs(signs).find(root, ">=")
    if positive is None:
        return []
    try:
        squared = rewrite(root * root - u, [], signs, related=False)
    except ProofError:
        return []
    same = rules.root_of_square(u, positive, squared)
    left = rules.sqrt(u)
    return [(same, left), (rules.congruence("inv", left, root, same), rules.inv(left))]


def cleared_roots(t: Term, equations: Equations, signs: list[Proved]) -> Iterator[tuple[Proved, Term]]:
    """√(u/w + v) = √(u + vw)/√w, or the same of w², for a divisor under a root; solved for the left side."""
    find = Signs(signs).find
    for atom in sorted(atom for atom in atoms_of([t]) if atom[0] == "sqrt"):
        inside = argument(atom)
        divisors = [inside_of(inner) for inner in sorted(a for m, _ in inside for a, _ in m if a[0] == "inv")]
        for power in (power for w in divisors if find(w, ">") for power in (w, w * w)):
            whole = reduced(inside * power, equations, signs)
            if not any(a[0] == "inv" for m, _ in whole for a, _ in m):
                yield from _same_root(inside, rules.sqrt(whole) * rules.inv(rules.sqrt(power)), signs)
                break


def inside_of(atom: tuple) -> Term:
    """The argument of the root in a divisor, or the divisor itself if it is no root."""
    u = argument(atom)
    ((monomial, _), *more) = tuple(u)
    return argument(monomial[0][0]) if not more and len(monomial) == 1 and monomial[0][0][0] == "sqrt" else u


def _root_of_quotient(u: Term, w: Term) -> Term | None:
    for quotient in quotients(u, w):
        if quotient * w == u:
            ((monomial, c),) = tuple(quotient)
            odd = Term({tuple((atom, 1) for atom, k in monomial if k % 2): c})
            return rules.sqrt(odd) * Term({tuple((atom, k // 2) for atom, k in monomial if k // 2): Fraction(1)})
    return None
