"""Rows whose squares leave the range of the dtype, on both libraries; and arrays that are refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import lngeom as lg

X = np.array([[1.0, 7.0, -2.5, 3.0], [4.0, 4.0, 4.0, 5.0], [-1.0, -9.0, 2.0, 0.5]])
# Powers of two, so that the scaled row is exact: 1e-170 and 1e160, 1e300, in float32 1e-23 and 1e23, 1e36.
SCALES = {"float64": (2.0**-565, 2.0**531, 2.0**996), "float32": (2.0**-76, 2.0**76, 2.0**119)}
CASES = [(dtype, scale) for dtype, scales in SCALES.items() for scale in scales]
LIBRARIES: list[Callable[[np.ndarray], Any]] = [np.asarray, torch.asarray]
NORMS: list[Any] = [lg.layer_norm, lg.rms_norm]


@pytest.mark.parametrize("array", LIBRARIES, ids=["numpy", "torch"])
@pytest.mark.parametrize(("dtype", "scale"), CASES)
def test_angles_and_norms_of_a_scaled_row_are_those_of_the_row(dtype: str, scale: float, array: Any) -> None:
    x, small, constant = (array(v.astype(dtype)) for v in (X, scale * X, np.full(4, 3 * scale)))
    assert bool((lg.angle_to_uniform(small) == lg.angle_to_uniform(x)).all())
    for norm in NORMS:
        assert bool((norm(small, eps=0.0) == norm(x, eps=0.0)).all())
        # LN_(es)(s x) = LN_e(x) where eps stands beside sigma; inside the root eps s^2 need not be a number.
        scaled = norm(small, eps=0.125 * scale, placement="outside")
        assert bool((scaled == norm(x, eps=0.125, placement="outside")).all())
        # An eps that dwarfs sigma^2, or is dwarfed by it, leaves x / sqrt(eps) and the norm without eps, bit by bit.
        centred = lg.project(small) if norm is lg.layer_norm else small
        alone = centred / 0.5 if scale < 1 else norm(x, eps=0.0)
        assert bool((norm(small, eps=0.25) == alone).all())
    assert bool((lg.layer_norm(constant, eps=1e-5) == 0).all()), "eps is not lost where sigma is 0"


def test_columns_of_a_batch_are_scaled_one_by_one() -> None:
    scales = np.array([2.0**-565, 1.0, 2.0**531, 2.0**996])
    np.testing.assert_array_equal(lg.batch_norm(X * scales, eps=0.0), lg.batch_norm(X, eps=0.0))


@pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`:UserWarning")
@pytest.mark.parametrize("norm", NORMS)
def test_scaled_rows_are_differentiated_mapped_and_compiled(norm: Any) -> None:
    def normalized(x: torch.Tensor) -> torch.Tensor:
        return norm(x, eps=0.0)

    x, scale = torch.tensor(X), 2.0**-565
    jacobian, of_small = (torch.func.jacrev(normalized)(s * x[0]) for s in (1.0, scale))
    assert torch.equal(of_small * scale, jacobian)  # the differential of a map of degree 0 has degree -1
    assert torch.equal(torch.func.vmap(normalized)(scale * x), normalized(x))
    assert torch.equal(torch.func.vmap(lg.angle_to_uniform)(scale * x), lg.angle_to_uniform(x))
    compiled = torch.compile(normalized, backend="eager")
    assert torch.equal(compiled(scale * x), normalized(x))


class Quantity(np.ndarray):
    """An array with a meaning of its own, as that of astropy with units."""


REFUSED: list[tuple[Any, str]] = [
    (X.view(np.matrix), "is a matrix: .* numpy.asarray"),
    (np.ma.masked_array(X, X < 0), r"is a MaskedArray: .* x.filled\(\)"),
    (X.view(Quantity), "is a Quantity: .* numpy.asarray"),
    (torch.tensor(X).to_sparse(), r"has the layout torch.sparse_coo: .* x.to_dense\(\)"),
]


@pytest.mark.parametrize(("x", "message"), REFUSED)
def test_arrays_that_compute_otherwise_are_refused_by_name(x: Any, message: str) -> None:
    plain = torch.tensor(X) if isinstance(x, torch.Tensor) else X
    calls = {
        "x": [lg.layer_norm, lg.rms_norm, lambda v, **_: lg.angle_to_uniform(v)],
        "gain": [lambda v, **given: lg.layer_norm(plain, v[0], **given)],
        "an argument": [lambda v, **_: lg.angle_from_moments(v, v)],
    }
    for name, functions in calls.items():
        for function in functions:
            with pytest.raises(lg.InputError, match=f"^{name} {message}"):
                function(x, eps=1e-5)


def test_parameters_and_memory_maps_are_arrays(tmp_path: Any) -> None:
    parameter = torch.nn.Parameter(torch.tensor(X))
    assert lg.layer_norm(parameter, parameter[0], eps=1e-5).requires_grad
    mapped = np.memmap(tmp_path / "x", dtype=float, mode="w+", shape=X.shape)
    mapped[:] = X
    np.testing.assert_array_equal(lg.layer_norm(mapped, eps=1e-5), lg.layer_norm(X, eps=1e-5))
