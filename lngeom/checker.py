"""The checker: it reads certificates, shares no code with the prover, and imports nothing of this project.

Terms become polynomials over Q, whose generators are d, the vectors, the scalars, and one for each sum of a monomial,
each inverse and each root; no simplification and no sampling. Each step is derived again from its premises and
arguments, with every side condition of its rule, and compared with the sequent that the certificate states. The
statement, which the certificate gives as the library computed it, is brought into the same normal form.

Run by itself: ``python checker.py FILE.json ...``.
"""

import functools
import hashlib
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

__all__ = ["Refused", "recheck"]

FORMAT = "lngeom certificate 2"
RELATIONS = ("=", "!=", ">", ">=")
_D = 0  # the generator d, the only one whose exponents may be negative
_WORK = 2**17
"""Products of two monomials that a check may take, in seconds; the longest of this project takes some two thousand."""
_LARGE = 2**1024
"""Numerators and denominators of products stay below it: powers of powers would fill the memory."""
_DEEP = "lists or terms stand in one another too deep to be read"
_NAME = re.compile("[A-Za-z][A-Za-z0-9_]{,99}")
_ID = re.compile(r"\w{1,100}(\.\w{1,100})+", re.ASCII)


class Refused(Exception):
    """Raised by :func:`recheck`: a certificate does not prove what it states."""


class Malformed(Refused):
    """What is read is no certificate."""


def _need(condition: bool, message: str, error: type[Refused] = Refused) -> None:
    if not condition:
        raise error(message)


Monomial = tuple[tuple[int, int], ...]
"""Generators in ascending order, each with an exponent that is not 0."""


class Polynomial(dict[Monomial, Fraction]):
    """The coefficient, not 0, of each monomial."""

    def __add__(self, other: "Polynomial") -> "Polynomial":
        total = Polynomial(self)
        for monomial, c in other.items():
            total[monomial] = total.get(monomial, 0) + c
            if not total[monomial]:
                del total[monomial]
        return total

    def __sub__(self, other: "Polynomial") -> "Polynomial":
        return self + other.scaled(Fraction(-1))

    def scaled(self, c: Fraction) -> "Polynomial":
        """The multiple by a rational number that is not 0."""
        return Polynomial({monomial: c * own for monomial, own in self.items()})

    @property
    def key(self) -> frozenset:
        """Equal for equal polynomials alone."""
        return frozenset(self.items())


_ONE, _ZERO = Polynomial({(): Fraction(1)}), Polynomial()


def _content(p: Polynomial) -> Fraction:
    """The positive rational c for which p/c has integer coefficients without a common divisor."""
    return Fraction(math.gcd(*(c.numerator for c in p.values())), math.lcm(*(c.denominator for c in p.values())))


def _square_root(c: Fraction) -> Fraction | None:
    """√c, if that is rational."""
    root = Fraction(math.isqrt(c.numerator), math.isqrt(c.denominator))
    return root if root * root == c else None


