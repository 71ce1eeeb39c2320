"""The source of a kernel as a function that Python runs on traced values; what has no place in it is refused."""

import ast
import inspect
import textwrap
import weakref
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

ADDED, ADDS, SUM = "__added__", "__adds__", "__sum__"
COMPARED, GONE, JOINED, STEPPED = "__compared__", "__gone__", "__joined__", "__stepped__"
"""Names of what the function finds around it."""
_NAMED = (
    "Expr Pass Assign AnnAssign AugAssign If For Return Constant Name Load Store Tuple List Attribute BinOp Add Sub "
    "Mult Div FloorDiv Mod BitAnd Compare Subscript Slice Call keyword UnaryOp USub Not BoolOp And Or IfExp"
)
_READ = tuple(getattr(ast, name) for name in _NAMED.split())
_COMPARISONS = {"NotEq": "ne", "LtE": "le", "GtE": "ge", "Is": "is_", "IsNot": "is_not"}
_ATTRIBUTES = ("dtype", "type", "element_ty", "to")


def _placed(lines: Iterable[str], at: ast.AST) -> list[Any]:
    """Statements at the place of another one."""
    made = ast.parse("\n".join(lines))
    for node in ast.walk(made):
        ast.copy_location(node, at)
    return made.body


def _steps(body: list[ast.stmt], condition: ast.expr | None = None) -> Iterator[tuple[str, ast.expr, ast.expr | None]]:
    """What each turn adds to a name, and under which condition."""
    for node in body:
        match node:
            case ast.AugAssign(ast.Name(id=name), ast.Add(), value):
                yield name, value, condition
            case ast.If(test, inner, []) if condition is None:
                yield from _steps(inner, test)


def _names(nodes: Iterable[ast.AST], context: type[ast.expr_context] = ast.Load) -> list[str]:
    """The names that are read, or written, as often as they are."""
    parts = (part for node in nodes for part in ast.walk(node))
    return [one.id for one in parts if isinstance(one, ast.Name) and isinstance(one.ctx, context)]


def _ended(body: list[ast.stmt]) -> list[ast.stmt]:
    """``if test: ...; return`` with all that follows it as its ``else``."""
    for k, node in enumerate(body):
        match node:
            case ast.If(_, [*first, ast.Return(None)], []):
                node.body, node.orelse = first or [ast.Pass()], _ended(body[k + 1 :])
                return body[: k + 1]
    return body


class _Steps(ast.NodeTransformer):
    """``p = p + step`` and ``p = tl.advance(p, step)`` as ``p += step``."""

    def visit_Assign(self, node: ast.Assign) -> Any:
        match node:
            case ast.Assign([ast.Name(id=name) as target], ast.BinOp(ast.Name(id=same), how, value)) if name == same:
                pass
            case ast.Assign([ast.Name(id=name) as target], ast.Call(function, [ast.Name(id=same), steps])) if (
                name == same and getattr(function, "attr", "") == "advance"
            ):
                how, value = ast.Add(), ast.Call(function, [ast.Constant(None), steps], [])
            case _:
                return node
        return ast.copy_location(ast.AugAssign(target, how, value), node)


