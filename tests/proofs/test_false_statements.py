"""Statements that must have no proof: forged objects, misused rules, and honest errors of the field."""

import ast
import inspect
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lngeom import kernel
from lngeom.kernel import ProofError, assume, prove, scalar, term, vector
from lngeom.theorems._run import Condition, Wrong
from lngeom.theorems._search import TRIES, Search

from . import attempts
from .attempts import FORGED, KEPT, MISUSED, Attempt
from .false_statements import STATEMENTS

FOLDER = Path(kernel.__file__).parent
FILES = ("_terms", "_rules")

ATTEMPTS = compile(Path(attempts.__file__).read_text(encoding="utf-8"), attempts.__file__, "exec")


def environment(sources: dict[str, ast.Module] | None = None) -> dict[str, Any]:
    """The names of the attempts, on the two trusted files or on changed sources of them."""
    if sources is None:
        return dict(vars(attempts))
    package = types.ModuleType("changed")
    package.__path__ = [str(FOLDER)]
    sys.modules["changed"] = package
    kept = {name: sys.modules[name] for name in ("lngeom.kernel", *(f"lngeom.kernel.{file}" for file in sources))}
    sys.modules["lngeom.kernel"] = changed = types.ModuleType("lngeom.kernel")
    names: dict[str, Any] = {"__name__": "attempts"}
    try:
        for name, tree in sources.items():
            module = types.ModuleType(f"changed.{name}")
            sys.modules[module.__name__], module.__package__ = module, "changed"
            exec(compile(tree, f"{name}.py", "exec"), vars(module))
            sys.modules[f"lngeom.kernel.{name}"] = module
            vars(changed).update(vars(module))
        exec(ATTEMPTS, names)
    finally:
        sys.modules.update(kept)
    return names


def attempted(kind: str, name: str, names: dict[str, Any]) -> Any:
    """The result of an attempt."""
    attempt: Attempt = names[kind][name]
    return attempt()


def refused(kind: str, name: str, names: dict[str, Any]) -> bool:
    """Whether the kernel says no, in its own words."""
    try:
        attempted(kind, name, names)
    except names["ProofError"]:
        return True
    except IndexError as error:
        return "Ellipsis" in str(error)  # the component of a vector
    except Exception:
        return False
    return False


def kept(rule: str, names: dict[str, Any]) -> bool:
    """Whether a rule concludes what it should, from the hypotheses that it needs."""
    attempt, hypotheses, conclusion = names["KEPT"][rule]
    try:
        proof = attempt()
        return {(h.term.pairs, h.relation) for h in proof.hypotheses} == {(t.pairs, r) for t, r in hypotheses} and (
            (proof.conclusion.term.pairs, proof.conclusion.relation) == (conclusion[0].pairs, conclusion[1])
        )
    except Exception:
        return False


GENUINE = environment()


TRIED = [("FORGED", name) for name in FORGED] + [("MISUSED", name) for name in MISUSED]


@pytest.mark.parametrize(("kind", "name"), TRIED)
def test_refused(kind: str, name: str) -> None:
    assert refused(kind, name, GENUINE)


@pytest.mark.parametrize("rule", KEPT)
def test_rules_keep_their_hypotheses(rule: str) -> None:
    assert kept(rule, GENUINE)


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


TEXTS = {name: (FOLDER / f"{name}.py").read_text(encoding="utf-8") for name in FILES}
TREES = {name: ast.parse(text) for name, text in TEXTS.items()}


def changes() -> Iterator[tuple[str, dict[str, ast.Module]]]:
    """Both trusted files, with one side condition removed."""
    for name in FILES:
        for wanted in range(1000):
            change = Change(wanted)
            tree = ast.fix_missing_locations(change.visit(ast.parse(TEXTS[name])))
            if not change.done:
                break
            yield f"{name} {change.done}", {**TREES, name: tree}


def test_no_side_condition_of_a_rule_can_be_removed_unseen() -> None:
    """A kernel that lacks one condition accepts what the true one refuses, or loses a hypothesis."""
    assert all(kept(rule, GENUINE) for rule in KEPT)
    count, survived, tried = 0, [], [*TRIED]
    for done, sources in changes():
        count += 1
        try:
            names = environment(sources)
        except TypeError:  # without arithmetic not even the attempts can be written
            continue
        red = next((attempt for attempt in tried if not refused(*attempt, names)), None)
        if red is not None:  # what sees one weakening is likely to see the next
            tried.remove(red)
            tried.insert(0, red)
        elif all(kept(rule, names) for rule in KEPT):
            survived.append(done)
        for name in [name for name in sys.modules if name.partition(".")[0] == "changed"]:
            del sys.modules[name]
    assert not survived, "\n".join(survived)
    assert count > 120


# ---------------------------------------------------------------------------------------- false statements of the field


@pytest.mark.parametrize("claim", STATEMENTS, ids=lambda claim: inspect.getsource(claim).strip().rstrip(","))
def test_a_false_statement_has_a_counterexample_and_no_proof(claim: Callable[..., Any]) -> None:
    kinds = {name: "vector" if name in "xyzvgh" else "scalar" for name in inspect.signature(claim).parameters}
    goal, *assumed = claim(**{name: (vector if kind == "vector" else scalar)(name) for name, kind in kinds.items()})
    goal = goal._replace(term=term(goal.term))
    with pytest.raises(ProofError):
        prove(goal, *map(assume, assumed))
    given = {str(formula): Condition(str(formula), formula, None, "", None) for formula in assumed}
    variant = Wrong("false", (goal,), given)
    assert Search(kinds, variant).smallest(total=True, tries=TRIES), "is the statement true?"


def test_the_collection_is_large_and_without_repetition() -> None:
    assert len({inspect.getsource(claim) for claim in STATEMENTS}) == len(STATEMENTS) > 200
    assert len(FORGED | MISUSED) == len(FORGED) + len(MISUSED) > 150
