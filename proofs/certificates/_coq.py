"""Certificates in the language of Coq: data for the verified checker, and a readable corollary of what it accepts."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from lngeom.kernel import Certificate, Place, Step

from ._reading import Node, binds, operands, shared

HEADER = "From LnGeom Require Import Readable.\n"
_RELATIONS = {"=": "REq", "!=": "RNe", ">": "RGt", ">=": "RGe"}
_SHORT = {"=": "eq", "!=": "ne", ">": "gt", ">=": "ge"}
_TAKEN = re.compile(r"[nRIijklm]|t\d+|given\d+|mean|basis|vec|sca|as|at|end|exists|fun|in|let|of|using|where|with")
_INNER = {"i": "j", "j": "k", "k": "l", "l": "i", "m": "j"}
_SOURCES = {"+": "SAdd", "*": "SMul", "/": "SDiv", "S": "SSum", "mean": "SMean"}
_SOURCES |= {"inv": "SInv", "sqrt": "SSqrt", "abs": "SAbs"}
_FORMS = {"inv": "({})^-1", "sqrt": "Num.sqrt ({})", "abs": "`|{}|"}


def name_of(id: str) -> str:
    """The name of a theorem in Coq, ``chapter__slug``."""
    return id.replace(".", "__")


def source(data: Certificate) -> str:
    """Coq text that replays one certificate and states the theorem for readers.

    Three names come into being: ``ID_accepted``, which is true by computation, ``ID_replayed``, which follows by the
    soundness of the checker, and ``ID``, the same in the notation of mathematics.
    """
    return _Certificate(data).text()


class _Certificate:
    def __init__(self, data: Certificate) -> None:
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
        hypotheses, (goal,) = self.formulas[:-1], self.formulas[-1:]
        repeated = shared(self.nodes, [k for k, _ in self.formulas])
        self.named = {k for k in repeated if not binds(self.nodes, k)}
        stated = [self._statement(formula, repeated) for formula in hypotheses]
        lines = [
            *(f"Definition {name}_{k} : source := {self._source(k, set(repeated))}." for k in repeated),
            f"Definition {name}_hypotheses : seq statement := {_list(stated)}.",
            f"Definition {name}_conclusion : statement := {self._statement(goal, repeated)}.",
            f"Definition {name}_steps : seq (step * sequent) := steps",
            f"  {_list(map(self._node, self.nodes))}",
            f"  {_list(self._row(k, step) for k, step in enumerate(self.data['steps']))}.",
            f"Lemma {name}_accepted : accepts {name}_steps {name}_hypotheses {name}_conclusion.",
            "Proof. vm_cast_no_check (erefl true). Qed.",
            f"Definition {name}_replayed R n := @check_sound R n _ _ _ {name}_accepted.",
            *self._corollary(hypotheses, goal),
        ]
        return "\n".join(lines) + "\n"

    # -- data

    def _node(self, node: Node) -> str:
        kind, *operands = node
        match kind:
            case "v" | "s":
                return f"{'NVec' if kind == 'v' else 'NSca'} {self._number(node)}"
            case "d":
                return "NDim"
            case "q":
                return f"NRat {_integer(operands[0])} {operands[1]}"
            case "+" | "*":
                return f"{'NAdd' if kind == '+' else 'NMul'} {_list(k + 1 for k in operands)}%positive"
            case "^":
                return f"NPow {operands[0] + 1} {operands[1]}"
            case "S" | "inv" | "sqrt":
                return f"{ {'S': 'NSum', 'inv': 'NInv', 'sqrt': 'NSqrt'}[kind] } {operands[0] + 1}"
        return "NOther"

    def _number(self, node: Node) -> int:
        names = self.vectors if node[0] == "v" else self.scalars
        return names.index(node[1]) + 1

    def _row(self, index: int, step: Step) -> str:
        back = [index - 1 - premise for premise in step["premises"]]
        arguments = step["arguments"]
        words = ["L" + "".join(part.title() for part in step["rule"].split("_"))]
        match step["rule"]:
            case "combine":
                parts = [
                    f"({k}%N, {pair[0] + 1}%positive, {f'Some {pair[1] + 1}%positive' if pair[1:] else 'None'})"
                    for k, pair in zip(back, arguments, strict=True)
                ]
                words.append(_list(parts))
            case "constant":
                kind, p, q = self.nodes[step["conclusion"][0]]
                words += [_integer(p), str(q)] if kind == "q" else ["Z0", "xH"]
            case "instantiate":
                for kind in "vs":
                    pairs = [(self.nodes[atom], value) for atom, value in arguments]
                    chosen = [(self._number(atom), value + 1) for atom, value in pairs if atom[0] == kind]
                    words.append(_list(f"({a}%positive, {b}%positive)" for a, b in chosen))
                words += map(str, back)
            case "congruence":
                words[0] += {"inv": "Inv", "sqrt": "Sqrt"}[arguments[0]]
                words += [str(k + 1) for k in arguments[1:]] + [str(k) for k in back]
            case _:
                words += [str(k + 1) for k in arguments] + [str(k) for k in back]
        hypotheses = _list(f"({k + 1}%positive, {_RELATIONS[r]})" for k, r in step["hypotheses"])
        k, r = step["conclusion"]
        return f"({' '.join(words)}, {hypotheses}, ({k + 1}%positive, {_RELATIONS[r]}))"

    # -- the statement

    def _statement(self, formula: Place, shared: list[int]) -> str:
        return f"({self._source(formula[0], set(shared), inside=True)}, {_RELATIONS[formula[1]]})"

    def _source(self, k: int, shared: set[int], *, inside: bool = False) -> str:
        if inside and k in shared:
            return f"{self.name}_{k}"
        kind, *rest = self.nodes[k]
        parts = [self._source(operand, shared, inside=True) for operand in operands(self.nodes[k])]
        match kind:
            case "v" | "s":
                return f"({'SVec' if kind == 'v' else 'SSca'} {self._number(self.nodes[k])})"
            case "d":
                return "SDim"
            case "q":
                p, q = rest
                whole = f"(SNat {p})" if p >= 0 else f"(SOpp (SNat {-p}))"
                return whole if q == 1 else f"(SDiv {whole} (SNat {q}))"
            case "^":
                return f"(SPow {parts[0]} {rest[1]})"
            case "trace":
                return f"(STrace {self._number(['v', rest[0]])} {parts[0]})"
            case "-":
                return f"({'SOpp' if len(parts) == 1 else 'SSub'} {' '.join(parts)})"
        return f"({_SOURCES[kind]} {' '.join(parts)})"

    # -- for readers

    def _corollary(self, hypotheses: list[Place], goal: Place) -> list[str]:
        variables = [name for name in self.vectors if name not in self.bound]
        binders = [f"({_safe(name)} : 'I_n.+1 -> R)" for name in variables]
        binders += [f"({_safe(name)} : R)" for name in self.scalars]
        lets = [
            f"    let t{k}{' i' if self._varies(k) else ''} := {self._show(k, 'i', inside=False)} in\n"
            for k in sorted(self.named)
        ]
        given = {f"given{k}": self._shown(formula) for k, formula in enumerate(hypotheses)}
        shown, premises = self._shown(goal), [f"    {one.statement} ->\n" for one in given.values()]
        theorem = " ".join([f"Theorem {self.name} (R : rcfType) (n : nat)", *binders])
        values = _list("fun _ => 0" if name in self.bound else _safe(name) for name in self.vectors)
        uses = "I"
        for name, one in reversed(given.items()):
            uses = f"(conj (fun i => {one.by('in', f'{name} i' if one.each else name)}) {uses})"
        parts = f"(vec {values}) (sca {_list(map(_safe, self.scalars))}) {uses} {'i' if shown.each else 'ord0'}"
        proof = shown.by("out", f"@{self.name}_replayed R n {parts}")
        taken = " ".join([*given, *(["i"] if shown.each else [])])
        return [
            f"{theorem} :\n{''.join(lets + premises)}    {shown.statement}.",
            f"Proof. cbv zeta; exact: ({f'fun {taken} => ' if taken else ''}{proof}). Qed.",
        ]

    def _shown(self, formula: Place) -> "_Shown":
        k, relation = formula
        kind, *operands = self.nodes[k]
        two = kind == "-" and len(operands) == 2
        left, right = (self._show(operand, "i") for operand in operands) if two else (self._show(k, "i"), "0")
        left = left if self._free(k) else f"({left} : R)"
        text = {"=": f"{left} = {right}", "!=": f"{left} != {right}"}
        text |= {">": f"{right} < {left}", ">=": f"{right} <= {left}"}
        each = self._varies(k)
        return _Shown(f"(forall i, {text[relation]})" if each else text[relation], each, _SHORT[relation] * two)

    def _free(self, k: int) -> bool:
        """Whether a vector or a scalar stands in a node."""
        return self.nodes[k][0] in ("v", "s") or any(map(self._free, operands(self.nodes[k])))

    def _varies(self, k: int) -> bool:
        kind = self.nodes[k][0]
        return kind == "v" or (kind not in ("S", "mean", "trace") and any(map(self._varies, operands(self.nodes[k]))))

    def _show(self, k: int, index: str, *, inside: bool = True) -> str:
        """A node as a formula, at the component `index`."""
        kind, *rest = self.nodes[k]
        if inside and k in self.named and not self._varies(k):
            return f"t{k}"
        if (inside or k not in self.named) and (name := self._function(k)):
            return f"{name} {index}"
        if kind in ("S", "mean", "trace"):
            return self._reduced(kind, rest[-1], _INNER[index])
        parts = [self._show(operand, index) for operand in operands(self.nodes[k])]
        match kind:
            case "s":
                return _safe(rest[0])
            case "d":
                return "n.+1%:R"
            case "q":
                p, q = rest
                size = f"{abs(p)}" if abs(p) < 2 else f"{abs(p)}%:R"
                whole = size if p >= 0 else f"(- {size})"
                return whole if q == 1 else f"({whole} / {q}%:R)"
            case "^":
                return f"({parts[0]} ^+ {rest[1]})"
            case "inv" | "sqrt" | "abs":
                return _FORMS[kind].format(*parts)
        return f"(- {parts[0]})" if len(parts) == 1 else f"({f' {kind} '.join(parts)})"

    def _reduced(self, kind: str, k: int, index: str) -> str:
        """The sum or mean of a vector over its components, or the trace of an operator."""
        if kind == "trace":
            return f"(\\sum_(m < n.+1) {self._show(k, 'm')})"
        shown = self._show(k, index)
        if kind == "S":
            typed = "" if self._free(k) else " : R"
            return f"(\\sum_({index} < n.+1) ({shown}{typed}))"
        return f"mean {self._function(k)}" if self._function(k) else f"mean (fun {index} : 'I_n.+1 => {shown})"

    def _function(self, k: int) -> str:
        """The name of a node that is a vector of the theorem or of a trace, or a part that repeats; or ``""``."""
        kind, *rest = self.nodes[k]
        if kind == "v":
            return "(basis R m)" if rest[0] in self.bound else _safe(rest[0])
        return f"t{k}" if k in self.named and self._varies(k) else ""


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


def _integer(p: int) -> str:
    return "Z0" if p == 0 else f"(Zpos {p})" if p > 0 else f"(Zneg {-p})"


def _safe(name: str) -> str:
    """A name of the theorem as a name in Coq that nothing else bears."""
    return f"{name}'" if _TAKEN.fullmatch(name) else name
