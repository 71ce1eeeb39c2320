"""One table of functions on every array library and precision: same numbers, same dtype, same device."""

from dataclasses import dataclass
from typing import Any

import array_api_strict
import numpy as np
import pytest
import torch
from array_api_compat import device, is_torch_array

import lngeom as lg
from lngeom.folding import fold_affine
from lngeom.projection import condition_number

from .functions import FUNCTIONS, data

D, N, EPS = 24, 6, 2.0**-10
DATA = data(D, N)


@dataclass(frozen=True)
class Carrier:
    """An array library, a precision and a device."""

    xp: Any
    dtype: Any
    roundoff: float
    device: str | None = None

    def array(self, values: np.ndarray) -> Any:
        if self.device is None:
            return self.xp.asarray(values, dtype=self.dtype)
        return self.xp.asarray(values, dtype=self.dtype, device=self.device)


CUDA = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no CUDA device")]
SINGLE, DOUBLE = 2.0**-24, 2.0**-53
CARRIERS = [
    pytest.param(Carrier(np, np.float64, DOUBLE), id="numpy-float64"),
    pytest.param(Carrier(np, np.float32, SINGLE), id="numpy-float32"),
    pytest.param(Carrier(np, np.float16, 2.0**-11), id="numpy-float16"),
    pytest.param(Carrier(torch, torch.float64, DOUBLE), id="torch-float64"),
    pytest.param(Carrier(torch, torch.float32, SINGLE), id="torch-float32"),
    pytest.param(Carrier(torch, torch.bfloat16, 2.0**-8), id="torch-bfloat16"),
    pytest.param(Carrier(torch, torch.float16, 2.0**-11), id="torch-float16"),
    pytest.param(Carrier(array_api_strict, array_api_strict.float64, DOUBLE), id="strict-float64"),
    pytest.param(Carrier(array_api_strict, array_api_strict.float32, SINGLE), id="strict-float32"),
    pytest.param(Carrier(torch, torch.float64, DOUBLE, "cuda"), id="cuda-float64", marks=CUDA),
    pytest.param(Carrier(torch, torch.float32, SINGLE, "cuda"), id="cuda-float32", marks=CUDA),
    pytest.param(Carrier(torch, torch.bfloat16, 2.0**-8, "cuda"), id="cuda-bfloat16", marks=CUDA),
]


def to_numpy(values: Any) -> np.ndarray:
    return values.detach().cpu().double().numpy() if is_torch_array(values) else np.asarray(values, dtype=float)


def tolerance(reference: np.ndarray, carrier: Carrier) -> float:
    """Bound of the error of a result of this table.

    Every function is a composition of at most three sums over n ≤ d components, in whatever order, and 30 other
    operations; the only cancellations are the subtraction of a mean (amplification κ = ‖x‖/‖Πx‖ of rows or columns)
    and that of 1 − ‖y‖²/d in the inverse (amplification 1/(1 − ‖y‖²/d)), and a mean square enters squared. Relative
    to the largest entry, all this is below 4(d + 30)·u·κ, with u that of float32 for narrower dtypes, plus one
    rounding to the dtype itself.
    """
    rows = float(np.max(condition_number(DATA["x"])))
    columns = float(np.max(condition_number(DATA["x"].T.copy())))
    ball = float(np.max(1 / (1 - np.mean(DATA["y"] ** 2, axis=-1))))
    work = min(carrier.roundoff, SINGLE)
    relative = 4 * (D + 30) * work * max(rows, columns, ball) + carrier.roundoff
    return relative * float(np.max(np.abs(reference)))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("carrier", CARRIERS)
def test_every_function_on_every_carrier(carrier: Carrier, name: str) -> None:
    function = FUNCTIONS[name]
    arrays = {key: carrier.array(value) for key, value in DATA.items()}
    got, reference = function.call(arrays, EPS), function.call(DATA, EPS)
    assert type(got) is type(arrays["x"])
    narrow = carrier.roundoff > SINGLE
    assert got.dtype == (carrier.xp.float32 if function.wide and narrow else carrier.dtype)
    assert device(got) == device(arrays["x"])
    assert tuple(got.shape) == reference.shape
    assert np.all(np.abs(to_numpy(got) - reference) <= tolerance(reference, carrier))


@pytest.mark.parametrize("carrier", CARRIERS)
def test_uniform_and_questions_of_yes_and_no(carrier: Carrier) -> None:
    uniform = lg.projection.uniform(5, xp=carrier.xp, dtype=carrier.dtype)
    assert uniform.dtype == carrier.dtype
    assert to_numpy(uniform).tolist() == [1.0] * 5
    weight = carrier.array(DATA["weight"])
    assert lg.folding.certify_centering(weight, None, *lg.folding.center_writer(weight)).exact
    gain = carrier.array(DATA["gain"])
    assert lg.folding.certify_fold(weight, None, *fold_affine(weight, gain=gain), gain=gain).exact
