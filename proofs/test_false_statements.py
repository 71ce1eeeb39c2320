"""What must have no proof: forged objects, misused rules, and honest false statements of the field."""

from __future__ import annotations

import ast
import copy
import subprocess
import sys
import types
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

import lngeom as lg
from lngeom import symbolic
from lngeom.symbolic import Formula, ProofError, assume, prove

from .checks import draw, refuted, satisfied

FOLDER = Path(symbolic.__file__).parent
FILES = ("_terms", "_kernel")

# --------------------------------------------------------------------------------------------------------- forgeries

SETTING = r'''
from fractions import Fraction
x, y, w, a, b = vector("x"), vector("y"), vector("w"), scalar("a"), scalar("b")
X, A = ("v", "x"), ("s", "a")

def given(t, relation="="):
    return assume(Formula(t, relation))

zero, nonzero, positive, nonnegative = given(x), given(x, "!="), given(x, ">"), given(x, ">=")
other, product, negative = given(y, "!="), given(x * y), given(-x, ">")

def forged(pairs, kind=True):
    return tuple.__new__(Term, (pairs, kind))

def one(atom, k=1, c=(1, 1)):
    return forged(((((atom, k),), c),))

class Text(str):
    def __eq__(self, other): return True
    def __hash__(self): return hash("=")
class Number(int): pass
class Ratio(Fraction): pass
class Row(tuple): pass
class Table(dict): pass
class Equal(Term):
    __hash__ = Term.__hash__
    def __eq__(self, other): return True
class Fickle(dict):
    calls = 0
    def items(self):
        self.calls += 1
        return {x: term(0)}.items() if self.calls > 1 else {x: y}.items()
class Twin:
    def __init__(self, theorem): self.said = hash(theorem), theorem
    def __hash__(self): return self.said[0]
    def __eq__(self, other): return True
class Impostor:
    __slots__ = ("__weakref__",)

def odd(numerator, denominator=1):
    value = Fraction(1)
    value._numerator, value._denominator = numerator, denominator
    return value

def recast():
    theorem = object.__new__(Impostor)
    theorem.__class__ = Theorem
    return theorem

def only_true(theorem, *allowed):
    """Refuse what is true, so that only a false theorem counts as accepted."""
    if (theorem.conclusion, theorem.hypotheses) in allowed:
        raise ProofError("true")
'''

