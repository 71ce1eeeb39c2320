import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lngeom.errors import InputError
from lngeom.proofs.commands.verify import _rounding
from lngeom.proofs.rounding import THEOREMS, recorded
from lngeom.rounding import FORMATS, Arithmetic, Definition, constants, rounded
from lngeom.rounding.certainty import exactly, root
from lngeom.rounding.family import half_ulp
from lngeom.theorems import CheckError

SOURCES = Path(__file__).parents[2] / "proofs" / "rounding"


def test_constants_are_those_of_the_theorems() -> None:
    text = (SOURCES / "Constants.v").read_text(encoding="utf-8")
    stated = {name.upper(): int(value) for name, value in re.findall(r"^Definition (\w+) := (\d+)", text, re.MULTILINE)}
    assert stated == {name: value for name, value in vars(constants).items() if name.isupper()}


def any_order(terms: list[Fraction]) -> Fraction:
    return (len(terms) - 1) * sum(map(abs, terms), Fraction(0))


def gamma(k: int, u: Fraction) -> Fraction:
    return k * u / (1 - k * u)


def mean(terms: list[Fraction]) -> Fraction:
    return sum(terms, Fraction(0)) / len(terms)


class Theorem:
    """The definitions of `Means`, `Merging` and `Family`, with w = u ω, as fractions."""

    def __init__(self, x: list[Fraction], u: Fraction, om: Fraction, *, centered: bool) -> None:
        self.x, self.u, self.om, self.d = x, u, om, len(x)
        self.mu = mean(x) if centered else Fraction(0)
        self.deviation = [value - self.mu for value in x]
        self.variance = mean([c**2 for c in self.deviation])
        total = u * any_order(x) / self.d
        size, grown = mean([abs(value) for value in x]), 1 + gamma(self.d, u)
        self.divided = total * grown + u * abs(self.mu) + 2 * om
        self.alpha = (total * grown + u * (grown * size + abs(self.mu)) + 2 * om) * centered
        levels = (self.d - 1).bit_length()
        # The root is squared where it is compared.
        self.merged = total + ((1 + u) ** 3 - 1) * levels * size + 2 * u * om * self.d
        self.grown, self.increment = 1 + gamma(4 * self.d, u), 25 * u**2 * levels * self.variance
        self.total, self.levels = total, levels

    def squares(self, alpha: Fraction) -> tuple[Fraction, Fraction]:
        terms = [(abs(c) + alpha) ** 2 for c in self.deviation]
        error = self.u * any_order(terms) * (1 + gamma(self.d, self.u)) / self.d + 4 * self.om
        return (
            max(Fraction(0), self.variance * (1 - 8 * self.u) - error),
            (self.variance + alpha**2) * (1 + 8 * self.u) + error,
        )

    def merged_variance(self) -> Fraction:
        """`Variances.merged_variance_error`: how far a merged variance is off; roots are rounded up."""
        u, d, k, v = self.u, self.d, self.levels, self.variance
        size = 5 * u * root(k * v, up=True)
        size += ((1 + u) ** 3 - 1) * k * root(mean([value**2 for value in self.x]), up=True)
        part = (self.total * d / (d - 1) + size + 2 * u * self.om * d) * self.grown
        change = 2 * part * root(2 * k * v, up=True) + 2 * k * part**2
        return (v + change) * (1 + gamma(2 * d + 8, u)) - v + self.om

    def slack(self, i: int, alpha: Fraction, p: Fraction, g: Fraction, b: Fraction, *, first: bool) -> Fraction:
        x, u = abs(self.x[i]), self.u
        tiny = self.om * (x + abs(self.mu) + alpha + abs(g) + p + 1)
        more = u * abs(g) * p * (3 * x + 4 * abs(self.mu)) + (1 + u) * u * abs(b)
        return 5 * u * abs(g) * p * (abs(self.deviation[i]) + alpha) + u * abs(b) + tiny + more * first


def rows(dtype: str, seed: int) -> Any:
    """Rows of every width to 20, of many sizes and means, some with a massive component or two values only."""
    rng = np.random.default_rng(seed)
    for d in range(1, 21):
        for _ in range(5):
            x = rng.normal(size=d) * 10.0 ** rng.uniform(-4, 1) + rng.choice([0, 1, -300]) * 10.0 ** rng.uniform(-3, 1)
            x[0] *= rng.choice([1, 1, 1000 if dtype != "float16" else 10])
            x = x if rng.random() < 0.8 else np.where(x > x.mean(), x.max(), x.min())
            g, b = rng.normal(size=(2, d)) * 2.0 ** rng.uniform(-20, 3)
            yield (rounded(v, dtype).astype(float) for v in (x, g, b))


