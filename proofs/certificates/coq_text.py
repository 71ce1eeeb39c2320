"""Certificates in the language of Coq: data for the verified checker, and a readable corollary of what it accepts."""

import re
from collections.abc import Iterable
from typing import ClassVar, NamedTuple

from lngeom.prover import ATOM, Node, Place, Printer, ProofCertificate, Step, operands, parts

from .files import binds, shared

HEADER = "From LnGeom Require Import Readable.\n"
_RELATIONS = {"=": "REq", "!=": "RNe", ">": "RGt", ">=": "RGe"}
_NODES = {"v": "NVec", "s": "NSca", "d": "NDim", "q": "NRat", "+": "NAdd", "*": "NMul", "^": "NPow", "S": "NSum"}
_NODES |= {"inv": "NInv", "sqrt": "NSqrt"}
_SHORT = {"=": "eq", "!=": "ne", ">": "gt", ">=": "ge"}
_PLAIN = re.compile(r"(?![nijklm]$|t\d)[a-z](\d+|_)?|eps|eta|lam|beta|mean_of_\w+")
"""Names that neither Coq nor this translation uses."""
_ORDINAL = "'I_n.+1"
_INNER = {"i": "j", "j": "k", "k": "l", "l": "i", "m": "j"}


def name_of(id: str) -> str:
    """The name of a theorem in Coq, ``chapter__slug``; there it begins with a letter."""
    return "id" * (not id[0].isalpha()) + id.replace(".", "__")


def source(data: ProofCertificate) -> str:
    """Coq text that replays one certificate and states the theorem for readers.

    Three names come into being: ``ID_accepted``, which is true by computation, ``ID_replayed``, which follows by the
    soundness of the checker, and ``ID``, the same in the notation of mathematics.
    """
    return _Replay(data).text()