FORGED = {
    "a theorem is called into being": "Theorem()",
    "a theorem with a statement is called into being": "Theorem([], Formula(1 - d, '='))",
    "an object that was never proved": "weaken(object.__new__(Theorem), '>=')",
    "an object that was never proved is read": "object.__new__(Theorem).conclusion",
    "an object of another class that becomes a theorem": "weaken(recast(), '>=')",
    "a formula instead of a theorem": "inverse(Formula(x, '>'))",
    "an object that equals every theorem": "weaken(Twin(positive), '>=')",
    "a term that redefines equality": "combine(tuple.__new__(Equal, (((), ), True)), [])",
    "a subclass of terms": "square(tuple.__new__(Equal, tuple(tuple.__iter__(x))))",
    "a half as exponent": "square(Term({((X, Fraction(1, 2)),): 1}))",
    "a half as exponent, forged": "square(one(X, Fraction(1, 2)))",
    "a float as exponent": "square(one(X, 0.5))",
    "an exponent of a subclass": "square(one(X, Number(1)))",
    "True as exponent": "square(one(X, True))",
    "a negative power": "combine(1, [(one(X, -1), None, zero)])",
    "a negative power in a polynomial": "combine(1, [(Term({((X, -1),): 1}), None, zero)])",
    "a power of 0": "square(one(X, 0))",
    "a power of 0 of d": "square(one(('d',), 0))",
    "a repeated atom": "square(forged(((((X, 1), (X, 1)), (1, 1)),)))",
    "atoms out of order": "square(forged(((((X, 1), (A, 1)), (1, 1)),)))",
    "a repeated monomial": "square(forged(((((X, 1),), (1, 1)), (((X, 1),), (-1, 1)))))",
    "a monomial of a tuple subclass": "square(forged(((Row([(X, 1)]), (1, 1)),)))",
    "a power of a tuple subclass": "square(forged(((((Row((X, 1))),), (1, 1)),)))",
    "a coefficient of a tuple subclass": "square(one(X, 1, Row((1, 1))))",
    "a polynomial of a tuple subclass": "square(forged(Row(x.pairs)))",
    "a polynomial as a list": "square(forged(list(x.pairs)))",
    "a pair with a third entry": "square(forged(((((X, 1),), (1, 1), 2),)))",
    "a power with a third entry": "square(forged(((((X, 1, 2),), (1, 1)),)))",
    "a coefficient with a third entry": "square(one(X, 1, (1, 1, 1)))",
    "a float as numerator": "square(one(X, 1, (1.0, 1)))",
    "a float as denominator": "square(one(X, 1, (1, 1.0)))",
    "a coefficient of 0": "square(one(X, 1, (0, 1)))",
    "a denominator of 0": "square(one(X, 1, (1, 0)))",
    "a denominator below 0": "square(one(X, 1, (1, -1)))",
    "a coefficient that is not reduced": "square(one(X, 1, (2, 2)))",
    "a term without a kind": "square(tuple.__new__(Term, (x.pairs,)))",
    "a term of a kind that is not a bool": "square(tuple.__new__(Term, (x.pairs, 1)))",
    "a float as a coefficient": "square(Term({(): 0.1}))",
    "a polynomial in a subclass of dict": "square(Term(Table({(): 1})))",
    "an atom with a mark": "square(one(('inv', x.pairs, 1)))",
    "an atom without content": "square(one(('inv',)))",
    "an atom of no kind": "square(one(('S2', ((X, 1),))))",
    "an atom whose kind is a subclass": "square(one((Text('v'), 'x')))",
    "an atom of a tuple subclass": "square(one(Row(('v', 'y2'))))",
    "an atom without a name": "square(one(('v', 3)))",
    "an atom whose name is a subclass": "square(one(('v', Text('x'))))",
    "an empty sum": "square(one(('S', ())))",
    "a sum of a scalar": "square(one(('S', ((A, 1),))))",
    "an inverse that is not in normal form": "square(one(('inv', (2 * x).pairs)))",
    "a root of a square factor": "square(one(('sqrt', (4 * x).pairs)))",
    "a root of a forged polynomial": "square(one(('sqrt', one(X, 0.5).pairs)))",
    "an integer of a subclass": "constant(Number(1), '>')",
    "True as a number": "constant(True, '>')",
    "a fraction of a subclass": "constant(Ratio(1), '>')",
    "a fraction whose numerator is a float": "constant(odd(0.5), '>')",
    "a fraction whose denominator is a float": "constant(odd(1, 2.0), '>')",
    "a fraction whose denominator is below 0": "constant(odd(1, -1), '<')",
    "a fraction over 0": "square(odd(1, 0))",
    "a fraction over a negative number": "square(odd(1, -2))",
    "a float": "square(0.5)",
    "a text as a number": "square('x')",
    "a name that is a number": "vector(1)",
    "a name that reads like a sum": "vector('S(x)')",
    "a name with a subscript": "vector('x₁')",
    "a name of a subclass": "vector(Text('x'))",
    "a relation of a subclass, assumed": "assume(Formula(x, Text('=')))",
    "a relation of a subclass, of a constant": "constant(0, Text('='))",
    "a relation of a subclass, weakened": "weaken(positive, Text('>='))",
    "a function of a subclass": "congruence(Text('inv'), x, 0, zero)",
    "an exponent that is not an integer": "x ** 0.5",
    "values that change when read twice": "only_true(instantiate(zero, Fickle()), "
    "(given(y).conclusion, given(y).hypotheses))",
}

