"""A second checker, which has never met the first: it reads certificate files and nothing else of this project.

Terms become polynomials of SymPy's exact rings over Q, whose generators are the vectors, the scalars, d, 1/d, and one
for each sum of a monomial, each inverse and each root; no simplification and no sampling. Each step is derived again
from its premises and arguments, with every side condition of its rule, and compared with the sequent that the file
states. The statement, which the file gives as the library computed it, is brought into the same normal form.

Run by itself: ``python _recheck.py FILE.json ...``.
"""

import functools
import hashlib
import json
import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sympy import factorint
from sympy.polys.domains import QQ
from sympy.polys.rings import PolyElement, PolyRing

FORMAT = "lngeom certificate 2"
RELATIONS = ("=", "!=", ">", ">=")
_D, _E = 0, 1  # the generators d and 1/d
_WORK = 2**17
"""Products of two monomials that a check may take, in seconds; the longest of this project takes some two thousand."""
_DEEP = "lists stand in lists too deep to be read"
_ROOT = 2**64
"""Numbers below it are factored at once to bring squares out of a root; of larger ones that may take for ever."""


class Refused(Exception):
    """Raised by :func:`recheck`: a certificate does not prove what it states."""


class _Full(Exception):
    """More generators are needed than the ring has."""


def _need(condition: bool, message: str) -> None:
    if not condition:
        raise Refused(message)