class Algebra:
    """The generators that terms are made of, and arithmetic of polynomials in them."""

    def __init__(self) -> None:
        self.atoms: list[tuple] = []
        self.vector: list[bool] = []
        self.places: dict[tuple, int] = {}
        self.roots: dict[frozenset, list[tuple[Fraction, Polynomial]]] = {_ONE.key: [(Fraction(1), _ONE)]}
        self.work = 0
        self.d = self.atom(("d",), False)

    def atom(self, key: tuple, vector: bool) -> Polynomial:
        """The generator of a vector, scalar, sum, inverse or root."""
        if key not in self.places:
            self.places[key] = len(self.atoms)
            self.atoms.append(key)
            self.vector.append(vector)
        return self.generator(self.places[key])

    def generator(self, i: int, k: int = 1) -> Polynomial:
        """A power of a generator."""
        return Polynomial({((i, k),): Fraction(1)}) if k else _ONE

    def times(self, p: Polynomial, q: Polynomial) -> Polynomial:
        """The product."""
        self.work += len(p) * len(q)
        _need(self.work <= _WORK, f"the terms take more than {_WORK} products of monomials")
        product: dict[Monomial, Fraction] = {}
        for first, a in p.items():
            for second, b in q.items():
                powers = dict(first)
                for i, k in second:
                    powers[i] = powers.get(i, 0) + k
                monomial = tuple(sorted((i, k) for i, k in powers.items() if k))
                product[monomial] = product.get(monomial, 0) + a * b
        small = all(-_LARGE < c.numerator < _LARGE > c.denominator for c in product.values())
        _need(small, "the numbers in the terms grow too large")
        return Polynomial({monomial: c for monomial, c in product.items() if c})

    def power(self, p: Polynomial, k: int) -> Polynomial:
        """The product of k factors p."""
        return functools.reduce(self.times, [p] * k, _ONE)

    def is_vector(self, p: Polynomial) -> bool:
        """Whether a vector stands outside sums."""
        return any(self.vector[i] for monomial in p for i, _ in monomial)

    def total(self, p: Polynomial) -> Polynomial:
        """Sum of the d components: linear, with S(1) = d."""
        result = _ZERO
        for monomial, c in p.items():
            inner = tuple(power for power in monomial if self.vector[power[0]])
            outer = tuple(power for power in monomial if not self.vector[power[0]])
            summed = self.atom(("S", inner), False) if inner else self.d
            result += self.times(Polynomial({outer: c}), summed)
        return result

    def inverse(self, p: Polynomial) -> Polynomial:
        """1/p, 0 where p is 0; multiplicative, and the inverse of an inverse is what was inverted."""
        if not p:
            return _ZERO
        scale = self.generator(_D, -min(dict(monomial).get(_D, 0) for monomial in p))
        unit = self.times(p, scale)
        c = _content(p) if unit[max(unit)] > 0 else -_content(p)
        unit, result = unit.scaled(1 / c), scale.scaled(1 / c)
        if len(unit) > 1:
            return self.times(result, self.atom(("inv", unit.key), self.is_vector(unit)))
        for i, k in next(iter(unit)):
            result = self.times(result, self.power(self.inverse_of_atom(i), k))
        return result

    def inverse_of_atom(self, i: int) -> Polynomial:
        """1/a for a generator other than d."""
        kind, *content = self.atoms[i]
        if kind == "inv":
            return Polynomial(content[0])
        return self.atom(("inv", self.generator(i).key), self.vector[i])

    def root(self, p: Polynomial) -> Polynomial:
        """√p, 0 where p is negative; roots whose quotient is rational are multiples of one generator."""
        if not p or (set(p) == {()} and p[()] < 0):
            return _ZERO
        c = _content(p)
        known = self.roots.setdefault(p.scaled(1 / c).key, [])
        for other, root in known:
            if (ratio := _square_root(c / other)) is not None:
                return root.scaled(ratio)
        known.append((c, self.atom(("sqrt", p.key), self.is_vector(p))))
        return known[-1][1]

    def substituted(self, p: Polynomial, values: dict[int, Polynomial]) -> Polynomial:
        """P with generators replaced, all at once, also inside sums, inverses and roots."""
        result = _ZERO
        for monomial, c in p.items():
            product = _ONE.scaled(c)
            for i, k in monomial:
                new = self.generator(_D, k) if i == _D else self.power(self.replaced(i, values), k)
                product = self.times(product, new)
            result += product
        return result

    def replaced(self, i: int, values: dict[int, Polynomial]) -> Polynomial:
        """One generator after a substitution."""
        kind, *content = self.atoms[i]
        if kind == "S":
            product = _ONE
            for j, k in content[0]:
                product = self.times(product, self.power(self.replaced(j, values), k))
            return self.total(product)
        if kind in ("inv", "sqrt"):
            inner = self.substituted(Polynomial(content[0]), values)
            return self.inverse(inner) if kind == "inv" else self.root(inner)
        return values.get(i, self.generator(i))

    def trace(self, name: str, p: Polynomial) -> Polynomial:
        """Σ_j of component j of p at the basis vector e_j, for p = Σ m·v + Σ m·S(n·v): Σ S(m) + Σ S(m·n)."""
        probe = self.places["v", name]
        result = _ZERO
        for monomial, c in p.items():
            rest, probes = _ONE.scaled(c), 0
            for i, k in monomial:
                inner = dict(self.atoms[i][1]) if k == 1 and self.atoms[i][0] == "S" else {}
                if (i == probe and k == 1) or inner.get(probe) == 1:
                    probes += 1
                    for j, m in inner.items():
                        rest = rest if j == probe else self.times(rest, self.generator(j, m))
                else:
                    rest = self.times(rest, self.generator(i, k))
            linear = probes == 1 and self.substituted(rest, {probe: _ZERO}) == rest
            _need(linear, "a trace is taken of what is not linear")
            result += self.total(rest)
        return result


# -------------------------------------------------------------------------------------------------------- reading files


def _integer(value: object, low: float = -math.inf, high: float = math.inf) -> int:
    if type(value) is int and low <= value < high:
        return value
    raise Malformed(f"{_short(value)} is not an integer from {low} to below {high}")