class _Bound(ast.NodeTransformer):
    """What Triton makes of Python: ``+=`` binds a name anew, and ``and`` of blocks joins them lane by lane."""

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        old = ast.Name(ast.unparse(node.target), ast.Load())
        return ast.copy_location(ast.Assign([node.target], ast.BinOp(old, node.op, self.visit(node.value))), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        """Each part is asked for when those before leave it open."""
        parts = ", ".join(f"lambda: {ast.unparse(self.visit(part))}" for part in node.values)
        return _placed([f"{JOINED}({type(node.op).__name__!r}, {parts})"], node)[0].value


class _Reader(_Bound):
    """A loop runs once, on an arbitrary turn: what all turns add is found after it, and all else of a turn is gone.

    What a turn adds to an address, by as much each, it has had added by the turns before.

    Attributes:
        scopes: The names of the function and of each loop around a statement.
        sums: Those that each loop adds to.
    """

    def __init__(self, refuse: Callable[[str, str], Any], file: str, names: set[str]) -> None:
        self.file, self.scopes, self.sums = Path(file).name, [names], list[set[str]]()
        self.refuse = lambda what, n: refuse(what, f" ({self.file}:{n.lineno}: {ast.unparse(n).splitlines()[0]})"[:160])

    def visit(self, node: ast.AST) -> Any:
        match node:
            case ast.Return(value) if len(self.scopes) == 1 and value is not None:
                pass
            case ast.Return() | ast.keyword(arg=None) | ast.Assign([_, _, *_]) | ast.Compare(ops=[_, _, *_]):
                self.refuse("what is not followed in a kernel", node)
            case ast.Expr(value) if not isinstance(value, ast.Call | ast.Constant):
                self.refuse("a statement that is not followed", node)
            case ast.Attribute(value, name):
                while isinstance(value, ast.Attribute):
                    value = value.value
                language = isinstance(value, ast.Name) and not any(value.id in scope for scope in self.scopes)
                if name not in _ATTRIBUTES and (name.startswith("_") or not language):
                    self.refuse(f"{name} is asked for", node)
            case ast.BinOp(op=how) | ast.UnaryOp(op=how) | ast.AugAssign(op=how) | how if not isinstance(how, _READ):
                self.refuse("what is not followed in a kernel", node)
        return super().visit(node)

    def _bind(self, target: ast.expr) -> None:
        names = {getattr(one, "id", "") for one in (target.elts if isinstance(target, ast.Tuple) else [target])}
        if "" in names or names & (set().union(*self.scopes[:-1]) - self.scopes[-1]):
            self.refuse("what lives longer than the loop is changed otherwise than by +=", target)
        self.scopes[-1] |= names

    def visit_Assign(self, node: Any) -> Any:
        self.generic_visit(node)
        self._bind(node.targets[0] if isinstance(node, ast.Assign) else node.target)
        return node

    visit_AnnAssign = visit_Assign

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """``name += value``: in a loop, one term of a sum if the name lives longer."""
        name, value = ast.unparse(node.target), self.visit(node.value)
        if name in self.scopes[-1]:
            return self.generic_visit(node)
        if len(self.scopes) < 2 or name not in self.scopes[-2] or not isinstance(node.op, ast.Add):
            self.refuse(f"{name} lives longer than the loop, and is changed otherwise than by +=", node)
        self.sums[-1].add(name)
        return _placed([f"{ADDED}({name!r}, {ast.unparse(value)})"], node)

    def visit_If(self, node: ast.If) -> Any:
        """Names that one side binds are none of the other side."""
        node.test, before, known = self.visit(node.test), {*self.scopes[-1]}, set[str]()
        for side in (node.body, node.orelse):
            self.scopes[-1] = {*before}
            side[:] = self.generic_visit(ast.Module(side, [])).body  # type: ignore[attr-defined]
            known |= self.scopes[-1]
        self.scopes[-1] = known
        return node

    def visit_For(self, node: ast.For) -> Any:
        name = getattr(node.iter, "func", None)
        if node.orelse or getattr(name, "id", getattr(name, "attr", "")) not in ("range", "static_range"):
            self.refuse("a loop over something else than a range", node)
        stored = _names([node.target, *node.body], ast.Store)
        read = self.scopes[-1] & {*_names(node.body)}
        steps = [step for step in _steps(node.body) if step[0] in read]
        for name, *parts in steps:
            once = stored.count(name) == sum(name == each for each, *_ in steps)
            if not once or {*stored} & {*_names(part for part in parts if part)}:
                self.refuse(f"{name} is read in the loop that adds to it", node)
        self.scopes.append({name for name, *_ in steps})
        self.sums.append(set())
        self._bind(node.target)
        moved = [f"{name} = {STEPPED}({name}, {ast.unparse(value)})" for name, value, _ in steps]
        where = [f"if {ast.unparse(test)}: " if test else "" for _, _, test in steps]
        node.body = [*_placed(map(str.__add__, where, moved), node), *node.body]
        self.generic_visit(node)
        names, sums = self.scopes.pop(), self.sums.pop()
        if read := sums & {*_names(node.body)}:
            self.refuse(f"{min(read)} is read in the loop that adds to it", node)
        after = [f"{name} = {GONE}" for name in names]
        after += [f"if {ADDS}({name!r}): {name} = {SUM}({name!r}, {name})" for name in sorted(sums)]
        return [node, *_placed(after, node)]

    def visit_Compare(self, node: ast.Compare) -> Any:
        how = _COMPARISONS.get(name := type(node.ops[0]).__name__, name.lower())
        left, right = (ast.unparse(self.visit(part)) for part in (node.left, *node.comparators))
        return _placed([f"{COMPARED}({how!r}, {left}, {right})"], node)[0].value


_CODES = weakref.WeakKeyDictionary[Any, CodeType](), weakref.WeakKeyDictionary[Any, CodeType]()
"""Of functions that run, and of those that are followed."""


def read(function: Any, refuse: Callable[[str, str], Any] | None = None) -> CodeType:
    """The definition of a function of Triton among the names around it: followed if there is `refuse`, or else run."""
    codes = _CODES[refuse is not None]
    if function not in codes:
        file, names = function.__code__.co_filename, list(inspect.signature(function).parameters)
        node = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
        assert isinstance(node, ast.FunctionDef)
        ast.increment_lineno(node, function.__code__.co_firstlineno - 1)
        node.args = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
        reader = _Bound() if refuse is None else _Reader(refuse, file, set(names))
        if refuse is not None:
            node.body = _Steps().visit(ast.Module(_ended(node.body), [])).body
        node.body = reader.generic_visit(ast.Module(node.body, [])).body  # type: ignore[attr-defined]
        node.decorator_list, node.returns = [], None
        codes[function] = compile(ast.fix_missing_locations(ast.Module([node], [])), file, "exec")
    return codes[function]