class Algebra:
    """Normal forms in a ring of at most `size` generators."""

    def __init__(self, size: int) -> None:
        self.ring = PolyRing([f"a{k}" for k in range(size)], QQ)
        self.atoms: list[tuple] = []
        self.vector: list[bool] = []
        self.places: dict[tuple, int] = {}
        self.one, self.zero = self.ring.one, self.ring.zero
        self.work = 0
        self.d, self.e = self.atom(("d",), False), self.atom(("1/d",), False)

    def atom(self, key: tuple, vector: bool) -> PolyElement:
        """The generator of a vector, scalar, sum, inverse or root."""
        if key not in self.places:
            if len(self.atoms) == len(self.ring.gens):
                raise _Full
            self.places[key] = len(self.atoms)
            self.atoms.append(key)
            self.vector.append(vector)
        return self.ring.gens[self.places[key]]

    def times(self, p: PolyElement, q: PolyElement) -> PolyElement:
        """The product, with d·(1/d) = 1."""
        self.work += len(p) * len(q)
        _need(self.work <= _WORK, f"the terms take more than {_WORK} products of monomials")
        product: dict[tuple[int, ...], Any] = {}
        for monomial, c in (p * q).items():
            both = min(monomial[_D], monomial[_E])
            key = (monomial[_D] - both, monomial[_E] - both, *monomial[2:])
            product[key] = product.get(key, QQ(0)) + c
        return self.ring.from_dict({key: c for key, c in product.items() if c})

    def power(self, p: PolyElement, k: int) -> PolyElement:
        """The product of k factors p."""
        return functools.reduce(self.times, [p] * k, self.one)

    def is_vector(self, p: PolyElement) -> bool:
        """Whether a vector stands outside sums."""
        return any(k and self.vector[i] for monomial in p for i, k in enumerate(monomial[: len(self.atoms)]))

    def total(self, p: PolyElement) -> PolyElement:
        """Sum of the d components: linear, with S(1) = d."""
        result = self.zero
        for monomial, c in p.items():
            inner = tuple((i, k) for i, k in enumerate(monomial) if k and self.vector[i])
            outer = tuple(0 if k and self.vector[i] else k for i, k in enumerate(monomial))
            summed = self.atom(("S", inner), False) if inner else self.d
            result += self.times(self.ring.from_dict({outer: c}), summed)
        return result

    def inverse(self, p: PolyElement) -> PolyElement:
        """1/p, 0 where p is 0; multiplicative, and the inverse of an inverse is what was inverted."""
        if not p:
            return self.zero
        lowest = min(monomial[_D] - monomial[_E] for monomial in p)
        scale = self.ring.from_dict({(max(-lowest, 0), max(lowest, 0), *[0] * (len(self.ring.gens) - 2)): QQ(1)})
        c = p.LC if len(p) == 1 else self.content(p)
        unit = self.times(p, scale).mul_ground(1 / c)
        if unit.LC < 0:
            unit, c = -unit, -c
        result = scale.mul_ground(1 / c)
        if len(unit) > 1:
            return self.times(result, self.atom(("inv", _key(unit)), self.is_vector(unit)))
        for i, k in enumerate(next(iter(unit))):
            if k:
                result = self.times(result, self.power(self.inverse_of_atom(i), k))
        return result

    def inverse_of_atom(self, i: int) -> PolyElement:
        """1/a for a generator other than d and 1/d."""
        kind, *content = self.atoms[i]
        if kind == "inv":
            return self.ring.from_dict(dict(content[0]))
        return self.atom(("inv", _key(self.ring.gens[i])), self.vector[i])

    def root(self, p: PolyElement) -> PolyElement:
        """√p, 0 where p is negative; rational squares come out."""
        if not p:
            return self.zero
        c = self.content(p)
        outside = QQ(1)
        for number in (int(c.numerator), int(c.denominator)):
            _need(number < _ROOT, f"a root is taken of {number}, of which squares would have to be brought out")
            for prime, k in factorint(number).items():
                outside *= QQ(prime) ** (k // 2)
        outside /= c.denominator
        inside = p.mul_ground(1 / outside**2)
        if inside == self.one:
            return self.one.mul_ground(outside)
        if p.is_ground and p.LC < 0:
            return self.zero
        return self.atom(("sqrt", _key(inside)), self.is_vector(inside)).mul_ground(outside)

    def content(self, p: PolyElement) -> Any:
        """The positive rational c for which p/c has integer coefficients without a common divisor."""
        coefficients = list(p.values())
        above = math.gcd(*(int(c.numerator) for c in coefficients))
        return QQ(above, math.lcm(*(int(c.denominator) for c in coefficients)))

    def substituted(self, p: PolyElement, values: dict[int, PolyElement]) -> PolyElement:
        """P with generators replaced, all at once, also inside sums, inverses and roots."""
        result = self.zero
        for monomial, c in p.items():
            product = self.one.mul_ground(c)
            for i, k in enumerate(monomial):
                if k:
                    product = self.times(product, self.power(self.replaced(i, values), k))
            result += product
        return result

    def replaced(self, i: int, values: dict[int, PolyElement]) -> PolyElement:
        """One generator after a substitution."""
        kind, *content = self.atoms[i]
        if kind == "S":
            product = self.one
            for j, k in content[0]:
                product = self.times(product, self.power(self.replaced(j, values), k))
            return self.total(product)
        if kind in ("inv", "sqrt"):
            inner = self.substituted(self.ring.from_dict(dict(content[0])), values)
            return self.inverse(inner) if kind == "inv" else self.root(inner)
        return values.get(i, self.ring.gens[i])

    def trace(self, name: str, p: PolyElement) -> PolyElement:
        """Σ_j of component j of p at the basis vector e_j, for p = Σ m·v + Σ m·S(n·v): Σ S(m) + Σ S(m·n)."""
        probe = self.places[("v", name)]
        result = self.zero
        for monomial, c in p.items():
            rest, probes = self.one.mul_ground(c), 0
            for i, k in enumerate(monomial):
                inner = dict(self.atoms[i][1]) if k == 1 and self.atoms[i][0] == "S" else {}
                if (i == probe and k == 1) or inner.get(probe) == 1:
                    probes += 1
                    for j, m in inner.items():
                        rest = rest if j == probe else self.times(rest, self.power(self.ring.gens[j], m))
                elif k:
                    rest = self.times(rest, self.power(self.ring.gens[i], k))
            linear = probes == 1 and self.substituted(rest, {probe: self.zero}) == rest
            _need(linear, "a trace is taken of what is not linear")
            result += self.total(rest)
        return result


def _key(p: PolyElement) -> frozenset:
    return frozenset(p.items())


# -------------------------------------------------------------------------------------------------------- reading files


def _integer(value: object, low: int, high: float = math.inf) -> int:
    if type(value) is int and low <= value < high:
        return value
    raise Refused(f"{value!r} is not an integer from {low} to below {high}")


def _name(value: object) -> str:
    if type(value) is str and value.isidentifier() and value.isascii():
        return value
    raise Refused(f"{value!r} is not a name")


def _list(value: object, size: int | None = None) -> list:
    if type(value) is list and size in (None, len(value)):
        return value
    raise Refused(f"{value!r} is not a list of {size} entries")


class Terms:
    """The table of terms: every node in normal form."""

    def __init__(self, nodes: object, algebra: Algebra) -> None:
        self.algebra = algebra
        self.values: list[PolyElement] = []
        self.atoms: dict[int, tuple] = {}
        for node in _list(nodes):
            _need(bool(_list(node)), "a node has a kind")
            kind, *operands = node
            self.values.append(self.node(kind, operands))

    def __call__(self, place: object) -> PolyElement:
        return self.values[_integer(place, 0, len(self.values))]

    def node(self, kind: object, operands: list) -> PolyElement:
        """One node from earlier ones."""
        a = self.algebra
        if kind in ("v", "s"):
            (name,) = _list(operands, 1)
            self.atoms[len(self.values)] = (kind, _name(name))
            return a.atom((kind, name), kind == "v")
        if kind == "d":
            _list(operands, 0)
            return a.d
        if kind == "q":
            n, m = _list(operands, 2)
            return a.one.mul_ground(QQ(_integer(n, -(sys.maxsize**9)), _integer(m, 1)))
        if kind == "^":
            base, k = _list(operands, 2)
            return a.power(self(base), _integer(k, 0, 1000))
        if kind == "trace":
            name, inner = _list(operands, 2)
            _need(("v", _name(name)) in a.places, f"a trace binds {name}, which does not occur")
            return a.trace(name, self(inner))
        values = [self(operand) for operand in operands]
        if kind in ("+", "*") and len(values) >= 2:
            first, *rest = values
            for value in rest:
                first = first + value if kind == "+" else a.times(first, value)
            return first
        makers: dict[tuple[object, int], Callable[..., PolyElement]] = {
            ("S", 1): a.total,
            ("inv", 1): a.inverse,
            ("sqrt", 1): a.root,
            ("-", 1): lambda p: -p,
            ("-", 2): lambda p, q: p - q,
            ("/", 2): lambda p, q: a.times(p, a.inverse(q)),
            ("mean", 1): lambda p: a.times(a.total(p), a.e),
            ("abs", 1): lambda p: a.root(a.times(p, p)),
        }
        _need(type(kind) is str and (kind, len(values)) in makers, f"{kind!r} of {len(values)} terms is unknown")
        return makers[kind, len(values)](*values)

    def formula(self, value: object) -> tuple[PolyElement, str]:
        """A term and its relation to 0."""
        place, relation = _list(value, 2)
        _need(relation in RELATIONS, f"{relation!r} is not a relation")
        return self(place), relation

    def formulas(self, value: object) -> frozenset:
        """Formulas as a set of normal forms."""
        return frozenset((_key(p), relation) for p, relation in map(self.formula, _list(value)))


# -------------------------------------------------------------------------------------------------------------- rules

Stated = tuple[PolyElement, str]
"""A term and its relation to 0."""

Sequent = tuple[frozenset, PolyElement, str]
"""Hypotheses, term and relation of the conclusion."""


class Rules:
    """The conclusion of each rule, from its premises, its arguments and the stated conclusion."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.a = terms.algebra

    def conclude(self, rule: object, stated: Stated, arguments: list, used: list[Sequent]) -> Sequent:
        """The sequent that follows."""
        if type(rule) is not str or rule not in (*_SIMPLE, *_OWN):
            raise Refused(f"{rule!r} is not a rule")
        wanted = _PREMISES[rule]
        if wanted is not None:
            _need(len(used) == len(wanted), f"{rule} has {len(wanted)} premises")
            for (_, _, relation), allowed in zip(used, wanted, strict=True):
                _need(relation in allowed.split(), f"a premise of {rule} reads {relation} 0, needed is {allowed}")
        hypotheses = frozenset().union(*(h for h, _, _ in used))
        if rule in _OWN:
            sequent = _OWN[rule](self, stated, arguments, used)
            return sequent if len(sequent) == 3 else (hypotheses, *sequent)
        functions = arguments[:1] if rule == "congruence" else []
        _list(arguments, _ARGUMENTS.get(rule, 0))
        given = functions + [self.terms(place) for place in arguments[len(functions) :]]
        condition, term, relation = _SIMPLE[rule](self.a, stated, given, [pair for _, *pair in used])
        _need(condition, f"a side condition of {rule} fails")
        return hypotheses, term, relation

    def assume(self, stated: Stated, arguments: list, used: list) -> tuple:
        """A |- A."""
        _list(arguments, 0)
        return frozenset([(_key(stated[0]), stated[1])]), *stated

    def combine(self, stated: Stated, arguments: list, used: list) -> tuple:
        """Σ a·e or a·S(b·e) = 0 from equations e = 0."""
        _list(arguments, len(used))
        goal = self.a.zero
        for factors, (_, e, relation) in zip(arguments, used, strict=True):
            _need(relation == "=" and len(_list(factors)) in (1, 2), "combined are equations, with one or two factors")
            a, *b = map(self.terms, factors)
            goal += self.a.times(a, self.a.total(self.a.times(b[0], e)) if b else e)
        return goal, "="

    def cut(self, stated: Stated, arguments: list, used: list) -> tuple:
        """The second premise without the hypothesis that the first proves."""
        _list(arguments, 0)
        (first, p, relation), (second, q, conclusion) = used
        return first | (second - {(_key(p), relation)}), q, conclusion

    def instantiate(self, stated: Stated, arguments: list, used: list) -> tuple:
        """The premise with vectors and scalars replaced."""
        values: dict[int, PolyElement] = {}
        for pair in arguments:
            old, new = _list(pair, 2)
            _need(type(old) is int and old in self.terms.atoms, "replaced are vectors and scalars")
            kind, name = self.terms.atoms[old]
            place, value = self.a.places[kind, name], self.terms(new)
            _need(place not in values, f"{name} is replaced twice")
            _need(kind == "v" or not self.a.is_vector(value), "a scalar becomes a vector")
            values[place] = value
        hypotheses, p, relation = used[0]
        made = frozenset((_key(self.a.substituted(self.a.ring.from_dict(dict(h)), values)), r) for h, r in hypotheses)
        return made, self.a.substituted(p, values), relation


def _truth(p: PolyElement, relation: str) -> bool:
    """Whether a number has the relation to 0; what is not a number has none."""
    c = p.LC if p else QQ(0)
    return p.is_ground and bool({"=": c == 0, "!=": c != 0, ">": c > 0, ">=": c >= 0}[relation])


def _function(a: Algebra, name: object) -> Callable[[PolyElement], PolyElement]:
    _need(name in ("inv", "sqrt"), f"{name!r} is not a function")
    return a.inverse if name == "inv" else a.root


_OWN = {"assume": Rules.assume, "combine": Rules.combine, "cut": Rules.cut, "instantiate": Rules.instantiate}
_WEAKER = ((">", ">="), (">", "!="), ("=", ">="))
# Of the algebra a, the stated conclusion s, the arguments t and the premises p, each a term and its relation:
# the side condition, and the term and the relation that follow.
_SIMPLE: dict[str, Callable[[Algebra, Stated, list, list], tuple[bool, PolyElement, str]]] = {
    "constant": lambda a, s, t, p: (_truth(*s), s[0], s[1]),
    "dimension": lambda a, s, t, p: (True, a.d - 1, ">="),
    "cancel": lambda a, s, t, p: (p[0][0] == a.times(s[0], p[1][0]), s[0], "="),
    "inverse": lambda a, s, t, p: (True, a.times(p[0][0], a.inverse(p[0][0])) - 1, "="),
    "inverse_total": lambda a, s, t, p: (True, a.times(a.power(t[0], 2), a.inverse(t[0])) - t[0], "="),
    "inverse_sign": lambda a, s, t, p: (True, a.inverse(p[0][0]), p[0][1]),
    "square_of_root": lambda a, s, t, p: (True, a.power(a.root(p[0][0]), 2) - p[0][0], "="),
    "root_nonnegative": lambda a, s, t, p: (True, a.root(t[0]), ">="),
    "root_positive": lambda a, s, t, p: (True, a.root(p[0][0]), ">"),
    "root_of_square": lambda a, s, t, p: (p[1][0] == a.power(p[0][0], 2) - t[0], a.root(t[0]) - p[0][0], "="),
    "congruence": lambda a, s, t, p: (
        p[0][0] == t[1] - t[2], _function(a, t[0])(t[1]) - _function(a, t[0])(t[2]), "=",
    ),
    "square": lambda a, s, t, p: (True, a.power(t[0], 2), ">="),
    "add": lambda a, s, t, p: (True, p[0][0] + p[1][0], ">" if ">" in (p[0][1], p[1][1]) else ">="),
    "multiply": lambda a, s, t, p: (
        {p[0][1], p[1][1]} != {">=", "!="}, a.times(p[0][0], p[1][0]), p[1][1] if p[0][1] == ">" else p[0][1],
    ),
    "weaken": lambda a, s, t, p: ((p[0][1], s[1]) in _WEAKER, p[0][0], s[1]),
    "strengthen": lambda a, s, t, p: (p[0][0] == p[1][0], p[0][0], ">"),
    "total": lambda a, s, t, p: (True, a.total(p[0][0]), p[0][1]),
    "definite": lambda a, s, t, p: (p[0][0] == a.total(a.power(s[0], 2)), s[0], "="),
    "transport": lambda a, s, t, p: (p[0][0] == s[0] - p[1][0], s[0], p[1][1]),
}  # fmt: skip
_ANY = "= != > >="
_PREMISES: dict[str, tuple[str, ...] | None] = {
    "assume": (), "constant": (), "dimension": (), "inverse_total": (), "root_nonnegative": (), "square": (),
    "combine": None, "cancel": ("=", "!= >"), "inverse": ("!= >",), "inverse_sign": (_ANY,),
    "square_of_root": (">= >",), "root_positive": (">",), "root_of_square": (">= >", "="), "congruence": ("=",),
    "add": ("> >=", "> >="), "multiply": ("> >= !=", "> >= !="), "weaken": (_ANY,), "strengthen": (">=", "!="),
    "total": ("> >=",), "definite": ("=",), "transport": ("=", _ANY), "cut": (_ANY, _ANY), "instantiate": (_ANY,),
}  # fmt: skip
_ARGUMENTS = {"inverse_total": 1, "root_nonnegative": 1, "root_of_square": 1, "square": 1, "congruence": 3}


# ---------------------------------------------------------------------------------------------------------- the check


def digest(data: Mapping[str, object]) -> str:
    """SHA-256 of the canonical JSON, without the stated hash."""
    hashed = {key: value for key, value in data.items() if key != "sha256"}
    text = json.dumps(hashed, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def loaded(text: str) -> Any:
    """The contents of a file in which no object repeats a member: readers differ in which of the two counts."""

    def members(pairs: list[tuple[str, object]]) -> dict[str, object]:
        record = dict(pairs)
        names = [name for name, _ in pairs]
        _need(len(record) == len(pairs), f"an object has two members {max(names, key=names.count, default=None)!r}")
        return record

    try:
        return json.loads(text, object_pairs_hook=members)
    except RecursionError:
        raise Refused(_DEEP) from None


def recheck(data: Mapping[str, object]) -> int:
    """Number of steps of a certificate, all of which follow; the last one is the statement.

    >>> from proofs import find
    >>> from proofs.certificates import certificate, recheck
    >>> recheck(certificate(find("projection.fixes_hyperplane")))
    2
    """
    members = {"format", "id", "words", "statement", "steps", "terms", "sha256"}
    _need(type(data) is dict and set(data) == members, f"a certificate has the members {sorted(members)}")
    _need(data["format"] == FORMAT, f"the format is {data['format']!r}, known is {FORMAT!r}")
    try:
        _need(data["sha256"] == digest(data), "the content does not have the stated hash")
    except RecursionError:
        raise Refused(_DEEP) from None
    size = 32
    while True:
        try:
            return _rechecked(data, Algebra(size))
        except _Full:
            size *= 2


def _rechecked(data: Mapping[str, Any], algebra: Algebra) -> int:
    terms = Terms(data["terms"], algebra)
    rules, proved = Rules(terms), list[Sequent]()
    for number, step in enumerate(_list(data["steps"])):
        keys = {"rule", "premises", "arguments", "hypotheses", "conclusion"}
        _need(type(step) is dict and set(step) == keys, f"step {number} has not the members {sorted(keys)}")
        stated, hypotheses = terms.formula(step["conclusion"]), terms.formulas(step["hypotheses"])
        used = [proved[_integer(premise, 0, number)] for premise in _list(step["premises"])]
        try:
            sequent = rules.conclude(step["rule"], stated, _list(step["arguments"]), used)
        except Refused as error:
            raise Refused(f"step {number}: {error}") from None
        _need(sequent == (hypotheses, *stated), f"step {number} ({step['rule']}) states what does not follow")
        proved.append(sequent)
    _need(bool(proved), "it has no steps")
    statement = data["statement"]
    _need(type(statement) is dict and set(statement) == {"hypotheses", "conclusion"}, "the statement is a sequent")
    goal = (terms.formulas(statement["hypotheses"]), *terms.formula(statement["conclusion"]))
    _need(proved[-1] == goal, "the last step is not the statement")
    return len(proved)


def main(files: list[str]) -> int:
    """Check files, one line each; 1 if one is refused."""
    refused = 0
    for file in files:
        try:
            data = loaded(Path(file).read_text(encoding="utf-8"))
            print(f"{file}: {sum(map(recheck, data if type(data) is list else [data]))} steps follow")
        except (Refused, ValueError, OSError) as error:
            refused += 1
            print(f"{file}: refused, {error}")
    return int(refused > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
