"""What is tried where the search fails: centred coordinates, consequences of equations, squares, and cases.

Like the search itself, all this is untrusted: every step calls a rule.
"""

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from fractions import Fraction

from . import rules
from .decision import cauchy_of_squares, cleared, prove
from .linear import combined, inner_products
from .monomials import argument, atoms_of, divide, power_of_d
from .rewriting import Equations, cleared_roots, inside_of, reduced, rewrite, shortened
from .rules import Formula, Proved, transport
from .signs import Signs
from .terms import ONE, Effort, ProofError, Term, d, scalar, sqrt, substitute, sum_of, term, vector
from .textbook import Core, Steps, both_signs, compare, components, masked, quotient, summed, vanishing

__all__ = ["compare", "largest_deviation", "search"]

Find = Callable[[Term, str], Proved | None]
"""Proves the sign of a term, or not."""

SPLITS, ROUNDS, PARTS, SHORT = 3, 4, 24, 8
"""Depth of cases, rounds of consequences, most summands of a completed square, and most in the first attempt."""

BRIEF = (60_000, 30_000, 120_000)
"""Terms of the search before the steps; and for each goal of theirs, at first and again."""


def search(goal: Formula, *facts: Proved) -> Proved:
    """Prove a formula from theorems, after :func:`prove` has failed: briefly, by textbook steps, then at length.

    Raises:
        ProofError: Where nothing helps.
    """
    goal = Formula(term(goal.term), goal.relation)
    plain = functools.partial(_cased, splits=SPLITS)
    if found := Effort.brief(BRIEF[0], lambda: _moved(goal, facts, plain)):
        return found
    vectors = [vector(a[1]) for a in sorted(atoms_of([goal.term])) if a[0] == "v"]
    scalars = [scalar(a[1]) for a in sorted(atoms_of([goal.term])) if a[0] == "s"]
    more = list({fact.conclusion: fact for fact in [*facts, *summed(facts, vectors, scalars)]}.values())
    for terms in BRIEF[1:]:
        steps = Steps(plain, _consequences, _roots, terms)
        with contextlib.suppress(ProofError):
            return _moved(goal, more, steps.prove, fixed={masked(fact) for fact in facts})
    return _moved(goal, facts, plain)


def _moved(goal: Formula, facts: Sequence[Proved], core: Core, fixed: Set[Term | None] = frozenset()) -> Proved:
    """The goal with scalars for the components that basis vectors pick, then about centred vectors but the fixed."""
    centred = functools.partial(_centred, core=core, fixed=fixed)
    return components(goal, facts, centred, largest_deviation) or centred(goal, facts)


def _centred(goal: Formula, facts: Sequence[Proved], core: Core, fixed: Set[Term | None]) -> Proved:
    """Each vector x whose mean occurs is c + μ with S(c) = 0: a theorem about c and μ holds of Πx and S(x)/d."""
    terms = [goal.term, *(fact.conclusion.term for fact in facts)]
    names = sorted(atom[1][0][0][1] for atom in atoms_of(terms) if atom[0] == "S" and _is_plain(atom[1]))
    told = {fact.conclusion for fact in facts}
    names = [n for n in names if vector(n) not in fixed and Formula(sum_of(vector(n)) - 1, "=") not in told]
    means = {vector(name): scalar(f"mean_of_{name}") for name in names}
    moved = {x: x + mean for x, mean in means.items()}
    centred = [rules.assume(Formula(sum_of(x), "=")) for x in means]
    known = [rules.instantiate(fact, moved) for fact in facts]
    proved = core(Formula(substitute(goal.term, moved), goal.relation), [*known, *centred])
    back = {x: x - sum_of(x) / d for x in means} | {mean: sum_of(x) / d for x, mean in means.items()}
    return rules.cut(rules.combine(0, []), rules.instantiate(proved, back))


def _is_plain(monomial: tuple) -> bool:
    return len(monomial) == 1 and monomial[0][1] == 1 and monomial[0][0][0] == "v"


# ----------------------------------------------------------------------------------------------------- cases and facts


