"""The statement of a certificate in readable form: as the library computed it, without the words about it."""

from collections.abc import Sequence

from lngeom.errors import InputError
from lngeom.prover import Node, ProofCertificate, Text, operands

_LARGE = 4
"""Nodes of a part that gets a name of its own where the statement repeats it."""
_SIZE, _DEPTH, _NUMBER = 2**14, 200, 10**6
"""Bounds of a statement that is written out; Coq counts to a number in it one by one."""


def bounded(data: ProofCertificate) -> None:
    """Refuse a statement that is too large to be written out, as one of few nodes may be.

    Raises:
        InputError: Naming the bound.
    """
    sizes, depths, numbers = list[int](), list[int](), list[int]()
    for node in data["terms"]:
        below = operands(node)
        sizes.append(min(1 + sum(sizes[k] for k in below), _SIZE + 1))
        depths.append(1 + max((depths[k] for k in below), default=0))
        own = max(map(abs, node[1:])) if node[0] == "q" else 0
        numbers.append(max([own, *(numbers[k] for k in below)]))
    roots = [k for k, _ in (*data["statement"]["hypotheses"], data["statement"]["conclusion"])]
    bounds = ("symbols", sizes, _SIZE), ("levels", depths, _DEPTH), ("as a number", numbers, _NUMBER)
    for what, values, most in bounds:
        if max(values[k] for k in roots) > most:
            raise InputError(f"the statement of {data['id']} has more than {most} {what}")


def shared(nodes: Sequence[Node], roots: Sequence[int]) -> list[int]:
    """Compound nodes that are used more than once below the roots, in order."""
    uses: dict[int, int] = {}
    waiting = list(roots)
    while waiting:
        k = waiting.pop()
        uses[k] = uses.get(k, 0) + 1
        if uses[k] == 1:
            waiting += operands(nodes[k])
    return sorted(k for k, count in uses.items() if count > 1 and operands(nodes[k]))


def binds(nodes: Sequence[Node], k: int) -> bool:
    """Whether a vector that a trace binds stands in a node, which then has no value of its own."""
    bound = {node[1] for node in nodes if node[0] == "trace"}
    return (nodes[k][0] == "v" and nodes[k][1] in bound) or any(binds(nodes, j) for j in operands(nodes[k]))


def reading(data: ProofCertificate) -> tuple[list[str], str, list[str]]:
    """Hypotheses and conclusion as text, and the definitions of the names for large repeated parts.

    >>> from lngeom.proofs import find
    >>> from lngeom.proofs.certificates import reading
    >>> reading(find("projection.trace").certificates()[0])
    ([], 'tr(e₀ ↦ e₀ − mean(e₀)) = S(1) − 1', [])
    """
    nodes, statement = data["terms"], data["statement"]

    def size(k: int) -> int:
        return 1 + sum(map(size, operands(nodes[k])))

    def sides(k: int) -> list[int]:
        return nodes[k][1:] if nodes[k][0] == "-" and len(nodes[k]) == 3 else [k]

    formulas = [(sides(k), relation) for k, relation in (*statement["hypotheses"], statement["conclusion"])]
    repeated = shared(nodes, [k for both, _ in formulas for k in both])
    named = [k for k in repeated if size(k) >= _LARGE and not binds(nodes, k)]
    printer = Text(nodes)
    printer.names = {k: printer.name("s", f"t{i}") for i, k in enumerate(named, 1)}

    def shown(k: int) -> str:
        return printer.node(k)[0]

    texts = [f"{shown(left)} {Text.relations[r]} {shown(*right) if right else 0}" for (left, *right), r in formulas]
    return texts[:-1], texts[-1], [f"{name} = {shown(k)}" for k, name in printer.names.items()]