MISUSED = {
    "false constant": "constant(0, '>')",
    "a false sign of a constant": "constant(-1, '>=')",
    "false equation of constants": "constant(1, '=')",
    "0 is not unequal to 0": "constant(0, '!=')",
    "a vector as a constant": "constant(x, '!=')",
    "d as a constant": "constant(d, '=')",
    "unknown relation": "assume(Formula(x, '<'))",
    "no relation": "assume(Formula(x, None))",
    "a combination that does not add up": "combine(x, [(y, None, zero)])",
    "a combination of nothing": "combine(x, [])",
    "a combination of a nonnegative term": "combine(x, [(1, None, nonnegative)])",
    "a combination of a positive term": "combine(x, [(1, None, positive)])",
    "a combination of a nonzero term": "combine(x, [(1, None, nonzero)])",
    "a sum that is forgotten": "combine(S(x * y), [(1, None, zero)])",
    "a sum of a sum": "combine(S(x), [(1, 1, given(S(x)))])",
    "cancelling what may be 0": "cancel(y, product, nonnegative)",
    "cancelling what is 0": "cancel(y, product, zero)",
    "cancelling another factor": "cancel(y, product, other)",
    "cancelling in a nonnegative product": "cancel(y, given(x * y, '>='), nonzero)",
    "cancelling in a positive product": "cancel(y, given(x * y, '>'), nonzero)",
    "cancelling in a nonzero product": "cancel(y, given(x * y, '!='), nonzero)",
    "cancelling with the other sign": "cancel(-y, product, nonzero)",
    "the inverse of what may be 0": "inverse(nonnegative)",
    "the inverse of 0": "inverse(zero)",
    "the root of a nonzero term": "square_of_root(nonzero)",
    "the root of 0 by an equation": "square_of_root(zero)",
    "a positive root of what may be 0": "root_positive(nonnegative)",
    "a positive root of 0": "root_positive(zero)",
    "a positive root of a nonzero term": "root_positive(nonzero)",
    "a root of another square": "root_of_square(y, nonnegative, given(x * x - w))",
    "a root of minus the square": "root_of_square(y, nonnegative, given(x * x + y))",
    "a root of unknown sign": "root_of_square(y, nonzero, given(x * x - y))",
    "a root that is 0 by an equation": "root_of_square(y, zero, given(x * x - y))",
    "a root of a larger square": "root_of_square(y, nonnegative, given(x * x - y, '>='))",
    "a root of a strictly larger square": "root_of_square(y, nonnegative, given(x * x - y, '>'))",
    "a root of another number": "root_of_square(y, nonnegative, given(x * x - y, '!='))",
    "congruence of unequal terms": "congruence('inv', x, y, zero)",
    "congruence of opposite terms": "congruence('sqrt', x, y, given(x + y))",
    "congruence along an inequality": "congruence('sqrt', x, y, given(x - y, '>='))",
    "congruence along a strict inequality": "congruence('sqrt', x, y, given(x - y, '>'))",
    "congruence of different terms": "congruence('inv', x, y, given(x - y, '!='))",
    "congruence of another function": "congruence('S', x, 0, zero)",
    "a sum of nonzero terms": "add(nonzero, other)",
    "a sum with a nonzero term": "add(positive, nonzero)",
    "a nonzero term and a sum": "add(nonzero, positive)",
    "a sum of equations": "add(zero, nonnegative)",
    "an inequality and an equation": "add(nonnegative, zero)",
    "a product of nonnegative and nonzero": "multiply(nonnegative, other)",
    "a product of nonzero and nonnegative": "multiply(other, nonnegative)",
    "a product of equations": "multiply(zero, positive)",
    "a product by an equation": "multiply(positive, zero)",
    "strengthening by weakening": "weaken(nonnegative, '>')",
    "from nonzero to positive": "weaken(nonzero, '>')",
    "from nonzero to nonnegative": "weaken(nonzero, '>=')",
    "from nonzero to 0": "weaken(nonzero, '=')",
    "from nonnegative to nonzero": "weaken(nonnegative, '!=')",
    "from nonnegative to 0": "weaken(nonnegative, '=')",
    "from positive to 0": "weaken(positive, '=')",
    "from 0 to positive": "weaken(zero, '>')",
    "from 0 to nonzero": "weaken(zero, '!=')",
    "strengthening with another term": "strengthen(nonnegative, other)",
    "strengthening with the opposite term": "strengthen(nonnegative, given(-x, '!='))",
    "strengthening an equation": "strengthen(zero, nonzero)",
    "strengthening what is positive": "strengthen(positive, nonzero)",
    "strengthening by what is positive": "strengthen(nonnegative, positive)",
    "strengthening a nonzero term": "strengthen(nonzero, nonzero)",
    "strengthening by an equation": "strengthen(nonnegative, zero)",
    "strengthening by itself": "strengthen(nonnegative, nonnegative)",
    "the total of a nonzero vector": "total(nonzero)",
    "the total of an equation": "total(zero)",
    "a definite form of another vector": "definite(y, given(S(x * x)))",
    "a definite form of a product": "definite(x, given(S(x * y)))",
    "a definite form that is nonnegative": "definite(x, given(S(x * x), '>='))",
    "a definite form that is positive": "definite(x, given(S(x * x), '>'))",
    "a definite form that is nonzero": "definite(x, given(S(x * x), '!='))",
    "transport along another equation": "transport(y, zero, positive)",
    "transport along an opposite equation": "transport(y, given(y + x), positive)",
    "transport along a nonnegative term": "transport(y, given(y - x, '>='), zero)",
    "transport along a positive term": "transport(y, given(y - x, '>'), zero)",
    "transport along a nonzero term": "transport(y, given(y - x, '!='), zero)",
    "a cut of another relation": "only_true(cut(nonnegative, positive), (positive.conclusion, "
    "positive.hypotheses | nonnegative.hypotheses))",
    "a cut of a weaker relation": "only_true(cut(weaken(constant(0, '='), '>='), given(0, '>')), "
    "(given(0, '>').conclusion, given(0, '>').hypotheses))",
    "a cut of a hypothesis that the lemma does not prove": "only_true(cut(square(x), zero), "
    "(zero.conclusion, zero.hypotheses))",
    "a lemma whose own hypotheses are forgotten": "only_true(cut(zero, square(y)), "
    "(square(y).conclusion, zero.hypotheses))",
    "a scalar becomes a vector": "instantiate(square(a), {a: x})",
    "a sum is replaced": "instantiate(square(S(x)), {S(x): x})",
    "d is replaced": "instantiate(dimension(), {d: term(0)})",
    "a multiple is replaced": "instantiate(zero, {2 * x: y})",
    "a power is replaced": "instantiate(zero, {x * x: y})",
    "a product is replaced": "instantiate(zero, {x * y: y})",
    "a constant is replaced": "instantiate(zero, {term(1): y})",
    "0 is replaced": "instantiate(zero, {term(0): y})",
    "an inverse is replaced": "instantiate(zero, {inv(x): y})",
    "replacing inside a statement": "substitute(a, {a: x})",
    "a scalar becomes a product with a vector": "substitute(S(a * x), {a: b * y})",
    "only d may have a negative exponent": "Term({((A, -1),): 1})",
    "the sum along another axis": "x.__array_namespace__().sum(x, axis=0)",
    "a component of a vector": "square(x[..., 0]) if True else None",
}

