"""Textbook steps: lengths by their squares, the triangle inequality, Cauchy's with weights, sums, cases of a sign.

They turn a goal into simpler ones, for which the search looks. Untrusted like it: every step calls a rule.
"""

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction

from . import rules
from .decision import cauchy_schwarz, cleared, prove, uncleared
from .linear import splits, square_root
from .monomials import atoms_of, divide, polynomial_roots, quotients
from .normalized import normalized
from .rewriting import Equations, reduced, rewrite, shortened
from .rules import Formula, Proved, transport
from .signs import Signs
from .terms import ONE, Effort, ProofError, Term, inv, scalar, sqrt, sum_of, term, vector

DEPTH, SUMMANDS, LONG, SQUARED = 4, 8, 24, 12
"""Steps behind one another; most summands of a goal that a step is taken from, of one without divisors, of squares."""

Core = Callable[[Formula, Sequence[Proved]], Proved]
"""The search that a step hands its goal to."""

Roots = Callable[[Term, Sequence[Proved]], list[Proved]]
"""What stands under the roots of a term, where it is a sum of squares, also as the facts shorten it."""


class Steps:
    """The search by steps, with the terms that the search for each goal may make."""

    def __init__(self, core: Core, consequences: Callable[..., list[Proved]], roots: Roots, terms: int) -> None:
        self.core, self.consequences, self.roots, self.terms = core, consequences, roots, terms
        self.seen: set[tuple[Formula, frozenset[Formula]]] = set()

    def prove(self, goal: Formula, facts: Sequence[Proved]) -> Proved:
        """The goal by the search, or by a step and the search."""
        equations = [(fact, None) for fact in facts if fact.conclusion.relation == "="]
        short = goal._replace(term=reduced(goal.term, equations, [], short=True))
        for core in (self.core, self._searched):
            if found := Effort.brief(self.terms, lambda core=core: normalized(short, facts, core)):
                break
        if found := found or self._searched(short, facts):
            return transport(goal.term, rewrite(goal.term - short.term, equations, [], short=True), found)
        raise ProofError("no step helps")

    def _searched(self, goal: Formula, facts: Sequence[Proved]) -> Proved | None:
        return self._prove(goal, facts, DEPTH, 2)

    def _prove(self, goal: Formula, facts: Sequence[Proved], depth: int, cases: int) -> Proved | None:
        place = goal, frozenset(fact.conclusion for fact in facts)
        if place in self.seen:
            return None
        self.seen.add(place)
        facts = [*facts, *self.roots(goal.term, facts)]
        known = self.consequences(facts, [goal.term])
        equations = [(fact, None) for fact in known if fact.conclusion.relation == "="]
        search = Signs([fact for fact in known if fact.conclusion.relation != "="])
        more = [*_of_squares(goal.term, equations, search.facts)] if goal.relation != "=" else []
        brief = itertools.chain(
            (_bounded_by(goal, bound, search) for bound in more), _by_factors(goal, [*search.facts, *more], search)
        )
        if found := next(filter(None, brief), None):
            return found
        for way in (lambda: prove(goal, *known, *more), lambda: self.core(goal, [*facts, *more])):
            if found := Effort.brief(self.terms, way):
                return found
        if not depth or goal.relation not in (">", ">="):
            return None
        for proved in self._by_triangles(goal, search, facts, depth, cases, known=True):
            if proved:
                return proved
        left, divisor, _ = cleared(goal.term, equations, search)
        if left != goal.term and len(left) <= LONG:
            proved = self._prove(Formula(left, goal.relation), facts, depth, cases)
            return proved and uncleared(goal.term, proved, divisor, equations, search.facts)
        if len(goal.term) > SUMMANDS:
            return None
        ways = itertools.chain(
            self._by_squares(goal, equations, search, facts, depth),
            self._by_triangles(goal, search, facts, depth, cases, known=False),
            self._by_cases(goal, search, facts, depth, cases) if cases else (),
        )
        return next((proved for proved in ways if proved is not None), None)

    def _by_squares(
        self, goal: Formula, equations: Equations, search: Signs, facts: Sequence[Proved], depth: int
    ) -> Iterator[Proved | None]:
        """P − q by p² − q², p the summands of known sign."""
        t = goal.term
        if not any(atom[0] == "sqrt" for monomial, _ in t for atom, _ in monomial):
            return
        parts = [Term({m: c}) for m, c in t]
        rooted = [part for part in parts if any(atom[0] == "sqrt" for m, _ in part for atom, _ in m)]
        plain, signed = [p for p in parts if p not in rooted], [p for p in parts if search.find(p, ">=")]
        tried = set[Term]()
        for chosen, above in ((p, side) for side in (signed, []) for p in (signed, rooted, plain)):
            chosen = [part for part in chosen if part in above] or chosen
            p, rest = sum(chosen, term(0)), sum((part for part in above if part not in chosen), term(0))
            q, sign = p + rest - t, search.find(p, goal.relation)
            short = reduced(p * p - q * q, equations, search.facts) if sign and q and p not in tried else term(0)
            tried.add(p)
            few = 0 < len(short) <= SQUARED
            proved = self._prove(Formula(short, goal.relation), facts, depth - 1, 0) if few else None
            if sign and proved:
                same = rewrite(p * p - q * q - short, equations, search.facts)
                less, more = compare(sign, q, transport(p * p - q * q, same, proved)), search.find(rest, ">=")
                yield rules.add(less, more) if rest and more else less

    def _by_triangles(
        self, goal: Formula, search: Signs, facts: Sequence[Proved], depth: int, cases: int, *, known: bool
    ) -> Iterator[Proved | None]:
        """A subtracted length of a sum is at most the sum of lengths; the goal has one if it is `known`, else none."""
        lengths = {Term(atom[1]) for monomial, c in goal.term for atom, _ in monomial if c > 0 and atom[0] == "sqrt"}
        for monomial, c in goal.term:
            for root in [atom for atom, k in monomial if atom[0] == "sqrt" and k == 1] if c < 0 else []:
                factor = search.find(-c * Term({divide(monomial, ((root, 1),)) or (): Fraction(1)}), ">=")
                for a, b in _parts(root, lengths):
                    if factor and known == bool(lengths & {sum_of(a * a), sum_of(b * b)}):
                        piece = rules.multiply(factor, triangle(a, b))
                        rest = goal.term - piece.conclusion.term
                        proved = self._prove(Formula(rest, goal.relation), facts, depth - 1, cases)
                        yield proved and rules.add(proved, piece)

    def _by_cases(
        self, goal: Formula, search: Signs, facts: Sequence[Proved], depth: int, cases: int
    ) -> Iterator[Proved | None]:
        """The goal for either sign of a scalar in it."""
        odd = {Term({((a, 1),): Fraction(1)}) for m, _ in goal.term for a, k in m if a[0] in ("S", "s") and k % 2}
        plain = {m: c for m, c in goal.term if all(atom[0] != "sqrt" for atom, _ in m)}
        odd |= {Term(plain)} if 0 < len(plain) < len(goal.term) else set()
        for t in sorted(odd, key=lambda t: (len(repr(t)), t.pairs)):
            if not t.is_scalar or search.find(t, ">=") or search.find(-t, ">="):
                continue
            both = ((t, ">="), (-t, ">"))
            parts = (self._prove(goal, [*facts, rules.assume(Formula(*one))], depth - 1, cases - 1) for one in both)
            if (first := next(parts)) and (second := next(parts)):
                yield rules.cases_sign(t, first, second)


