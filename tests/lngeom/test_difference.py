import re

import numpy as np
import pytest

import lngeom as lg
from lngeom.errors import InputError
from tests.kernels.rows import EPS
from tests.kernels.seeded import Kernel, faults


def explained(kernel: Kernel, kind: str, d: int) -> lg.rounding.Explanation:
    """Ordinary rows, rows of small variance and of large mean, and rows with a massive entry."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(16, d))
    x[:4] += rng.normal(size=(4, 1))
    x[4:10] = np.logspace(-5, -1, 6)[:, None] * (x[4:10] + 1)
    x[10:13] += [[30.0], [-1e3], [8e3]]
    x[13:, d // 2] *= 300
    gain, bias = rng.choice([-1, 1], d) * rng.integers(72, 250, d) / 128, rng.integers(-120, 121, d) / 128
    x, *given = (values.astype(np.float32) for values in ((x, gain, bias) if kind == "layernorm" else (x, gain)))
    with np.errstate(all="ignore"):
        got = kernel(x, *given)
    parameters = dict(zip(("gain", "bias"), given, strict=False))
    return lg.explain_difference(x, got.astype(np.float32), **parameters, eps=EPS, centered=kind == "layernorm")


@pytest.mark.parametrize("seed", range(5, 12))
def test_a_variance_of_one_pass_is_named_beside_a_variant_that_fits(seed: int) -> None:
    x = (np.random.default_rng(seed).normal(size=64) + 3000).astype(np.float32)
    variance = (x * x).mean(dtype=np.float32) - x.mean(dtype=np.float32) ** 2
    got = ((x - x.mean()) / np.sqrt(abs(variance) + np.float32(1e-5))).astype(np.float32)
    explanation = lg.explain_difference(x, got, eps=1e-5)
    assert explanation.verdict == "rounding" or explanation.method == "one-pass"
    assert explanation.verdict == "rounding" or "one-pass variance" in explanation.message


@pytest.mark.parametrize("shape", [(0, 3), (2, 0, 3)])
def test_no_vectors_cannot_be_compared(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=f"x has shape {re.escape(str(shape))}: there are no vectors to compare"):
        lg.explain_difference(np.zeros(shape), np.zeros(shape), eps=1e-5)


@pytest.mark.parametrize("d", [16, 64, 128])
def test_bounds_that_hold_anything_explain_nothing(d: int) -> None:
    x = np.random.default_rng(d).normal(size=(4, d)).astype(np.float32)
    for output in (np.zeros_like(x), np.ones_like(x), x.view(np.uint32) >> 16 << 16):
        told = lg.explain_difference(x, output.view(np.float32) if output.dtype == np.uint32 else output, eps=1e-5)
        assert (told.verdict, told.cause) == ("bug", None)


NAMED = faults(np, "outputs")


@pytest.mark.parametrize("name", NAMED)
def test_the_outputs_of_a_fault_name_it(name: str) -> None:
    row = NAMED[name]
    told = explained(row.kernel, row.kind, row.options["d"])
    assert re.search(row.says, f"{told.verdict}: {told.cause or ''}"), told
    assert (told.cause or "") in told.message