# Each rule with the hypotheses that it must keep, and what it must conclude.
KEPT = {
    "assume": ("given(x)", "x, =", "x, ="),
    "combine": ("combine(x + y, [(1, None, zero), (1, None, given(y))])", "x, = | y, =", "x + y, ="),
    "combine, sum": ("combine(S(x*y) + d*a, [(1, y, zero), (1, 1, given(a))])", "x, = | a, =", "d * a + S(x * y), ="),
    "cancel": ("cancel(y, product, nonzero)", "x * y, = | x, !=", "y, ="),
    "inverse": ("inverse(nonzero)", "x, !=", "x * inv(x) - 1, ="),
    "inverse_sign": ("inverse_sign(positive)", "x, >", "inv(x), >"),
    "square_of_root": ("square_of_root(nonnegative)", "x, >=", "sqrt(x) ** 2 - x, ="),
    "root_positive": ("root_positive(positive)", "x, >", "sqrt(x), >"),
    "root_of_square": ("root_of_square(y, nonnegative, given(x * x - y))", "x, >= | x * x - y, =", "sqrt(y) - x, ="),
    "congruence": ("congruence('inv', x, y, given(x - y))", "x - y, =", "inv(x) - inv(y), ="),
    "congruence, root": ("congruence('sqrt', x, y, given(x - y))", "x - y, =", "sqrt(x) - sqrt(y), ="),
    "add, both weak": ("add(nonnegative, given(y, '>='))", "x, >= | y, >=", "x + y, >="),
    "add, one strict": ("add(nonnegative, given(y, '>'))", "x, >= | y, >", "x + y, >"),
    "multiply, both weak": ("multiply(nonnegative, given(y, '>='))", "x, >= | y, >=", "x * y, >="),
    "multiply, weak by strict": ("multiply(nonnegative, given(y, '>'))", "x, >= | y, >", "x * y, >="),
    "multiply, strict by nonzero": ("multiply(positive, other)", "x, > | y, !=", "x * y, !="),
    "multiply, strict by weak": ("multiply(positive, given(y, '>='))", "x, > | y, >=", "x * y, >="),
    "weaken": ("weaken(positive, '!=')", "x, >", "x, !="),
    "strengthen": ("strengthen(nonnegative, nonzero)", "x, >= | x, !=", "x, >"),
    "total": ("total(nonnegative)", "x, >=", "S(x), >="),
    "definite": ("definite(x, given(S(x * x)))", "S(x * x), =", "x, ="),
    "transport": ("transport(y, given(y - x), nonnegative)", "y - x, = | x, >=", "y, >="),
    "cut": ("cut(add(zero2, given(y, '>=')), total(given(w + y, '>=')))", "w, >= | y, >=", "S(w + y), >="),
    "instantiate": ("instantiate(total(nonnegative), {x: y - a})", "y - a, >=", "S(y) - d * a, >="),
    "inverse_total": ("inverse_total(x)", "", "x * x * inv(x) - x, ="),
    "root_nonnegative": ("root_nonnegative(x)", "", "sqrt(x), >="),
    "square": ("square(x)", "", "x * x, >="),
    "dimension": ("dimension()", "", "d - 1, >="),
    "constant": ("constant(2, '>')", "", "term(2), >"),
    "a root of a scalar leaves the sum": ("combine(S(sqrt(a) * x) - sqrt(a) * S(x), [])", "", "x - x, ="),
    "5 is not a square": ("root_nonnegative(5 * x)", "", "one(('sqrt', (5 * x).pairs)), >="),
    "1/5 is not a square": ("root_nonnegative(x / 5)", "", "one(('sqrt', (x / 5).pairs)), >="),
    "constant 0": ("constant(0, '>=')", "", "term(0), >="),
}  # fmt: skip


def environment(sources: dict[str, ast.Module] | None = None) -> dict[str, Any]:
    """The names of the two trusted files, with changed sources if given, and the helpers of the attempts."""
    if sources is None:
        modules = [sys.modules[f"lngeom.symbolic.{name}"] for name in FILES]
    else:
        modules = []
        package = types.ModuleType("changed")
        package.__path__ = [str(FOLDER)]
        sys.modules["changed"] = package
        for name, tree in sources.items():
            module = types.ModuleType(f"changed.{name}")
            sys.modules[module.__name__], module.__package__ = module, "changed"
            exec(compile(tree, f"{name}.py", "exec"), vars(module))
            modules.append(module)
    names = {key: value for module in modules for key, value in vars(module).items() if not key.startswith("__")}
    exec(SETTING, names)
    names["zero2"] = names["given"](names["w"], ">=")
    return names


def refused(attempt: str, names: dict[str, Any]) -> bool:
    """Whether the kernel says no, in its own words."""
    try:
        eval(attempt, names)
    except names["ProofError"]:
        return True
    except IndexError as error:
        return "Ellipsis" in str(error)  # the component of a vector
    except Exception:
        return False
    return False


def said(statements: str, names: dict[str, Any]) -> set[tuple]:
    pairs = [part.rsplit(", ", 1) for part in statements.split(" | ") if part]
    return {(eval(t, names).pairs, relation.strip()) for t, relation in pairs}


