"""The statement of a certificate as a person reads it: what the library computed, and nothing that is said of it."""

from collections.abc import Callable, Sequence
from typing import Any

from lngeom import kernel
from lngeom.kernel import Certificate

_LARGE = 4
"""Nodes of a part that gets a name of its own where the statement repeats it."""
_RELATIONS = {"=": "=", "!=": "≠", ">": ">", ">=": "≥"}
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_SUM, _PRODUCT, _FACTOR, _ATOM = range(4)
"""How tightly a piece of text binds."""

Node = list[Any]
"""The kind of a term, then names, numbers, or places of the terms that it is made of."""
Nodes = Sequence[Node]


def operands(node: Node) -> list[int]:
    """The places of the nodes that a node is made of."""
    kind, *rest = node
    if kind in ("v", "s", "d", "q"):
        return []
    return rest[:1] if kind == "^" else rest[1:] if kind == "trace" else rest


def shared(nodes: Nodes, roots: Sequence[int]) -> list[int]:
    """Compound nodes that are used more than once below the roots, in order."""
    uses: dict[int, int] = {}
    waiting = list(roots)
    while waiting:
        k = waiting.pop()
        uses[k] = uses.get(k, 0) + 1
        if uses[k] == 1:
            waiting += operands(nodes[k])
    return sorted(k for k, count in uses.items() if count > 1 and operands(nodes[k]))


def binds(nodes: Nodes, k: int) -> bool:
    """Whether a vector that a trace binds stands in a node, which then has no value of its own."""
    bound = {node[1] for node in nodes if node[0] == "trace"}
    return (nodes[k][0] == "v" and nodes[k][1] in bound) or any(binds(nodes, j) for j in operands(nodes[k]))


def parts(data: Certificate) -> tuple[list[int], list[tuple[list[int], str]]]:
    """Large parts that the statement repeats; and its formulas, each one side or two and their relation."""
    nodes, statement = data["terms"], data["statement"]

    def size(k: int) -> int:
        return 1 + sum(map(size, operands(nodes[k])))

    def sides(k: int) -> list[int]:
        return nodes[k][1:] if nodes[k][0] == "-" and len(nodes[k]) == 3 else [k]

    formulas = [(sides(k), relation) for k, relation in (*statement["hypotheses"], statement["conclusion"])]
    repeated = shared(nodes, [k for both, _ in formulas for k in both])
    return [k for k in repeated if size(k) >= _LARGE and not binds(nodes, k)], formulas


def reading(data: Certificate) -> tuple[list[str], str, list[str]]:
    """Hypotheses and conclusion as text, and what the names in them stand for.

    >>> from proofs import find
    >>> from proofs.certificates import reading
    >>> reading(find("projection.trace").certificates()[0])
    ([], 'tr(e₀ ↦ e₀ − mean(e₀)) = S(1) − 1', [])
    """
    named, formulas = parts(data)
    names = {k: f"t{i}".translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")) for i, k in enumerate(named, 1)}

    def shown(k: int) -> str:
        return _text(data["terms"][k], piece)[0]

    def piece(k: int, level: int) -> str:
        text, binding = (names[k], _ATOM) if k in names else _text(data["terms"][k], piece)
        return text if binding >= level else f"({text})"

    texts = [f"{shown(both[0])} {_RELATIONS[r]} {shown(both[1]) if both[1:] else 0}" for both, r in formulas]
    return texts[:-1], texts[-1], [f"{name} = {shown(k)}" for k, name in names.items()]


def _text(node: Node, piece: Callable[[int, int], str]) -> tuple[str, int]:
    """A node as text, and how tightly it binds; `piece` puts a part in brackets where it binds less."""
    kind, *rest = node
    match kind, rest:
        case "v" | "s", [name]:
            return kernel.text(kernel.vector(name) if kind == "v" else kernel.scalar(name)), _ATOM
        case "d", _:
            return "d", _ATOM
        case "q", [p, q]:
            return f"{p}".replace("-", "−") + (f"/{q}" if q > 1 else ""), _ATOM if p >= 0 and q == 1 else _SUM
        case "+", [first, *others]:
            return piece(first, _SUM) + "".join(f" + {piece(j, _PRODUCT)}" for j in others), _SUM
        case "-", [k]:
            return f"−{piece(k, _PRODUCT)}", _SUM
        case "-", [k, j]:
            return f"{piece(k, _SUM)} − {piece(j, _PRODUCT)}", _SUM
        case "*", [first, *others]:
            return piece(first, _PRODUCT) + "".join(f"·{piece(j, _FACTOR)}" for j in others), _PRODUCT
        case "/", [k, j]:
            return f"{piece(k, _PRODUCT)}/{piece(j, _FACTOR)}", _PRODUCT
        case "^", [k, power]:
            return piece(k, _ATOM) + str(power).translate(_SUPERSCRIPTS), _FACTOR
        case "trace", [name, k]:
            return f"tr({kernel.text(kernel.vector(name))} ↦ {piece(k, _SUM)})", _ATOM
        case "abs", [k]:
            return f"|{piece(k, _SUM)}|", _ATOM
    function = {"sqrt": "√", "inv": "1/"}.get(kind, kind)
    return f"{function}({piece(rest[0], _SUM)})", _PRODUCT if kind == "inv" else _ATOM