def _cased(goal: Formula, facts: Sequence[Proved], splits: int) -> Proved:
    """The goal, from consequences of the facts or in two cases of a scalar."""
    Effort.cases += 1
    known = _consequences(facts, [goal.term])
    equations, signs = _sorted(known)
    roots = [*_radicands([goal.term], known)]
    signs += roots
    roots += [shortened(root, equations, signs) for root in roots]
    try:
        short = reduced(goal.term, equations, signs, short=True)
        if outside := [*cleared_roots(short, equations, signs)]:
            equations = [*equations, *outside]
            short = reduced(goal.term, equations, signs, short=True)
        proved = _direct(Formula(short, goal.relation), [*known, *roots])
        return transport(goal.term, rewrite(goal.term - short, equations, signs, short=True), proved)
    except ProofError as error:
        failed = error
    for rule, t in _open_cases(goal, known) if splits else ():
        try:
            first, second = ((t, "="), (t, "!=")) if rule is rules.cases_zero else ((t, ">="), (-t, ">"))
            one, other = ([*known, rules.assume(Formula(*case))] for case in (first, second))
            return rule(t, _cased(goal, one, splits - 1), _cased(goal, other, splits - 1))
        except ProofError:
            continue
    raise failed


def _sorted(facts: Iterable[Proved]) -> tuple[Equations, list[Proved]]:
    both = [*facts]
    equations = [(fact, None) for fact in both if fact.conclusion.relation == "="]
    return equations, [fact for fact in both if fact.conclusion.relation != "="]


def _open_cases(goal: Formula, known: Sequence[Proved]) -> Iterator[tuple]:
    """Scalars whose sign splits into cases: divisors, radicands and the dimension."""
    find = Signs(_sorted(known)[1]).find
    seen = set()
    atoms = atoms_of([goal.term, *(fact.conclusion.term for fact in known)])
    for atom in sorted(atoms, key=lambda a: (len(repr(a)), a)):
        if atom[0] not in ("inv", "sqrt"):
            continue
        t = inside_of(atom) if atom[0] == "inv" else argument(atom)
        for factor in [t, *(Term({((a, 1),): Fraction(1)}) for a, _ in (t.pairs[0][0] if len(t) == 1 else ()))]:
            if factor in seen or not factor.is_scalar or len(factor) > 6:
                continue
            seen.add(factor)
            if find(factor, ">=") is None:
                if find(-factor, ">=") is None:
                    yield rules.cases_sign, factor
            elif find(factor, ">") is None:
                yield rules.cases_zero, factor
    if find(d - 1, ">") is None and (d - 1) not in {fact.conclusion.term for fact in known}:
        yield rules.cases_zero, d - 1


def _consequences(facts: Sequence[Proved], terms: Sequence[Term]) -> list[Proved]:
    """The facts, and what follows from them in a few rounds."""
    known = [*facts]
    if not any(fact.rule == "dimension" for fact in known):
        known.append(rules.dimension())
    for _ in range(ROUNDS):
        seen = {fact.conclusion for fact in known}
        more = []
        for fact in known:
            for new in _follows(fact, known, terms):
                if new.conclusion not in seen and new.conclusion.term and len(new.conclusion.term) <= PARTS:
                    seen.add(new.conclusion)
                    more.append(new)
        if not more or len(known) > 4 * PARTS:
            break
        known += more
    return known


def _follows(fact: Proved, known: Sequence[Proved], terms: Sequence[Term]) -> Iterator[Proved]:
    t, relation = fact.conclusion
    equations, signs = _sorted(known)
    find = Signs(signs).find
    others = [pair for pair in equations if pair[0] is not fact]
    short = reduced(t, others, [sign for sign in signs if sign is not fact])
    if len(short) < len(t) or (len(short) == len(t) and short != t and len(t) < 3):
        with contextlib.suppress(ProofError):
            yield transport(short, rewrite(short - t, others, signs), fact)
    if relation != "=" and len(t) == 1:
        yield from _unscaled(fact)
    if relation == "!=":
        above = find(t, ">=")
        if above:
            yield rules.strengthen(above, fact)
    if relation == ">=":
        below = find(-t, ">=")
        if below:
            yield both_signs(fact, below)
        yield from _squared(fact)
    if relation in (">", ">=") and not t.is_scalar:
        both = (rules.add(fact, other) for other in signs if other.conclusion.relation in (">", ">="))
        yield from (whole for whole in both if whole.conclusion.term.is_scalar)
    if relation == "=":
        yield from _of_one_function(fact, find)
        yield from _of_a_sum(fact, find)
        yield from _of_a_product(fact, find, signs)
        yield from _of_a_vector(fact)
        if t in (d - 1, 1 - d):
            names = sorted({a[1] for a in atoms_of(terms) if a[0] == "v"})
            yield from (
                _single(fact if t == d - 1 else rules.combine(d - 1, [(-1, None, fact)]), x) for x in map(vector, names)
            )


def _unscaled(fact: Proved) -> Iterator[Proved]:
    """From c·dᵏ·m REL 0: the same of m, or of −m."""
    ((monomial, c),) = fact.conclusion.term
    factor = d ** -power_of_d(monomial) / abs(c)
    if factor != ONE and (sign := Signs([]).find(factor, ">")):
        yield rules.multiply(sign, fact)


