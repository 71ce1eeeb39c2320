"""The body of a kernel, read from its source and followed on blocks; the rest is refused with its line."""

from __future__ import annotations

import ast
import functools
import inspect
import operator
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from .._arrays import Arr
from .._sizes import Num
from .._trace import Trace
from ._blocks import FORMATS, Blocks, Mask, Pointer, Sums, Tile
from ._memory import Accesses
from ._whole import PROGRAM, Loop, Space, Whole, quotient, smaller, symbol, whole

_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
}  # fmt: skip
_COMPARED: dict[type, Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip
_FORMAT = {"bfloat16": "bfloat16", "float16": "float16", "float32": "float32", "float64": "float64"} | FORMATS
_WHOLE_FORMATS = ("int32", "int64")
_HINTS = ("eviction_policy", "cache_modifier")
_TURNS = 64


@dataclass(frozen=True)
class Language:
    """A name in the modules of Triton."""

    name: str


@dataclass(frozen=True)
class Method:
    """A method of a block."""

    of: Any
    name: str


class Return(Exception):
    """The end of a function, with its value."""

    def __init__(self, value: object) -> None:
        self.value = value


@dataclass
class Frame:
    """A function that is being followed.

    Attributes:
        scopes: Its names, and those of each loop around the statement.
        sums: For each of these loops, what is added to names outside of it.
        reads: For each of these loops, the names that are read in it.
    """

    function: Any
    scopes: list[dict[str, Any]]
    sums: list[dict[str, list[Any]]] = field(default_factory=list)
    reads: list[set[str]] = field(default_factory=list)


@functools.cache
def parsed(function: Any) -> ast.FunctionDef:
    """The definition of a function, with the lines of its file."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    ast.increment_lineno(tree, function.__code__.co_firstlineno - 1)
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    return definition


def is_language(value: Any) -> bool:
    """Whether an object is one of Triton's own, or of what stands for it."""
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "") or ""
    return name.partition(".")[0] == "triton" or name == f"{__package__}._stub"


def format_of(value: Any) -> str | None:
    """The name of a format, of whole numbers too, None if a value is none."""
    name = value.name if isinstance(value, Language) else getattr(value, "name", value)
    known = {**_FORMAT, **dict.fromkeys(_WHOLE_FORMATS, "whole")}
    return known.get(name) if isinstance(name, str) else None