def _parts(root: tuple, lengths: Iterable[Term]) -> Iterator[tuple[Term, Term]]:
    """Two vectors whose sum has the length that a root is; one may have one of the lengths."""
    u = square_root(Term(root[1]))
    if not u or sum_of(u * u) != Term(root[1]):
        return
    summands = [Term({m: c}) for m, c in u]
    for count in range(1, len(summands) // 2 + 1) if len(summands) <= 4 else ():
        for chosen in itertools.combinations(summands, count):
            a = sum(chosen, term(0))
            yield a, u - a
    for v in filter(None, map(square_root, sorted(lengths, key=lambda t: t.pairs))):
        yield from ((a, u - a) for a in (v, -v) if len(u - a) <= len(u))


def _of_squares(t: Term, equations: Equations, signs: list[Proved]) -> Iterator[Proved]:
    """Cauchy's inequality for the squares of sums that a term subtracts: with 1, with weights, for all factors."""
    weights = [s.conclusion.term for s in signs if s.conclusion.relation != "!=" and len(s.conclusion.term) == 1]
    atoms = atoms_of([t])
    taken = {(atom, k) for m, c in t if c < 0 for atom, k in m if atom[0] == "S"}
    for atom in sorted(atom for atom, k in taken if all(n == 2 for _, n in atom[1])):
        yield from (bound for bound in _bounds(atom, signs) if atoms_of([bound.conclusion.term]) <= atoms)
    yield from _along(t, signs)
    squared = sorted(atom for atom, k in taken if k == 2)
    for product in (atom[1] for atom in squared):
        pairs = [(ONE, Term({product: Fraction(1)}))]
        for weight in weights:
            rest = divide(product, weight.pairs[0][0]) if not weight.is_scalar else None
            if rest is not None:
                pairs.append((sqrt(weight), sqrt(weight) * Term({rest: Fraction(1)})))
        for u, v in pairs:
            yield shortened(_cauchy(u, v), equations, signs)
        for known in splits(Term({(((("S", product)), 1),): Fraction(1)})):
            for bound in _bounded(known, signs):
                bound = shortened(bound, equations, signs)
                if atoms_of([bound.conclusion.term]) <= atoms:
                    yield bound


def _along(t: Term, signs: list[Proved]) -> Iterator[Proved]:
    """Cauchy's inequality of y and a sum v, and with a bound of S(y²), where a term subtracts a multiple of S(y·v)²."""
    sums = {atom for monomial, _ in t for atom, _ in monomial if atom[0] == "S"}
    for y in sorted({power for _, product in sums for power in product if power[0][0] == "v" and power[1] == 1}):
        mixed, square = {atom for atom in sums if y in atom[1]}, (("S", ((y[0], 2),)), 1)
        taken = Term({m: -c for m, c in t if sum(k for atom, k in m if atom in mixed) == 2})
        for p, m in itertools.islice(polynomial_roots(taken), 1):
            found = [(divide(n, ((a, 1),)), divide(a[1], (y,)), c) for n, c in p for a, _ in n if a in mixed]
            v = sum((Term({n or (): c}) * Term({rest or (): Fraction(1)}) for n, rest, c in found), term(0))
            scale = Signs(signs).find(m, ">=") if sum_of(Term({(y,): 1}) * v) == p else None
            if scale:
                known = rules.multiply(scale, _cauchy(Term({(y,): Fraction(1)}), v))
                longer = rules.multiply(scale, rules.total(rules.square(v)))
                bounds = (sign for sign in signs if dict(sign.conclusion.term).get((square,), 0) == -1)
                yield from (known, *(rules.add(known, rules.multiply(longer, bound)) for bound in bounds))


def _bounded_by(goal: Formula, bound: Proved, search: Signs) -> Proved | None:
    """The goal with an upper bound in the place of the square that it subtracts, if that has an evident sign."""
    square, *others = [m for m, c in bound.conclusion.term if c < 0] or [None]
    square = None if others else square
    pieces = [
        Term({divide(m, square) or (): -c}) for m, c in goal.term if square and c < 0 and divide(m, square) is not None
    ]
    signs = [search.find(piece, ">=") for piece in pieces]
    if not pieces or None in signs:
        return None
    whole = functools.reduce(rules.add, (rules.multiply(sign, bound) for sign in signs if sign))
    rest = goal.term - whole.conclusion.term
    if not rest:
        return whole if goal.relation == ">=" else None
    found = search.find(rest, goal.relation)
    return rules.add(found, whole) if found else None


def _by_factors(goal: Formula, signs: Sequence[Proved], search: Signs) -> Iterator[Proved]:
    """The goal as a product with a known sign."""
    for sign in signs:
        t, relation = sign.conclusion
        rest = quotient(goal.term, t) if relation != "!=" and 1 < len(t) <= len(goal.term) else None
        if rest is not None and (found := search.find(rest, goal.relation)):
            weak = (relation, goal.relation) == (">", ">=")
            product = rules.multiply(found, rules.weaken(sign, ">=") if weak else sign)
            yield from [product] if product.conclusion.relation == goal.relation else []


def quotient(t: Term, q: Term) -> Term | None:
    """The polynomial p with t = p·q, if it has few summands."""
    p, rest = term(0), t
    for _ in range(4 if t else 0):
        part = next(quotients([max(rest, key=lambda pair: pair[0])], q), None) or next(quotients(rest, q), None)
        if part is None:
            return None
        p, rest = p + part, rest - part * q
        if not rest:
            return p if p not in (t, -t) and atoms_of([q]) else None
    return None


def _bounded(known: Proved, signs: Sequence[Proved]) -> Iterator[Proved]:
    """From S(u²)S(v²) − S(uv)² >= 0 the same with upper bounds of S(u²) and S(v²)."""
    if not known.conclusion.term:  # of parallel factors
        return
    ((product, _),) = [(m, c) for m, c in known.conclusion.term if c > 0]
    ((a, first), (b, second)) = [(atom, [*_bounds(atom, signs)]) for atom, k in product for _ in range(k)]
    a, b = (Term({((atom, 1),): Fraction(1)}) for atom in (a, b))
    yield known
    search = Signs(list(signs))
    for p, q in itertools.product([None, *first], [None, *second]):
        whole, above = known, b
        if q is not None:
            whole = rules.add(whole, rules.multiply(search.find(a, ">=") or rules.square(a), q))
            above = b + q.conclusion.term
        sign = search.find(above, ">=")
        if p is not None and sign is not None:
            whole = rules.add(whole, rules.multiply(sign, p))
        if whole is not known and (p is None or sign is not None):
            yield whole


def _bounds(atom: tuple, signs: Sequence[Proved]) -> Iterator[Proved]:
    """B − S(x²y²) >= 0: with B = S(x²)S(y²), and with a bound on a factor that holds in every component."""
    if len(atom[1]) == 2:
        x, y = (Term({((a, k // 2),): Fraction(1)}) for a, k in atom[1])
        yield rules.total(rules.multiply(rules.square(x), rules.others(y, 0)))
    for sign in signs:
        t, relation = sign.conclusion
        for part in [m for m, c in t if c < 0] if relation != "!=" and not t.is_scalar else []:
            rest = divide(atom[1], part)
            if rest is not None and Term((t + Term({part: Fraction(1)})).pairs).is_scalar:
                yield rules.total(rules.multiply(sign, rules.square(Term({tuple((a, k // 2) for a, k in rest): 1}))))


def _cauchy(u: Term, v: Term) -> Proved:
    """Cauchy's inequality for vectors of any form."""
    a, b = vector("a"), vector("b")
    return rules.instantiate(cauchy_schwarz(a, b), {a: u, b: v})


def both_signs(above: Proved, below: Proved) -> Proved:
    """From t >= 0 and −t >= 0: t = 0, since √(t²) is t and −t."""
    t = above.conclusion.term
    same = rules.combine(0, [])
    roots = (rules.root_of_square(t * t, sign, same) for sign in (above, below))
    return rules.combine(t, [(Fraction(-1, 2), None, next(roots)), (Fraction(1, 2), None, next(roots))])


def compare(above: Proved, q: object, squares: Proved) -> Proved:
    """From p >= 0 and p² − q² >= 0: p − q >= 0; > from > and >.

    2p(p − q) = (p² − q²) + (p − q)²; where p is 0, so is q.
    """
    p, q = above.conclusion.term, term(q)
    n = 1 - p * inv(p)
    law = rules.inverse_total(p)  # −n·p
    both = rules.multiply(rules.inverse_sign(above), rules.add(squares, rules.square(p - q)))
    half = rules.multiply(rules.constant(Fraction(1, 2), ">"), both)
    weak = squares if squares.conclusion.relation == ">=" else rules.weaken(squares, ">=")
    below = rules.multiply(rules.square(n), weak)
    below = transport(-(n * n * q * q), rules.combine(-n * n * p * p, [(n * p, None, law)]), below)
    nought = rules.definite(
        n * q, rules.combine(sum_of(n * n * q * q), [(1, ONE, both_signs(rules.square(n * q), below))])
    )
    return transport(p - q, rules.combine(p - q - half.conclusion.term, [(-1, None, law), (-1, None, nought)]), half)


@functools.cache
def _triangle() -> Proved:
    """|- ‖a‖ + ‖b‖ − ‖a + b‖ >= 0."""
    a, b = vector("a"), vector("b")
    first, second, whole = (sqrt(sum_of(v * v)) for v in (a, b, a + b))
    above = [rules.root_nonnegative(sum_of(v * v)) for v in (a, b)]
    squares = [rules.total(rules.square(v)) for v in (a, b, a + b)]
    both, product = rules.multiply(*above), sum_of(a * b)
    inner = (first * second) ** 2 - product**2
    known = transport(inner, rewrite(inner - cauchy_schwarz(a, b).conclusion.term, [], squares), cauchy_schwarz(a, b))
    less = rules.multiply(rules.constant(2, ">"), compare(both, product, known))
    goal = (first + second) ** 2 - whole**2
    return compare(rules.add(*above), whole, transport(goal, rewrite(goal - less.conclusion.term, [], squares), less))


def triangle(a: object, b: object) -> Proved:
    """|- ‖a‖ + ‖b‖ − ‖a + b‖ >= 0, for vectors a and b."""
    return rules.instantiate(_triangle(), {vector("a"): term(a), vector("b"): term(b)})


# ------------------------------------------------------------------------------------- sums, masks and basis vectors


def summed(facts: Sequence[Proved], vectors: Sequence[Term], scalars: Sequence[Term]) -> Iterator[Proved]:
    """What follows for sums and signs from inequalities that hold in every component, and from masks."""
    signs = [fact for fact in facts if fact.conclusion.relation in (">", ">=")]
    for line in (fact for fact in signs if not fact.conclusion.term.is_scalar):
        t = line.conclusion.term
        yield rules.total(line)
        for other in (sign for sign in signs if sign.conclusion.term.is_scalar):
            whole = rules.add(line, other)
            yield from (whole, rules.total(whole)) if len(whole.conclusion.term) < len(t) else ()
        for x, s in itertools.product(vectors, scalars) if len(t) == 1 else ():
            if x != t:
                yield rules.total(rules.multiply(line, rules.square(x - s)))
    for fact in facts:
        m = masked(fact)
        if m is not None:
            kept, dropped = (_reduced_square(part, fact) for part in (m, 1 - m))
            yield from (kept, dropped, rules.total(dropped))
            yield from (rules.total(rules.multiply(kept, rules.square(x))) for x in vectors if x != m)
            yield from (rules.total(rules.multiply(dropped, rules.square(x))) for x in vectors if x != m)


def masked(fact: Proved) -> Term | None:
    """The vector m of the fact m² = m."""
    t, relation = fact.conclusion
    names = sorted({atom for atom in atoms_of([t]) if atom[0] == "v"}) if relation == "=" else []
    m = vector(names[0][1]) if len(names) == 1 else term(0)
    return m if m and t in (m * m - m, m - m * m) else None


def _reduced_square(part: Term, fact: Proved) -> Proved:
    """Part >= 0 by part² = part."""
    return transport(part, rewrite(part - part * part, [(fact, None)], []), rules.square(part))


def vanishing(above: Proved, total: Proved) -> Proved:
    """From w >= 0 and S(w) = 0: w = 0, the square of its root."""
    w = above.conclusion.term
    root, law = sqrt(w), rules.square_of_root(above)
    nought = rules.definite(root, rules.combine(sum_of(root * root), [(1, ONE, law), (1, None, total)]))
    return rules.combine(w, [(-1, None, law), (root, None, nought)])


def component(e: object, x: object) -> Proved:
    """E² = e, S(e) = 1 |- e·x = S(e·x)·e, for a vector e of the basis and any x."""
    return rules.instantiate(_component(), {vector("e"): term(e), vector("x"): term(x)})


@functools.cache
def _component() -> Proved:
    e, x = vector("e"), vector("x")
    idem, one = rules.assume(Formula(e * e - e, "=")), rules.assume(Formula(sum_of(e) - 1, "="))
    product = rules.multiply(_reduced_square(e, idem), rules.others(e * x, 0))
    w = e * sum_of(e * x * x) - e * x * x  # nonnegative, and its sum is 0
    above = transport(w, rewrite(w - product.conclusion.term, [(idem, e * e)], []), product)
    square = vanishing(above, rules.combine(sum_of(w), [(sum_of(e * x * x), None, one)]))
    more = rules.instantiate(square, {x: x + 1})
    half, unit = Fraction(1, 2), rules.combine(e * sum_of(e) - e, [(e, None, one)])
    return rules.combine(e * x - sum_of(e * x) * e, [(-half, None, more), (half, None, square), (half, None, unit)])


def components(
    goal: Formula, facts: Sequence[Proved], core: Core, deviation: Callable[[object], Proved]
) -> Proved | None:
    """The goal with a scalar in place of each component that a basis vector picks, or None where there is none."""
    told = {fact.conclusion for fact in facts}
    masks = [m for fact in facts if (m := masked(fact)) is not None]
    basis = [e for e in masks if told & {Formula(sum_of(e) - 1, "="), Formula(1 - sum_of(e), "=")}]
    if not basis:
        return None
    atoms = sorted(atoms_of([goal.term, *(fact.conclusion.term for fact in facts)]))
    vectors = [Term({((atom, 1),): Fraction(1)}) for atom in atoms if atom[0] in ("v", "inv", "sqrt")]
    vectors = [x for x in vectors if not x.is_scalar]
    more, picked = list[Proved](), dict[Term, Term]()
    for (j, e), (k, x) in itertools.product(enumerate(basis), enumerate(vectors)):
        if x not in basis:
            part = scalar(f"component_{j}_{k}")
            picked[part] = sum_of(e * x)
            more.append(rules.assume(Formula(e * x - part * e, "=")))
            equations = [(fact, None) for fact in [*facts, *more] if fact.conclusion.relation == "="]
            above = _reduced_square(e, next(fact for fact in facts if masked(fact) == e))
            both = rules.square(x - part * e), rules.multiply(above, deviation(x))
            more += [shortened(rules.total(fact), equations, []) for fact in both]
    return _back(core(goal, [*facts, *more]), basis, vectors, picked)


def _back(proved: Proved, basis: Sequence[Term], vectors: Sequence[Term], picked: dict[Term, Term]) -> Proved:
    """The theorem with the components themselves, by the law of basis vectors."""
    proved = rules.instantiate(proved, picked)
    for e, x in itertools.product(basis, vectors):
        proved = rules.cut(component(e, x), proved)
    return proved
