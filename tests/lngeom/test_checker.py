import ast
import copy
import json
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from lngeom import checker
from lngeom.checker import Refused, digest, recheck
from lngeom.proofs import find
from lngeom.prover import Table, rules as _rules, steps, terms as _terms

from ..support import python
from .prover.attempts import KEPT, MISUSED

Data = dict[str, Any]


def of(theorem: Any) -> dict[str, Any]:
    """The certificate of a theorem whose rules refused nothing."""
    table = Table()
    done = steps(theorem, table)
    statement = {key: done[-1][key] for key in ("hypotheses", "conclusion")}
    head = {"format": checker.FORMAT, "id": "a.b", "words": {}}
    return signed(head | {"statement": statement, "steps": done, "terms": table.nodes})


def signed(data: dict[str, Any]) -> dict[str, Any]:
    return data | {"sha256": digest(data)}


def misused() -> dict[str, Any]:
    """Each misuse of a rule, where rules refuse nothing."""
    made = {}
    with pytest.MonkeyPatch.context() as patch:
        for module in (_rules, _terms):
            patch.setattr(module, "_require", lambda condition, rule: None)
        for name in set(MISUSED) - HARMLESS:
            try:
                theorem = MISUSED[name]()
            except Exception:
                continue
            if isinstance(theorem, _rules.Proved):
                made[name] = theorem
    return made


# Without its conditions a rule still makes something true of these: the one vector in a multiple is replaced.
HARMLESS = {"a multiple is replaced", "a power is replaced", "a product is replaced"}
MISUSES = misused()


def signless() -> Iterator[Data]:
    """Products of a nonnegative and a nonzero term, said to have any sign."""
    products = [theorem for theorem in MISUSES.values() if theorem.rule == "multiply"]
    for theorem in products:
        if {factor.conclusion.relation for factor in theorem.premises} == {">=", "!="}:
            for relation in checker.RELATIONS:
                data = of(theorem)
                data["steps"][-1]["conclusion"][1] = data["statement"]["conclusion"][1] = relation
                yield signed(data)


def test_most_misuses_make_a_certificate() -> None:
    total = {"assume", "dimension", "inverse_total", "root_nonnegative", "square", "inverse_sign", "cut", "others"}
    assert {theorem.rule for theorem in MISUSES.values()} >= set(checker._PREMISES) - total


IDS = ("projection.fixes_hyperplane", "projection.trace", "epsilon.interior", "standardization.norm")


@pytest.fixture(scope="session")
def examples() -> list[Data]:
    proved = [{**find(id).certificates()[-1]} for id in IDS]
    return proved + [of(KEPT[rule]()) for rule in ("combine, sum", "instantiate")]


def traced(data: Data, *nodes: list) -> None:
    """Add nodes, and the trace of the last over the vector of the first place."""
    data["terms"] += [*nodes, ["trace", data["terms"][0][1], len(data["terms"]) + len(nodes) - 1]]


def arguments(data: Data, rule: str, lists: int = 2) -> list[list]:
    """The arguments of a rule in the steps of a certificate, or with `lists` = 2 what stands in them."""
    found = [step["arguments"] for step in data["steps"] if step["rule"] == rule]
    return found if lists == 1 else [pair for one in found for pair in one]


