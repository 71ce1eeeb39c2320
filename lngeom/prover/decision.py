"""The search for proofs: untrusted, because all it can do is call the rules.

Equations are proved by rewriting: every known equation is solved for its heaviest monomial, which is replaced
wherever it divides a monomial of the goal, outside sums or inside. The multipliers are collected, and
the rule ``combine`` checks that the goal is their combination. Signs are proved along the structure of the term; where
that fails, divisors of known sign are multiplied away, and the search goes on with the remaining term.
"""

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction

from . import rules
from .monomials import argument
from .rewriting import Equations, inside_of, reduced, rewrite
from .rules import Formula, Proved, transport
from .signs import Signs
from .terms import ProofError, S, Term, inv, term
from .writing import formula, text

__all__ = ["cauchy_schwarz", "prove", "sum_of_squares"]


def prove(
    goal: Formula,
    *facts: Proved | tuple[Proved, object],
    remainder: object = None,
    further: Callable[..., Proved | None] | None = None,
) -> Proved:
    """Prove a formula from theorems.

    `facts` may be used, hypotheses as ``assume(formula)``. An equation is solved for its heaviest monomial; in a pair
    (theorem, term), for the monomial `term`. `remainder`, for an inequality, is an equal term of evident sign, and
    `further` another way to find the sign of a term. Raises ProofError, with the rest of the goal, if it finds none.

    >>> import lngeom as lg
    >>> from lngeom.prover import assume, dot, equal, prove, sequent, vector
    >>> x, y = vector("x"), vector("y")
    >>> print(sequent(prove(equal(dot(lg.project(x), y), dot(x, lg.project(y))))))  # of one normal form
    ⊢ 0 = 0
    >>> print(sequent(prove(equal(lg.project(x), x), assume(equal(dot(x, 1), 0)))))
    S(x) = 0 ⊢ −S(x)/d = 0
    """
    goal = Formula(term(goal.term), goal.relation)
    pairs = [fact if isinstance(fact, tuple) else (fact, None) for fact in facts]
    equations = [(theorem, solved) for theorem, solved in pairs if theorem.conclusion.relation == "="]
    signs = [theorem for theorem, _ in pairs if theorem.conclusion.relation != "="]
    if goal.relation == "=":
        return rewrite(goal.term, equations, signs)
    signs += _even(equations)
    if remainder is not None:
        same = rewrite(goal.term - remainder, equations, signs)
        return transport(goal.term, same, prove(Formula(term(remainder), goal.relation), *signs))
    search = Signs([*signs, *cauchy_of_squares(goal.term)])
    sign = search.find(goal.term, goal.relation)
    if sign is not None:
        return sign
    left, divisor, unknown = cleared(goal.term, equations, search)
    search = Signs([*search.facts, *cauchy_of_squares(left)])
    sign = search.find(left, goal.relation)
    if sign is None and equations:
        search = Signs([*search.facts, *_cauchy_of_products(goal.term, equations, signs)])
        sign = search.find(left, goal.relation)
    if sign is None and further is not None:
        sign = further(left, goal.relation, search, equations)
    if sign is None:
        failed = ProofError(f"no proof found of {formula(goal)}{_told(left, goal, unknown)}")
        failed.hints = tuple(_hints(unknown or search.missing))
        raise failed
    return uncleared(goal.term, sign, divisor, equations, signs)


def uncleared(t: Term, sign: Proved, divisor: Proved | None, equations: Equations, signs: list[Proved]) -> Proved:
    """The sign of a term, from that of its product with a divisor."""
    left = sign.conclusion.term
    if divisor is None:
        return transport(t, rewrite(t - left, equations, signs), sign)
    same = rewrite(t * divisor.conclusion.term - left, equations, signs)
    product = rules.multiply(rules.inverse_sign(divisor), sign)
    parts = [(rules.inv(divisor.conclusion.term), None, same), (-t, None, rules.inverse(divisor))]
    return transport(t, rules.combine(t - product.conclusion.term, parts), product)