@pytest.mark.parametrize("method", [None, "two-pass"])
@pytest.mark.parametrize("centered", [True, False], ids=["layernorm", "rmsnorm"])
@pytest.mark.parametrize("dtype", FORMATS)
def test_the_family_of_the_theorems_lies_inside_that_of_the_code(dtype: str, centered: bool, method: Any) -> None:
    of = Arithmetic.of(dtype)
    arithmetic = Arithmetic(of.work, of.sums, of.storage, method)
    eps, one = Fraction(1, 2**17), 1 + 8 * of.work.roundoff
    for x, gain, bias in rows(dtype, 3):
        layer = Definition(centered, gain.astype(np.longdouble), bias.astype(np.longdouble), float(eps))
        sample = exactly([x.tolist()], arithmetic)
        assert sample is not None
        family = layer.family(sample, arithmetic)
        low, high, reach = family.low[0, 0], family.high[0, 0], family.reach[0, 0]
        spread = sample.spread(arithmetic, centered=centered)
        alpha = spread.alpha[0, 0]
        known = Theorem(sample.x[0].tolist(), of.work.roundoff, of.work.tiny, centered=centered)
        if method is None and centered:
            assert known.alpha <= alpha
            rest = alpha / known.grown - known.merged
            assert rest >= 0
            assert known.increment <= rest**2
            if known.d > 1:
                change = known.merged_variance()
                assert spread.low[0, 0] <= max(known.variance - change, 0)
                assert spread.high[0, 0] >= known.variance + change
        elif centered and not sample.sums_exactly(arithmetic.sums).all():
            assert known.divided <= alpha
        error = min(alpha, known.alpha)
        least, most = known.squares(error)
        assert low**2 * (most + eps) <= (2 - one) ** 2
        assert high**2 * (least + eps) >= one**2
        assert reach >= high * error
        for i, (g, b) in enumerate(zip(gain.tolist(), bias.tolist(), strict=True)):
            if g:
                wanted = known.slack(
                    i, min(alpha, known.alpha), high, Fraction(g), Fraction(b), first=centered and not method
                )
                assert wanted <= family.slack[0, i]


def test_half_a_unit_is_that_of_the_theorems() -> None:
    """`Floats.half_ulp`; at 0 the code excuses flushing as well."""
    for name, form in FORMATS.items():
        for exponent in range(form.low - form.bits + 1, form.high, 7):
            y = math.ldexp(1.0, exponent)
            unit = Fraction(2) ** (max(exponent - form.bits + 1, form.low - form.bits + 1) - 1)
            assert Fraction(*half_ulp(np.array([y]), form)[0].as_integer_ratio()) == unit, (name, exponent)
        assert half_ulp(np.zeros(1), form)[0] >= math.ldexp(1.0, form.low)


def test_the_record_is_of_these_files_and_what_the_page_names_is_proved() -> None:
    assert recorded().keys() == {"coq", "axioms", "sources", "theorems"}  # nothing that another run changes
    assert recorded()["theorems"] == THEOREMS
    assert recorded()["axioms"] == ["classic", "functional_extensionality_dep", "sig_forall_dec", "sig_not_dec"]
    page = (SOURCES.parents[1] / "docs" / "derivations" / "tolerance.md").read_text(encoding="utf-8")
    named = {tuple(name) for name in re.findall(r"`([A-Z][a-z]+)\.(\w\w+)`", page)}
    assert len(named) > len(THEOREMS)
    for file, name in named | {tuple(theorem.split(".")) for theorem in THEOREMS.values()}:
        text = (SOURCES / f"{file}.v").read_text(encoding="utf-8")
        assert re.search(rf"^(Theorem|Lemma) {name}\b.*?\bQed\.", text, re.MULTILINE | re.DOTALL), (file, name)
        assert not re.search(r"\b(Admitted|admit|Axiom|Parameter)\b", text)


@pytest.mark.parametrize(("error", "code"), [(CheckError("Coq refuses"), 1), (InputError("Flocq is absent"), 0)])
def test_a_refusal_of_coq_is_a_fault_and_an_absent_library_is_none(
    error: Exception, code: int, monkeypatch, capsys
) -> None:
    def fail(folder: Path) -> None:
        raise error

    monkeypatch.setattr("lngeom.proofs.rounding.check", fail)
    assert _rounding() == code
    assert str(error) in "".join(capsys.readouterr())
