"""A second opinion on every proof: each step of a certificate is checked again with SymPy.

The kernel's terms enter only as data. Polynomials are expanded by SymPy, sums are pushed through them here, and
inverses and roots become quotients and square roots; nothing of the kernel's arithmetic is called.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import sympy

from lngeom.symbolic import Term, Theorem, evaluate, formula

from .._theorem import CheckError
from ._models import draw

_D = sympy.Symbol("d", positive=True)


def recheck(theorem: Theorem) -> int:
    """Check all steps of a proof again; returns how many there were."""
    done: set[int] = set()

    def visit(step: Theorem) -> None:
        if id(step) in done:
            return
        done.add(id(step))
        for premise in step.certificate[2]:
            visit(premise)
        rule, terms, used = step.certificate
        if not _STEPS[rule](step, terms, used):
            msg = f"SymPy does not confirm the step {rule!r}: {formula(step.conclusion)}"
            raise CheckError(msg)

    visit(theorem)
    return len(done)


# ------------------------------------------------------------------------------------------ terms as expressions


def _symbol(atom: tuple, functions: bool) -> sympy.Expr:
    """An atom as a symbol; with `functions`, inverses and roots as quotients and square roots."""
    match atom[0]:
        case "d":
            return _D
        case "inv" if functions:
            return 1 / _expression(Term(atom[1]), functions=True)
        case "sqrt" if functions:
            return sympy.sqrt(_expression(Term(atom[1]), functions=True))
        case "v":
            return sympy.Symbol(f"v:{atom[1]}", real=True)
    vector = "v" if not Term({((atom, 1),): 1}).is_scalar else "s"
    return sympy.Symbol(f"{vector}:{atom!r}", real=True)


def _expression(t: Term, *, functions: bool = False) -> sympy.Expr:
    return sympy.Add(*(_monomial(monomial, functions) * _rational(c) for monomial, c in t))


def _monomial(monomial: tuple, functions: bool) -> sympy.Expr:
    return sympy.Mul(*(_symbol(atom, functions) ** exponent for atom, exponent in monomial))


def _rational(c: Fraction) -> sympy.Expr:
    return sympy.Rational(c.numerator, c.denominator)


def _names(t: Term, names: dict[sympy.Expr, tuple]) -> None:
    for monomial, _ in t:
        for atom, _ in monomial:
            names[_symbol(atom, False)] = atom


def _summed(expression: sympy.Expr, names: dict[sympy.Expr, tuple]) -> sympy.Expr:
    """S of an expanded expression: the vector part of each monomial becomes one sum."""
    total = sympy.Integer(0)
    for part in sympy.Add.make_args(sympy.expand(expression)):
        outer, inner = [], {}
        for factor in sympy.Mul.make_args(part):
            base, exponent = factor.as_base_exp()
            if base.is_Symbol and str(base).startswith("v:"):
                inner[names[base]] = int(exponent)
            else:
                outer.append(factor)
        atom = ("S", tuple(sorted(inner.items())))
        total += sympy.Mul(*outer) * (_symbol(atom, False) if inner else _D)
    return total


def _zero(expression: sympy.Expr) -> bool:
    return sympy.expand(expression) == 0


def _zero_function(expression: sympy.Expr) -> bool:
    return sympy.simplify(expression) == 0


# --------------------------------------------------------------------------------------------------------- rules

Step = Callable[[Theorem, tuple, tuple[Theorem, ...]], bool]


def _t(theorem: Theorem, functions: bool = False) -> sympy.Expr:
    return _expression(theorem.conclusion.term, functions=functions)


def _assumptions(step: Theorem, used: tuple[Theorem, ...]) -> bool:
    return step.hypotheses == frozenset().union(*(premise.hypotheses for premise in used))


def _relations(step: Theorem, used: tuple[Theorem, ...]) -> tuple[str, ...]:
    return (*(premise.conclusion.relation for premise in used), step.conclusion.relation)


def _combine(step: Theorem, terms: tuple, used: tuple[Theorem, ...]) -> bool:
    goal, names = _expression(terms[0]), {}
    for t in (*terms, *(premise.conclusion.term for premise in used)):
        if t is not None:
            _names(t, names)
    rest = goal
    for a, b, premise in zip(terms[1::2], terms[2::2], used, strict=True):
        e = _t(premise)
        rest -= _expression(a) * (e if b is None else _summed(_expression(b) * e, names))
    equations = (
        all(premise.conclusion.relation == "=" for premise in used) and step.conclusion.relation == "="
    )
    return equations and _zero(rest) and _zero(goal - _t(step)) and _assumptions(step, used)


def _same(build: Callable[..., sympy.Expr], *allowed: tuple[str, ...], functions: bool = False) -> Step:
    """A rule whose conclusion is `build` of the terms and premises, with one of the allowed chains of relations."""

    def check(step: Theorem, terms: tuple, used: tuple[Theorem, ...]) -> bool:
        values = [_expression(t, functions=functions) for t in terms if isinstance(t, Term)]
        premises = [_t(premise, functions) for premise in used]
        difference = _t(step, functions) - build(*values, *premises)
        zero = _zero_function if functions else _zero
        return _relations(step, used) in allowed and zero(difference) and _assumptions(step, used)

    return check


_ORDER = {">": (">", ">=", "!="), ">=": (">=",), "=": ("=", ">="), "!=": ("!=",)}


def _weaken(step: Theorem, terms: tuple, used: tuple[Theorem, ...]) -> bool:
    before, after = _relations(step, used)
    return after in _ORDER[before] and _zero(_t(step) - _t(used[0])) and _assumptions(step, used)


def _constant(step: Theorem, terms: tuple, used: tuple[Theorem, ...]) -> bool:
    c, relation = _t(step), step.conclusion.relation
    truth = {"=": c == 0, "!=": c != 0, ">": c > 0, ">=": c >= 0}[relation]
    return c.is_Rational and bool(truth) and not step.hypotheses


def _assume(step: Theorem, terms: tuple, used: tuple[Theorem, ...]) -> bool:
    return step.hypotheses == {step.conclusion}


def _cancel(step: Theorem, terms: tuple, used: tuple[Theorem, ...]) -> bool:
    product, nonzero = used
    chain = _relations(step, used) in (("=", "!=", "="), ("=", ">", "="))
    return chain and _zero(_t(product) - _t(step) * _t(nonzero)) and _assumptions(step, used)


def _congruence(step: Theorem, terms: tuple, used: tuple[Theorem, ...]) -> bool:
    function, a, b = terms
    f = {"inv": lambda t: 1 / t, "sqrt": sympy.sqrt}[function]
    image = f(_expression(a, functions=True)) - f(_expression(b, functions=True))
    argument = _zero(_t(used[0]) - _expression(a) + _expression(b))
    chain = _relations(step, used) == ("=", "=")
    return chain and argument and _zero_function(_t(step, True) - image) and _assumptions(step, used)


def _root_of_square(step: Theorem, terms: tuple, used: tuple[Theorem, ...]) -> bool:
    nonnegative, equation = used
    u, t = _t(nonnegative), terms[0]
    chain = _relations(step, used) in ((">=", "=", "="), (">", "=", "="))
    said = _zero(_t(equation) - u**2 + _expression(t))
    image = sympy.sqrt(_expression(t, functions=True)) - _t(nonnegative, True)
    return chain and said and _zero_function(_t(step, True) - image) and _assumptions(step, used)


def _transport(step: Theorem, terms: tuple, used: tuple[Theorem, ...]) -> bool:
    equation, premise = used
    chain = equation.conclusion.relation == "=" and premise.conclusion.relation == step.conclusion.relation
    return chain and _zero(_t(equation) - _t(step) + _t(premise)) and _assumptions(step, used)


def _cut(step: Theorem, terms: tuple, used: tuple[Theorem, ...]) -> bool:
    lemma, theorem = used
    remaining = lemma.hypotheses | (theorem.hypotheses - {lemma.conclusion})
    return step.conclusion == theorem.conclusion and step.hypotheses == remaining


def _instantiate(step: Theorem, terms: tuple, used: tuple[Theorem, ...]) -> bool:
    """Both sides have the same values in exact models of several dimensions."""
    replaced = {next(iter(t))[0][0][0]: value for t, value in zip(terms[::2], terms[1::2], strict=True)}
    random = Random("instantiate")
    before = [used[0].conclusion, *used[0].hypotheses]
    after = [step.conclusion, *step.hypotheses]
    atoms = _free_atoms([f.term for f in (*before, *after)] + list(replaced.values()))
    for d in (1, 2, 3, 5) * 4:
        values = draw(
            [name for kind, name in atoms if kind == "v"],
            [name for kind, name in atoms if kind == "s"],
            random,
            d,
        )
        inner = values | {
            atom[1]: (evaluate(t, values, d) if atom[0] == "v" else evaluate(t, values, d)[0])
            for atom, t in replaced.items()
        }
        old = [evaluate(f.term, inner, d) for f in before]
        new = [evaluate(f.term, values, d) for f in after]
        if not all(any(_overlap(x, y) for y in new) for x in old) or not _overlap(old[0], new[0]):
            return False
    return step.conclusion.relation == used[0].conclusion.relation


def _free_atoms(terms: list[Any]) -> set[tuple]:
    found: set[tuple] = set()

    def visit(value: Any) -> None:
        if isinstance(value, tuple):
            parts = tuple(iter(value))  # a term is a tuple without integer indices
            if len(parts) == 2 and parts[0] in ("v", "s") and isinstance(parts[1], str):
                found.add(parts)
            for part in parts:
                visit(part)

    for t in terms:
        visit(tuple(t))
    return found


def _overlap(first: list[Any], second: list[Any]) -> bool:
    from lngeom.symbolic._meaning import ends

    return all(
        ends(a)[0] <= ends(b)[1] and ends(b)[0] <= ends(a)[1] for a, b in zip(first, second, strict=True)
    )


_STRICT = (">", ">", ">"), (">", ">=", ">"), (">=", ">", ">"), (">=", ">=", ">=")
_PRODUCT = (
    (">", ">", ">"),
    (">", ">=", ">="),
    (">=", ">", ">="),
    (">=", ">=", ">="),
    *((p, q, "!=") for p, q in (("!=", "!="), (">", "!="), ("!=", ">"))),
)

_STEPS: dict[str, Step] = {
    "add": _same(lambda p, q: p + q, *_STRICT),
    "assume": _assume,
    "cancel": _cancel,
    "combine": _combine,
    "congruence": _congruence,
    "constant": _constant,
    "cut": _cut,
    "definite": lambda step, terms, used: _definite(step, used),
    "dimension": _same(lambda: _D - 1, (">=",)),
    "instantiate": _instantiate,
    "inverse": _same(lambda t: sympy.Integer(0), ("!=", "="), (">", "="), functions=True),
    "inverse_sign": _same(lambda t: 1 / t, *((r, r) for r in ("=", "!=", ">", ">=")), functions=True),
    "inverse_total": _same(lambda t: sympy.Integer(0), ("=",), functions=True),
    "multiply": _same(lambda p, q: p * q, *_PRODUCT),
    "root_nonnegative": _same(sympy.sqrt, (">=",), functions=True),
    "root_of_square": _root_of_square,
    "root_positive": _same(sympy.sqrt, (">", ">"), functions=True),
    "square": _same(lambda t: t**2, (">=",)),
    "square_of_root": _same(lambda t: sympy.Integer(0), (">=", "="), (">", "="), functions=True),
    "strengthen": lambda step, terms, used: (
        _same(lambda p, q: p, (">=", "!=", ">"))(step, terms, used) and _zero(_t(used[0]) - _t(used[1]))
    ),
    "total": lambda step, terms, used: _summation(
        step, used, lambda total, t: total, ((">=", ">="), (">", ">"))
    ),
    "transport": _transport,
    "weaken": _weaken,
}


def _definite(step: Theorem, used: tuple[Theorem, ...]) -> bool:
    names: dict[sympy.Expr, tuple] = {}
    _names(step.conclusion.term, names)
    same = _zero(_t(used[0]) - _summed(_t(step) ** 2, names))
    return same and _relations(step, used) == ("=", "=") and _assumptions(step, used)


def _summation(
    step: Theorem,
    used: tuple[Theorem, ...],
    build: Callable[..., sympy.Expr],
    allowed: tuple[tuple[str, str], ...],
) -> bool:
    names: dict[sympy.Expr, tuple] = {}
    _names(used[0].conclusion.term, names)
    t = _t(used[0])
    same = _zero(_t(step) - build(_summed(t, names), t))
    return same and _relations(step, used) in allowed and _assumptions(step, used)