def _name(value: object, pattern: re.Pattern[str] = _NAME) -> str:
    if type(value) is str and pattern.fullmatch(value):
        return value
    raise Malformed(f"{_short(value)} is not a name")


def _list(value: object, size: int | None = None) -> list:
    if type(value) is list and size in (None, len(value)):
        return value
    raise Malformed(f"{_short(value)} is not a list of {size or 'any'} entries")


def _short(value: object) -> str:
    try:
        return repr(value)[:80]
    except ValueError:
        return "a number of more digits than Python prints"


class Terms:
    """The table of terms: every node in normal form."""

    def __init__(self, nodes: object, algebra: Algebra) -> None:
        self.algebra = algebra
        self.values: list[Polynomial] = []
        self.atoms: dict[int, tuple] = {}
        table = _list(nodes)
        for node in table:
            _need(bool(_list(node)), "a node has a kind", Malformed)
            kind, *operands = node
            self.values.append(self.node(kind, operands))
        _need(len({*map(tuple, table)}) == len(table), "a node stands twice", Malformed)

    def __call__(self, place: object) -> Polynomial:
        return self.values[_integer(place, 0, len(self.values))]

    def node(self, kind: object, operands: list) -> Polynomial:
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
            c = Fraction(_integer(n), _integer(m, 1))
            return Polynomial({(): c} if c else {})
        if kind == "^":
            base, k = _list(operands, 2)
            return a.power(self(base), _integer(k, 0, 1000))
        if kind == "trace":
            name, inner = _list(operands, 2)
            _need(("v", _name(name)) in a.places, f"a trace binds {name}, which does not occur", Malformed)
            return a.trace(name, self(inner))
        values = [self(operand) for operand in operands]
        if kind in ("+", "*") and len(values) >= 2:
            first, *rest = values
            for value in rest:
                first = first + value if kind == "+" else a.times(first, value)
            return first
        makers: dict[tuple[object, int], Callable[..., Polynomial]] = {
            ("S", 1): a.total,
            ("inv", 1): a.inverse,
            ("sqrt", 1): a.root,
            ("-", 1): lambda p: _ZERO - p,
            ("-", 2): lambda p, q: p - q,
            ("/", 2): lambda p, q: a.times(p, a.inverse(q)),
            ("mean", 1): lambda p: a.times(a.total(p), a.generator(_D, -1)),
            ("abs", 1): lambda p: a.root(a.times(p, p)),
        }
        known = type(kind) is str and (kind, len(values)) in makers
        _need(known, f"{_short(kind)} of {len(values)} terms is unknown", Malformed)
        return makers[kind, len(values)](*values)

    def formula(self, value: object) -> tuple[Polynomial, str]:
        """A term and its relation to 0."""
        place, relation = _list(value, 2)
        _need(relation in RELATIONS, f"{_short(relation)} is not a relation", Malformed)
        return self(place), relation

    def formulas(self, value: object) -> frozenset:
        """Formulas as a set of normal forms."""
        return frozenset((p.key, relation) for p, relation in map(self.formula, _list(value)))


# -------------------------------------------------------------------------------------------------------------- rules

Stated = tuple[Polynomial, str]
"""A term and its relation to 0."""

Sequent = tuple[frozenset, Polynomial, str]
"""Hypotheses, term and relation of the conclusion."""


