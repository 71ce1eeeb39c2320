import contextlib
import math
from array import array
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

import lngeom as lg
from lngeom.carriers import Enclosure
from lngeom.derivatives import jacobian_product
from lngeom.fibers import invert
from lngeom.folding import center_writer, certify_centering, certify_rounding, fold_affine
from lngeom.rounding import Arithmetic, Definition, certainly_outside, diagnose, error_bound

from .functions import FUNCTIONS, data

typeless: Any = lg
"""The library for calls that a type checker refuses."""

EPS: dict[str, Any] = {"eps": 0.1}
NO_WORDS: list[Any] = [np.array([True, False]), torch.ones(2), "no", None, [], math.nan]
X, V, Y = np.ones((2, 3)), np.array([1.0, 2.0, 6.0]), np.array([1.0, -1.0, 0.0])
REFUSED: list[tuple[Callable[[], object], str]] = [
    # norms, projections, ε
    (lambda: lg.layer_norm(np.ones((2, 3), dtype=int), eps=0.1), "x has dtype int64: .* real floating dtype"),
    (lambda: lg.layer_norm(np.float64(3.0), eps=0.1), r"x has shape \(\): the last axis holds the d >= 1"),
    (lambda: lg.layer_norm(X, np.ones(4), eps=0.1), r"gain has shape \(4,\), but x .* must have shape \(3,\)"),
    (lambda: lg.layer_norm(X, eps=-1e-5), "eps is -1e-05: .* must be finite and >= 0"),
    (lambda: lg.jacobian(X.astype("f4"), eps=1e300), "eps is 1e\\+300: the largest number of float32 rows"),
    (lambda: lg.layer_norm(X, eps=Fraction(1, 3)), "eps is Fraction.* float"),
    (lambda: lg.layer_norm(X, eps=np.ones((4, 1))), r"eps has shape \(4, 1\), x \(2, 3\): it is one number"),
    (
        lambda: typeless.layer_norm(X, eps=None),
        r"eps is None: give the number the layer uses \(for example module.eps\)",
    ),
    (lambda: typeless.standardize(X, eps=0.1, placement="within"), "placement is 'within': eps stands \"inside\""),
    (lambda: lg.project(X, np.ones(2)), r"direction has shape \(2,\)"),
    (lambda: lg.projection.centered_inner_product(V, V, V, 0), "d is 0: the dimension .* integer >= 1"),
    (lambda: lg.rms_norm(X, np.ma.masked_less(V, 2), eps=0.1), r"gain is a MaskedArray: .* x.filled\(\)"),
    (lambda: lg.layer_norm(X, torch.ones(3), eps=0.1), "got Tensor, ndarray: .* do not mix NumPy with PyTorch"),
    # words, flags and numbers
    *(
        (lambda call=call, given={key: odd, **eps}: call(V, **given), f"{key} is ")
        for odd in NO_WORDS
        for key, call, eps in (
            ("centered", lg.principal_axes, {}),
            ("centered", lg.jacobian, EPS),
            ("centered", error_bound, EPS),
            ("method", error_bound, EPS),
            ("placement", invert, EPS),
            ("layout", center_writer, {}),
        )
    ),
    *(
        (lambda odd=odd: typeless.projection.centered_inner_product(V, V, V, odd), "d is")
        for odd in ("a", None, 0.5, V)
    ),
    *((lambda odd=odd: typeless.principal_axes(V).direction(odd), "i is") for odd in ("a", None, 0.5, V)),
    (lambda: jacobian_product(X, np.ones((3, 3)), eps=0.1), "tangent has shape .* the others broadcast"),
    *((lambda off=off: certify_rounding(X, X, X * off), "error holds a number") for off in (-1, math.nan, math.inf)),
    # fibers
    (lambda: invert(Y, eps=0.0), "eps is 0: the norm then forgets the length .* take eps > 0"),
    (lambda: invert(2 * Y, eps=0.1), r"y has norm 2.828\d*: outputs at eps > 0 lie inside the ball .* √3"),
    (lambda: invert(np.full(3, math.nan), eps=0.1), "y has norm nan: "),
    (lambda: invert(np.array([0.5, 0.1, 0.1]), eps=0.1), "y has a component along the all-ones vector .* undo"),
    # folding
    (lambda: fold_affine(X, gain=np.ones(2)), r"gain has shape \(2,\), but the map has 3 inputs: .* layout"),
    (lambda: typeless.folding.center_writer(X, layout="sideways"), "layout is 'sideways': a weight is \"linear\""),
    (lambda: center_writer(np.ones((2, 3, 4))), r"weight has shape \(2, 3, 4\): expected a matrix"),
    (lambda: certify_centering(X, None, X.T, None), r"weight of shape \(3, 2\) and no bias; the exact one"),
    # derivatives
    (lambda: jacobian_product(X, np.ones(4), eps=0.1), r"tangent has shape \(4,\), but x .* must be equal"),
    # rounding
    (lambda: error_bound(np.array([0.1, 1.0]), eps=0.0, dtype="float32"), "not a finite float32 number"),
    (lambda: error_bound(np.array([1.0, 2.0]), eps=0.0, dtype="int8"), "error bounds are known for"),
    (lambda: typeless.rounding.error_bound(np.array([1.0, 2.0]), eps=0.0, method="fast"), "two-pass, merged, one-pass"),
    (lambda: error_bound(np.array([1.0, 2.0]), eps=0.0, additions=0), "integer length >= 1"),
    (lambda: lg.explain_difference(np.ones(2), np.ones(2), eps=0.0), "constant and eps = 0"),
    (lambda: lg.explain_difference(np.zeros(2), np.ones(2), eps=0.0, centered=False), "zero and eps = 0"),
    (lambda: lg.explain_difference(np.ones(2), np.ones(3), eps=1.0), "got has shape"),
    (lambda: typeless.tolerance(X, eps=1.0, kind="batchnorm"), "kind is 'batchnorm'"),
    (lambda: typeless.tolerance(X, eps=1.0, algorithm="fast"), "algorithm is 'fast'"),
    (lambda: typeless.tolerance(X, eps=1.0, order="random"), "order is 'random'"),
    (lambda: lg.tolerance(X, eps=1.0, accumulate="int8"), "accumulate is 'int8'"),
    (lambda: lg.tolerance(X, eps=1.0).accepts(np.ones(3)), "y has shape"),
    # gains
    (lambda: lg.principal_axes(np.array([1.0, np.nan])), "NaN"),
    (lambda: lg.principal_axes(X), "one layer has one gain vector"),
    (lambda: lg.principal_axes(np.array([1, 2])), "floating"),
    (lambda: lg.principal_axes(np.array([1.0, 1e-200])), "overflow nor underflow"),
    (lambda: lg.principal_axes(V).direction(2), "axis 2 does not exist"),
    # ellipsoids
    (lambda: lg.Ellipsoid(V, np.zeros(2)), "bias has shape"),
    (lambda: lg.Ellipsoid(V, np.array([0.0, np.nan, 1.0])), "bias holds a NaN"),
    *((lambda rtol=rtol: lg.Ellipsoid(V).contains(V, rtol=rtol), "rtol") for rtol in (-1.0, math.inf, math.nan)),
    *(
        (lambda name=name, z=z: getattr(lg.Ellipsoid(V), name)(z), told)
        for name in ("relative_radius", "contains", "offset")
        for z, told in ((np.zeros(2), "shape"), (torch.zeros(3), "do not mix"))
    ),
    # enclosures
    *((lambda odd=odd: Enclosure(odd), "one vector") for odd in ([], [[1.0]], np.ones((2, 2)), np.float64(1))),
    *((lambda odd=odd: Enclosure([1.0, odd]), "infinity or a NaN") for odd in (math.nan, math.inf)),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_bad_input_says_what_was_seen_what_is_wanted_and_what_to_do(call: Callable[[], object], message: str) -> None:
    with pytest.raises(lg.errors.InputError, match=message) as caught:
        call()
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, lg.errors.LngeomError)
    assert "\n" not in str(caught.value)