FORGERIES: dict[str, Callable[[Data], Any]] = {
    "a hypothesis of the statement is dropped": lambda c: c["statement"]["hypotheses"].clear(),
    "the statement says more": lambda c: c["statement"]["conclusion"].__setitem__(1, ">"),
    "a hypothesis of a step is dropped": lambda c: c["steps"][-1]["hypotheses"].clear(),
    "a step of no rule": lambda c: c["steps"][-1].update(rule="because"),
    "an internal name as a rule": lambda c: c["steps"][-1].update(rule="_class__", premises=[]),
    "a premise too many": lambda c: c["steps"][-1]["premises"].append(0),
    "an argument too many": lambda c: c["steps"][-1]["arguments"].append(0),
    "no step": lambda c: c["steps"].clear(),
    "a member of a step is missing": lambda c: c["steps"][0].pop("arguments"),
    "a member is missing": lambda c: c.pop("id"),
    "another format": lambda c: c.update(format="lngeom certificate 0"),
    "a term of too many parts": lambda c: c["terms"].append(["inv", 0, 0]),
    "a term twice": lambda c: c["terms"].append([*c["terms"][-1]]),
    "an empty term": lambda c: c["terms"].append([]),
    "a float": lambda c: c["terms"].append(["q", 0.5, 1]),
    "a denominator of 0": lambda c: c["terms"].append(["q", 1, 0]),
    "a negative power": lambda c: c["terms"].append(["^", 0, -1]),
    "a name that is none": lambda c: c["terms"].append(["v", "1/d"]),
    "a trace of what is not linear": lambda c: c["terms"].extend([["^", 0, 2], ["trace", "x", len(c["terms"])]]),
    "a trace of another vector": lambda c: traced(c, ["v", "another"]),
    "a trace of a square of sums": lambda c: traced(c, ["S", 0], ["^", len(c["terms"]), 2]),
    "a trace of a product with a root": lambda c: traced(c, ["sqrt", 0], ["*", 0, len(c["terms"])]),
    "a trace over what does not occur": lambda c: c["terms"].append(["trace", "another", 0]),
    "words in a list": lambda c: c.update(words=[*c["words"]]),
    "a word that is no text": lambda c: c["words"].update(title=1),
    "a word of two lines": lambda c: c["words"].update(title="a\nb"),
    "a name that is a number": lambda c: c["terms"].append(["v", 3]),
    "a sum of nothing": lambda c: c["terms"].append(["+"]),
    "a list as a kind": lambda c: c["terms"].append([[], 0]),
    "a factor too many": lambda c: [pair.append(0) for pair in arguments(c, "combine") if len(pair) == 2],
    "a name that is replaced twice": lambda c: [pairs.append(pairs[0]) for pairs in arguments(c, "instantiate", 1)],
    "a step that is a list": lambda c: c["steps"].__setitem__(0, list(c["steps"][0])),
    "a statement that is a list": lambda c: c.update(statement=list(c["statement"])),
    "a member of the statement too many": lambda c: c["statement"].update(trusted=1),
}  # fmt: skip


