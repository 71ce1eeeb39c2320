from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import lngeom
from lngeom.empirical.models import FAMILIES, NormSite, sites_of, streams_of, topology_of, watching
from lngeom.empirical.observe import Observer, compute

from ..conftest import ARCHITECTURES, BLOCKS, VOCABULARY, WIDTH, message, tiny_model


def calls(model: Any, sites: tuple[NormSite, ...]) -> list[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    seen: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
    paths = [site.path for site in sites]
    with torch.inference_mode(), watching(model, paths, lambda path, _, *given: seen.append((path, *given[:2]))):
        model(input_ids=torch.arange(10).reshape(2, 5) % VOCABULARY)
    return seen


def test_every_family_is_tested() -> None:
    assert set(ARCHITECTURES) == set(FAMILIES)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_sites_run_in_the_order_listed_with_one_argument(architecture: str) -> None:
    sites = sites_of(model := tiny_model(architecture))
    seen = calls(model, sites)
    assert [path for path, _, _ in seen] == [site.path for site in sites]
    for _, arguments, keywords in seen:
        assert len(arguments) == 1
        assert keywords == {}
        assert arguments[0].numel() == 2 * 5 * WIDTH
    assert {site.d for site in sites} == {WIDTH}
    inputs = {path: arguments[0] for path, arguments, _ in seen}  # same_input_as is the very same tensor
    for site in sites:
        twins = [other.path for other in sites if other.path != site.path and inputs[other.path] is inputs[site.path]]
        assert twins == [] or site.same_input_as in (*twins, None)
        assert (site.same_input_as in twins) == (site.same_input_as is not None)


@pytest.mark.parametrize(
    ("architecture", "roles"),
    [
        ("gpt2", ["pre_attn", "pre_mlp"] * BLOCKS + ["final"]),
        ("gpt_neox", ["pre_attn", "pre_mlp"] * BLOCKS + ["final"]),
        ("gptj", ["pre_both"] * BLOCKS + ["final"]),
        ("llama", ["pre_attn", "pre_mlp"] * BLOCKS + ["final"]),
        ("olmo2", ["post_attn", "post_mlp"] * BLOCKS + ["final"]),
        ("bert", ["embedding", *["post_attn", "post_mlp"] * BLOCKS]),
    ],
)
def test_roles(architecture: str, roles: list[str]) -> None:
    assert [site.role for site in sites_of(tiny_model(architecture))] == roles


def test_the_stream_is_measured_where_no_norm_reads_it() -> None:
    """Its angles, against the hidden states that transformers returns."""
    model = tiny_model("olmo2").eval()
    blocks = streams_of(model)
    ids = torch.arange(10).reshape(2, 5)
    with Observer(model, blocks) as observer, torch.inference_mode():
        hidden = model(ids, output_hidden_states=True).hidden_states
    for n, site in enumerate(blocks):
        assert (site.path, site.role, site.kind) == (f"layers.{n}", "stream", "none")
        angle = compute(observer.states[site.path, "input"], "input")["all"]["angle_mean"]
        angles = lngeom.angles.angle_to_uniform(hidden[n].double().numpy())
        # A sum of d numbers moves cos θ by d·u at most, and θ by that over sin θ.
        assert abs(angle - np.degrees(angles.mean())) <= np.degrees(WIDTH * 2.0**-24 / np.sin(angles).min())
    assert not streams_of(tiny_model("llama"))


def test_sequential_neox_has_no_shared_inputs() -> None:
    model = tiny_model("gpt_neox")
    assert topology_of(model.config) == "parallel"
    model.config.use_parallel_residual = False
    assert topology_of(model.config) == "sequential"
    assert all(site.same_input_as is None for site in sites_of(model))


def test_a_model_that_is_not_that_of_its_table_is_refused() -> None:
    model = tiny_model("llama")
    model.layers[0].extra = type(model.norm)(WIDTH)
    assert message(lambda: sites_of(model)) == (
        "layers.0.extra and 0 more norm modules are not in the table of architecture 'llama'"
    )
    model.layers[1].input_layernorm = nn.Identity()
    assert message(lambda: sites_of(model)) == (
        "layers.1.input_layernorm is Identity, expected a norm; load the base model by AutoModel, with use_kernels off"
    )
    model = tiny_model("opt")
    model.config.do_layer_norm_before = False
    assert "OPT-350M" in message(lambda: sites_of(model))