def kept(name: str, names: dict[str, Any]) -> bool:
    """Whether a rule concludes what it should, from the hypotheses that it needs."""
    attempt, hypotheses, conclusion = KEPT[name]
    try:
        theorem = eval(attempt, names)
        found = {(h.term.pairs, h.relation) for h in theorem.hypotheses}
        return found == said(hypotheses, names) and {
            (theorem.conclusion.term.pairs, theorem.conclusion.relation)
        } == said(conclusion, names)
    except Exception:
        return False


GENUINE = environment()


@pytest.mark.parametrize("attempt", [*FORGED, *MISUSED])
def test_refused(attempt: str) -> None:
    assert refused((FORGED | MISUSED)[attempt], GENUINE)


@pytest.mark.parametrize("rule", KEPT)
def test_rules_keep_their_hypotheses(rule: str) -> None:
    assert kept(rule, GENUINE)


def test_everything_is_refused_when_assertions_are_off() -> None:
    """Python -O strips assert statements; nothing of the kernel rests on one."""
    code = (
        "from proofs import test_false_statements as audit\n"
        "for name, attempt in (audit.FORGED | audit.MISUSED).items():\n"
        "    if not audit.refused(attempt, audit.GENUINE):\n        print('accepted:', name)\n"
    )
    done = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == ""


# ---------------------------------------------------------------------- every side condition has a test that needs it


class Change(ast.NodeTransformer):
    """The n-th weakening of a trusted file: a condition dropped, a relation allowed, a hypothesis lost."""

    def __init__(self, wanted: int) -> None:
        self.wanted, self.seen, self.done = wanted, -1, ""

    def choose(self, node: ast.AST, *changed: ast.expr) -> Any:
        for new in changed:
            self.seen += 1
            if self.seen == self.wanted:
                self.done = f"line {getattr(node, 'lineno', 0)}: {ast.unparse(node)} became {ast.unparse(new)}"
                return ast.copy_location(new, node)
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "_require":
            return self.choose(node, call(node, [ast.Constant(True), *node.args[1:]]), *opposite(node))
        if name == "_read" and all(isinstance(a, ast.Constant) for a in node.args[1:]):
            allowed = {a.value for a in node.args[1:] if isinstance(a, ast.Constant)}
            missing = [r for r in ("=", "!=", ">", ">=") if r not in allowed]
            return self.choose(node, *(call(node, [*node.args, ast.Constant(r)]) for r in missing))
        if name == "_prove" and isinstance(node.args[2], ast.Name):
            empty = ast.parse("frozenset()", mode="eval").body
            return self.choose(node, call(node, [*node.args[:2], empty, *node.args[3:]]))
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        self.generic_visit(node)
        if isinstance(node.op, ast.Or):
            return node
        rest = [[v for v in node.values if v is not dropped] for dropped in node.values]
        return self.choose(node, *(ast.BoolOp(ast.And(), r) if len(r) > 1 else r[0] for r in rest))

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.generic_visit(node)
        if isinstance(node.op, ast.BitOr) and isinstance(node.left, ast.Name) and node.left.id in ("first", "left"):
            return self.choose(node, node.left, node.right)
        if isinstance(node.op, ast.Sub) and isinstance(node.right, ast.Set):
            (lost,) = node.right.elts
            every = f"{{(t, r) for t, r in second if t == {ast.unparse(lost)}[0]}}"
            new = ast.parse(f"{ast.unparse(node.left)} - {every}", mode="eval").body
            return self.choose(node, ast.parse("frozenset()", mode="eval").body, new, node.left)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        self.generic_visit(node)
        names = {n.id for n in ast.walk(node.test) if isinstance(n, ast.Name)}
        return self.choose(node, node.body, node.orelse) if names <= {"r", "s", "function"} else node

    def visit_Set(self, node: ast.Set) -> Any:
        self.generic_visit(node)
        if not all(isinstance(e, ast.Tuple) and isinstance(e.elts[0], ast.Constant) for e in node.elts):
            return node
        present = {ast.literal_eval(e) for e in node.elts}
        relations = ("=", "!=", ">", ">=")
        more = [(r, s) for r in relations for s in relations if r != s and (r, s) not in present]
        return self.choose(node, *(ast.Set([*node.elts, ast.parse(repr(p), mode="eval").body]) for p in more))

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        self.generic_visit(node)
        if isinstance(node.body, ast.Compare):
            return self.choose(node, ast.Lambda(node.args, ast.Constant(True)))
        return node


def call(node: ast.Call, arguments: list[ast.expr]) -> ast.Call:
    return ast.Call(node.func, arguments, node.keywords)


def opposite(node: ast.Call) -> Iterator[ast.Call]:
    """An equation a == b − c that also holds for b + c."""
    test = node.args[0]
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq):
        right = test.comparators[0]
        if isinstance(right, ast.BinOp) and isinstance(right.op, ast.Sub):
            plus = ast.Compare(test.left, test.ops, [ast.BinOp(right.left, ast.Add(), right.right)])
            yield call(node, [ast.BoolOp(ast.Or(), [test, plus]), *node.args[1:]])


