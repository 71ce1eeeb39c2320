from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from lngeom.empirical.models import NormSite
from lngeom.empirical.observe import Observer, Sketch, States, compute, random_directions, sketch
from lngeom.errors import InputError

from ..oracle import Oracle

B, S, H, D = 4, 5, 3, 8
SITE = NormSite("norm", None, "norm", "layernorm", 1e-5, D)


class Shaped(nn.Module):
    def __init__(self, change: Callable[[Tensor], Tensor] = lambda x: x) -> None:
        super().__init__()
        self.norm, self.change = nn.LayerNorm(D), change

    def forward(self, x: Tensor, *_: Any) -> Tensor:
        return self.norm(self.change(x))


def observed(model: nn.Module, *inputs: Tensor, mask: Any = None, **options: Any) -> States:
    with Observer(model, [SITE], directions=4, **options) as observer:
        observer.mask(mask)
        model(*inputs)
    return observer.states


def vectors(*shape: int) -> Tensor:
    return torch.from_numpy(np.random.default_rng(0).standard_normal((*shape, D)))


def equal(mine: States, theirs: States) -> None:
    for key, state in theirs.items():
        for name in ("tokens", "zero", "nonfinite", "angles", "norms", "sequences"):
            assert np.array_equal(getattr(mine[key], name), getattr(state, name)), name
        # sums of N products in another order: N roundings of float64 relative to a sum of terms of one sign
        assert np.allclose(mine[key].cos2, state.cos2, rtol=B * S * H * 2.0**-50)


@pytest.mark.parametrize(
    ("change", "options"),
    [
        (lambda x: x.reshape(-1, D), {}),
        (lambda x: x.reshape(B, 1, S, D), {}),
        (lambda x: x.reshape(B, S, 1, 1, D), {}),
        (lambda x: x.transpose(0, 1), {"batch_dim": 1}),
        (lambda x: x.transpose(0, 1).reshape(-1, D), {"batch_dim": 1}),
    ],
)
def test_the_shape_does_not_matter(change: Callable[[Tensor], Tensor], options: dict[str, int]) -> None:
    x, mask = vectors(B, S), torch.arange(S) < torch.tensor([[5], [4], [3], [2]])
    given = x.transpose(0, 1) if options else x
    inner = (lambda y: change(y.transpose(0, 1))) if options else change
    for padding in (None, mask):
        plain = observed(Shaped().double(), x, mask=padding)
        equal(observed(Shaped(inner).double(), given, mask=padding, **options), plain)


def test_what_was_read_stays_and_measuring_goes_on_in_every_mode_of_gradients() -> None:
    model, (x, y, w) = Shaped().double(), vectors(3, B, S)
    with Observer(model, [SITE], directions=4) as observer:
        with torch.inference_mode():
            model(x)
            first = observer.states
        model(y).sum().backward()
        with torch.inference_mode():
            model(w)
    equal(first, observed(model, x))
    for key, state in observer.states.items():
        assert state.tokens.tolist() == [3 * B, 3 * B * (S - 1)]
        assert state.angles.sum(-1).tolist() == state.norms.sum(-1).tolist() == state.tokens.tolist()
        alone = [observed(model, each)[key].angles for each in (x, y, w)]
        assert np.array_equal(state.angles, sum(alone))


Sketched = tuple[Sketch, Sketch, Tensor]


def excess(found: Sketched, other: Sketched, *, unit: float = 2.0**-24) -> float:
    """Largest difference over its bound: γ times lengths, 2.1 times that for the root of a variance.

    Args:
        found: Computed with numbers of this unit roundoff.
        other: Exact, or computed in `float64`; if it is computed like `found`, both may be off, by 2 together.
    """
    d = found[0].d
    gamma = (d + 8) * unit / (1 - (d + 8) * unit)
    pairs = [((found[2] - other[2]).abs(), gamma * other[0].norm * other[1].norm)]
    for mine, theirs in zip(found[:2], other[:2], strict=True):
        size = theirs.norm / d**0.5
        pairs += [
            ((mine.mean - theirs.mean).abs(), gamma * size),
            ((mine.variance.sqrt() - theirs.variance.sqrt()).abs(), 2.1 * gamma * size),
            ((mine.projections - theirs.projections).abs().amax(-1), gamma * theirs.norm),
        ]
    return float(torch.stack([off / bound for off, bound in pairs]).max())  # NaN stays, and is not below any number


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_hidden_states_of_16_bits_are_multiplied_as_they_are(dtype: torch.dtype, monkeypatch) -> None:
    x, z = (vectors(2, 64) @ torch.randn(D, 200, dtype=torch.float64)).to(dtype)
    directions = torch.from_numpy(random_directions(200, 6, 0)).T.to(dtype)
    by_way_of_single = sketch(x, z, directions)
    calls = []

    def accumulate(a: Tensor, b: Tensor, out_dtype: torch.dtype) -> Tensor:
        """The product that PyTorch has for GPUs only."""
        calls.append(a.dtype)
        return a.to(out_dtype) @ b.to(out_dtype)

    monkeypatch.setattr("lngeom.empirical.observe.sketches._ACCUMULATING", {"cpu"})
    with torch.library._scoped_library("aten", "IMPL") as operators:
        operators.impl("mm.dtype", accumulate, "CPU")
        as_they_are = sketch(x, z, directions)
    assert calls == [dtype, dtype]
    exact = sketch(x.double(), z.double(), torch.nn.functional.normalize(directions.double(), dim=0))
    for found in (by_way_of_single, as_they_are):
        assert found[0].projections.dtype == found[1].projections.dtype == torch.float32
        assert excess(found, exact) <= 1


