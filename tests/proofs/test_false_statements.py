"""What must have no proof: forged objects, misused rules, and honest false statements of the field."""

import ast
import functools
import sys
import tomllib
import types
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, settings, strategies as st

import lngeom as lg
from lngeom import kernel
from lngeom.kernel import Formula, ProofError, assume, holds, prove
from lngeom.strategies import scalars, vectors

FOLDER = Path(kernel.__file__).parent
FILES = ("_terms", "_rules")

DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
FORGED, MISUSED, KEPT = DATA["forged"], DATA["misused"], DATA["kept"]
STATEMENTS = DATA["statements"].splitlines()


def environment(sources: dict[str, ast.Module] | None = None) -> dict[str, Any]:
    """The names of the two trusted files, with changed sources if given, and the helpers of the attempts."""
    if sources is None:
        modules = [sys.modules[f"lngeom.kernel.{name}"] for name in FILES]
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
    exec(DATA["setting"], names)
    names["zero2"] = names["given"](names["w"], ">=")
    return names


@functools.cache
def read(attempt: str) -> types.CodeType:
    return compile(attempt, "an attempt", "eval")


def refused(attempt: str, names: dict[str, Any]) -> bool:
    """Whether the kernel says no, in its own words."""
    try:
        eval(read(attempt), names)
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
        theorem = eval(read(attempt), names)
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


def test_no_rule_rests_on_an_assertion() -> None:
    """Python -O strips assert statements and makes __debug__ false, which is all that it changes."""
    nodes = [node for tree in TREES.values() for node in ast.walk(tree)]
    assert len(nodes) > 1000
    assert not [node for node in nodes if isinstance(node, ast.Assert)]
    assert not [node for node in nodes if isinstance(node, ast.Name) and node.id == "__debug__"]


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
    count, survived, attempts = 0, [], [*FORGED.values(), *MISUSED.values()]
    for done, sources in changes():
        count += 1
        try:
            names = environment(sources)
        except TypeError:  # without arithmetic not even the attempts can be written
            continue
        red = next((attempt for attempt in attempts if not refused(attempt, names)), None)
        if red is not None:  # what sees one weakening is likely to see the next
            attempts.remove(red)
            attempts.insert(0, red)
        elif all(kept(rule, names) for rule in KEPT):
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


SEARCH = settings(
    max_examples=4000, derandomize=True, database=None, deadline=None, phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
LANGUAGE = {name: getattr(kernel, name) for name in kernel.__all__} | {
    "lg": lg, "LN": LN, "RMS": RMS, "P": lg.project, "N": kernel.square_norm, "D": kernel.derivative,
    "mean": lambda x: lg.moments(x)[0], "var": lambda x: lg.moments(x)[1], "one": kernel.ones, "half": Fraction(1, 2),
    **{name: kernel.vector(name) for name in "xyzvgh"}, **{name: kernel.scalar(name) for name in "abcs"},
    "eps": kernel.scalar("eps"),
}  # fmt: skip


def statement(line: str) -> Formula:
    """One line as a formula."""
    for sign, build in (
        (" = ", kernel.equal),
        (" != ", kernel.unequal),
        (" >= ", kernel.at_least),
        (" > ", kernel.greater),
    ):
        if sign in line:
            left, right = line.rsplit(sign, 1)
            return build(kernel.term(eval(left, LANGUAGE)), eval(right, LANGUAGE))
    raise ValueError(line)


@pytest.mark.parametrize("line", STATEMENTS)
def test_a_false_statement_has_a_counterexample_and_no_proof(line: str) -> None:
    hypothesis, _, claim = line.rpartition(" |- ")
    goal, assumed = statement(claim), [statement(hypothesis)] if hypothesis else []
    with pytest.raises(ProofError):
        prove(goal, *map(assume, assumed))
    drawn, numbers = set(line) & set("xyzvgh"), set(line) & set("abcs")

    def models(n: int) -> st.SearchStrategy[tuple[int, dict[str, Any]]]:
        values = {name: vectors(n) for name in sorted(drawn)} | {name: scalars() for name in sorted(numbers)}
        return st.tuples(st.just(n), st.fixed_dictionaries({**values, "eps": scalars(">=")}))

    def refuted(model: tuple[int, dict[str, Any]]) -> bool:
        n, values = model
        return all(holds(one, values, n) for one in assumed) and holds(goal, values, n) is False

    # Hypothesis raises where it finds none: is the statement true?
    find(st.integers(1, 4).flatmap(models), refuted, settings=SEARCH)


def test_the_collection_is_large_and_without_repetition() -> None:
    assert len(set(STATEMENTS)) == len(STATEMENTS) > 200
    assert len(FORGED | MISUSED) == len(FORGED) + len(MISUSED) > 150
