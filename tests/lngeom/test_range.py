import random
from collections.abc import Callable
from typing import Any

import array_api_strict
import ml_dtypes
import numpy as np
import pytest
import torch

import lngeom as lg
from lngeom.derivatives import jacobian_product

from .exact import EXACT, FORMATS, wrong
from .functions import EXPORTED, FUNCTIONS, data

X = np.array([[1.0, 7.0, -2.5, 3.0], [4.0, 4.0, 4.0, 5.0], [-1.0, -9.0, 2.0, 0.5]])
T = np.array([0.5, -2.0, 1.0, 4.0])
# Powers of two, so that the scaled row is exact: 1e-170 and 1e160, 1e300, in float32 1e-23 and 1e23, 1e33. With the
# last of each not even the sum of the second row is a number.
SCALES = {"float64": (2.0**-565, 2.0**531, 2.0**996, 2.0**1020), "float32": (2.0**-76, 2.0**76, 2.0**110, 2.0**124)}
LIBRARIES: list[Callable[[np.ndarray], Any]] = [np.asarray, torch.asarray]
NORMS: list[Any] = [lg.layer_norm, lg.rms_norm]


WITHOUT = {
    "moments": "is mean and variance of the table",
    "angle_from_inner_product": "cancels what the caller gives, by no condition of a row",
    "certify_centering certify_fold certify_rounding": "say yes or no",
    "principal_axes": "are roots of a polynomial, exact in test_axes.py",
    "error_bound tolerance explain_difference": "are bounds, each against exact values in its own tests",
}
"""Exported functions without an exact counterpart, and why."""


def test_every_exported_function_has_an_exact_counterpart_or_a_reason() -> None:
    excused = " ".join(WITHOUT).split()
    without = {name for name in EXPORTED if not any(key in (name, f"{name}_rms") or key.startswith(f"{name}_")
               for key in EXACT)}  # fmt: skip
    assert sorted(without) == sorted(excused)
    assert {name.partition(" ")[0] for name in FUNCTIONS} == set(EXACT)


CUDA = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no CUDA device")]
ARRAYS = [
    *(("numpy", dtype) for dtype in FORMATS),
    *(("torch", dtype) for dtype in FORMATS),
    *(("strict", dtype) for dtype in SCALES),
    *(pytest.param("cuda", dtype, marks=CUDA) for dtype in FORMATS if dtype != "float16"),
]


def converted(library: str, dtype: str) -> Callable[[np.ndarray], Any]:
    """How an array of a library, a precision and a device is made."""
    if library == "strict":
        return lambda values: array_api_strict.asarray(values, dtype=getattr(array_api_strict, dtype))
    if library == "numpy":
        return lambda values: values.astype(getattr(ml_dtypes, dtype, dtype))
    return lambda values: torch.tensor(values).to("cuda" if library == "cuda" else "cpu", getattr(torch, dtype))