TREES = {name: ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8")) for name in FILES}


def changes() -> Iterator[tuple[str, dict[str, ast.Module]]]:
    """Both trusted files, with one side condition removed."""
    for name in FILES:
        for wanted in range(1000):
            change = Change(wanted)
            tree = ast.fix_missing_locations(change.visit(copy.deepcopy(TREES[name])))
            if not change.done:
                break
            yield f"{name} {change.done}", {**TREES, name: tree}


def test_no_side_condition_of_a_rule_can_be_removed_unseen() -> None:
    """A kernel that lacks one condition accepts what the true one refuses, or loses a hypothesis."""
    assert all(kept(rule, GENUINE) for rule in KEPT)
    count, survived = 0, []
    for done, sources in changes():
        count += 1
        try:
            names = environment(sources)
        except TypeError:  # without arithmetic not even the attempts can be written
            continue
        red = any(not refused(attempt, names) for attempt in (*FORGED.values(), *MISUSED.values()))
        if not red and all(kept(rule, names) for rule in KEPT):
            survived.append(done)
        for name in [name for name in sys.modules if name.partition(".")[0] == "changed"]:
            del sys.modules[name]
    assert not survived, "\n".join(survived)
    assert count > 120


# ---------------------------------------------------------------------------------------- false statements of the field


def LN(x: Any, g: Any = None, b: Any = None, eps: Any = 0, placement: Any = "inside") -> Any:
    return lg.layer_norm(x, g, b, eps=eps, placement=placement)


def RMS(x: Any, g: Any = None, eps: Any = 0) -> Any:
    return lg.rms_norm(x, g, eps=eps)


LANGUAGE = {name: getattr(symbolic, name) for name in symbolic.__all__} | {
    "lg": lg, "LN": LN, "RMS": RMS, "P": lg.project, "N": symbolic.square_norm, "D": symbolic.derivative,
    "mean": lambda x: lg.moments(x)[0], "var": lambda x: lg.moments(x)[1], "one": symbolic.ones, "half": Fraction(1, 2),
    **{name: symbolic.vector(name) for name in "xyzvgh"}, **{name: symbolic.scalar(name) for name in "abcs"},
    "eps": symbolic.scalar("eps"),
}  # fmt: skip

EQUAL = """
S(mean(x)) = S(x)
S(S(x)) = dim(x) * S(x)
summed(a) = a * dim(x)
S(term(1)) = d
mean(S(x)) * d = S(x)
D(lambda t: t * D(lambda s: t + s, y, one(y)), x, one(x)) = 2
D(lambda t: D(lambda s: s * t, t, y), x, one(x)) = 0 * y
D(lambda t: t * t, x, v) = x * v
D(lambda t: 1 / t, x, one(x)) = -inv(x)
D(lambda t: root(t), x, one(x)) = inv(root(x))
D(lambda t: LN(t, eps=1), x, x) = 0
D(lambda t: LN(t, eps=1), x, v) = LN(v, eps=1)
D(lambda t: LN(t, eps=1), x, v) = inv(root(var(x) + 1)) * P(v)
D(lambda t: RMS(t, eps=1), x, v) = inv(root(N(x) / dim(x) + 1)) * v
trace(lambda v: v, x) = 1
trace(lambda v: x * v, x) = dim(x)
trace(lambda v: S(v) * x, x) = dim(x) * S(x)
trace(lambda v: trace(lambda w: S(w) * v, x) * one(x), x) = 0 * d
trace(P, x) = dim(x)
trace(P, x) = dim(x) - 2
trace(lg.mean_vector, x) = dim(x)
trace(lambda v: g * P(g * v), x) = N(g)
root(x * x) = x
root(x * x) = -x
root(x) * root(x) = x
root(x * y) = root(x) * root(y)
root(x + y) = root(x) + root(y)
root(a * a) = a
abs(x) = x
abs(x + y) = abs(x) + abs(y)
inv(x) * x = 1
inv(x + y) = inv(x) + inv(y)
inv(x) * x * x = 1
x / x = one(x)
inv(a) * a = 1
S(x * y) = S(x) * S(y)
S(x * x) = S(x) * S(x)
S(x) = x
S(x) * S(x) = dim(x) * N(x)
S(one(x)) = 1
S(inv(x)) = inv(S(x))
S(root(x)) = root(S(x))
S(x * x * x) = S(x) * N(x)
dim(x) = 2
x * y = 0
x = y
x * x = x
P(x) = x
P(x) = lg.mean_vector(x)
P(P(x)) = x
P(x * y) = P(x) * P(y)
P(x) * P(x) = P(x * x)
P(x + a) = P(x) + a
P(g * x) = g * P(x)
P(x) = x - S(x)
P(x) = x - S(x) / (dim(x) - 1)
dot(P(x), x) = N(x)
dot(P(x), y) = dot(x, y)
N(x) = N(P(x))
N(x) = mean(x) ** 2 + var(x)
N(P(x)) = var(x)
N(x + y) = N(x) + N(y)
N(x - y) = N(x) - N(y)
norm(x) = S(abs(x))
norm(x + y) = norm(x) + norm(y)
norm(lg.mean_vector(x)) = mean(x) * root(dim(x))
norm(lg.mean_vector(x)) = abs(mean(x))
norm(one(x)) = dim(x)
var(x) = N(P(x)) / (dim(x) - 1)
var(x) = N(x) / dim(x)
var(x + y) = var(x) + var(y)
var(a * x) = a * var(x)
var(x) = mean(x) ** 2
var(P(x)) = 0
mean(x * y) = mean(x) * mean(y)
mean(LN(x, eps=1)) = mean(x)
mean(LN(x, g, eps=1)) = 0
mean(LN(x, y=1) if False else LN(x, None, y, eps=1)) = 0
mean(RMS(x, eps=1)) = 0
N(LN(x)) = dim(x) - 1
N(LN(x)) = 1
N(LN(x)) = dim(x)
N(LN(x, eps=1)) = dim(x)
N(LN(x, eps=1)) = dim(x) * var(x)
N(LN(x, eps=1)) = dim(x) * N(P(x)) / (N(P(x)) + 1)
N(RMS(x, eps=1)) = dim(x)
N(RMS(x, eps=1)) = 1
var(LN(x, eps=1)) = 1
var(RMS(x, eps=1)) = 1
norm(LN(x, eps=1)) = root(dim(x))
LN(x, eps=1) = P(x)
LN(x, eps=1) = x
LN(x, eps=1) = RMS(x, eps=1)
LN(P(x), eps=1) = P(x)
LN(LN(x, eps=1), eps=1) = LN(x, eps=1)
LN(a * x, eps=1) = LN(x, eps=1)
LN(a * x, eps=1) = a * LN(x, eps=1)
LN(-x, eps=1) = LN(x, eps=1)
LN(x + y, eps=1) = LN(x, eps=1) + LN(y, eps=1)
LN(x + y, eps=1) = LN(x, eps=1)
LN(g * x, eps=1) = g * LN(x, eps=1)
LN(x, g, eps=1) = LN(g * x, eps=1)
LN(x, g, y, eps=1) = g * (LN(x, eps=1) + y)
LN(x, g, eps=1) = LN(x, eps=1) + g
LN(x, eps=1, placement="outside") = LN(x, eps=1)
LN(x, eps=4) = LN(x, eps=1) / 2
LN(2 * x, eps=2) = LN(x, eps=1)
RMS(x + a, eps=1) = RMS(x, eps=1)
RMS(a * x, eps=1) = RMS(x, eps=1)
RMS(P(x), eps=1) = P(RMS(x, eps=1))
RMS(LN(x, eps=1), eps=1) = LN(x, eps=1)
RMS(x, g, eps=1) = RMS(g * x, eps=1)
RMS(x * x, eps=1) = RMS(x, eps=1) ** 2
P(RMS(x, eps=1)) = RMS(x, eps=1)
x - LN(x, eps=1) = lg.mean_vector(x)
dot(LN(x, eps=1), x) = N(x)
dot(LN(x, eps=1), one(x)) = mean(x)
dot(LN(x, eps=1), LN(y, eps=1)) = dot(x, y)
dot(RMS(x, eps=1), one(x)) = 0
N(x + LN(x, eps=1)) = N(x) + dim(x)
N(x + LN(y, eps=1)) = N(x) + N(LN(y, eps=1))
N(x + P(y)) = N(x) + N(P(y))
N(x - y) + N(x + y) = N(x) + N(y)
dot(x, y) ** 2 = N(x) * N(y)
N(x) * N(v) - dot(x, v) ** 2 = N(x * v)
S(g * P(x)) = 0
S(inv(g) * LN(x, g, eps=1)) = 0
lg.invert(LN(x, eps=1), eps=1) = x
lg.invert(LN(x, eps=1), eps=1) = P(x) + mean(x)
lg.scale(var(x), eps=1) = root(var(x)) + 1
lg.scale(var(x), eps=1, placement="outside") = root(var(x) + 1)
lg.gauge(x, eps=1) = 1
lg.mean_vector(x) = x
lg.mean_vector(x * y) = lg.mean_vector(x) * lg.mean_vector(y)
(x + y) ** 2 = x ** 2 + y ** 2
x ** 3 = x
x ** -1 = x
a * x = x
a * b = 0
a = b
a ** 2 = 1
"""

SIGNS = """
x > 0
x >= 0
x != 0
a >= 0
a != 0
-x * x >= 0
x * x > 0
x * y >= 0
x * x - 1 >= 0
S(x) >= 0
S(x * y) >= 0
S(x) != 0
N(x) > 0
N(x) != 0
var(x) > 0
var(x) - 1 >= 0
dim(x) - 1 > 0
dim(x) - 1 != 0
dim(x) - 2 >= 0
2 - dim(x) >= 0
root(x) > 0
root(x) != 0
inv(x) >= 0
inv(x) != 0
inv(x * x) > 0
abs(x) > 0
abs(x) - x > 0
abs(x) + abs(y) - abs(x + y) > 0
dim(x) - N(LN(x, eps=1)) >= 1
N(LN(x, eps=1)) - dim(x) >= 0
N(LN(x, eps=1)) > 0
N(x) - N(P(x)) > 0
N(P(x)) - N(x) >= 0
N(x) - dim(x) * mean(x) >= 0
mean(x) ** 2 - var(x) >= 0
S(x) ** 2 - N(x) >= 0
N(x) - S(x) ** 2 >= 0
N(x) * N(y) - dot(x, y) ** 2 > 0
dot(x, y) ** 2 - N(x) * N(y) >= 0
dot(x, P(y)) >= 0
dot(x, LN(x, eps=1)) > 0
dot(x, g * x) >= 0
N(x + y) - N(x) >= 0
N(x + P(x)) - N(x) > 0
N(LN(x, eps=1)) - N(x) >= 0
N(x) - N(D(lambda t: LN(t, eps=1), x, x)) > 0
x - P(x) >= 0
LN(x, eps=1) >= 0
RMS(x, eps=1) > 0
x * x * x >= 0
a * a - a >= 0
x * x + x >= 0
"""

# Statements with a hypothesis, where the conclusion does not follow.
CONDITIONAL = """
x > 0 |- x - 1 > 0
x >= 0 |- x > 0
x != 0 |- x > 0
x != 0 |- S(x) != 0
S(x) = 0 |- x = 0
S(x) > 0 |- x > 0
S(x) >= 0 |- x >= 0
S(x * y) = 0 |- x * y = 0
x * y = 0 |- x = 0
x * y > 0 |- x > 0
x + y > 0 |- x > 0
x * x = 1 |- x = 1
x * x = y |- root(y) = x
x - y >= 0 |- x * x - y * y >= 0
x - y >= 0 |- inv(y) - inv(x) >= 0
a > 0 |- a * x > 0
a >= 0 |- inv(a) > 0
var(x) > 0 |- N(LN(x)) = 1
var(x) > 0 |- LN(2 * x + 1) = 2 * LN(x)
var(x) > 0 |- mean(x) != 0
var(x) = 0 |- x = 0
mean(x) = 0 |- x = 0
mean(x) = 0 |- LN(x, eps=1) = x
N(x) > 0 |- x != 0
N(x) > 0 |- N(LN(x)) = dim(x)
N(x) > 0 |- S(x) != 0
dot(x, y) = 0 |- P(x) * P(y) = 0
dot(x, y) = 0 |- dot(P(x), P(y)) = 0
dot(x, y) > 0 |- dot(P(x), P(y)) > 0
dot(x, one(x)) = 0 |- dot(g * x, one(x)) = 0
N(x) - N(y) = 0 |- LN(x, eps=1) = LN(y, eps=1)
LN(x, eps=1) = LN(y, eps=1) |- x = y
RMS(x) = RMS(y) |- x = y
P(x) = P(y) |- x = y
g != 0 |- P(g * x) = g * P(x)
g > 0 |- dot(x, g * P(x)) >= 0
eps > 0 |- N(LN(x, eps=eps)) - dim(x) * var(x) >= 0
eps > 0 |- N(LN(x, eps=eps)) = dim(x)
eps > 0 |- LN(a * x, eps=eps) = LN(x, eps=eps)
a > 0 |- N(LN(a * x, eps=1)) = N(LN(x, eps=1))
"""


def statement(line: str) -> Formula:
    """One line as a formula."""
    for sign, build in (
        (" = ", symbolic.equal),
        (" != ", symbolic.unequal),
        (" >= ", symbolic.at_least),
        (" > ", symbolic.greater),
    ):
        if sign in line:
            left, right = line.rsplit(sign, 1)
            return build(symbolic.term(eval(left, LANGUAGE)), eval(right, LANGUAGE))
    raise ValueError(line)


def lines(text: str) -> list[str]:
    return text.strip().splitlines()


@pytest.mark.parametrize("line", [*lines(EQUAL), *lines(SIGNS), *lines(CONDITIONAL)])
def test_a_false_statement_has_a_counterexample_and_no_proof(line: str) -> None:
    hypothesis, _, claim = line.rpartition(" |- ")
    goal, assumed = statement(claim), [statement(hypothesis)] if hypothesis else []
    names = sorted(set(line) & set("xyzvgh")), sorted((set(line) & set("abcs")) | {"eps"})
    with pytest.raises(ProofError):
        prove(goal, *map(assume, assumed))
    random = Random(line)
    for attempt in range(4000):
        n = 1 + attempt % 4
        values = draw(*names, random, n)
        if satisfied(assumed, values, n) and refuted(goal, values, n):
            return
    pytest.fail("no counterexample was found: is the statement true?")


def test_the_collection_is_large_and_without_repetition() -> None:
    honest = [*lines(EQUAL), *lines(SIGNS), *lines(CONDITIONAL)]
    assert len(set(honest)) == len(honest) > 200
    assert len(FORGED | MISUSED) == len(FORGED) + len(MISUSED) > 150