def cleared(goal: Term, equations: Equations, search: Signs) -> tuple[Term, Proved | None, set[Formula]]:
    """The goal times its divisors of known sign, shortened; their product; and the signs that are not known."""
    halves: dict[tuple, int] = {}
    roots: dict[tuple, Term] = {}
    for monomial, _ in goal:
        count: dict[tuple, int] = {}
        for atom, k in monomial:
            if atom[0] == "inv":
                divisor, root = _divisor(atom)
                count[divisor] = count.get(divisor, 0) + (2 if root is None else 1) * k
                roots |= {divisor: root} if root is not None else {}
        halves |= {atom: max(n, halves.get(atom, 0)) for atom, n in count.items()}
    positive = {atom: search.find(argument(atom), ">") for atom in halves}
    unknown = {Formula(inside_of(atom), ">") for atom, sign in positive.items() if sign is None}
    divisors = []
    for atom, sign in sorted(positive.items()):
        if sign is not None:
            root = search.find(roots[atom], ">") if halves[atom] % 2 else None
            divisors += [sign] * ((halves[atom] + (root is None)) // 2) + [root] * (root is not None)
    divisor = functools.reduce(rules.multiply, divisors) if divisors else None
    return reduced(goal * divisor.conclusion.term if divisor else goal, equations, search.facts), divisor, unknown


def _divisor(atom: tuple) -> tuple[tuple, Term | None]:
    """Of 1/√w the divisor w, as the atom of 1/w, and √w, so that both are cleared together; of another itself."""
    u, w = argument(atom), inside_of(atom)
    whole = [] if u == w else [inner for monomial, _ in inv(w) for inner, _ in monomial if inner[0] == "inv"]
    return (whole[0], u) if len(whole) == 1 else (atom, None)


def _told(left: Term, goal: Formula, unknown: set[Formula]) -> str:
    """What is left of a goal, if that is shorter; and the square that is subtracted, if all divisors are positive."""
    rest = formula(Formula(left, goal.relation))
    rest = f": {rest} is left" if len(rest) < len(formula(goal)) else ""
    subtracted = (monomial for monomial, c in left if c < 0 and monomial and all(k % 2 == 0 for _, k in monomial))
    squares = [text(Term({monomial: Fraction(1)})) for monomial in subtracted]
    if squares and not unknown:
        return f"{rest}; a bound of this may be missing: {min(squares, key=lambda square: (len(square), square))}"
    return rest


def _hints(signs: Iterable[Formula]) -> list[Formula]:
    """Signs that are not known, the shortest first; the components of a vector have any."""
    signed = [sign for sign in signs if {atom[0] for monomial, _ in term(sign.term) for atom, _ in monomial} != {"v"}]
    return sorted(signed, key=lambda sign: (len(formula(sign)), formula(sign)))


def _even(equations: Equations) -> Iterator[Proved]:
    """Signs of terms that equations make a positive multiple of a square, as the components of a mask, m = m²."""
    for equation, _ in equations:
        for (square, a), (other, b) in itertools.permutations(tuple(equation.conclusion.term), 2):
            if len(equation.conclusion.term) == 2 and a * b < 0 and all(k % 2 == 0 for _, k in square):
                half, t = Term({tuple((atom, k // 2) for atom, k in square): Fraction(1)}), Term({other: Fraction(1)})
                multiple = rules.multiply(rules.constant(-a / b, ">"), rules.square(half))
                yield transport(t, rules.combine(t - multiple.conclusion.term, [(1 / b, None, equation)]), multiple)


def cauchy_of_squares(t: Term) -> Iterator[Proved]:
    """Cauchy's inequality for each squared inner product of two vectors in a term."""
    for monomial, c in t:
        for atom, k in monomial:
            two = [base for base, power in atom[1] for _ in range(power)] if atom[0] == "S" and k == 2 and c < 0 else ()
            if len(two) == 2 and two[0] != two[1]:
                x, y = (Term({((base, 1),): Fraction(1)}) for base in two)
                yield cauchy_schwarz(x, y)


def _cauchy_of_products(t: Term, equations: Equations, signs: list[Proved]) -> Iterator[Proved]:
    """Cauchy's inequality for any two factors of a product whose sum's square a term subtracts, by the equations.

    For a mask, m = m², S(m²·x)² ≤ S(m²)·S(m²·x²) becomes S(m·x)² ≤ S(m)·S(m·x²).
    """
    for product in (atom[1] for monomial, c in t for atom, k in monomial if atom[0] == "S" and k == 2 and c < 0):
        powers = [*itertools.product(*(range(k + 1) for _, k in product))]
        for chosen in powers[1 : (len(powers) + 1) // 2]:
            x = Term({tuple((base, k) for (base, _), k in zip(product, chosen, strict=True) if k): Fraction(1)})
            y = Term({tuple((base, n - k) for (base, n), k in zip(product, chosen, strict=True) if n > k): Fraction(1)})
            known = cauchy_schwarz(x, y)
            short = reduced(known.conclusion.term, equations, signs)
            if short:
                yield transport(short, rewrite(short - known.conclusion.term, equations, signs), known)


def sum_of_squares(*vectors: object) -> Proved:
    """|- ‖v‖² + ‖w‖² + … >= 0."""
    return functools.reduce(rules.add, (rules.total(rules.square(v)) for v in vectors))


def cauchy_schwarz(x: object, y: object) -> Proved:
    """|- ‖x‖²‖y‖² − (x·y)² >= 0, for vectors x and y."""
    x, y = term(x), term(y)
    square, along = S(y * y), S(x * y)
    # ‖x − y(x·y)/‖y‖²‖² ≥ 0, times ‖y‖²; at y = 0, where the rules read 1/0 as 0, both sides are 0.
    product = rules.multiply(rules.total(rules.square(x - y * along * inv(square))), rules.total(rules.square(y)))
    nought = (1 - inv(square) * square) * y
    nothing = rules.definite(nought, rewrite(S(nought * nought), [], []))
    missed = rules.combine(along * (1 - inv(square) * square), [(1, x, nothing)])
    goal = S(x * x) * square - along**2
    return transport(goal, rewrite(goal - product.conclusion.term, [(missed, None)], []), product)