class Anything(str):
    """A text that equals every other, and stands in a table where ``!=`` stands."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("!=")


def disguised(value: Any) -> Iterator[Any]:
    """Copies of a certificate with one part of a class derived from its own."""
    kinds = {str: Anything, **{kind: type(kind.__name__, (kind,), {}) for kind in (int, list, dict)}}
    yield kinds[type(value)](value)
    if type(value) in (list, dict):
        for place, part in list(enumerate(value) if type(value) is list else value.items()):
            for changed in disguised(part):
                yield (
                    {**value, place: changed} if type(value) is dict else [*value[:place], changed, *value[place + 1 :]]
                )


@pytest.mark.parametrize("rule", sorted(checker._PREMISES))
def test_no_rule_takes_what_only_seems_to_be_text(rule: str) -> None:
    data = next(of(make()) for make in KEPT.values() if make().rule == rule)
    step = data["steps"][-1]
    for relation in checker.RELATIONS:
        forged = copy.deepcopy(data)
        for conclusion in (forged["statement"]["conclusion"], forged["steps"][-1]["conclusion"]):
            conclusion[1] = Anything(relation)
        with pytest.raises(checker.Malformed, match="of type Anything"):
            recheck(signed(forged))
    for changed in disguised(step):
        with pytest.raises(checker.Malformed, match="of type"):
            recheck(signed({**data, "steps": [*data["steps"][:-1], changed]}))


def test_it_runs_alone(tmp_path) -> None:
    """In a Python that cannot import this project, on files."""
    good: Data = {**find("epsilon.interior").certificates()[-1]}
    bad: Data = {**find("projection.idempotent").certificates()[-1]}
    bad["steps"][-1]["conclusion"][1] = ">"
    for name, data in (("good", good), ("bad", signed(bad))):
        (tmp_path / f"{name}.json").write_text(json.dumps(data), encoding="utf-8")
    code = (
        "import runpy, sys\n"
        "for name in ('lngeom', 'proofs', 'empirical'): sys.modules[name] = None\n"
        "sys.argv = sys.argv[1:]\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    done = python("-c", code, checker.__file__, "good.json", "bad.json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    first, second = done.stdout.splitlines()
    assert first.endswith(f"{len(good['steps'])} steps follow")
    assert "refused, step 0 (combine) states what does not follow" in second


def _file(terms: str, *more: Data, extra: str = "") -> str:
    """A signed certificate of 1 > 0, with other terms and steps beside it."""
    first: Data = {"rule": "constant", "premises": [], "arguments": [], "conclusion": [0, ">"]}
    done = [{**step, "hypotheses": []} for step in (first, *more)]
    nodes = [["q", 1, 1], ["v", "x"], ["s", "a"], ["+", 1, 2], *json.loads(terms)]
    data = {"format": checker.FORMAT, "id": "a.b", "words": {}, "steps": done, "terms": nodes}
    statement = {"hypotheses": [], "conclusion": done[-1]["conclusion"]}
    return json.dumps(signed(data | {"statement": statement}))[:-1] + extra + "}"


HOSTILE = {
    "a member twice": (_file("[]", extra=', "id": "a.b"'), "two members 'id'"),
    "lists in lists": ("[" * 100_000 + "]" * 100_000, "too deep"),
    "roots in roots": (
        _file(
            json.dumps([["sqrt", k] for k in (1, *range(4, 3000))]),
            {"rule": "root_nonnegative", "premises": [], "arguments": [2999], "conclusion": [3000, ">="]},
            {"rule": "instantiate", "premises": [1], "arguments": [[1, 3]], "conclusion": [3000, ">="]},
        ),
        "too deep",
    ),
    "a power of a power": (_file('[["q", 10, 1], ["^", 4, 999], ["^", 5, 999]]'), "grow too large"),
    "a power of a thousand": (_file('[["^", 1, 1000]]'), "1000 is not an integer from 0 to below 1000"),
    "a power of a sum": (
        _file('[["S", 3], ["+", 3, 4], ["inv", 3], ["+", 5, 6], ["^", 7, 999]]'),
        "products of monomials",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_in_one_line(name: str, tmp_path, capsys) -> None:
    text, message = HOSTILE[name]
    (tmp_path / "hostile.json").write_text(text, encoding="utf-8")
    assert checker.main([str(tmp_path / "hostile.json")]) == 1
    printed = capsys.readouterr().out
    assert "refused, " in printed
    assert message in printed
    assert printed.count("\n") == 1


@pytest.mark.parametrize("member", ["format", "id", "words", "sha256", "statement", "terms", "steps"])
def test_a_number_that_python_does_not_print_is_refused(member: str) -> None:
    data = json.loads(_file("[]"))
    for value in (10**5000, [["q", 10**5000, 1]]):
        with pytest.raises(Refused):
            recheck(data | {member: value})


def test_what_is_hostile_is_not_the_rest_of_the_file(tmp_path) -> None:
    (tmp_path / "plain.json").write_text(_file("[]"), encoding="utf-8")
    assert checker.main([str(tmp_path / "plain.json")]) == 0


class Change(ast.NodeTransformer):
    """The n-th weakening of the checker: a condition dropped, or a hypothesis lost."""

    def __init__(self, wanted: int) -> None:
        self.wanted, self.seen, self.done = wanted, -1, ""

    def choose(self, node: ast.AST, *changed: ast.expr) -> Any:
        for new in changed:
            self.seen += 1
            if self.seen == self.wanted:
                self.done = f"line {getattr(node, 'lineno', 0)}: {ast.unparse(node)} became {ast.unparse(new)}"
                return ast.copy_location(new, node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        # What `times` refuses would take too long or too much memory; it may be true.
        return node if node.name == "times" else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "_need":
            return self.choose(node, ast.Call(node.func, [ast.Constant(True), *node.args[1:]], node.keywords))
        if isinstance(node.func, ast.Attribute) and node.func.attr == "union":
            return self.choose(node, node.func.value)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        self.generic_visit(node)
        rest = [[v for v in node.values if v is not dropped] for dropped in node.values]
        weaker = [ast.BoolOp(ast.And(), kept) if len(kept) > 1 else kept[0] for kept in rest]
        return self.choose(node, *weaker) if isinstance(node.op, ast.And) else node

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.generic_visit(node)
        sets = isinstance(node.op, ast.BitOr) and isinstance(node.left, ast.Name) and node.left.id == "first"
        return self.choose(node, node.left, node.right) if sets else node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        self.generic_visit(node)
        if not isinstance(node.body, ast.Tuple) or isinstance(node.body.elts[0], ast.Constant):
            return node
        weaker = ast.Tuple([ast.Constant(True), *node.body.elts[1:]], ast.Load())
        return self.choose(node, ast.Lambda(node.args, weaker))


TEXT = Path(checker.__file__).read_text(encoding="utf-8")


def weakened() -> Iterator[tuple[str, dict[str, Any]]]:
    """The checker without one of its conditions, or with a premise of a rule that reads as it must not."""
    for wanted in range(1000):
        change = Change(wanted)
        tree = ast.fix_missing_locations(change.visit(ast.parse(TEXT)))
        if not change.done:
            break
        yield change.done, executed(compile(tree, "checker.py", "exec"))
    whole = compile(TEXT, "checker.py", "exec")
    for rule, premises in checker._PREMISES.items():
        premises = premises or ()
        for k, allowed in enumerate(premises):
            for relation in set(checker.RELATIONS) - set(allowed.split()):
                names = executed(whole)
                names["_PREMISES"][rule] = (*premises[:k], f"{allowed} {relation}", *premises[k + 1 :])
                yield f"premise {k} of {rule} may read {relation} 0", names
    for pair in {(a, b) for a in checker.RELATIONS for b in checker.RELATIONS if a != b} - set(checker._WEAKER):
        names = executed(whole)
        names["_WEAKER"] += (pair,)
        yield f"from {pair[0]} to {pair[1]}", names


def executed(code: types.CodeType) -> dict[str, Any]:
    """The names of a changed checker."""
    module = types.ModuleType("weakened")
    exec(code, vars(module))
    return vars(module)


def accepted(text: str, names: Mapping[str, Any]) -> bool:
    """Whether a checker does not refuse a file; what ends it in another way is no refusal."""
    try:
        for data in names["loaded"](text):
            names["recheck"](data)
    except names["Refused"]:
        return False
    except Exception:
        return True
    return True


def test_no_condition_of_the_checker_can_be_removed_unseen(examples: list[Data]) -> None:
    kept = [of(attempt()) for attempt in KEPT.values()]
    assert {step["rule"] for data in kept for step in data["steps"]} == set(checker._PREMISES)
    good = [json.dumps(data) for data in (*kept, *examples)]
    assert [text for text in good if not accepted(text, vars(checker))] == []
    named: dict[str, list[Any]] = {name: [of(theorem)] for name, theorem in MISUSES.items()}
    named["a product without a sign"] = [*signless()]
    for name, forgery in FORGERIES.items():
        changed = copy.deepcopy(examples)
        for each in changed:
            forgery(each)
        named[name] = [signed(each) for each, example in zip(changed, examples, strict=True) if each != example]
    named["no object, or another's hash"] = [[list(examples[0])], examples[0] | {"id": "another.one"}, []]
    assert [name for name, forged in named.items() if not forged] == []
    bad = [(name, json.dumps(each)) for name, forged in named.items() for each in forged]
    bad.append(("a member twice", HOSTILE["a member twice"][0]))
    assert [name for name, text in bad if accepted(text, vars(checker))] == []
    count, survived = 0, []
    for done, names in weakened():
        count += 1
        red = next((each for each in bad if accepted(each[1], names)), None)
        if red is not None:  # what sees one weakening is likely to see the next
            bad.remove(red)
            bad.insert(0, red)
        elif all(accepted(text, names) for text in good):
            survived.append(done)
    assert not survived, "\n".join(survived)
    assert count > 100