def _squared(fact: Proved) -> Iterator[Proved]:
    """From r − √a >= 0: r >= 0 and r² − a >= 0."""
    t = fact.conclusion.term
    for monomial, c in t:
        if c < 0 and len(monomial) == 1 and monomial[0][0][0] == "sqrt" and monomial[0][1] == 1:
            above = rules.root_nonnegative(argument(monomial[0][0]))
            above = rules.multiply(rules.constant(-c, ">="), above)
            rest = rules.add(fact, above)
            yield rest
            yield rules.multiply(fact, rules.add(rest, above))


def _of_one_function(fact: Proved, find: Find) -> Iterator[Proved]:
    """From f(u) = r: u = f⁻¹(r), for the root of a nonnegative term and for the inverse."""
    t = fact.conclusion.term
    for monomial, c in t:
        if len(monomial) != 1 or monomial[0][1] != 1 or monomial[0][0][0] not in ("sqrt", "inv"):
            continue
        atom = monomial[0][0]
        f, u = Term({monomial: Fraction(1)}), argument(atom)
        r = (c * f - t) / c
        if atom in atoms_of([r]):
            continue
        if atom[0] == "inv":
            yield rules.congruence("inv", f, r, rules.combine(f - r, [(1 / c, None, fact)]))
        elif inside := find(u, ">="):
            yield rules.combine(u - r * r, [(-1, None, rules.square_of_root(inside)), ((f + r) / c, None, fact)])


def _of_a_sum(fact: Proved, find: Find) -> Iterator[Proved]:
    """From p + q = 0 with no summand negative: each is 0."""
    t = fact.conclusion.term
    for sign in (1, -1) if len(t) > 1 else ():
        parts = [part for part in (find(sign * Term({m: c}), ">=") for m, c in t) if part is not None]
        for k, part in enumerate(parts) if len(parts) == len(t) else ():
            rest, p = functools.reduce(rules.add, parts[:k] + parts[k + 1 :]), part.conclusion.term
            same = rules.combine(-p - rest.conclusion.term, [(-sign, None, fact)])
            yield both_signs(part, transport(-p, same, rest))


