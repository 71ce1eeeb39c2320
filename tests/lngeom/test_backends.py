"""One table of functions on every array library and precision: same numbers, same dtype, same device."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import array_api_strict
import numpy as np
import pytest
import torch
from array_api_compat import device, is_torch_array

import lngeom as lg
from lngeom.carriers import Enclosure
from lngeom.derivatives import jacobian_product
from lngeom.epsilon import relative_radius_from_mean_square
from lngeom.folding import fold_affine
from lngeom.norms import batch_norm
from lngeom.projection import condition_number

D, N, EPS = 24, 6, 2.0**-10


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


def data() -> dict[str, np.ndarray]:
    """Inputs with at most eight significant bits, so that every precision holds them exactly."""
    rng = np.random.default_rng(0)
    draw = {
        "x": rng.normal(0.5, 1.0, (N, D)),
        "t": rng.normal(size=(N, D)),
        "gain": rng.normal(1.0, 0.5, D),
        "bias": rng.normal(size=D),
        "variance": rng.uniform(0.5, 2.0, D),
        "weight": rng.normal(size=(7, D)),
    }
    rounded = {name: np.asarray(torch.tensor(value).bfloat16().double()) for name, value in draw.items()}
    # A vector of the ball of radius √d that is orthogonal to 1 without rounding.
    half = rounded["x"][:, : D // 2] / 4
    rounded["y"] = np.concatenate([half, -half], axis=-1)
    return rounded


Call = Callable[[dict[str, Any]], Any]
SAME, WIDE = "the dtype of x", "at least float32"
TABLE: dict[str, tuple[Call, str]] = {
    "project": (lambda a: lg.project(a["x"]), SAME),
    "mean_vector": (lambda a: lg.projection.mean_vector(a["x"]), SAME),
    "mean": (lambda a: lg.moments(a["x"])[0], WIDE),
    "variance": (lambda a: lg.moments(a["x"])[1], WIDE),
    "angle_to_uniform": (lambda a: lg.angles.angle_to_uniform(a["x"]), WIDE),
    "angle_from_moments": (lambda a: lg.angles.angle_from_moments(*lg.moments(a["x"])), WIDE),
    "relative_radius_from_mean_square": (
        lambda a: relative_radius_from_mean_square(lg.moments(a["x"])[1], eps=EPS),
        WIDE,
    ),
    "scale": (lambda a: lg.norms.scale(lg.moments(a["x"])[1], eps=EPS), WIDE),
    "standardize": (lambda a: lg.standardize(a["x"], eps=EPS), SAME),
    "standardize_outside": (lambda a: lg.standardize(a["x"], eps=EPS, placement="outside"), SAME),
    "layer_norm": (lambda a: lg.layer_norm(a["x"], a["gain"], a["bias"], eps=EPS), SAME),
    "rms_norm": (lambda a: lg.rms_norm(a["x"], a["gain"], a["bias"], eps=EPS), SAME),
    "batch_norm": (lambda a: batch_norm(a["x"], a["gain"], a["bias"], eps=EPS), SAME),
    "batch_norm_fixed": (
        lambda a: batch_norm(a["x"], a["gain"], eps=EPS, mean=a["bias"], variance=a["variance"]),
        SAME,
    ),
    "relative_radius": (lambda a: lg.epsilon.relative_radius(a["x"], eps=EPS), WIDE),
    "layer_rms_distance": (lambda a: lg.norms.layer_rms_distance(a["x"], eps=EPS), WIDE),
    "layer_rms_distance_from_moments": (
        lambda a: lg.norms.layer_rms_distance_from_moments(*lg.moments(a["x"]), eps=EPS),
        WIDE,
    ),
    "matching_eps": (lambda a: lg.epsilon.matching_eps(a["x"], eps=EPS), WIDE),
    "matching_eps_outside": (lambda a: lg.epsilon.matching_eps(a["x"], eps=EPS, placement="outside"), WIDE),
    "condition_number": (lambda a: condition_number(a["x"]), WIDE),
    "jacobian": (lambda a: lg.jacobian(a["x"], a["gain"], eps=EPS), SAME),
    "jacobian_rms": (lambda a: lg.jacobian(a["x"], a["gain"], eps=EPS, centered=False), SAME),
    "jacobian_product": (lambda a: jacobian_product(a["x"], a["t"], a["gain"], eps=EPS), SAME),
    "jacobian_product_outside": (
        lambda a: jacobian_product(a["x"], a["t"], a["gain"], eps=EPS, placement="outside"),
        SAME,
    ),
    "jacobian_transpose_product": (
        lambda a: lg.derivatives.jacobian_transpose_product(a["x"], a["t"], a["gain"], eps=EPS),
        SAME,
    ),
    "secant": (lambda a: lg.secant(a["x"], a["t"], a["gain"], eps=EPS), SAME),
    "secant_product": (lambda a: lg.derivatives.secant_product(a["x"], a["t"], a["t"], a["gain"], eps=EPS), SAME),
    "jacobian_singular_values": (lambda a: lg.derivatives.jacobian_singular_values(a["x"], eps=EPS), SAME),
    "potential": (lambda a: lg.derivatives.potential(a["x"], eps=EPS), WIDE),
    "invert": (lambda a: lg.fibers.invert(a["y"], eps=EPS), SAME),
    "invert_outside": (lambda a: lg.fibers.invert(a["y"], eps=EPS, placement="outside"), SAME),
    "center_writer": (lambda a: lg.folding.center_writer(a["weight"], layout="conv1d")[0], SAME),
    "fold_affine_weight": (lambda a: fold_affine(a["weight"], gain=a["gain"])[0], SAME),
    "fold_affine_bias": (lambda a: fold_affine(a["weight"], norm_bias=a["bias"])[1], SAME),
    "dead_direction": (lambda a: lg.ellipsoid.dead_direction(a["gain"]), SAME),
}


def to_numpy(values: Any) -> np.ndarray:
    return values.detach().cpu().double().numpy() if is_torch_array(values) else np.asarray(values, dtype=float)


def tolerance(reference: np.ndarray, inputs: dict[str, np.ndarray], carrier: Carrier) -> float:
    """Bound of the error of a result of this table.

    Every function is a composition of at most three sums over n ≤ d components, in whatever order, and 30 other
    operations; the only cancellations are the subtraction of a mean (amplification κ = ‖x‖/‖Πx‖ of rows or columns)
    and that of 1 − ‖y‖²/d in the inverse (amplification 1/(1 − ‖y‖²/d)), and a mean square enters squared. Relative
    to the largest entry, all this is below 4(d + 30)·u·κ, with u that of float32 for narrower dtypes, plus one
    rounding to the dtype itself.
    """
    rows = float(np.max(condition_number(inputs["x"])))
    columns = float(np.max(condition_number(inputs["x"].T.copy())))
    ball = float(np.max(1 / (1 - np.mean(inputs["y"] ** 2, axis=-1))))
    work = min(carrier.roundoff, SINGLE)
    relative = 4 * (D + 30) * work * max(rows, columns, ball) + carrier.roundoff
    return relative * float(np.max(np.abs(reference)))


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("carrier", CARRIERS)
def test_every_function_on_every_carrier(carrier: Carrier, name: str) -> None:
    call, kept = TABLE[name]
    inputs = data()
    arrays = {key: carrier.array(value) for key, value in inputs.items()}
    got, reference = call(arrays), call(inputs)
    assert type(got) is type(arrays["x"])
    narrow = carrier.roundoff > SINGLE
    assert got.dtype == (carrier.xp.float32 if kept == WIDE and narrow else carrier.dtype)
    assert device(got) == device(arrays["x"])
    assert tuple(got.shape) == reference.shape
    assert np.all(np.abs(to_numpy(got) - reference) <= tolerance(reference, inputs, carrier))


@pytest.mark.parametrize("carrier", CARRIERS)
def test_uniform_and_questions_of_yes_and_no(carrier: Carrier) -> None:
    uniform = lg.projection.uniform(5, xp=carrier.xp, dtype=carrier.dtype)
    assert uniform.dtype == carrier.dtype
    assert to_numpy(uniform).tolist() == [1.0] * 5
    x = carrier.array(data()["x"])
    same = lg.fibers.same_fiber(x, x + 1, eps=EPS)
    assert type(same) is type(x)
    assert bool(carrier.xp.all(same))
    assert not bool(carrier.xp.any(lg.fibers.same_fiber(x, -x, eps=0.0)))
    assert lg.fibers.fiber(x[0, :], eps=EPS).contains(x[0, :] + 1)
    weight = carrier.array(data()["weight"])
    assert lg.folding.certify_centering(weight, None, *lg.folding.center_writer(weight)).exact
    gain = carrier.array(data()["gain"])
    assert lg.folding.certify_fold(weight, None, *fold_affine(weight, gain=gain), gain=gain).exact
    # Computed in float64 from the same numbers, whatever stores them.
    assert lg.derivatives.lipschitz_constant(gain, eps=EPS) == lg.derivatives.lipschitz_constant(
        data()["gain"], eps=EPS
    )


EXACT = "project mean_vector mean variance standardize standardize_outside layer_norm rms_norm jacobian_product "
EXACT += "jacobian_transpose_product jacobian_product_outside potential layer_rms_distance matching_eps invert"


@pytest.mark.parametrize("name", EXACT.split())
def test_floats_lie_within_the_tolerance_of_the_exact_value(name: str) -> None:
    call, _ = TABLE[name]
    inputs = data()
    rows = {key: value[0] if value.ndim == 2 else value for key, value in inputs.items()}
    got = np.atleast_1d(call(rows))
    exact = call({key: Enclosure(value) for key, value in rows.items()})
    # Numbers come back as one interval, vectors as one for each component.
    ends = exact.float_bounds() if isinstance(exact, Enclosure) else (float(exact.lower), float(exact.upper))
    low, high = (np.atleast_1d(end) for end in ends)
    assert np.all(high - low <= 4 * DOUBLE * np.maximum(np.abs(low), np.abs(high)))
    slack = tolerance(got, inputs, Carrier(np, np.float64, DOUBLE))
    assert np.all((low - slack <= got) & (got <= high + slack))


def test_a_function_of_the_table_that_is_off_by_a_little_is_noticed() -> None:
    carrier = Carrier(np, np.float32, SINGLE)
    inputs = data()
    reference = lg.layer_norm(inputs["x"], inputs["gain"], inputs["bias"], eps=EPS)
    other = lg.layer_norm(inputs["x"], inputs["gain"], inputs["bias"], eps=EPS + 2.0**-12)
    assert np.any(np.abs(other - reference) > tolerance(reference, inputs, carrier))


def test_the_table_names_every_function_of_arrays() -> None:
    covered = {name.partition("_outside")[0].removesuffix("_rms").removesuffix("_fixed") for name in TABLE}
    by_others = "uniform same_fiber fiber certify_centering certify_fold certify_rounding lipschitz_constant moments"
    covered |= {*by_others.split(), "fold_affine", "angle_from_inner_product", "centered_inner_product"}
    elsewhere = {
        "jacobian_operator",  # for SciPy, of NumPy arrays only
        "massive_activation_bound",  # of a number
        "principal_axes",  # in float64 whatever the carrier: test_axes.py
    }
    formulas = (lg.norms, lg.projection, lg.angles, lg.epsilon, lg.fibers, lg.derivatives, lg.ellipsoid, lg.folding)
    functions = {name for module in formulas for name in module.__all__ if name[0].islower()}
    assert functions - elsewhere <= covered
    assert elsewhere <= functions