class Interpreter:
    """One launch of a kernel, for an arbitrary program."""

    def __init__(self, trace: Trace, grid: list[Whole], tuned: bool) -> None:
        self.trace, self.grid = trace, grid
        self.space = Space(grid[0], {}, {})
        self.blocks = Blocks(trace, self.space)
        self.accesses = Accesses(trace, self.space, self.blocks, tuned)
        self.frames: list[Frame] = []

    def refuse(self, what: str) -> Any:
        """Give up at the line that is being read."""
        return self.trace.refuse(what)

    def call(self, function: Any, arguments: Mapping[str, object]) -> object:
        """Follow a function of Triton to its end."""
        plain, trace = function.fn, self.trace
        trace.sources[plain.__code__.co_qualname] = plain.__code__
        if len(self.frames) > 8:
            self.refuse("kernels call one another without end")
        self.frames.append(Frame(plain, [dict(arguments)]))
        try:
            self._block(parsed(plain).body)
        except Return as end:
            return end.value
        finally:
            self.frames.pop()
        return None

    @property
    def _frame(self) -> Frame:
        return self.frames[-1]

    # ------------------------------------------------------------------------------------------------------ statements

    def _block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            file = Path(self._frame.function.__code__.co_filename).name
            self.trace.line = f"{file}:{statement.lineno}: {ast.unparse(statement).splitlines()[0]}"
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(ast.Call()):
                self._value(node.value)
            case ast.Assign([ast.Name(id=name)], ast.BinOp(ast.Name(id=same), ast.Add(), right)) if same == name:
                self._added(name, ast.Add(), right)
            case ast.Assign([target], value):
                self._assign(target, self._value(value))
            case ast.AnnAssign(ast.Name() as target, _, ast.expr() as value):
                self._assign(target, self._value(value))
            case ast.AugAssign(ast.Name(id=name), how, value):
                self._added(name, how, value)
            case ast.If(test, body, other):
                self._block(body if self._truth(self._value(test)) else other)
            case ast.For(ast.Name(id=name), ast.Call() as over, body, []):
                self._loop(name, over, body)
            case ast.Return(value):
                if self._frame.sums:
                    self.refuse("a return in a loop")
                raise Return(None if value is None else self._value(value))
            case _:
                self.refuse(f"a statement that is not followed: {type(node).__name__}")

    def _assign(self, target: ast.expr, value: object) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, tuple) and len(target.elts) == len(value):
            for part, one in zip(target.elts, value, strict=True):
                self._assign(part, one)
        elif not isinstance(target, ast.Name):
            self.refuse("a part is assigned")
        elif any(target.id in scope for scope in self._frame.scopes[:-1]):
            self.refuse(f"{target.id} lives longer than the loop, and is changed otherwise than by +=")
        else:
            self._frame.scopes[-1][target.id] = value

    def _added(self, name: str, how: ast.operator, value: ast.expr) -> None:
        """``name += value``: in a loop, one term of a sum if the name lives longer."""
        frame = self._frame
        if name in frame.scopes[-1]:
            frame.scopes[-1][name] = self._binary(how, self._name(name), self._value(value))
            return
        known = len(frame.scopes) > 1 and name in frame.scopes[-2] and isinstance(how, ast.Add)
        if not known or not isinstance(frame.scopes[-2][name], Tile | float | int):
            self.refuse(f"{name} lives longer than the loop, and is changed otherwise than by += of numbers")
        frame.sums[-1].setdefault(name, []).append(self._value(value))

    def _loop(self, name: str, over: ast.Call, body: list[ast.stmt]) -> None:
        function = self._value(over.func)
        known = function is range or (isinstance(function, Language) and function.name in ("range", "static_range"))
        options = [keyword.arg for keyword in over.keywords]
        if not known or set(options) - {"num_stages"}:
            self.refuse("a loop over something else than a range")
        given = [self.blocks.whole(self._value(argument)) for argument in over.args]
        if not 1 <= len(given) <= 3 or any(number is None or number.shape for number in given):
            self.refuse("a range of something else than whole numbers")
        bounds = [whole(0), *given] if len(given) == 1 else given
        start, stop, step = [*bounds, whole(1)][:3]
        numbers = [bound.number for bound in (start, stop, step)]
        if None not in numbers:
            turns = range(*numbers)
            if len(turns) > _TURNS:
                self.refuse("a loop of many turns")
            for k in turns:
                self._assign(ast.Name(name), k)
                self._block(body)
            return
        self._turn(name, Loop(start, stop, step), body)

    def _turn(self, name: str, loop: Loop, body: list[ast.stmt]) -> None:
        """The body once, on an arbitrary turn."""
        frame, turn = self._frame, f"turn{len(self.space.loops)}"
        self.space.loops[turn] = loop
        frame.scopes.append({name: replace(loop.start.plus(symbol(turn).times(loop.step)), wide=loop.start.wide)})
        frame.sums.append({})
        frame.reads.append(set())
        line = self.trace.line
        self._block(body)
        self.trace.line = line
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
        whole_row = all(part.columns is not None and part.columns[0] == turn for part in parts)
        if len(tiles) < len(terms) or not whole_row or first.columns or first.part:
            self.refuse("a sum over turns of something else than the blocks of a row")
        if all(tile.part for tile in tiles):
            for tile, part in zip(tiles, parts, strict=True):
                first = blocks.combined(first, blocks.alike(blocks.total(part), tile.shape), operator.add)
            return first
        block = functools.reduce(lambda a, b: blocks.combined(a, b, operator.add), tiles)
        if blocks.broadcast(first.shape, block.shape) != first.shape:
            self.refuse("a block is added to one of another shape")
        return Sums(first, replace(block, shape=first.shape))

    # ----------------------------------------------------------------------------------------------------- expressions

    def _name(self, name: str) -> object:
        frame = self._frame
        for scope in reversed(frame.scopes):
            if name in scope:
                if frame.reads:
                    frame.reads[-1].add(name)
                return scope[name]
        value = frame.function.__globals__.get(name, {"range": range, "min": min, "max": max}.get(name))
        return self._global(name, value)

    def _global(self, name: str, value: Any) -> object:
        """What a kernel finds in its module: Triton's language, another kernel, or a number that is noted."""
        if hasattr(value, "fn") and is_language(type(value)):
            return value
        if value in (range, min, max):
            return value if value is range else Language({min: "minimum", max: "maximum"}[value])
        if is_language(value) and not hasattr(type(value), "value"):
            return Language(str(getattr(value, "__name__", value)).rpartition(".")[2])
        value = getattr(value, "value", value)  # of a constexpr
        if type(value) not in (bool, int, float, str):
            self.refuse(f"{name}, which is assigned in no turn before, or is no number of the module")
        self.trace.given[name] = repr(value)
        if type(value) is int and value > 1:
            self.trace.written.add(value)
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
            case ast.UnaryOp(ast.USub(), value):
                return self._binary(ast.Sub(), 0, self._value(value))
            case ast.Compare(left, [how], [right]):
                return self._compared(how, self._value(left), self._value(right))
            case ast.Subscript(value, ast.Tuple(parts)):
                return self._axes(self._value(value), parts)
            case ast.Call(function, arguments, keywords):
                given = [self._value(argument) for argument in arguments]
                named = {str(one.arg): self._value(one.value) for one in keywords}
                return self._called(self._value(function), given, named)
        return self._chosen(node)

    def _chosen(self, node: ast.expr) -> Any:
        """An expression of what is true."""
        match node:
            case ast.UnaryOp(ast.Not(), value):
                return not self._truth(self._value(value))
            case ast.BoolOp(how, values):
                truths = (self._truth(self._value(value)) for value in values)
                return all(truths) if isinstance(how, ast.And) else any(truths)
            case ast.IfExp(test, yes, no):
                return self._value(yes if self._truth(self._value(test)) else no)
        return self.refuse(f"an expression that is not followed: {ast.unparse(node)}")

    def _truth(self, value: object) -> bool:
        if isinstance(value, Whole) and value.number is not None:
            return value.number != 0
        known = value is None or isinstance(value, bool | str) or type(value) in (int, float)
        return bool(value) if known else self.refuse("a branch on data")

    def _attribute(self, value: Any, name: str) -> object:
        if isinstance(value, Language):
            return Language(name)
        if isinstance(value, Pointer) and name == "dtype":
            return Method(value, name)
        if isinstance(value, Method) and (value.name, name) == ("dtype", "element_ty"):
            return value.of.arr.dtype
        if isinstance(value, Tile) and name == "dtype":
            return value.inside.dtype
        if isinstance(value, Tile | Whole | Num) and name == "to":
            return Method(value, name)
        return self.refuse(f"{name} of {type(value).__name__} is asked for")

    def _binary(self, how: ast.operator, a: Any, b: Any) -> Any:
        if isinstance(a, Mask | bool) and isinstance(b, Mask | bool) and isinstance(how, ast.BitAnd):
            masks = [mask for mask in (a, b) if isinstance(mask, Mask)]
            if False in (a, b) or not masks:
                return False not in (a, b)
            shape = functools.reduce(self.blocks.broadcast, (mask.shape for mask in masks))
            return Mask(tuple(one for mask in masks for one in mask.conditions), shape)
        if type(how) not in _ARITHMETIC:
            return self.refuse(f"the operator {type(how).__name__}")
        operation, numbers = _ARITHMETIC[type(how)], (int, float)
        if type(a) in numbers and type(b) in numbers:
            return operation(a, b)
        left, right = self.blocks.whole(a), self.blocks.whole(b)
        if isinstance(a, Pointer) or isinstance(b, Pointer):
            pointer, more = (a, right) if isinstance(a, Pointer) else (b, left)
            if more is None or not isinstance(how, ast.Add):
                self.refuse("an address that is no sum of whole numbers")
            return Pointer(pointer.arr, self._indexed(pointer.offset, more, operator.add))
        if left is not None and right is not None and operation is not operator.truediv:
            return self._indexed(left, right, operation)
        if operation is operator.pow and type(b) in numbers:
            return self.blocks.applied(a, lambda x: x.power(b))
        if operation in (operator.floordiv, operator.mod, operator.pow):
            return self.refuse(f"the operator {type(how).__name__}")
        return self.blocks.combined(a, b, operation)

    def _indexed(self, a: Whole, b: Whole, how: Callable[..., Any]) -> Whole:
        """Arithmetic of whole numbers."""
        shape = self.blocks.broadcast(a.shape, b.shape)
        if how is operator.floordiv and not shape:
            return quotient(a.plus(b, -1).plus(whole(1)), b)
        made = {operator.add: lambda: a.plus(b), operator.sub: lambda: a.plus(b, -1), operator.mul: lambda: a.times(b)}
        return replace(made[how](), shape=shape) if how in made else self.refuse("whole numbers are divided")

    def _compared(self, how: ast.cmpop, a: Any, b: Any) -> Any:
        if isinstance(how, ast.Is | ast.IsNot):
            return _COMPARED[type(how)](a, b) if a is None or b is None else self.refuse("objects are compared")
        if type(how) not in _COMPARED:
            return self.refuse(f"the comparison {type(how).__name__}")
        left, right = self.blocks.whole(a), self.blocks.whole(b)
        if left is None or right is None or (type(a) is int and type(b) is int):
            plain = all(type(value) in (int, float, str, bool) or value is None for value in (a, b))
            return _COMPARED[type(how)](a, b) if plain else self.refuse("numbers are compared")
        if isinstance(how, ast.Eq | ast.NotEq):
            return self._decided(left.plus(right, -1), "=") is isinstance(how, ast.Eq)
        first, second = (left, right) if isinstance(how, ast.Lt | ast.LtE) else (right, left)
        gap = second.plus(first, -1).plus(whole(int(isinstance(how, ast.LtE | ast.GtE))))
        shape = self.blocks.broadcast(left.shape, right.shape)
        return Mask((gap,), shape) if shape else self._decided(gap, ">")

    def _decided(self, gap: Whole, relation: str) -> bool:
        """Whether a number is 0, or more than 0; no lane counts it."""
        left = self.space.grid.plus(PROGRAM, -1)
        if gap.number is not None:
            return gap.number == 0 if relation == "=" else gap.number > 0
        if relation == ">" and (gap.same(left) or gap.same(whole(1).plus(left, -1))):
            return gap.same(left)
        return self.trace.decide(self.blocks.valued(gap), relation)

    def _axes(self, value: Any, parts: list[ast.expr]) -> object:
        """A block with axes of size 1 beside its own."""
        old = list(getattr(value, "shape", ("?",)))
        new = [
            old.pop(0) if isinstance(part, ast.Slice) and ast.unparse(part) == ":" and old
            else "" if isinstance(part, ast.Constant) and part.value is None else "?"
            for part in parts
        ]  # fmt: skip
        if old or "?" in new or not isinstance(value, Tile | Whole | Mask) or getattr(value, "part", None):
            return self.refuse("a part of a block is taken")
        return replace(value, shape=tuple(new))

    # ----------------------------------------------------------------------------------------------------------- calls

    def _called(self, function: Any, given: list[Any], named: dict[str, Any]) -> object:
        if isinstance(function, Method):
            return self._cast(function.of, *given, **named)
        if hasattr(function, "fn") and not isinstance(function, Language):
            bound = inspect.signature(function.fn).bind(*given, **named)
            bound.apply_defaults()
            return self.call(function, bound.arguments)
        name = function.name if isinstance(function, Language) else ""
        action = getattr(self, f"_do_{name}", None)
        unary = _UNARY.get(name)
        self.trace.operations[name] += 1
        try:
            if unary is not None:
                return self.blocks.applied(*given, *_no(named), unary[0], everywhere=unary[1])
            if action is not None:
                return action(*given, **named)
        except TypeError as error:
            self.refuse(f"{name} is called in a way that is not read: {error}")
        return self.refuse(f"{name or function} is not among the functions of Triton that are read")

    def _cast(self, value: Any, dtype: Any) -> object:
        wanted = format_of(dtype)
        if isinstance(value, Whole) and wanted == "whole":
            return replace(value, wide=getattr(dtype, "name", dtype) == "int64")
        if wanted in (None, "whole"):
            return self.refuse("a cast to something else than a format of floats")
        cast = self.blocks.applied(value, lambda x: x.cast(wanted), everywhere=True)
        return replace(cast, weak=False)

    _do_cast = _cast

    def _do_program_id(self, axis: int = 0) -> Whole:
        if axis and (axis >= len(self.grid) or self.grid[axis].number == 1):
            return whole(0)
        return PROGRAM if axis == 0 else self.refuse("programs are numbered along two axes")

    def _do_num_programs(self, axis: int = 0) -> Whole:
        return self.grid[axis] if axis < len(self.grid) else whole(1)

    def _do_arange(self, start: Any, end: Any) -> Whole:
        size = self.blocks.whole(end)
        if start != 0 or size is None:
            return self.refuse("lanes that do not begin with 0")
        lane = self.blocks.lane(size)
        return replace(symbol(lane), shape=(lane,)) if lane else replace(whole(0), shape=("",))

    def _do_zeros(self, shape: Any, dtype: Any) -> Tile:
        return self._do_full(shape, 0.0, dtype)

    def _do_full(self, shape: Any, value: Any, dtype: Any) -> Tile:
        sizes = [self.blocks.whole(size) for size in (shape if isinstance(shape, tuple) else (shape,))]
        if None in sizes or format_of(dtype) in (None, "whole"):
            return self.refuse("a block of whole numbers, or of an unknown size")
        lanes = self.blocks.broadcast((), tuple(self.blocks.lane(size) for size in sizes if size is not None))
        one = self.blocks.data(value).inside.cast(str(format_of(dtype)))
        return self.blocks.alike(one, lanes)

    def _do_load(self, pointer: Any, mask: Any = None, other: Any = None, **hints: Any) -> Tile:
        if not isinstance(pointer, Pointer) or set(hints) - set(_HINTS):
            return self.refuse(f"a load by {type(pointer).__name__} with {', '.join(hints) or 'no options'}")
        return self.accesses.load(pointer, mask, other)

    def _do_store(self, pointer: Any, value: Any, mask: Any = None, **hints: Any) -> None:
        if not isinstance(pointer, Pointer) or set(hints) - set(_HINTS):
            self.refuse(f"a store by {type(pointer).__name__} with {', '.join(hints) or 'no options'}")
        self.accesses.store(pointer, value, mask)

    def _do_sum(self, value: Any, axis: Any = None, keep_dims: bool = False) -> Tile:
        return self.blocks.summed(value, axis, keep_dims)

    def _do_where(self, condition: Any, a: Any, b: Any) -> Tile:
        if isinstance(condition, bool):
            return self.blocks.data(a if condition else b)
        if not isinstance(condition, Mask) or len(condition.conditions) != 1:
            return self.refuse("a choice by data, or by several masks")
        (gap,) = condition.conditions
        columns = self.space.columns(symbol("d").plus(gap, -1), symbol("d"))
        return self.blocks.chosen(columns, condition.shape, a, b) if columns else self.refuse(f"a choice by {gap} > 0")

    def _do_fma(self, a: Any, b: Any, c: Any) -> Tile:
        return self.blocks.combined(self.blocks.combined(a, b, operator.mul), c, operator.add)

    def _do_div_rn(self, a: Any, b: Any) -> Tile:
        return self.blocks.combined(a, b, operator.truediv)

    _do_fdiv = _do_div_rn

    def _do_minimum(self, a: Any, b: Any) -> Any:
        left, right = self.blocks.whole(a), self.blocks.whole(b)
        if left is None or right is None or left.shape or right.shape:
            return self.refuse("a minimum of data")
        return smaller(left, right) if None in (left.number, right.number) else whole(min(left.number, right.number))  # type: ignore

    def _do_cdiv(self, a: Any, b: Any) -> Any:
        left, right = self.blocks.whole(a), self.blocks.whole(b)
        return self.refuse("data is divided without remainder") if None in (left, right) else quotient(left, right)  # type: ignore

    def _do_static_assert(self, condition: Any, message: str = "") -> None:
        if not self._truth(condition):
            self.refuse("what is asserted does not hold")

    def _do_constexpr(self, value: Any) -> Any:
        return value


def _no(named: dict[str, Any]) -> tuple[()]:
    """Nothing, if there are no options."""
    if named:
        raise TypeError(f"the options {', '.join(named)}")
    return ()


_UNARY: dict[str, tuple[Callable[[Arr], Arr], bool]] = {
    "sqrt": (Arr.root, False),
    "sqrt_rn": (Arr.root, False),
    "rsqrt": (lambda x: x.power(-0.5), False),
    "abs": (Arr.absolute, True),
    "sigmoid": (lambda x: x.applied("sigmoid"), False),
    "exp": (lambda x: x.applied("exp"), False),
}
"""Functions of each lane, and whether they are defined everywhere."""
