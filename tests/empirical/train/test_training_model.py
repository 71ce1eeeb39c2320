"""The networks that are trained: their sizes, their norms, and what their gradients may not have along 1."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import lngeom
from empirical.models import RMSNorm, find_model, load_model
from empirical.train import (
    CONTROLS,
    SHAPES,
    Norm,
    Recipe,
    Shape,
    UNorm,
    build_model,
    build_optimizer,
    flops_per_token,
    uniform_energy,
    writer_gradients,
    writers,
)
from empirical.train._checkpoint import save_network
from lngeom.errors import InputError

SMALL = Shape(2, 32, 2, 1e-3, 10, 64, 16, 4, 0.1)


def shaken(norm: Norm, seed: int = 0, dtype: torch.dtype = torch.float64) -> Any:
    """A small network whose gains, biases and weights are far from where training starts."""
    model: Any = build_model(SMALL, norm, seed=seed)
    model = model.to(dtype)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator, dtype=dtype))
    return model


def text(sequences: int = 3, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, SMALL.vocabulary, (sequences, SMALL.positions + 1), generator=generator)


@pytest.mark.parametrize(
    ("name", "layers", "width", "heads", "learning_rate", "millions"),
    # Millions of parameters in matrices and embeddings alone, then in all, then with tied embeddings.
    [
        ("70m", 6, 512, 8, 10.0e-4, (70.9, 70.9, 45.2)),
        ("160m", 12, 768, 12, 6.0e-4, (162.9, 163.0, 124.4)),
        ("410m", 24, 1024, 16, 3.0e-4, (406.0, 406.3, 354.8)),
        ("1b", 16, 2048, 8, 3.0e-4, (1013.3, 1013.7, 910.8)),
    ],
)
def test_shapes_of_table_2_have_their_sizes_only_with_untied_embeddings(
    name: str, layers: int, width: int, heads: int, learning_rate: float, millions: tuple[float, float, float]
) -> None:
    shape = SHAPES[name]
    assert (shape.layers, shape.width, shape.heads, shape.learning_rate) == (layers, width, heads, learning_rate)
    with torch.device("meta"):
        layer, rms = build_model(shape, "layer", seed=0), build_model(shape, "rms", seed=0)
    assert layer.num_parameters() == shape.parameters
    matrices = sum(parameter.numel() for parameter in layer.parameters() if parameter.ndim == 2)
    tied = layer.num_parameters() - layer.lm_head.weight.numel()
    assert tuple(round(count / 1e6, 1) for count in (matrices, layer.num_parameters(), tied)) == millions
    # The only parameters that RMSNorm lacks are the biases of the 2L + 1 norms.
    assert layer.num_parameters() - rms.num_parameters() == (2 * layers + 1) * width


def test_flops_count_what_multiplies_a_token() -> None:
    model = build_model(SMALL, "layer", seed=0)
    d, layers, vocabulary = SMALL.width, SMALL.layers, SMALL.vocabulary
    matrices = layers * (12 * d * d + 13 * d) + 2 * d + vocabulary * d
    assert flops_per_token(model, 16) == 6 * matrices + 12 * layers * 16 * d


LACKS = {"rms": 2 * SMALL.layers + 1, "u": 0, "post": 2, "none": 4 * SMALL.layers + 2}
"""How many parameters of the network with LayerNorm the others do not have."""


@pytest.mark.parametrize("norm", LACKS)
def test_every_arm_starts_from_the_weights_of_layer_norm(norm: Norm) -> None:
    arms: tuple[tuple[Norm, int], ...] = (("layer", 3), (norm, 3), (norm, 4))
    layer, arm, other = (dict(build_model(SMALL, kind, seed=seed).named_parameters()) for kind, seed in arms)
    assert all(torch.equal(layer[name], parameter) for name, parameter in arm.items())
    assert len(layer) - len(arm) == LACKS[norm]
    assert all(name.rpartition(".")[0].endswith(("ln_1", "ln_2", "ln_f")) for name in layer.keys() - arm.keys())
    assert not torch.equal(other["lm_head.weight"], arm["lm_head.weight"])
    assert LACKS.keys() == {"rms", *CONTROLS}


def test_building_leaves_the_generator_of_pytorch_alone() -> None:
    before = torch.get_rng_state()
    build_model(SMALL, "layer", seed=1)
    assert torch.equal(torch.get_rng_state(), before)


def test_every_norm_is_replaced_and_keeps_its_eps() -> None:
    model = build_model(SMALL, "rms", seed=0, eps=3e-4)
    norms = [module for module in model.modules() if isinstance(module, RMSNorm)]
    assert len(norms) == 2 * SMALL.layers + 1
    assert {norm.eps for norm in norms} == {3e-4}
    assert not any(isinstance(module, nn.LayerNorm) for module in model.modules())


def test_rms_layer_agrees_with_pytorch_within_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(0)
    module = RMSNorm(24, eps=1e-5)
    with torch.no_grad():
        module.weight.add_(torch.randn(24, generator=generator))
    x = 5 * torch.randn(4, 24, generator=generator)
    theirs = nn.functional.rms_norm(x, (24,), module.weight, module.eps)
    gain = module.weight.detach().numpy()
    bound = lngeom.rounding.error_bound(x.numpy(), gain, eps=module.eps, centered=False)
    # Each of the two is within the bound of the exact value.
    assert np.all(np.abs((module(x) - theirs).detach().numpy()) <= 2 * bound)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert torch.equal(module(x), theirs), "what is compiled is PyTorch's own"


@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_networks_are_loaded_by_the_sweep(norm: Norm, tmp_path: Path) -> None:
    model = shaken(norm, dtype=torch.float32)
    save_network(model, None, tmp_path / "network")
    loaded = load_model(find_model(str(tmp_path / "network")))
    assert {site.kind for site in loaded.sites} == {"layernorm" if norm == "layer" else "rmsnorm"}
    assert len(loaded.sites) == 2 * SMALL.layers + 1
    ids = text()[:, :-1]
    with torch.inference_mode():
        expected = model.transformer(input_ids=ids).last_hidden_state
        assert torch.equal(loaded.model(input_ids=ids).last_hidden_state, expected)
    assert json.loads((tmp_path / "network" / "config.json").read_text())["tie_word_embeddings"] is False


def test_writers_are_what_the_stream_is_made_of() -> None:
    """Zero writers leave a stream of zeros: nothing else is added to it."""
    model = shaken("layer")
    with torch.no_grad():
        for _, parameter in writers(model):
            parameter.zero_()
    seen: list[torch.Tensor] = []
    model.transformer.ln_f.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    with torch.inference_mode():
        model(input_ids=text()[:, :-1])
    assert not seen[0].any()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("seed", range(3))
def test_gradients_of_writers_are_orthogonal_to_1_with_layer_norm(dtype: torch.dtype, seed: int) -> None:
    gradients = writer_gradients(shaken("layer", seed, dtype), text(seed=seed))
    assert len(gradients) == 2 + 4 * SMALL.layers
    assert all(writer.orthogonal for writer in gradients)


@pytest.mark.parametrize("norm", ["rms", "layer"])
def test_gradients_are_not_orthogonal_with_rms_norm_nor_where_one_reader_has_no_norm(norm: Norm) -> None:
    """The hypothesis is needed: a head that reads the stream past the final norm sees the component along 1."""
    model = shaken(norm)
    if norm == "layer":
        model.transformer.ln_f = nn.Identity()
    assert not any(writer.orthogonal for writer in writer_gradients(model, text()))


def test_an_rms_norm_in_one_block_breaks_it_for_the_writers_before_it() -> None:
    model = shaken("layer")
    model.transformer.h[1].ln_1 = RMSNorm(SMALL.width, 1e-5).double()
    broken = {writer.name for writer in writer_gradients(model, text()) if not writer.orthogonal}
    before = {name for name, _ in writers(model) if ".h.1." not in name}
    assert broken == before


def test_frozen_writers_cannot_be_checked() -> None:
    model = shaken("layer")
    model.transformer.wpe.weight.requires_grad_(False)
    with pytest.raises(InputError, match=r"transformer\.wpe\.weight has no gradient: unfreeze it"):
        writer_gradients(model, text())


def along(parameter: torch.Tensor) -> torch.Tensor:
    return parameter.detach().sum(-1)


@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
def test_sgd_leaves_the_component_along_1_and_adamw_does_not(optimizer: str) -> None:
    recipe = Recipe(SMALL, "layer", optimizer, 0.1, 3, 3, SMALL.positions, weight_decay=0.0)  # type: ignore[arg-type]
    model = shaken("layer")
    before = {name: parameter.detach().clone() for name, parameter in writers(model)}
    steps = build_optimizer(recipe, model)
    tokens = text()
    largest = {name: torch.zeros(()) for name in before}
    for _ in range(recipe.steps):
        loss = nn.functional.cross_entropy(
            model(input_ids=tokens[:, :-1]).logits.flatten(0, 1), tokens[:, 1:].flatten()
        )
        model.zero_grad()
        loss.backward()
        for name, parameter in writers(model):
            assert parameter.grad is not None
            largest[name] = torch.maximum(largest[name], along(parameter.grad).abs().max())
        steps.step()
    moved = []
    for name, parameter in writers(model):
        # The buffer holds at most 1 + m + m² < 3 times the largest gradient, three steps use it; every step rounds
        # each of the d coordinates of a row three times (buffer, product, sum), and the two sums along 1 round d times.
        size = torch.maximum(before[name].abs().max(), parameter.detach().abs().max()) + 9 * recipe.learning_rate
        unit = torch.finfo(torch.float64).eps
        reach = 9 * recipe.learning_rate * largest[name] + (9 + 2 * SMALL.width) * SMALL.width * unit * size
        moved.append(bool((along(parameter) - along(before[name])).abs().max() > reach))
        assert not torch.equal(parameter, before[name])
    assert not any(moved) if optimizer == "sgd" else all(moved)


def test_energy_along_1() -> None:
    assert uniform_energy(torch.ones(3, 7)) == pytest.approx(7, rel=14 * 2.0**-53)  # 7 squares and sums of 2, rounded
    assert uniform_energy(torch.tensor([[1.0, -1.0], [3.0, -3.0]])) == 0
    assert np.isnan(uniform_energy(torch.zeros(2, 5)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: replace(SMALL, heads=3), "heads must divide the width"),
        (lambda: replace(SMALL, layers=0), "all must be at least 1"),
        (lambda: build_model(SMALL, "batch", seed=0), "norm is 'batch': it must be 'layer'"),  # type: ignore[arg-type]
    ],
)
def test_impossible_networks(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


# ------------------------------------------------------------------------------------------------ control arms


def test_u_norm_is_blind_to_its_direction_and_layer_norm_for_the_uniform_one() -> None:
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(5, 16)).astype(np.float32))
    direction = np.random.default_rng(1).normal(size=16)
    layer = UNorm(direction, eps=1e-5)
    shifted = x + 3 * torch.from_numpy(direction.astype(np.float32))
    unit = torch.from_numpy(direction / np.linalg.norm(direction)).float()
    kept = (x - (x @ unit)[:, None] * unit).norm(dim=-1)
    with torch.no_grad():
        # Rounding the direction and the shifted vector, and taking the component off again: d + 8 roundings of the
        # length of that vector. They show in what is kept and once more in the length that it is divided by.
        off = 2 * (16 + 8) * 2.0**-24 * shifted.norm(dim=-1) / kept
        moved = (layer(shifted) - layer(x)).norm(dim=-1)
        assert bool((moved <= off * layer(x).norm(dim=-1)).all())
        # Two formulas of one function: some tens of roundings of numbers below 4 apart.
        uniform = UNorm(np.ones(16), eps=1e-5)(x)
        assert float((uniform - nn.functional.layer_norm(x, (16,), eps=1e-5)).abs().max()) < 64 * 2.0**-23 * 4


def test_post_blocks_compute_what_their_formula_says() -> None:
    model = build_model(SMALL, "post", seed=0).eval()
    block: Any = model.transformer.h[0]
    seen: dict[str, Any] = {}
    block.attn.register_forward_hook(lambda _, given, out: seen.update(attended=out[0]))
    block.mlp.register_forward_hook(lambda _, given, out: seen.update(mlp=out, read=given[0]))
    block.register_forward_hook(lambda _, given, out: seen.update(stream=given[0], out=out))
    with torch.no_grad():
        model(input_ids=torch.arange(6)[None])
        middle = block.ln_1(seen["stream"] + seen["attended"])
        assert torch.equal(seen["read"], middle)
        assert torch.equal(seen["out"], block.ln_2(middle + seen["mlp"]))
