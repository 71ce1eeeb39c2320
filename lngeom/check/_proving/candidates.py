"""Candidate formulas: the library's definitions, their usual variants, and maps that normalize nothing."""

import itertools
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

import lngeom as lg
from lngeom.carriers import Carrier, namespace
from lngeom.prover import dim, norm, root, square_norm

from .._tracing.grounds import Ground
from .._tracing.roles import RESIDUALS

Value = Callable[[Ground], Any]
"""A value on any carrier."""

Parameter = Carrier | None
Core = Callable[..., Carrier]
"""A norm of x, gain, bias and ε."""

_GEMMA = "gain plus 1"
_UNBIASED = {"ddof": "divisor d − 1"}
_OUTSIDE = {"eps outside": "outside the root"}
_BOTH = _UNBIASED | _OUTSIDE


class Affine(NamedTuple):
    """Names of the gain (the parameter plus an offset) and of the bias; None for none.

    They are `standard` if they follow the norm as defined, no variant of it, of the `argument` x or x + a residual.
    """

    gain: str | None
    offset: float
    bias: str | None
    standard: bool
    argument: str


@dataclass(frozen=True)
class Candidate:
    """A definition with the names of a program."""

    text: str
    value: Value
    kind: str
    exact: bool
    eps: str = ""
    affine: Affine | None = None
    variants: dict[str, str] = field(default_factory=dict)


class Names(NamedTuple):
    """The names in a program beside x."""

    vectors: tuple[str, ...]
    rows: tuple[str, ...]
    scalars: dict[str, str]


def _affine(y: Carrier, gain: Parameter, bias: Parameter) -> Carrier:
    y = y if gain is None else y * gain
    return y if bias is None else y + bias


def _unbiased(x: Carrier, *affine: Parameter, eps: Carrier, centered: bool = True, outside: bool = False) -> Carrier:
    """The deviation from the mean, or x, over the root of the sum of squared deviations over d − 1."""
    deviation = lg.project(x)
    square = square_norm(deviation) / (dim(x) - 1)
    divisor = root(square) + eps if outside else root(square + eps)
    return _affine((deviation if centered else x) / divisor, *affine)


def _by_length(x: Carrier, *affine: Parameter, eps: Carrier, scaled: bool = True, mean: bool = False) -> Carrier:
    """x/max(‖x‖, ε), times √d if `scaled`; of ‖x‖/√d if `mean`."""
    length = root(lg.projection.mean_square(x)) if mean else norm(x)
    longest = (length + eps + namespace(x).abs(length - eps)) / 2
    return _affine(root(dim(x)) * x / longest if scaled else x / longest, *affine)


def _reciprocal(x: Carrier, *affine: Parameter, eps: Carrier) -> Carrier:
    return _affine(x * 0 + 1 / lg.norms.scale(lg.projection.mean_square(x), eps=eps), *affine)


_CORES: tuple[tuple[str, str, dict[str, str] | None, Core], ...] = (
    ("LayerNorm({z}; ε = {e})", "layernorm", {}, lg.layer_norm),
    ("LayerNorm({z}; ε = {e} outside the root)", "layernorm", _OUTSIDE, partial(lg.layer_norm, placement="outside")),
    ("RMSNorm({z}; ε = {e})", "rmsnorm", {}, lg.rms_norm),
    ("RMSNorm({z}; ε = {e} outside the root)", "rmsnorm", _OUTSIDE, partial(lg.rms_norm, placement="outside")),
    ("LayerNorm({z}; divisor d − 1, ε = {e})", "layernorm", _UNBIASED, _unbiased),
    ("LayerNorm({z}; divisor d − 1, ε = {e} outside the root)", "layernorm", _BOTH, partial(_unbiased, outside=True)),
    ("({z})/√(variance with divisor d − 1 + {e})", "other", None, partial(_unbiased, centered=False)),
    ("√d·{z}/max(‖{z}‖, {e})", "other", None, _by_length),
    ("{z}/max(‖{z}‖, {e})", "other", None, partial(_by_length, scaled=False)),
    ("{z}/max(rms({z}), {e})", "other", None, partial(_by_length, scaled=False, mean=True)),
    ("1/√(mean square of {z} + {e})", "other", None, _reciprocal),
)
"""Text, kind, what it has of known variants (None where it has more), and function of x, gain, bias and ε."""


class Part(NamedTuple):
    """A piece of a definition: its text, its value (None for none), the names in it, and whether a norm has it.

    The `variant` is what makes a gain one of 1 + its parameter.
    """

    text: str
    value: Value | None
    used: tuple[str, ...]
    plain: bool
    variant: str = ""


def _product(*names: str) -> Value:
    return lambda ground: reduce(operator.mul, map(ground.vector, names))


def _sum(other: str) -> Part:
    """The sum of x and another input, which is what is to be normalized if that is a residual."""
    value = lambda ground: ground.vector("x") + ground.vector(other)  # noqa: E731
    return Part(f"x + {other}", value, (other,), other.lower() in RESIDUALS)


def _arguments(names: Names) -> Iterator[Part]:
    """The vector that is normalized: x, its sum with another input, or its product with a gate or a gain."""
    yield _X
    for other in names.vectors:
        if other in names.rows:
            yield _sum(other)
        yield Part(f"{other}∘x", _product("x", other), (other,), False)
        one_more = lambda ground, _n=other: (1 + ground.vector(_n)) * ground.vector("x")  # noqa: E731
        yield Part(f"(1 + {other})∘x", one_more, (other,), False)
    for a, b in itertools.combinations(names.rows, 2):
        yield Part(f"{a}∘{b}∘x", _product("x", a, b), (a, b), False)


