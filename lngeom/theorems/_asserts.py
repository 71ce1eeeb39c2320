"""The asserts of a body as they are written: all are reached, and nothing else asks whether a statement is true."""

import ast
import dis
import functools
import itertools
import linecache
from types import CodeType

_NO_BRANCHES = "whether this is true decides what follows, and a theorem has no branches: assume one case"
_ONE_EACH = "a chain or `and` counts its last comparison alone here: write two, assume(a <= x) and assume(x <= b)"
_AS_IT_IS = "`or`, `not` and `if` have no meaning in an assert: assert each statement as it is"
_FUNCTIONS = "a function such as max or sorted asks whether this is true: a theorem has no such functions of numbers"

_CASES = (ast.Or, ast.Not, ast.IfExp, ast.comprehension, ast.match_case)


@functools.lru_cache(8)
def _parsed(text: str) -> list[ast.stmt]:
    try:
        return [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt)]
    except SyntaxError:  # no source, as at a prompt
        return []


def _statements(code: CodeType) -> list[ast.stmt]:
    return _parsed("".join(linecache.getlines(code.co_filename)))


@functools.lru_cache(4096)
def asked_at(code: CodeType, place: int) -> tuple[int | None, str | None]:
    """The line of the assert that asks for a truth at this place of a code, and why that must not be."""
    if "CALL" in dis.opname[code.co_code[place]]:
        return None, _FUNCTIONS
    line, _, column, _ = next(itertools.islice(code.co_positions(), place // 2, None))
    at = line or 0, column or 0
    around = [node for node in _statements(code)
              if (node.lineno, node.col_offset) <= at <= (node.end_lineno or 0, node.end_col_offset or 0)]  # fmt: skip
    if not around:
        return None, None
    inner = max(around, key=lambda node: (node.lineno, node.col_offset))
    cases = any(isinstance(node, _CASES) for node in ast.walk(inner))
    if isinstance(inner, ast.Assert):
        return inner.lineno, _AS_IT_IS if cases else None
    return None, _NO_BRANCHES if cases or isinstance(inner, ast.If | ast.While) else _ONE_EACH


def unasked(code: CodeType, lines: set[int | None]) -> int | None:
    """The first line of an assert of a body that asked for no statement."""
    body = next((node for node in _statements(code) if _is_of(node, code)), ast.Module([], []))
    return min({node.lineno for node in ast.walk(body) if isinstance(node, ast.Assert)} - lines, default=None)


def stated_again(code: CodeType) -> int | None:
    """The line of another function of the file, outside of all others, that has the name of a body."""
    others = [node for node in _statements(code) if isinstance(node, ast.FunctionDef) and not _is_of(node, code)]
    outside = (node.lineno for node in others if node.name == code.co_qualname and not node.col_offset)
    return next(outside, None)


def _is_of(node: ast.stmt, code: CodeType) -> bool:
    lines = (each.lineno for each in (node, *node.decorator_list)) if isinstance(node, ast.FunctionDef) else ()
    return code.co_firstlineno in lines