class _Replay:
    """What Coq reads of one certificate."""

    def __init__(self, data: ProofCertificate) -> None:
        self.data = data
        self.nodes = data["terms"]
        self.name = name_of(data["id"])
        self.vectors = [node[1] for node in self.nodes if node[0] == "v"]
        self.scalars = [node[1] for node in self.nodes if node[0] == "s"]
        statement = data["statement"]
        self.formulas = [*statement["hypotheses"], statement["conclusion"]]
        self.bound = {node[1] for node in self.nodes if node[0] == "trace"}

    def text(self) -> str:
        name = self.name
        repeated = shared(self.nodes, [k for k, _ in self.formulas])
        self.named = {k for k in repeated if not binds(self.nodes, k)}
        source = _Source(self, {k: f"{name}_{k}" for k in repeated})
        *stated, claim = [f"({source.part(k)}, {_RELATIONS[relation]})" for k, relation in self.formulas]
        lines = [
            *(f"Definition {name}_{k} : source := {source.node(k)[0]}." for k in repeated),
            f"Definition {name}_hypotheses : seq statement := {_list(stated)}.",
            f"Definition {name}_conclusion : statement := {claim}.",
            f"Definition {name}_steps : seq (step * sequent) := steps",
            f"  {_list(map(self._node, self.nodes))}",
            f"  {_list(self._row(k, step) for k, step in enumerate(self.data['steps']))}.",
            f"Lemma {name}_accepted : accepts {name}_steps {name}_hypotheses {name}_conclusion.",
            "Proof. vm_cast_no_check (erefl true). Qed.",
            f"Definition {name}_replayed R n := @check_sound R n _ _ _ {name}_accepted.",
            *self._corollary(),
        ]
        return "\n".join(lines) + "\n"

    # -- data

    def _node(self, node: Node) -> str:
        kind, *rest = node
        if kind in ("v", "s"):
            rest = [self.number(*node)]
        elif kind == "q":
            rest[0] = _integer(rest[0])
        elif kind in ("+", "*"):
            rest = [f"{_list(k + 1 for k in rest)}%positive"]
        else:
            rest[parts(node)] = [k + 1 for k in operands(node)]
        return " ".join(map(str, [_NODES[kind], *rest])) if kind in _NODES else "NOther"

    def number(self, kind: str, name: str) -> int:
        """Vectors and scalars are numbered from 1."""
        return (self.vectors if kind == "v" else self.scalars).index(name) + 1

    def _row(self, index: int, step: Step) -> str:
        back = [index - 1 - premise for premise in step["premises"]]
        arguments = step["arguments"]
        rule = "L" + "".join(part.title() for part in step["rule"].split("_"))
        match step["rule"]:
            case "combine":
                places = [map(_positive, pair) for pair in arguments]
                factors = [(a, f"Some {b[0]}" if b else "None") for a, *b in places]
                given = [_list(f"({k}%N, {a}, {b})" for k, (a, b) in zip(back, factors, strict=True))]
                back = []
            case "constant":
                _, p, q = self.nodes[step["conclusion"][0]]
                given = [_integer(p), q]
            case "instantiate":
                pairs = [(self.nodes[atom], value) for atom, value in arguments]
                chosen = [(kind, f"({self.number(kind, name)}%positive, {_positive(k)})") for (kind, name), k in pairs]
                given = [_list(pair for kind, pair in chosen if kind == of) for of in "vs"]
            case "congruence":
                rule += arguments[0].title()
                given = [k + 1 for k in arguments[1:]]
            case _:
                given = [k + 1 for k in arguments]
        words = " ".join(map(str, [rule, *given, *back]))
        hypotheses = _list(f"({_positive(k)}, {_RELATIONS[r]})" for k, r in step["hypotheses"])
        k, r = step["conclusion"]
        return f"({words}, {hypotheses}, ({_positive(k)}, {_RELATIONS[r]}))"

    # -- for readers

    def _corollary(self) -> list[str]:
        *hypotheses, goal = self.formulas
        formula = _Formula(self, "i")
        # What stands in the table behind the statement is of the steps alone: there 0 will do.
        stated = self.nodes[: max(k for k, _ in self.formulas) + 1]
        vectors = [node[1] for node in stated if node[0] == "v" and node[1] not in self.bound]
        scalars = [node[1] for node in stated if node[0] == "s"]
        binders = [f"({self.vector(name)} : {_ORDINAL} -> R)" for name in vectors]
        binders += [f"({self.scalar(name)} : R)" for name in scalars]
        lets = [f"    let {name} := {formula.node(k)[0]} in\n" for k, name in formula.names.items()]
        given = {f"given{k}": self._shown(formula) for k, formula in enumerate(hypotheses)}
        shown, premises = self._shown(goal), [f"    {one.statement} ->\n" for one in given.values()]
        theorem = " ".join([f"Theorem {self.name} (R : rcfType) (n : nat)", *binders])
        values = _list(self.vector(name) if name in vectors else "fun _ => 0" for name in self.vectors)
        numbers = _list(self.scalar(name) if name in scalars else "0" for name in self.scalars)
        uses = "I"
        for name, one in reversed(given.items()):
            uses = f"(conj (fun i => {one.by('in', f'{name} i' if one.each else name)}) {uses})"
        parts = f"(vec {values}) (sca {numbers}) {uses} {'i' if shown.each else 'ord0'}"
        proof = shown.by("out", f"@{self.name}_replayed R n {parts}")
        taken = " ".join([*given, *(["i"] if shown.each else [])])
        return [
            f"{theorem} :\n{''.join(lets + premises)}    {shown.statement}.",
            f"Proof. cbv zeta; exact: ({f'fun {taken} => ' if taken else ''}{proof}). Qed.",
        ]

    def _shown(self, place: Place) -> "_Shown":
        k, relation = place
        formula = _Formula(self, "i")
        kind, *operands = self.nodes[k]
        two = kind == "-" and len(operands) == 2
        left, right = (formula.part(operand) for operand in operands) if two else (formula.part(k), "0")
        left = left if self.free(k) else f"({left} : R)"
        text = {"=": f"{left} = {right}", "!=": f"{left} != {right}"}
        text |= {">": f"{right} < {left}", ">=": f"{right} <= {left}"}
        each = self.varies(k)
        return _Shown(f"(forall i, {text[relation]})" if each else text[relation], each, _SHORT[relation] * two)

    def free(self, k: int) -> bool:
        """Whether a vector or a scalar stands in a node."""
        return self.nodes[k][0] in ("v", "s") or any(map(self.free, operands(self.nodes[k])))

    def varies(self, k: int) -> bool:
        kind = self.nodes[k][0]
        return kind == "v" or (kind not in ("S", "mean", "trace") and any(map(self.varies, operands(self.nodes[k]))))

    def function(self, k: int) -> str:
        """The name of a node that is a vector of the theorem or of a trace, or a part that repeats; or ``""``."""
        kind, *rest = self.nodes[k]
        return self.vector(rest[0]) if kind == "v" else f"t{k}" if k in self.named and self.varies(k) else ""

    def vector(self, name: str) -> str:
        """A vector of the theorem, or of a trace, as a function."""
        return "(basis R m)" if name in self.bound else name if _PLAIN.fullmatch(name) else f"{name}'"

    def scalar(self, name: str) -> str:
        """A scalar of the theorem; a vector may bear its name."""
        return f"{name}'s" if name in self.vectors else name if _PLAIN.fullmatch(name) else f"{name}'"