def _gains(names: Names) -> Iterator[Part]:
    yield _NONE
    for name in names.vectors:
        yield Part(f"{name}∘", _product(name), (name,), name not in names.rows)
        yield Part(f"(1 + {name})∘", lambda ground, _n=name: 1 + ground.vector(_n), (name,), False, f"1 + {name}")
    for count in (2, 3):
        for several in itertools.combinations(names.vectors, count):
            yield Part("".join(f"{name}∘" for name in several), _product(*several), several, False)


def _composed(function: Core, parts: tuple[Part, Part, Part], eps: str | None = None, **vectors: str) -> Value:
    """A definition of parts, computed by the library, with ε by its name, or 0 for an empty one."""
    argument, gain, bias = (part.value for part in parts)

    def value(ground: Ground) -> Carrier:
        options = {key: ground.vector(name) for key, name in vectors.items()}
        if eps is not None:
            options["eps"] = ground.scalar(eps) if eps else 0
        assert argument is not None
        return function(argument(ground), gain and gain(ground), bias and bias(ground), **options)

    return value


def matching(names: Names, ground: Ground, output: ArrayLike, stated: Candidate | None = None) -> list[Candidate]:
    """The definitions with these names that have a value in floats, the `stated` one or those of a norm first."""
    candidates: list[Candidate] = []
    added = (Part(f" + {name}", _product(name), (name,), name not in names.rows) for name in names.vectors)
    gains, biases = list(_gains(names)), [_NONE, *added]
    epsilons = [*names.scalars, ""]
    for argument in _arguments(names):
        for (text, kind, variants, function), eps in itertools.product(_CORES, epsilons):
            inner = argument._replace(text=text.format(z=argument.text, e=names.scalars.get(eps, "0")))
            y = _composed(function, (inner, _NONE, _NONE), eps)(ground)
            for gain, bias in itertools.product(gains, biases):
                tied = bias.used if bias.used != gain.used else ()
                used = [*argument.used, *gain.used, *tied]
                after = (part.value and part.value(ground) for part in (gain, bias))
                if len(used) == len(set(used)) and _agree(_affine(y, *after), output):
                    value = _composed(function, (inner, gain, bias), eps)
                    exact = variants == {} and argument.plain and gain.plain and bias.plain
                    single = argument.plain and len(gain.used) < 2 and not {*gain.used, *bias.used} & {*names.rows}
                    parts = (*gain.used, None)[0], float(gain.variant != ""), (*bias.used, None)[0]
                    affine = Affine(*parts, variants == {}, argument.text) if single else None
                    known = {_GEMMA: gain.variant} if gain.variant else {}
                    known = {} if affine is None or variants is None else known | variants
                    text = f"{gain.text}{inner.text}{bias.text}"
                    candidates.append(Candidate(text, value, kind, exact, eps, affine, known))
    candidates += [candidate for candidate in _others(names) if _agree(candidate.value(ground), output)]
    if stated is not None:
        own = [stated] if _agree(stated.value(ground), output) else []
        return [*own, *(replace(candidate, exact=False) for candidate in candidates)]
    return sorted(candidates, key=lambda candidate: not candidate.exact)


_NONE, _X = Part("", None, (), True), Part("x", _product("x"), (), True)

_ALIKE = 2.0**-26
"""√u of float64: rounding gets there at a condition of 2²⁶ alone, another formula by chance as rarely."""


def _agree(a: Any, b: ArrayLike) -> bool:
    """Whether two float64 values of numbers near 1 look equal. A proof has to follow, so nothing depends on this."""
    with np.errstate(invalid="ignore"):
        return bool(np.all(abs(np.subtract(a, b)) <= _ALIKE * (1 + abs(np.asarray(b)))))


def _others(names: Names) -> Iterator[Candidate]:
    """Batch normalization with given statistics, and affine maps."""
    rest = [name for name in names.vectors if not re.search("mean|var", name)]
    pairs = [(a, b) for a in (None, *rest) for b in (None, *rest) if a is None or a != b]
    means = [name for name in names.vectors if "mean" in name]
    variances = [name for name in names.vectors if "var" in name]
    for gain, bias in pairs:
        before, after = f"{gain}∘" if gain else "", f" + {bias}" if bias else ""
        parts = _X, _part(gain), _part(bias)
        yield Candidate(f"{before}x{after}, no norm", _composed(_affine, parts), "other", False)
        for mean, variance, eps in itertools.product(means, variances, names.scalars):
            text = f"{before}BatchNorm(x; {mean}, {variance}; ε = {names.scalars[eps]}){after}"
            value = _composed(lg.norms.batch_norm, parts, eps, mean=mean, variance=variance)
            yield Candidate(text, value, "other", False)


def _part(name: str | None) -> Part:
    return _NONE._replace(value=name and _product(name))


def reference(
    names: Names, name: str, function: Core, gain: str | None, bias: str | None, eps: str | None, kind: str = "other"
) -> Candidate:
    """The definition expected of a norm of this name and function with these parameters."""
    shown = names.scalars.get(eps, "0") if eps else "0"
    residual = next((name for name in names.rows if name.lower() in RESIDUALS), None)
    argument = _sum(residual) if residual else _X
    text = f"{f'{gain}∘' if gain else ''}{name}({argument.text}; ε = {shown}){f' + {bias}' if bias else ''}"
    parts = argument, _part(gain), _part(bias)
    return Candidate(text, _composed(function, parts, eps or ""), kind, True, eps or "")
