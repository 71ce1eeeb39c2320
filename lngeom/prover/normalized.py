"""Vectors that are divided by a length: a goal is proved for any vectors of bounded length in their place.

Untrusted like the search: every step calls a rule.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from . import rules
from .decision import prove
from .monomials import atoms_of, divide
from .rewriting import inside_of
from .rules import Formula, Proved
from .terms import ONE, ProofError, Term, _substituted, substitute


def normalized(
    goal: Formula, facts: Sequence[Proved], core: Callable[[Formula, Sequence[Proved]], Proved | None]
) -> Proved | None:
    """A proof of the goal with a vector y in place of x/√w, from the laws of y; None if x remains elsewhere."""
    known, values, laws = [*facts], dict[Term, Term](), list[Proved]()
    t, atoms = goal.term, sorted(atoms_of([goal.term]))
    for divisor, atom in ((a, v) for a in atoms if a[0] == "inv" for v in sorted(atoms_of([inside_of(a)]))):
        if atom[0] == "v" and atom in atoms_of([t]):
            x, i, y = (Term({((a, 1),): Fraction(1)}) for a in (atom, divisor, ("v", f"normalized_{len(values)}")))
            made = [rules.assume(goal._replace(term=t)), *_laws(x, i, facts)]
            new = {divisor: ONE, atom: y}
            whole = [Formula(_substituted(e, new), sign) for e, sign in (each.conclusion for each in made)]
            same = (substitute(w.term, {y: x * i}) == m.conclusion.term for w, m in zip(whole, made, strict=True))
            if made[1:] and all(same):
                t, values[y], laws = whole[0].term, x * i, [*laws, *made[1:]]
                known = [fact for fact in known if atom not in atoms_of([fact.conclusion.term])]
                known += map(rules.assume, whole[1:])
    known = [fact for fact in known if atoms_of([fact.conclusion.term]) & (atoms_of([t]) - {("d",)})]
    proved = core(Formula(t, goal.relation), known) if values else None
    proved = proved and rules.instantiate(proved, values)
    return proved and functools.reduce(lambda whole, law: rules.cut(law, whole), laws, proved)


def _laws(x: Term, i: Term, facts: Sequence[Proved]) -> Iterator[Proved]:
    """Bounds of S(m·x²)·i² by the summands of w for i = 1/√w, and the equations of x times i."""
    ((((divisor, _),), _),) = i.pairs
    for monomial, c in inside_of(divisor):
        for atom, _ in monomial:
            if atom[0] == "S" and divide(atom[1], (x * x).pairs[0][0]) is not None:
                bound = rules.inv(Term({divide(monomial, ((atom, 1),)) or (): c})) - Term({((atom, 1),): 1}) * i * i
                for relation in ("=", ">", ">="):
                    with contextlib.suppress(ProofError):
                        yield prove(Formula(bound, relation), *facts)
                        break
    for fact in facts:
        e, relation = fact.conclusion
        if relation == "=" and x.pairs[0][0][0][0] in atoms_of([e]):
            yield rules.combine(i * e, [(i, None, fact)])