@pytest.mark.parametrize("shape", [(), (B,), (B, S), (B, 2, S, 3), (2 * B, S)])
def test_vectors_of_any_leading_shape_all_count(shape: tuple[int, ...]) -> None:
    model = Shaped(lambda _: vectors(*shape)).double()
    state = observed(model, torch.zeros(*(() if not shape else (B, S)), D))["norm", "output"]
    assert state.tokens.sum() == max(1, int(np.prod(shape)))
    assert state.sequences[-1] == (B if shape else 1)


@pytest.mark.parametrize(
    "form",
    [
        lambda mask: mask.tolist(),
        lambda mask: mask.int().numpy(),
        lambda mask: torch.where(mask, 0.0, -torch.inf),
        lambda mask: torch.where(mask, 0.0, torch.finfo(torch.float32).min)[:, None, None],
        lambda mask: torch.where(mask[:, None, None] & torch.ones(S, S).tril().bool(), 0.0, -torch.inf),  # causal
    ],
)
def test_masks_are_taken_in_every_usual_form(form: Callable[[Tensor], Any]) -> None:
    x, mask = vectors(B, S), torch.arange(S) >= torch.tensor([[0], [1], [2], [3]])
    for each in (mask, mask | True):
        equal(observed(Shaped().double(), x, mask=form(each)), observed(Shaped().double(), x, mask=each))


def test_what_cannot_be_read_is_an_error_that_names_module_and_shapes() -> None:
    x = vectors(B, S).float()
    with pytest.raises(InputError, match=r"layers.0.self_attn has batch_first=False: give batch_dim=1"):
        Observer(nn.TransformerEncoder(nn.TransformerEncoderLayer(D, 2), 1, enable_nested_tensor=False), [])
    with pytest.raises(InputError, match=r"batch_dim 2: the sequences of a batch lie along axis 0 or 1"):
        Observer(Shaped(), [SITE], batch_dim=2)
    with pytest.raises(InputError, match=r"norm: mask of shape \(4, 6\) for 4 sequences of 5 positions"):
        observed(Shaped(), x, mask=np.ones((B, S + 1)))
    with pytest.raises(InputError, match=r"mask holds 0\.5"):
        observed(Shaped(), x, mask=[[0.5]])
    model = nn.Sequential()
    model.add_module("norm", nn.Linear(D, 3))
    with pytest.raises(InputError, match=r"norm: takes shape \(4, 5, 8\) and returns \(4, 5, 3\)"):
        observed(model, x)


@pytest.mark.parametrize("layer", [nn.LayerNorm(96, elementwise_affine=False), nn.RMSNorm(96, eps=1e-5)])
def test_an_angle_below_the_roundings_of_its_cosine_is_computed_in_float64(layer: nn.Module) -> None:
    kind = "layernorm" if isinstance(layer, nn.LayerNorm) else "rmsnorm"
    x = torch.randn(B, S, 96, generator=torch.Generator().manual_seed(0)) + 0.5
    oracle = Oracle(layer, replace(SITE, kind=kind, d=96), x, layer(x).detach(), (np.ones((2, 96)), np.ones((2, 96))))
    value = oracle.features("output")["affine_rotation"]
    # From a cosine near 1 that is right to 9(d + 8)u: two products and three lengths, in float64.
    bound = np.degrees(np.sqrt(2 * 9 * (96 + 8) * 2.0**-53))
    with Observer(nn.Sequential(layer), [replace(SITE, path="0", kind=kind, d=96)]) as observer, torch.no_grad():
        observer._model(x)
    found = compute(observer.states["0", "output"], "output")["all"]["affine_rotation_mean"]
    assert value.max() < 1e-5
    assert abs(found - value.mean()) <= bound < 1e-4


@pytest.mark.parametrize("d", [7, 1000])
def test_a_constant_is_left_out_though_its_mean_is_rounded(d: int) -> None:
    x = torch.randn(2, 5, d, generator=torch.Generator().manual_seed(0))
    x[0, 0] = x[1, 3] = 0.1
    assert ((x[0, 0] - x[0, 0].mean()) != 0).all()
    layer = nn.LayerNorm(d)
    nn.init.normal_(layer.bias)  # all that is left of a constant
    with Observer(nn.Sequential(layer), [replace(SITE, path="0", d=d)], directions=2) as observer:
        observer._model(x)
    state = observer.states["0", "output"]
    assert (state.zero.tolist(), state.tokens.tolist()) == ([1, 1], [1, 7])


def test_squares_that_underflow_are_flagged() -> None:
    x = vectors(2, 5).float() * 1e-30
    x[0, 0] *= 1e30
    with Observer(Shaped(), [SITE], directions=2) as observer:
        observer._model(x)
    state = observer.states["norm", "input"]
    assert (state.underflow.tolist(), state.tokens.tolist()) == ([1, 8], [1, 0])
    exact = observed(Shaped().double(), x.double())["norm", "input"]
    assert (exact.underflow.tolist(), exact.tokens.tolist()) == ([0, 0], [2, 8])
