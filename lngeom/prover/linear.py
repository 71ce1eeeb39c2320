"""Signs as combinations: the goal times a positive term is a sum of terms known to be nonnegative.

A linear program finds which summands are needed; their coefficients are then solved for exactly.
"""

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from . import rules
from .decision import cauchy_schwarz
from .monomials import argument, divide, power_of_d
from .rewriting import Equations, reducer, rewrite
from .rules import Proved, transport
from .signs import Signs
from .terms import ONE, Effort, Term, d, scalar, sum_of, term, vector

MOST, _NOISE = 3000, 1e-7
"""Summands that a combination is chosen from, and coefficients in floats that count as 0."""

Compare = Callable[[Proved, object, Proved], Proved]


def combined(t: Term, relation: str, search: Signs, equations: Equations, compare: Compare) -> Proved | None:
    """``t REL 0`` with REL one of > and >=, or None."""
    degree, factors, parts = _grading(t), *_known(t, search, equations, compare)
    powers = [ONE, *(r.conclusion.term for r in factors if r.conclusion.relation == ">")]
    wanted = {a * b for a, b in itertools.combinations_with_replacement(powers, 2)}
    wanted = sorted(wanted, key=lambda m: (len(repr(m)), m.pairs))
    goals = [(m, sign) for m in wanted if (sign := search.find(m, ">"))]
    reduce = reducer(t, equations, search.facts)
    left = [reduce(t * m) for m, _ in goals]
    degrees = {degree(Term({monomial: c})) for term in left for monomial, c in term}
    tried: dict[Term, Proved] = {}
    none = rules.constant(1, ">")
    graded = [[(p, degree(p.conclusion.term)) for p in [none, *each]] for each in (factors, parts)]
    for (a, k), (b, m) in itertools.combinations_with_replacement(graded[0], 2):
        fit = [part for part, n in graded[1] if k + m + n in degrees]
        both = rules.multiply(a, b) if fit else none
        for part in fit[: MOST - len(tried)]:
            Effort.products += 1
            whole = rules.multiply(both, part)
            tried.setdefault(reduce(whole.conclusion.term), whole)
    top = max((power_of_d(monomial) for term in left for monomial, _ in term.pairs), default=0)
    columns = [(term * d**k, whole, k) for term, whole in tried.items() if term for k in range(-1, max(2, top + 1) + 1)]
    strict = [relation == whole.conclusion.relation == ">" for _, whole, _ in columns]
    found = _solved(left, [term for term, _, _ in columns], strict) if columns else None
    if found is None:
        return None
    weights = [search.find(c * d ** columns[k][2], ">") for k, c in found[1]]
    weighted = [rules.multiply(a, columns[k][1]) for a, (k, _) in zip(weights, found[1], strict=True) if a is not None]
    if len(weighted) < len(weights) or not weighted:
        return None
    divisor = functools.reduce(rules.add, (rules.multiply(rules.constant(c, ">"), goals[k][1]) for k, c in found[0]))
    total = functools.reduce(rules.add, weighted)
    m = divisor.conclusion.term
    same = transport(t * m, rewrite(t * m - total.conclusion.term, equations, search.facts), total)
    product = rules.multiply(rules.inverse_sign(divisor), same)
    equal = rules.combine(t - product.conclusion.term, [(-t, None, rules.inverse(divisor))])
    proved = transport(t, equal, product)
    if proved.conclusion.relation == relation:
        return proved
    return rules.weaken(proved, relation) if relation == ">=" else None