class Rules:
    """The conclusion of each rule, from its premises, its arguments and the stated conclusion."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.a = terms.algebra

    def conclude(self, rule: object, stated: Stated, arguments: list, used: list[Sequent]) -> Sequent:
        """The sequent that follows."""
        if type(rule) is not str or rule not in (*_SIMPLE, *_OWN):
            raise Malformed(f"{_short(rule)} is not a rule")
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
        return frozenset([(stated[0].key, stated[1])]), *stated

    def combine(self, stated: Stated, arguments: list, used: list) -> tuple:
        """Σ a·e or a·S(b·e) = 0 from equations e = 0."""
        _list(arguments, len(used))
        goal = _ZERO
        for factors, (_, e, relation) in zip(arguments, used, strict=True):
            _need(relation == "=" and len(_list(factors)) in (1, 2), "combined are equations, with one or two factors")
            a, *b = map(self.terms, factors)
            goal += self.a.times(a, self.a.total(self.a.times(b[0], e)) if b else e)
        return goal, "="

    def cut(self, stated: Stated, arguments: list, used: list) -> tuple:
        """The second premise without the hypothesis that the first proves."""
        _list(arguments, 0)
        (first, p, relation), (second, q, conclusion) = used
        return first | (second - {(p.key, relation)}), q, conclusion

    def cases(self, stated: Stated, arguments: list, used: list, signs: tuple[str, str]) -> tuple:
        """What follows from a scalar in one relation to 0, and from the same in the other, follows."""
        (t,) = map(self.terms, _list(arguments, 1))
        _need(not self.a.is_vector(t), "of a vector some components may be 0 and others not")
        (first, p, relation), (second, q, conclusion) = used
        _need((p, relation) == (q, conclusion), "the two cases prove different formulas")
        other = _ZERO - t if signs[1] == ">" else t
        return (first - {(t.key, signs[0])}) | (second - {(other.key, signs[1])}), p, relation

    def instantiate(self, stated: Stated, arguments: list, used: list) -> tuple:
        """The premise with vectors and scalars replaced."""
        values: dict[int, Polynomial] = {}
        for pair in arguments:
            old, new = _list(pair, 2)
            _need(_integer(old) in self.terms.atoms, "replaced are vectors and scalars")
            kind, name = self.terms.atoms[old]
            place, value = self.a.places[kind, name], self.terms(new)
            _need(place not in values, f"{name} is replaced twice")
            _need(kind == "v" or not self.a.is_vector(value), "a scalar becomes a vector")
            values[place] = value
        hypotheses, p, relation = used[0]
        made = frozenset((self.a.substituted(Polynomial(h), values).key, r) for h, r in hypotheses)
        return made, self.a.substituted(p, values), relation


def _truth(p: Polynomial, relation: str) -> bool:
    """Whether the polynomial is a number that has the relation to 0."""
    c = p.get((), Fraction(0))
    return set(p) <= {()} and {"=": c == 0, "!=": c != 0, ">": c > 0, ">=": c >= 0}[relation]


def _function(a: Algebra, name: object) -> Callable[[Polynomial], Polynomial]:
    _need(name in ("inv", "sqrt"), f"{_short(name)} is not a function", Malformed)
    return a.inverse if name == "inv" else a.root


_OWN = {"assume": Rules.assume, "combine": Rules.combine, "cut": Rules.cut, "instantiate": Rules.instantiate}
_OWN |= {
    "cases_zero": functools.partial(Rules.cases, signs=("=", "!=")),
    "cases_sign": functools.partial(Rules.cases, signs=(">=", ">")),
}
_WEAKER = ((">", ">="), (">", "!="), ("=", ">="))
# Of the algebra a, the stated conclusion s, the arguments t and the premises p, each a term and its relation:
# the side condition, and the term and the relation that follow.
_SIMPLE: dict[str, Callable[[Algebra, Stated, list, list], tuple[bool, Polynomial, str]]] = {
    "constant": lambda a, s, t, p: (_truth(*s), s[0], s[1]),
    "dimension": lambda a, s, t, p: (True, a.d - _ONE, ">="),
    "cancel": lambda a, s, t, p: (p[0][0] == a.times(s[0], p[1][0]), s[0], "="),
    "inverse": lambda a, s, t, p: (True, a.times(p[0][0], a.inverse(p[0][0])) - _ONE, "="),
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
    "others": lambda a, s, t, p: (
        True,
        a.total(a.power(t[0], 2)) - a.times(t[1], a.total(t[0])).scaled(Fraction(2))
        + a.times(a.d, a.power(t[1], 2)) - a.power(t[0] - t[1], 2), ">=",
    ),
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
    "others": (), "combine": None, "cancel": ("=", "!= >"), "inverse": ("!= >",), "inverse_sign": (_ANY,),
    "square_of_root": (">= >",), "root_positive": (">",), "root_of_square": (">= >", "="), "congruence": ("=",),
    "add": ("> >=", "> >="), "multiply": ("> >= !=", "> >= !="), "weaken": (_ANY,), "strengthen": (">=", "!="),
    "total": ("> >=",), "definite": ("=",), "transport": ("=", _ANY), "cut": (_ANY, _ANY), "instantiate": (_ANY,),
    "cases_zero": (_ANY, _ANY), "cases_sign": (_ANY, _ANY),
}  # fmt: skip
_ARGUMENTS = {"inverse_total": 1, "root_nonnegative": 1, "root_of_square": 1, "square": 1, "others": 2, "congruence": 3}


# ---------------------------------------------------------------------------------------------------------- the check


def digest(data: Mapping[str, object]) -> str:
    """SHA-256 of the canonical JSON, without the stated hash."""
    hashed = {key: value for key, value in data.items() if key != "sha256"}
    text = json.dumps(hashed, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def loaded(text: str) -> list[Any]:
    """The certificates of a file, in which no object repeats a member: readers differ in which of the two counts."""

    def members(pairs: list[tuple[str, object]]) -> dict[str, object]:
        names = Counter(name for name, _ in pairs)
        twice = f"an object has two members {_short(max(names, key=names.__getitem__, default=None))}"
        _need(len(names) == len(pairs), twice, Malformed)
        return dict(pairs)

    try:
        data = json.loads(text, object_pairs_hook=members)
    except RecursionError:
        raise Malformed(_DEEP) from None
    _need(data != [], "it holds no certificate", Malformed)
    return data if type(data) is list else [data]


def _refuse_disguised(value: object) -> None:
    """Refuse what JSON does not read: of a class derived from these `==` and the hash may say anything."""
    if type(value) not in (str, int, float, bool, type(None), list, dict):
        raise Malformed(f"{_short(value)} is of type {type(value).__name__}, which no file holds")
    if type(value) in (list, dict):
        for part in [*value, *value.values()] if isinstance(value, dict) else cast("list[object]", value):
            _refuse_disguised(part)


def recheck(data: Mapping[str, Any]) -> int:
    """Number of steps of a certificate; all follow, and the last one is the statement.

    Judged are strings, numbers, lists and dicts, of these types exactly, as a file holds them.

    >>> from lngeom.checker import recheck
    >>> from lngeom.proofs import find
    >>> recheck(find("projection.fixes_hyperplane").certificates()[0])
    2
    """
    try:
        _refuse_disguised(data)
    except RecursionError:
        raise Malformed(_DEEP) from None
    members = {"format", "id", "words", "statement", "steps", "terms", "sha256"}
    shaped = type(data) is dict and set(data) == members
    _need(shaped, f"a certificate has the members {', '.join(sorted(members))}", Malformed)
    _need(data["format"] == FORMAT, f"the format is {_short(data['format'])}, known is {FORMAT!r}", Malformed)
    words = data["words"]
    _need(type(words) is dict and all(type(text) is str and text.isprintable() for text in words.values()),
          "the words are not lines of text with a name each", Malformed)  # fmt: skip
    for name, pattern in ((data["id"], _ID), *((word, _NAME) for word in words)):
        _name(name, pattern)
    try:
        _need(data["sha256"] == _hash(data), "the content does not have the stated hash", Malformed)
        return _rechecked(data, Algebra())
    except RecursionError:
        raise Malformed(_DEEP) from None


def _hash(data: Mapping[str, object]) -> str:
    try:
        return digest(data)
    except UnicodeEncodeError:
        raise Malformed("a text has half a character") from None
    except ValueError:
        raise Malformed("a number has more digits than Python prints") from None


def _rechecked(data: Mapping[str, Any], algebra: Algebra) -> int:
    terms = Terms(data["terms"], algebra)
    rules, proved = Rules(terms), list[Sequent]()
    for number, step in enumerate(_list(data["steps"])):
        keys = {"rule", "premises", "arguments", "hypotheses", "conclusion"}
        shaped = type(step) is dict and set(step) == keys
        _need(shaped, f"step {number} does not have exactly the members {', '.join(sorted(keys))}", Malformed)
        stated, hypotheses = terms.formula(step["conclusion"]), terms.formulas(step["hypotheses"])
        used = [proved[_integer(premise, 0, number)] for premise in _list(step["premises"])]
        try:
            sequent = rules.conclude(step["rule"], stated, _list(step["arguments"]), used)
        except Refused as error:
            raise type(error)(f"step {number}: {error}") from None
        _need(sequent == (hypotheses, *stated), f"step {number} ({step['rule']}) states what does not follow")
        proved.append(sequent)
    _need(bool(proved), "it has no steps")
    statement = data["statement"]
    shaped = type(statement) is dict and set(statement) == {"hypotheses", "conclusion"}
    _need(shaped, "the statement is not hypotheses and a conclusion", Malformed)
    goal = (terms.formulas(statement["hypotheses"]), *terms.formula(statement["conclusion"]))
    _need(proved[-1] == goal, "the last step is not the statement")
    return len(proved)


def main(files: list[str]) -> int:
    """Check files, one line each; 1 if one is refused, 2 if none is given."""
    refused = 0
    if not files:
        print("give certificates to check: python checker.py FILE.json ...", file=sys.stderr)
        return 2
    for file in files:
        try:
            print(f"{file}: {sum(map(recheck, loaded(Path(file).read_text(encoding='utf-8'))))} steps follow")
        except (Refused, ValueError, OSError) as error:
            refused += 1
            print(f"{file}: refused, {error}")
    return int(refused > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
