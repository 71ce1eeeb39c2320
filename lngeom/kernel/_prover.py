"""The search for proofs: untrusted, because all it can do is call the rules of the kernel.

Equations are proved by rewriting: every known equation is solved for its heaviest monomial, which is replaced
wherever it divides a monomial of the goal, outside sums or inside. The multipliers are collected, and the kernel
checks that the goal is their combination. Signs are proved along the structure of the term.
"""

from typing import Any

from ._rewriting import rewrite
from ._rules import Formula, Proved, transport
from ._signs import Signs
from ._terms import ProofError, term
from ._text import formula

__all__ = ["prove"]


def prove(goal: Formula, *facts: Proved | tuple[Proved, Any], remainder: Any = None) -> Proved:
    """Prove a formula from theorems.

    `facts` are what may be used, hypotheses as ``assume(formula)``; a pair (theorem, term) says for which monomial the
    equation is to be solved, otherwise for its heaviest. `remainder`, for an inequality, is an equal term of evident
    sign. Raises ProofError, which shows what is left of the goal, if no proof is found.

    >>> import lngeom as lg
    >>> from lngeom.kernel import assume, dot, equal, prove, sequent, vector
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
    if remainder is not None:
        same = rewrite(goal.term - remainder, equations, signs)
        return transport(goal.term, same, prove(Formula(term(remainder), goal.relation), *signs))
    sign = Signs(signs).find(goal.term, goal.relation)
    if sign is None:
        raise ProofError(f"no proof found of {formula(goal)}")
    return sign
