"""The body of a kernel, read from its source and followed on blocks; the rest is refused with its line."""

from __future__ import annotations

import ast
import functools
import inspect
import operator
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .._trace import Trace
from ._blocks import Blocks, Mask, Pointer, Sums, Tile
from ._memory import Accesses
from ._whole import PROGRAM, Loop, Space, Whole, quotient, symbol, whole
from .stand_in import FUNCTIONS

_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}  # fmt: skip
_COMPARED: dict[type, Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip
_FLOATS = ("bfloat16", "float16", "float32", "float64")
_RANGES = (range, "range")
_HINTS = {"eviction_policy", "cache_modifier"}


class Language(str):
    """A name in the modules of Triton."""

    __slots__ = ()


class Return(Exception):
    """The end of a function, with its value."""


@dataclass
class Frame:
    """A function that is being followed: its names and those of each loop, what loops add to names, and read."""

    function: Any
    scopes: list[dict[str, Any]]
    sums: list[dict[str, list[Any]]] = field(default_factory=list)
    reads: list[set[str]] = field(default_factory=list)


@functools.cache
def _parsed(function: Any) -> ast.FunctionDef:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    ast.increment_lineno(tree, function.__code__.co_firstlineno - 1)
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    return definition


def _is_language(value: Any) -> bool:
    name = value.__name__ if inspect.ismodule(value) else str(getattr(value, "__module__", ""))
    return name.partition(".")[0] == "triton" or name == f"{__package__}.stand_in"


class Interpreter:
    """One launch of a kernel, for an arbitrary program."""

    def __init__(self, trace: Trace, grid: Whole, tuned: bool) -> None:
        self.trace, self.refuse, self.space = trace, trace.refuse, Space(grid)
        self.blocks = Blocks(trace, self.space)
        self.accesses = Accesses(trace, self.space, self.blocks, tuned)
        self.frames: list[Frame] = []

    def call(self, function: Any, arguments: dict[str, Any]) -> object:
        """Follow a function of Triton to its end."""
        if function.__code__.co_freevars:
            self.refuse("a kernel that reads names of the function around it")
        self.trace.sources[function.__code__.co_qualname] = function.__code__
        self.frames.append(Frame(function, [dict(arguments)]))
        try:
            self._block(_parsed(function).body)
        except Return as end:
            return end.args[0]
        finally:
            self.frames.pop()
        return None

    def _block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            file = Path(self.frames[-1].function.__code__.co_filename).name
            self.trace.line = f"{file}:{statement.lineno}: {ast.unparse(statement).splitlines()[0]}"
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(ast.Call() as value):
                self._value(value)
            case ast.Assign([ast.Name(id=name)], ast.BinOp(ast.Name(id=same), ast.Add(), right)) if same == name:
                self._added(name, ast.Add(), right)
            case ast.Assign([target], value) | ast.AnnAssign(target, _, ast.expr() as value):
                self._assign(target, self._value(value))
            case ast.AugAssign(ast.Name(id=name), how, value):
                self._added(name, how, value)
            case ast.If(test, body, other):
                self._block(body if self._truth(test) else other)
            case ast.For(ast.Name(id=name), ast.Call(function, over, []), body, []) if self._value(function) in (
                range,
                "range",
            ):
                self._turns(name, [self.blocks.whole(self._value(bound)) for bound in over], body)
            case ast.Return(ast.expr() as value) if not self.frames[-1].sums:
                raise Return(self._value(value))
            case _:
                self.refuse("a statement that is not followed")

    def _assign(self, target: ast.expr, value: object) -> None:
        scopes = self.frames[-1].scopes
        if isinstance(target, ast.Tuple) and isinstance(value, tuple) and len(target.elts) == len(value):
            for part, one in zip(target.elts, value, strict=True):
                self._assign(part, one)
        elif not isinstance(target, ast.Name) or any(target.id in scope for scope in scopes[:-1]):
            self.refuse("what lives longer than the loop is changed otherwise than by +=")
        else:
            scopes[-1][target.id] = value

    def _added(self, name: str, how: ast.operator, value: ast.expr) -> None:
        """``name += value``: in a loop, one term of a sum if the name lives longer."""
        frame = self.frames[-1]
        if name in frame.scopes[-1]:
            frame.scopes[-1][name] = self._binary(how, frame.scopes[-1][name], self._value(value))
            return
        before = frame.scopes[-2].get(name) if len(frame.scopes) > 1 else None
        if not isinstance(before, Tile | float | int) or not isinstance(how, ast.Add):
            self.refuse(f"{name} lives longer than the loop, and is changed otherwise than by += of numbers")
        frame.sums[-1].setdefault(name, []).append(self._value(value))

    def _turns(self, name: str, given: list[Any], body: list[ast.stmt]) -> None:
        """The body of a loop once, on an arbitrary turn."""
        if any(number is None or number.shape for number in given):
            self.refuse("a range of something else than whole numbers")
        start, stop, step = [*([whole(0)] if len(given) == 1 else []), *given, whole(1)][:3]
        frame, turn = self.frames[-1], f"turn{len(self.space.loops)}"
        self.space.loops[turn] = Loop(start, stop, step)
        self.space.turning.append(turn)
        frame.scopes.append({name: replace(start.plus(symbol(turn).times(step)), short=False)})
        frame.sums.append({})
        frame.reads.append(set())
        line = self.trace.line
        self._block(body)
        self.trace.line = line
        self.space.turning.pop()
        frame.scopes.pop()
        sums, reads = frame.sums.pop(), frame.reads.pop()
        if reads & sums.keys():
            self.refuse(f"{min(reads & sums.keys())} is read in the loop that adds to it")
        if frame.reads:
            frame.reads[-1] |= reads
        for each, terms in sums.items():
            frame.scopes[-1][each] = self._sum(frame.scopes[-1][each], terms, turn)

    def _sum(self, start: object, terms: list[Any], turn: str) -> object:
        """A number, or a block of numbers, and what all turns add to it."""
        first, blocks = self.blocks.data(start), self.blocks
        tiles = [term for term in terms if isinstance(term, Tile)]
        parts = [tile.part or tile for tile in tiles]
        of_row = all(part.columns is not None and part.columns[0] == turn for part in parts)
        if len(tiles) < len(terms) or not of_row or first.columns or first.part:
            self.refuse("a sum over turns of something else than the blocks of a row")
        if all(tile.part for tile in tiles):
            for tile, part in zip(tiles, parts, strict=True):
                first = blocks.combined(first, blocks.alike(blocks.total(part), tile.shape), operator.add)
            return first
        block = functools.reduce(lambda a, b: blocks.combined(a, b, operator.add), tiles)
        if blocks.broadcast(first.shape, block.shape) != first.shape:
            self.refuse("a block is added to one of another shape")
        return Sums(first, replace(block, shape=first.shape))

    def _name(self, name: str) -> object:
        """A name of the kernel, or of its module: Triton's language, another kernel, or a number that is noted."""
        frame = self.frames[-1]
        for scope in reversed(frame.scopes):
            if name in scope:
                if frame.reads:
                    frame.reads[-1].add(name)
                return scope[name]
        if name == "float" and name not in frame.function.__globals__:
            return Language("constexpr")
        value = frame.function.__globals__.get(name, range if name == "range" else None)
        if value is range or (hasattr(value, "fn") and _is_language(type(value))):
            return value
        if _is_language(value) and hasattr(value, "__name__"):
            return Language(getattr(value, "__name__", value).rpartition(".")[2])
        value = getattr(value, "value", value)  # of a constexpr
        if type(value) not in (bool, int, float):
            self.refuse(f"{name}, which is assigned in no turn before, or is no number of the module")
        self.trace.given[name] = repr(value)
        return value

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value):
                return value
            case ast.Name(id=name):
                return self._name(name)
            case ast.Tuple(elts) | ast.List(elts):
                return tuple(map(self._value, elts))
            case ast.Attribute(value, name):
                return self._attribute(self._value(value), name)
            case ast.BinOp(left, how, right):
                return self._binary(how, self._value(left), self._value(right))
            case ast.Compare(left, [how], [right]):
                return self._compared(how, self._value(left), self._value(right))
            case ast.Subscript(value, ast.Tuple(parts)):
                return self._axes(self._value(value), parts)
            case ast.Call(function, arguments, keywords):
                return self._called(function, arguments, {str(one.arg): self._value(one.value) for one in keywords})
        return self._chosen(node)

    def _chosen(self, node: ast.expr) -> Any:
        match node:
            case ast.UnaryOp(ast.USub(), value):
                return self._binary(ast.Sub(), 0, self._value(value))
            case ast.UnaryOp(ast.Not(), value):
                return not self._truth(value)
            case ast.BoolOp(how, values):
                return (all if isinstance(how, ast.And) else any)(map(self._truth, values))
            case ast.IfExp(test, yes, no):
                return self._value(yes if self._truth(test) else no)
        return self.refuse("an expression that is not followed")

    def _truth(self, node: ast.expr) -> bool:
        value = self._value(node)
        known = value is None or type(value) in (bool, int, float)
        return bool(value) if known else self.refuse("a branch on data")

    def _attribute(self, value: Any, name: str) -> object:
        if isinstance(value, Language):
            return Language(value.removeprefix("*") if name == "element_ty" else name)
        if name == "dtype" and isinstance(value, Tile | Pointer):
            return value.inside.dtype if isinstance(value, Tile) else Language(f"*{value.arr.dtype}")
        return self.refuse(f"{name} of {type(value).__name__} is asked for")

    def _binary(self, how: ast.operator, a: Any, b: Any) -> Any:
        if isinstance(a, Mask) and isinstance(b, Mask) and isinstance(how, ast.BitAnd):
            return Mask(a.conditions + b.conditions, self.blocks.broadcast(a.shape, b.shape))
        if type(how) not in _ARITHMETIC:
            return self.refuse(f"the operator {type(how).__name__}")
        operation = _ARITHMETIC[type(how)]
        if type(a) in (int, float) and type(b) in (int, float):
            return operation(a, b)
        left, right = self.blocks.whole(a), self.blocks.whole(b)
        if isinstance(a, Pointer):
            if right is None or not isinstance(how, ast.Add):
                self.refuse("an address that is no sum of whole numbers")
            return Pointer(a.arr, self._indexed(a.offset, right, operator.add))
        if left is not None and right is not None and operation is not operator.truediv:
            return self._indexed(left, right, operation)
        if operation is operator.floordiv:
            return self.refuse("data is divided without remainder")
        return self.blocks.combined(a, b, operation)

    def _indexed(self, a: Whole, b: Whole, how: Callable[..., Any]) -> Whole:
        """Arithmetic of whole numbers."""
        made = {operator.add: lambda: a.plus(b), operator.sub: lambda: a.plus(b, -1), operator.mul: lambda: a.times(b)}
        if how not in made:
            self.refuse("whole numbers are divided")
        return replace(made[how](), shape=self.blocks.broadcast(a.shape, b.shape))

    def _compared(self, how: ast.cmpop, a: Any, b: Any) -> Any:
        if type(how) not in _COMPARED:
            return self.refuse(f"the comparison {type(how).__name__}")
        if isinstance(a, str) and isinstance(b, str) and isinstance(how, ast.Eq | ast.NotEq):
            return _COMPARED[type(how)](*(str(name).replace("fp32", "float32") for name in (a, b)))
        if isinstance(how, ast.Is | ast.IsNot) or (type(a) in (int, float) and type(b) in (int, float)):
            return _COMPARED[type(how)](a, b) if b is None or type(b) in (int, float) else self.refuse("a comparison")
        left, right = self.blocks.whole(a), self.blocks.whole(b)
        if left is None or right is None or isinstance(how, ast.Eq | ast.NotEq):
            return self.refuse("numbers are compared")
        first, second = (left, right) if isinstance(how, ast.Lt | ast.LtE) else (right, left)
        gap = second.plus(first, -1).plus(whole(int(isinstance(how, ast.LtE | ast.GtE))))
        shape = self.blocks.broadcast(left.shape, right.shape)
        return Mask((gap,), shape) if shape else self.trace.decide(self.blocks.valued(gap), ">")

    def _axes(self, value: Any, parts: list[ast.expr]) -> object:
        """A block with axes of size 1 beside its own."""
        old = list(getattr(value, "shape", ("?",)))
        new = [old.pop(0) if ast.unparse(part) == ":" and old else {"None": ""}.get(ast.unparse(part), "?")
               for part in parts]  # fmt: skip
        if old or "?" in new or not isinstance(value, Tile | Whole | Mask) or getattr(value, "part", None):
            return self.refuse("a part of a block is taken")
        return replace(value, shape=tuple(new))

    def _called(self, node: ast.expr, arguments: list[ast.expr], named: dict[str, Any]) -> object:
        given = [self._value(argument) for argument in arguments]
        if isinstance(node, ast.Attribute) and node.attr == "to":
            return self._cast(self._value(node.value), *given)
        function = self._value(node)
        if hasattr(function, "fn") and len(self.frames) < 8:
            bound = inspect.signature(function.fn).bind(*given, **named)
            bound.apply_defaults()
            return self.call(function.fn, bound.arguments)
        action: Any = getattr(self, f"_do_{function}", None)
        self.trace.operations[str(function)] += 1
        try:
            if function in FUNCTIONS and len(given) == 1 and not named:
                return self.blocks.applied(given[0], FUNCTIONS[str(function)][1])
            if isinstance(function, Language) and action is not None:
                return action(*given, **named)
        except TypeError as error:
            self.refuse(f"{function} is called in a way that is not read: {error}")
        return self.refuse(f"{function} is not among the functions of Triton that are read")

    def _cast(self, value: Any, dtype: Any) -> object:
        if isinstance(value, Whole) and dtype in ("int32", "int64"):
            return replace(value, wide=dtype == "int64")
        name = "float32" if dtype == "fp32" else str(dtype)
        if name not in _FLOATS:
            return self.refuse("a cast to something else than a format of floats")
        return replace(self.blocks.applied(value, lambda x: x.cast(name), everywhere=True), weak=False)

    def _do_program_id(self, axis: int = 0) -> Whole:
        return (PROGRAM, whole(0), whole(0))[axis]

    def _do_num_programs(self, axis: int = 0) -> Whole:
        return (self.space.grid, whole(1), whole(1))[axis]

    def _do_arange(self, start: Any, end: Any) -> Whole:
        size = self.blocks.whole(end)
        lane = self.blocks.lane(size) if start == 0 and size is not None else self.refuse("lanes that begin later")
        return replace(symbol(lane) if lane else whole(0), shape=(lane,))

    def _do_zeros(self, shape: Any, dtype: Any) -> Tile:
        return self._do_full(shape, 0.0, dtype)

    def _do_full(self, shape: Any, value: Any, dtype: Any) -> Tile:
        sizes = [self.blocks.whole(size) for size in (shape if isinstance(shape, tuple) else (shape,))]
        lanes = tuple(self.refuse("an unknown size") if size is None else self.blocks.lane(size) for size in sizes)
        one = self._cast(value, dtype)
        return replace(one, shape=self.blocks.broadcast((), lanes)) if isinstance(one, Tile) else self.refuse("a block")

    def _do_load(self, pointer: Any, mask: Any = None, other: Any = None, **hints: Any) -> Tile:
        known = isinstance(pointer, Pointer) and not set(hints) - _HINTS
        return self.accesses.load(pointer, mask, other) if known else self.refuse("such a load")

    def _do_store(self, pointer: Any, value: Any, mask: Any = None, **hints: Any) -> None:
        known = isinstance(pointer, Pointer) and not set(hints) - _HINTS
        return self.accesses.store(pointer, value, mask) if known else self.refuse("such a store")

    def _do_sum(self, value: Any, axis: Any = None, keep_dims: bool = False) -> Tile:
        return self.blocks.summed(value, axis, keep_dims)

    def _do_where(self, condition: Any, a: Any, b: Any) -> Tile:
        if not isinstance(condition, Mask) or len(condition.conditions) != 1:
            return self.refuse("a choice by data, or by several masks")
        column = symbol("d").plus(condition.conditions[0], -1)  # which d exceeds
        columns = self.space.columns(column, symbol("d"))
        return self.blocks.chosen(columns, condition.shape, a, b) if columns else self.refuse("a choice of lanes")

    def _do_constexpr(self, value: Any) -> Any:
        return value

    def _do_cdiv(self, a: Any, b: Any) -> Any:
        left, right = self.blocks.whole(a), self.blocks.whole(b)
        return self.refuse("data is divided") if left is None or right is None else quotient(left, right)