ODD: dict[str, Callable[[np.ndarray], Any]] = {
    "list": np.ndarray.tolist,
    "complex": lambda a: a + 0j,
    "matrix": lambda a: a.view(np.matrix),
    "sparse": lambda a: torch.tensor(a).to_sparse(),
    "nested": lambda a: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    "booleans": lambda a: torch.tensor(a) > 0,
    "array": lambda a: array("d", a.ravel().tolist()),
    "masked": lambda a: np.ma.masked_less(a, 0),
    "meta": lambda a: torch.empty(a.shape, device="meta"),
    "float8": lambda a: torch.tensor(a).to(torch.float8_e4m3fn),
    "of another library": torch.tensor,
    "Decimal": lambda a: Decimal("0.5"),
    "large": lambda a: 10**400,
    "nothing": lambda a: a[..., :0],
}


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_reads_its_arrays(name: str, odd: str) -> None:
    arrays, call = data(4, 3), FUNCTIONS[name].call
    right = call(arrays, 1.0)
    for key, value in arrays.items():
        with contextlib.suppress(lg.errors.InputError):  # an argument that this function does not have
            got = call(arrays | {key: ODD[odd](value)}, 1.0)
            assert np.array_equal(got, right) or (odd == "nothing" and np.size(got) == 0)


@pytest.mark.parametrize("kind", ["u1", "i1", "i8"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_integers_are_computed_in_a_floating_format(name: str, kind: str) -> None:
    call, arrays = FUNCTIONS[name].call, {key: a.astype("f4") for key, a in data(4, 3).items()}
    for key, value in arrays.items():
        whole = np.trunc(99 * abs(value)).clip(1, 127).astype(kind)
        with contextlib.suppress(lg.errors.InputError):  # rows are floating
            got = call(arrays | {key: whole}, 1.0)
            right = [call(arrays | {key: whole.astype(each)}, 1.0) for each in ("f4", "f8")]
            assert any(np.array_equal(got, each, equal_nan=True) for each in right), key


NUMBERS = [*map(np.float32, ("nan", -1)), np.ma.masked, Decimal("nan"), *map(torch.tensor, (0.1, -1.0))]


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
@pytest.mark.parametrize("eps", [*NUMBERS, np.bool_(True), np.timedelta64(1), np.datetime64("nat"), "nested"])
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name.endswith(" outside")])
def test_every_function_reads_eps(name: str, eps: Any) -> None:
    eps = ODD["nested"](X) if eps == "nested" else eps
    for each in (name, name.removesuffix(" outside")):
        with pytest.raises(lg.errors.InputError, match=r"eps|do not mix"):
            FUNCTIONS[each].call(data(4, 3), eps)


@pytest.mark.parametrize("odd", [None, 3, [1.0], "x", 10**400, np.array(1.0), object()])
def test_the_functions_of_rounding_refuse_what_they_do_not_know(odd: Any) -> None:
    layer, arithmetic = Definition(centered=True, gain=None, bias=None, eps=0.0), Arithmetic.of("float32")
    for asked in (
        lambda: diagnose(odd, "float32"),
        lambda: Arithmetic.of(odd),
        lambda: certainly_outside([1.0, 3.0], [1.0, 1.0], odd, arithmetic),
        lambda: certainly_outside([1.0, 3.0], [1.0, 1.0], layer, odd),
    ):
        with pytest.raises(lg.errors.InputError):
            asked()