def _of_a_product(fact: Proved, find: Find, signs: Sequence[Proved]) -> Iterator[Proved]:
    """From p·q = 0 with q ≠ 0: p = 0; and a sum of squares that is 0 has no other parts."""
    t = fact.conclusion.term
    for sign in signs:
        q, relation = sign.conclusion
        if relation == ">=":
            continue
        p = quotient(t, q)
        if p is not None:
            yield rules.cancel(p, fact, sign)
    if len(t) != 1:
        return
    ((monomial, c),) = t
    if power := power_of_d(monomial):
        yield rules.combine(t * d**-power, [(d**-power, None, fact)])
        return
    for atom, k in monomial:
        base = Term({((atom, 1),): Fraction(1)})
        nonzero = (find(base, ">") or find(base, "!=")) if len(monomial) > 1 or k > 1 else None
        if nonzero:
            power = functools.reduce(rules.multiply, [nonzero] * k)
            yield rules.cancel(Term({divide(monomial, ((atom, k),)) or (): c}), fact, power)
            return
    if len(monomial) == 1:
        ((atom, k),) = monomial
        base = Term({((atom, 1),): Fraction(1)})
        if k > 1:
            even = k + k % 2
            root = base ** (even // 2)
            yield rules.definite(root, rules.combine(sum_of(root * root), [(1 / c, base ** (even - k), fact)]))
        elif atom[0] == "S" and all(n % 2 == 0 for _, n in atom[1]):
            root = Term({tuple((inner, n // 2) for inner, n in atom[1]): Fraction(1)})
            yield rules.definite(root, rules.combine(sum_of(root * root), [(1 / c, None, fact)]))
        elif atom[0] == "S" and (above := find(Term({atom[1]: Fraction(1)}), ">=")):
            yield vanishing(above, rules.combine(base, [(1 / c, None, fact)]))


def _of_a_vector(fact: Proved) -> Iterator[Proved]:
    """From e = 0: S(e) = 0 and S(x·e) = 0 for the vectors in e."""
    e = fact.conclusion.term
    outer = sorted({atom for monomial, _ in e for atom, _ in monomial if atom[0] == "v"})
    if outer and len(e) <= 6:
        for x in [ONE, *(vector(atom[1]) for atom in outer)]:
            yield rules.combine(sum_of(x * e), [(1, x, fact)])


def _single(one: Proved, x: Term) -> Proved:
    """From d = 1: x = S(x)."""
    w = sum_of(x) - x
    rest = rules.total(rules.others(x, w))
    goal = -sum_of(w * w)
    half = rules.multiply(rules.constant(Fraction(1, 2), ">"), rest)
    below = transport(goal, rewrite(goal - half.conclusion.term, [(one, None)], []), half)
    return rules.definite(w, both_signs(rules.total(rules.square(w)), below))


# -------------------------------------------------------------------------------------------------------------- goals


def _direct(goal: Formula, known: list[Proved]) -> Proved:
    """The goal as it is: by the search, then as a sum of squares that is 0, or squeezed between two signs."""
    terms = [goal.term, *(fact.conclusion.term for fact in known)]
    signs = Signs(_sorted(known)[1])
    known += [root for root in _radicands(terms, known) if signs.find(root.conclusion.term, ">=") is None]
    if goal.relation != "=":
        if sign := _exchanged(goal, known):
            return sign
        return prove(goal, *known, *_of_components(goal.term, known), further=_completed)
    try:
        return prove(goal, *known)
    except ProofError:
        pass
    t = goal.term
    equations, signs = _sorted(known)
    left, divisor, _ = cleared(t, equations, Signs(signs))
    if divisor and not left:
        same = rewrite(t * divisor.conclusion.term, equations, signs)
        inverse = rules.inverse_sign(divisor).conclusion.term
        return rules.combine(t, [(inverse, None, same), (-t, None, rules.inverse(divisor))])
    if not t.is_scalar:
        return rules.definite(t, _direct(Formula(sum_of(t * t), "="), known))
    return both_signs(*(prove(Formula(p, ">="), *known, further=_completed) for p in (t, -t)))


def _exchanged(goal: Formula, known: Sequence[Proved]) -> Proved | None:
    """The sign of a goal, from the goal less a multiple of an equation that shares a summand with it."""
    equations, signs = _sorted(known)
    search, summands = Signs(signs), dict(goal.term)
    for equation, _ in equations:
        for monomial, c in equation.conclusion.term:
            k = summands.get(monomial, 0) / c
            rest = goal.term - k * equation.conclusion.term
            if k and (sign := search.find(rest, goal.relation)):
                return transport(goal.term, rules.combine(goal.term - rest, [(k, None, equation)]), sign)
    return None


def _radicands(terms: Sequence[Term], known: Sequence[Proved]) -> Iterator[Proved]:
    """What stands under roots, where it is a sum of squares."""
    search = Signs(_sorted(known)[1])
    for atom in sorted(atoms_of(terms)):
        if atom[0] == "sqrt" and (above := _squares(argument(atom), ">=", search, 3)):
            yield above


def _roots(t: Term, facts: Sequence[Proved]) -> list[Proved]:
    """What stands under the roots of a term, where it is a sum of squares, as it is and as the facts shorten it."""
    equations, signs = _sorted(facts)
    roots = [*_radicands([t], facts)]
    return [*roots, *(shortened(root, equations, [*signs, *roots]) for root in roots)]


def _of_components(t: Term, known: Sequence[Proved]) -> Iterator[Proved]:
    """What is known of the components of the vectors that stand outside sums."""
    equations, signs = _sorted(known)
    vectors = [vector(name) for name in sorted({a[1] for monomial, _ in t for a, _ in monomial if a[0] == "v"})]
    facts = [fact for x in vectors for fact in (rules.others(x, 0), largest_deviation(x))]
    for sign in signs if vectors else ():
        if sign.conclusion.relation != "!=" and not sign.conclusion.term.is_scalar:
            facts.append(rules.others(sqrt(sign.conclusion.term), 0))
    for fact in facts:
        yield shortened(fact, equations, signs)


def largest_deviation(x: object) -> Proved:
    """|- (d − 1)·‖Πx‖² − d·(Πx)² >= 0, Samuelson's inequality."""
    x = term(x)
    c, n = x - sum_of(x) / d, d - 1
    goal = n * sum_of(c * c) - d * c * c
    one = rules.assume(Formula(n, "="))
    single = prove(Formula(goal, ">="), one, _single(one, x))
    above = rules.strengthen(rules.dimension(), rules.assume(Formula(n, "!=")))
    product = rules.multiply(rules.inverse_sign(above), rules.others(n * c, -c))
    same = rules.combine(goal - product.conclusion.term, [(-goal, None, rules.inverse(above))])
    return rules.cases_zero(n, single, transport(goal, same, product))


def _completed(t: Term, relation: str, search: Signs, equations: Equations, depth: int = 3) -> Proved | None:
    """A sign by completed squares, or by comparison of two squares."""
    if relation == "!=":
        return None
    ways = [
        lambda: _squares(t, relation, search, depth) or _compared(t, relation, search, equations, depth),
        lambda: combined(t, relation, search, equations, compare) if depth >= 2 else None,
    ]
    return next(filter(None, (way() for way in (ways if len(t) <= SHORT and depth == 3 else reversed(ways)))), None)


def _squares(t: Term, relation: str, search: Signs, depth: int) -> Proved | None:
    found = search.find(t, relation)
    if found or not depth or len(t) > PARTS or (relation == ">" and not t):
        return found
    for factor, square in _candidates(t, search.find):
        head = rules.multiply(factor, square)
        rest = t - head.conclusion.term
        tail = _squares(rest, relation, search, depth - 1) if rest or relation == ">" else None
        if not rest and relation == ">=":
            return head
        if tail:
            return rules.add(head, tail)
    return None


def _candidates(t: Term, find: Find) -> Iterator[tuple[Proved, Proved]]:
    """Squares that take a square of one summand and all that is linear in it, each with a factor."""
    for monomial, c in t:
        if c <= 0 or not monomial:
            continue
        sums = [atom for atom, k in monomial if atom[0] == "S" and k == 1 and all(n % 2 == 0 for _, n in atom[1])]
        for inner in [*sums[:1], None]:
            outer = (divide(monomial, ((inner, 1),)) if inner else monomial) or ()
            odd = tuple((atom, 1) for atom, k in outer if k % 2)
            half = tuple((atom, (k - k % 2) // 2) for atom, k in outer if k - k % 2)
            within = tuple((atom, k // 2) for atom, k in inner[1]) if inner else ()
            sign = find(c * Term({odd: Fraction(1)}), ">=")
            if sign is None or not (half or within):
                continue
            lead = _times(odd, half)
            h, f = Term({_times(half, within): Fraction(1)}), []
            for other, a in t:
                if other == monomial:
                    continue
                for atom, _ in other if inner else ():
                    w = divide(atom[1], within) if atom[0] == "S" else None
                    rest = divide(divide(other, ((atom, 1),)) or (), lead) if w is not None else None
                    if rest is not None:
                        f.append(Term({_times(rest, w or ()): a / (2 * c)}))
                        break
                rest = None if inner else divide(other, lead)
                if rest is not None:
                    f.append(Term({rest: a / (2 * c)}))
            for chosen in ([f] if f else []) + ([[part] for part in f] if len(f) > 1 else []):
                square = rules.square(h + sum(chosen, term(0)))
                yield sign, rules.total(square) if inner else square


def _times(a: tuple, b: tuple) -> tuple:
    ((monomial, _),) = Term({a: Fraction(1)}) * Term({b: Fraction(1)})
    return monomial


def _compared(t: Term, relation: str, search: Signs, equations: Equations, depth: int) -> Proved | None:
    """P − q by p >= 0 and p² − q², where roots are left."""
    if not depth or len(t) > PARTS or not any(atom[0] == "sqrt" for m, _ in t for atom, _ in m):
        return None
    above = [Term({m: c}) for m, c in t if c > 0]
    rooted = [part for part in above if any(atom[0] == "sqrt" for m, _ in part for atom, _ in m)]
    plain = [Term({m: c}) for m, c in t if not any(atom[0] == "sqrt" for atom, _ in m)]
    atoms = sorted({atom for m, _ in t for atom, _ in m if atom[0] == "sqrt"})
    roots = [(Term({((atom, 1),): Fraction(1)}), argument(atom)) for atom in atoms]
    ways = [above] + [part for part in (rooted, plain) if part and part != above]
    for parts in ways:
        p = sum(parts, term(0))
        q = p - t
        sign = search.find(p, relation) if p else None
        if sign is None or not q:
            continue
        goal = p * p - q * q
        short = reduced(goal, equations, search.facts)
        if len(short) > 2 * PARTS:
            continue
        inner = (shortened(fact, equations, search.facts) for fact in inner_products(roots, search, equations, compare))
        known = Signs([*search.facts, *cauchy_of_squares(short), *inner])
        proved = _attempted(Formula(short, relation), known, equations, depth - 1)
        if proved:
            return compare(sign, q, transport(goal, rewrite(goal - short, equations, search.facts), proved))
    return None


def _attempted(goal: Formula, search: Signs, equations: Equations, depth: int) -> Proved | None:
    """The goal by the whole search again, one level down."""
    try:
        facts = [*(fact for fact, _ in equations), *search.facts]
        return prove(goal, *facts, further=functools.partial(_completed, depth=depth))
    except ProofError:
        return None