def square_root(t: Term) -> Term | None:
    """The vector u with t = S(u²), if its summands can be read off t."""
    for monomial, c in t:
        root = rules.sqrt(term(c))
        sums = [atom for atom, k in monomial if atom[0] == "S" and k == 1 and all(n % 2 == 0 for _, n in atom[1])]
        outer = divide(monomial, ((sums[0], 1),)) if sums else None
        if c <= 0 or outer is None or any(k % 2 for _, k in outer) or len(root.pairs[0][0]):
            continue
        within = tuple((atom, k // 2) for atom, k in sums[0][1])
        half = tuple((atom, k // 2) for atom, k in outer)
        u = head = root * Term({half: 1}) * Term({within: 1})
        for other, a in t:
            for atom, _ in other if other != monomial else ():
                rest = divide(atom[1], within) if atom[0] == "S" else None
                outside = divide(divide(other, ((atom, 1),)) or (), half)
                if rest is not None and outside is not None:
                    u += Term({rest: 1}) * Term({outside: a}) / (2 * root)
                    break
        for candidate in (u, head):
            if sum_of(candidate * candidate) == t:
                return candidate
    return None


def inner_products(
    roots: Sequence[tuple[Term, Term]], search: Signs, equations: Equations, compare: Compare
) -> Iterator[Proved]:
    """√a·√b ± u·v >= 0 by Cauchy's inequality, where a and b are the squares of vectors u and v."""
    for (p, a), (q, b) in itertools.combinations(roots, 2):
        u, v, sign = square_root(a), square_root(b), search.find(p * q, ">=")
        if u and v and sign and search.find(a, ">=") and search.find(b, ">="):
            same = rewrite((p * q) ** 2 - a * b, equations, search.facts)
            for common in (sum_of(u * v), -sum_of(u * v)):
                above = transport((p * q) ** 2 - common**2, same, cauchy_schwarz(u, v))
                yield compare(sign, common, above)


def splits(product: Term) -> Iterator[Proved]:
    """Cauchy's inequality for any two factors of the product in an inner product."""
    powers = product.pairs[0][0][0][0][1]
    for chosen in [*itertools.product(*(range(k + 1) for _, k in powers))][1:-1]:
        u, v = (
            Term({tuple((a, n) for (a, _), n in zip(powers, part, strict=True) if n): Fraction(1)})
            for part in (chosen, [k - n for (_, k), n in zip(powers, chosen, strict=True)])
        )
        if u.pairs <= v.pairs:
            yield cauchy_schwarz(u, v)


def _atoms(t: Term, kind: str) -> list[tuple]:
    """The atoms of one kind outside functions, but inside sums."""
    outer = {atom for monomial, _ in t for atom, _ in monomial}
    inner = {atom for sum_ in outer if sum_[0] == "S" for atom, _ in sum_[1]}
    return sorted(atom for atom in outer | inner if atom[0] == kind)


def _grading(t: Term) -> Callable[[Term], Fraction]:
    """The degree of a term: vectors have 1, and terms added to squares under roots have the degree of squares."""
    weights: dict[tuple, Fraction] = {}

    def of(atom: tuple) -> Fraction:
        if atom[0] == "S":
            return sum((of(inner) * k for inner, k in atom[1]), Fraction(0))
        if atom[0] == "sqrt":
            return degree(argument(atom)) / 2
        return -degree(argument(atom)) if atom[0] == "inv" else weights.get(atom, Fraction(atom[0] == "v"))

    def degree(term: Term) -> Fraction:
        return max((sum((of(a) * k for a, k in m), Fraction(0)) for m, _ in term), default=Fraction(0))

    for root in _atoms(t, "sqrt"):
        for monomial, _ in argument(root):
            if len(monomial) == 1 and monomial[0][0][0] == "s":
                weights[monomial[0][0]] = degree(argument(root))
    return degree


def _known(t: Term, search: Signs, equations: Equations, compare: Compare) -> tuple[list[Proved], list[Proved]]:
    """Factors, which are scalars, and the inequalities that they multiply."""
    roots = [(Term({((a, 1),): 1}), argument(a)) for a in _atoms(t, "sqrt") if search.find(argument(a), ">=")]
    sides = [s.conclusion.term for s in search.facts if not s.conclusion.term.is_scalar]
    free = [scalar(name) for name in sorted({a[1] for side in [t, *sides] for a in _atoms(side, "s")})]
    names = {a[1] for _, inside in roots for a in _atoms(inside, "v")} | {a[1] for a in _atoms(t, "v")}
    vectors = [vector(name) for name in sorted(names)]
    signs = [s for s in search.facts if s.conclusion.relation in (">", ">=") and len(s.conclusion.term) <= 6]
    factors = [s for s in signs if s.conclusion.term.is_scalar and s.conclusion.term != d - 1]
    pairs = [(p * q, a, b) for (p, a), (q, b) in itertools.combinations(roots, 2)]
    sums = [Term({((a, 1),): 1}) for a in _atoms(t, "S") if all(k % 2 == 0 for _, k in a[1])]
    positive = [r for r, *_ in [*roots, *pairs]] + sums
    factors += [sign for r in positive if (sign := search.find(r, ">") or search.find(r, ">="))]
    mixed = [Term({((a, 1),): 1}) for a in _atoms(t, "S") if any(k % 2 for _, k in a[1])]
    search = Signs([*search.facts, *(known for k in mixed for known in splits(k))])
    inner = [sign * k * d**-n for k in mixed for sign in (1, -1) for n in (0, 1)]
    for pq, a, b in pairs:
        for common in [*(Term({m: 1}) for m in sorted({m for m, _ in a} & {m for m, _ in b})), *inner]:
            above, sign = search.find(a * b - common**2, ">="), search.find(pq, ">=")
            if above and sign:
                same = rewrite(pq**2 - a * b, equations, search.facts)
                factors.append(compare(sign, common, transport(pq**2 - common**2, same, above)))
    factors += inner_products(roots, search, equations, compare)
    for (p, a), (q, b) in itertools.permutations(roots, 2):
        above, sign = search.find(a - b, ">="), search.find(p, ">=")
        if above and sign:
            squares = rewrite(p**2 - q**2 - a + b, equations, search.facts)
            factors.append(compare(sign, q, transport(p**2 - q**2, squares, above)))
    parts = [rules.square(r - s) for (r, _), (s, _) in itertools.combinations(roots, 2)]
    parts += [rules.square(s) for s in free] + [rules.square(s - r) for s, r in itertools.combinations(free, 2)]
    parts += [rules.square(r + s - 2 * m) for m in free for r, s in itertools.combinations(free, 2) if m not in (r, s)]
    parts += [rules.total(rules.square(x)) for x in vectors]
    scales = [ONE, *([r for r, _ in roots] or free)]
    for x, y in itertools.combinations(vectors, 2):
        parts += [rules.total(rules.square(a * x + b * s * y)) for a in scales for b in scales for s in (1, -1)]
        parts += [rules.total(rules.multiply(rules.square(u), rules.others(v, 0))) for u, v in ((x, y), (y, x))]
    lines = [s for s in signs if not s.conclusion.term.is_scalar]
    parts += [rules.total(s) for s in lines]
    pairs_of_lines = [rules.multiply(a, b) for a, b in itertools.combinations_with_replacement(lines, 2)]
    parts += [rules.total(both) for both in pairs_of_lines]
    weighted = itertools.product([*lines, *pairs_of_lines], vectors)
    parts += [rules.total(rules.multiply(line, rules.square(x))) for line, x in weighted]
    if not t.is_scalar:
        parts += [*lines, *(rules.square(x) for x in vectors)]
    return factors, parts


def _solved(
    left: Sequence[Term], columns: Sequence[Term], strict: Sequence[bool]
) -> tuple[list[tuple[int, Fraction]], list[tuple[int, Fraction]]] | None:
    """Weights of the goals, of sum 1, and of the columns, none negative, that make both sides equal."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    sides = [*(-term for term in left), *columns]
    rows = {monomial: k for k, monomial in enumerate({m: 0 for term in sides for m, _ in term.pairs})}
    entries = [(rows[m], j, c) for j, term in enumerate(sides) for m, c in term]
    entries += [(len(rows), j, Fraction(1)) for j in range(len(left))]
    i, j, c = zip(*entries, strict=True)
    matrix = csr_array((list(map(float, c)), (i, j)), shape=(len(rows) + 1, len(sides)))
    right = [0.0] * len(rows) + [1.0]
    cost = [0.0] * len(left) + [-1.0 if s else 1e-3 for s in strict]
    result = linprog(cost, A_eq=matrix, b_eq=right, bounds=(0, 10), method="highs-ds")
    support = {k: value for k, value in enumerate(result.x) if value > _NOISE} if result.status == 0 else {}
    exact = _exact([entry for entry in entries if entry[1] in support], len(rows), support)
    chosen = [(k, value) for k, value in sorted(exact.items()) if value]
    if not chosen or any(value < 0 for _, value in chosen):
        return None
    count = len(left)
    return [(k, c) for k, c in chosen if k < count], [(k - count, c) for k, c in chosen if k >= count]


def _exact(entries: Sequence[tuple], last: int, near: dict[int, float]) -> dict[int, Fraction]:
    """The solution near the one in floats of equations; the last has the right side 1, the others 0."""
    equations: dict[int, dict[int, Fraction]] = {}
    for row, column, value in entries:
        equations.setdefault(row, {-1: Fraction(row == last)})[column] = value
    waiting, solved = list(equations.values()), dict[int, dict[int, Fraction]]()
    while waiting:
        row = waiting.pop()
        lead = next((k for k, value in row.items() if k >= 0 and value), None)
        if lead is None:
            if row[-1]:
                return {}
            continue
        row = {k: value / row[lead] for k, value in row.items()}
        for others in (waiting, list(solved.values())):
            for other in others:
                if factor := other.get(lead):
                    for k, value in row.items():
                        other[k] = other.get(k, Fraction(0)) - factor * value
        solved[lead] = row
    free = {k: Fraction(value).limit_denominator(1000) for k, value in near.items() if k not in solved}
    return free | {
        lead: row[-1] - sum((row.get(k, Fraction(0)) * value for k, value in free.items()), Fraction(0))
        for lead, row in solved.items()
    }