@pytest.mark.parametrize(("library", "dtype"), ARRAYS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_rows_of_every_size_are_those_of_exact_arithmetic(name: str, library: str, dtype: str) -> None:
    array = converted(library, dtype)
    assert [wrong(name, dtype, array, random.Random(f"{name} {dtype} {n}")) for n in range(3)] == [""] * 3


@pytest.mark.parametrize(("library", "dtype"), ARRAYS)
def test_questions_of_yes_and_no(library: str, dtype: str) -> None:
    array = converted(library, dtype)
    weight, gain = array(X), array(T)
    assert lg.folding.certify_centering(weight, None, *lg.folding.center_writer(weight)).exact
    assert lg.folding.certify_fold(weight, None, *lg.folding.fold_affine(weight, gain=gain), gain=gain).exact


@pytest.mark.parametrize("array", LIBRARIES, ids=["numpy", "torch"])
def test_numbers_between_out_of_range_sums(array: Any) -> None:
    def near(computed: Any, expected: Any, dtype: str = "float64") -> None:
        np.testing.assert_allclose(np.asarray(computed), expected, rtol=8 * float(np.finfo(dtype).eps), atol=0)

    near(lg.project(array(np.array([1.2e308, 1e308, -1e308]))), [8e307, 6e307, -1.4e308])
    near(lg.projection.mean_vector(array(np.full(2, 1.7e308))), [1.7e308, 1.7e308])
    near(jacobian_product(array(np.full(2, 1.7e308)), array(np.array([1.0, -1.0])), eps=1e-5), [1e5**0.5, -(1e5**0.5)])
    for x, eps in (([1e20, 3e20], 1e-5), ([1e-25, 3e-25], 0.0), ([1e-25, 3e-25], 1e-60)):
        distance = lg.norms.layer_rms_distance(array(np.asarray(x, np.float32)), eps=eps)
        near(distance, 2 * np.sin((np.pi / 2 - np.arctan2(1, 2)) / 2), "float32")
    radius = lg.epsilon.relative_radius(array(np.asarray([1e-23, 3e-23], np.float32)), eps=1e-5)
    near(radius, 1e-23 / 1e-5**0.5, "float32")
    large, pair = lg.norms.scale(array(np.array([3e38, 0], np.float32)), eps=2e38), np.array([1, -1], np.float32)
    near(large, [5e38**0.5, 2e38**0.5], "float32")
    for eps, beside in ((1e-45, np.float32(3e-42)), (1e-60, np.float32(0))):  # no numbers of float32
        near(lg.norms.scale(array(np.array([beside])), eps=eps), [(float(beside) + eps) ** 0.5], "float32")
        near(lg.fibers.invert(array(pair * np.float32(0.6)), eps=eps), 0.75 * eps**0.5 * pair, "float32")


@pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`:UserWarning")
@pytest.mark.parametrize("norm", NORMS)
def test_scaled_rows_are_differentiated_mapped_and_compiled(norm: Any) -> None:
    def normalized(x: torch.Tensor) -> torch.Tensor:
        return norm(x, eps=0.0)

    x, scale = torch.tensor(X), 2.0**-565
    jacobian, of_small = (torch.func.jacrev(normalized)(s * x[0]) for s in (1.0, scale))
    assert torch.equal(of_small * scale, jacobian)  # the differential of a map of degree 0 has degree -1
    assert torch.equal(torch.func.vmap(normalized)(scale * x), normalized(x))
    assert torch.equal(torch.func.vmap(lg.angles.angle_to_uniform)(scale * x), lg.angles.angle_to_uniform(x))
    compiled = torch.compile(normalized, backend="eager", fullgraph=True)
    for size in (scale, 1.0, 2.0**996, 2.0**1020):  # one graph for rows of every size
        assert torch.equal(compiled(size * x), normalized(x))


def test_parameters_and_memory_maps_are_arrays(tmp_path) -> None:
    parameter = torch.nn.Parameter(torch.tensor(X))
    assert lg.layer_norm(parameter, parameter[0], eps=1e-5).requires_grad
    mapped = np.memmap(tmp_path / "x", dtype=float, mode="w+", shape=X.shape)
    mapped[:] = X
    np.testing.assert_array_equal(lg.layer_norm(mapped, eps=1e-5), lg.layer_norm(X, eps=1e-5))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("name", ["layer_norm", "rms_norm", "project"])
def test_a_wider_parameter_leaves_the_dtype_of_x(name: str, library: str, dtype: str) -> None:
    wide, narrow = converted(library, "float64"), converted(library, dtype)
    arrays = {key: wide(value) for key, value in data(4, 3).items()} | {"x": narrow(X)}
    for eps in (1e-5, np.float64(1e-5), wide(np.ones(1))):
        assert FUNCTIONS[name].call(arrays, eps).dtype == narrow(X).dtype
    assert lg.project(narrow(X), wide(T)).dtype == narrow(X).dtype


@pytest.mark.parametrize("narrow", [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_arrays_of_ml_dtypes_are_arrays(narrow: type) -> None:
    array = converted("numpy", "bfloat16")
    x, gain = array(X), array(T)
    z = lg.layer_norm(x, gain, eps=1e-5)
    assert lg.explain_difference(x, z, gain=gain, eps=1e-5).verdict == "rounding"
    assert np.all(lg.Ellipsoid(gain).contains(z))
    np.testing.assert_array_equal(
        z.astype(float), lg.layer_norm(*map(torch.tensor, (X, T)), eps=1e-5).bfloat16().double()
    )
    with pytest.raises(lg.errors.InputError, match=r"float8_.*convert it first"):
        lg.rms_norm(X.astype(narrow), eps=1e-5)