class _Source(Printer):
    """The terms of a statement as data."""

    forms: ClassVar = {"d": "SDim", "+": "(SAdd {} {})", "neg": "(SOpp {})", "-": "(SSub {} {})", "*": "(SMul {} {})"}
    forms |= {"/": "(SDiv {} {})", "^": "(SPow {} {})", "S": "(SSum {})", "mean": "(SMean {})"}
    forms |= {"inv": "(SInv {})", "sqrt": "(SSqrt {})", "abs": "(SAbs {})"}

    def __init__(self, of: _Replay, names: dict[int, str]) -> None:
        super().__init__(of.nodes, names)
        self.of = of

    def name(self, kind: str, name: str) -> str:
        return f"({'SVec' if kind == 'v' else 'SSca'} {self.of.number(kind, name)})"

    def number(self, p: int, q: int) -> tuple[str, int]:
        whole = f"(SNat {p})" if p >= 0 else f"(SOpp (SNat {-p}))"
        return (whole if q == 1 else f"(SDiv {whole} (SNat {q}))"), ATOM

    def special(self, k: int) -> tuple[str, int]:
        _, name, image = self.nodes[k]
        return f"(STrace {self.of.number('v', name)} {self.part(image)})", ATOM


class _Formula(Printer):
    """The terms of a statement in the notation of mathematics, at the component `index`."""

    forms: ClassVar = {"d": "n.+1%:R", "inv": "({})^-1", "sqrt": "Num.sqrt ({})", "abs": "`|{}|", "neg": "(- {})"}
    forms |= {kind: f"({{}} {kind} {{}})" for kind in "+-*/"} | {"^": "({} ^+ {})"}

    def __init__(self, of: _Replay, index: str) -> None:
        super().__init__(of.nodes, {k: f"t{k} {index}" if of.varies(k) else f"t{k}" for k in sorted(of.named)})
        self.of, self.index = of, index

    def name(self, kind: str, name: str) -> str:
        return self.of.scalar(name) if kind == "s" else f"{self.of.vector(name)} {self.index}"

    def number(self, p: int, q: int) -> tuple[str, int]:
        size = f"{abs(p)}" if abs(p) < 2 else f"{abs(p)}%:R"
        whole = size if p >= 0 else f"(- {size})"
        return (whole if q == 1 else f"({whole} / {q}%:R)"), ATOM

    def special(self, k: int) -> tuple[str, int]:
        """The sum or mean of a vector over its components, or the trace of an operator."""
        kind, *_, j = self.nodes[k]
        index = "m" if kind == "trace" else _INNER[self.index]
        shown = _Formula(self.of, index).part(j)
        if kind == "mean":
            return f"mean {self.of.function(j) or f'(fun {index} : {_ORDINAL} => {shown})'}", ATOM
        if kind == "S":
            shown = f"({shown}{'' if self.of.free(j) else ' : R'})"
        return f"(\\sum_({index} < n.+1) {shown})", ATOM


class _Shown(NamedTuple):
    """A formula for readers; whether it is of every component; the lemma to a difference compared with 0, if any."""

    statement: str
    each: bool
    lemma: str

    def by(self, way: str, proof: str) -> str:
        """A proof of the comparison with 0 (`way` is "in"), or of the formula ("out"), by one of the other."""
        return f"{self.lemma}_{way} ({proof})" if self.lemma else proof


def _list(items: Iterable[object]) -> str:
    return f"[:: {'; '.join(map(str, items))}]"


def _positive(k: int) -> str:
    return f"{k + 1}%positive"


def _integer(p: int) -> str:
    return "Z0" if p == 0 else f"(Zpos {p})" if p > 0 else f"(Zneg {-p})"
