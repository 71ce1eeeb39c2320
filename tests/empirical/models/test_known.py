"""The seven models: their shapes on the meta device, and the numbers published for them."""

from typing import NamedTuple

import pytest
import torch
from transformers import AutoModelForCausalLM

from empirical.models import KNOWN_MODELS, PUBLISHED, find_model, sites_of


class Shape(NamedTuple):
    """As in Table 1 of Gupta et al.; the parameters of the whole model are exact."""

    d: int
    blocks: int
    kind: str
    parameters: int
    norms: int
    """Blocks with two norms, with one norm (GPT-J), and the final norm."""


SHAPES = {
    "gpt2-xl": Shape(1600, 48, "layernorm", 1_557_611_200, 97),
    "gpt-neo-1.3b": Shape(2048, 24, "layernorm", 1_315_575_808, 49),
    "pythia-1.4b": Shape(2048, 24, "layernorm", 1_414_647_808, 49),
    "gpt-j-6b": Shape(4096, 28, "layernorm", 6_050_882_784, 29),
    "pythia-6.9b": Shape(4096, 32, "layernorm", 6_857_302_016, 65),
    "llama-2-7b": Shape(4096, 32, "rmsnorm", 6_738_415_616, 65),
    "llama-3-8b": Shape(4096, 32, "rmsnorm", 8_030_261_248, 65),
}


@pytest.mark.parametrize("name", KNOWN_MODELS)
def test_shape(name: str) -> None:
    shape = SHAPES[name]
    config = KNOWN_MODELS[name].config()
    assert find_model(name.upper()).location == KNOWN_MODELS[name].hub_id
    with torch.device("meta"):
        whole = AutoModelForCausalLM.from_config(config)
    assert whole.num_parameters() == shape.parameters
    sites = sites_of(whole.base_model)
    assert len(sites) == shape.norms
    assert {(site.d, site.kind, site.eps) for site in sites} == {(shape.d, shape.kind, 1e-5)}
    assert max(site.layer for site in sites if site.layer is not None) == shape.blocks - 1
    assert sum(site.same_input_as is not None for site in sites) == (shape.blocks if "pythia" in name else 0)


def test_every_model_has_published_numbers() -> None:
    assert list(PUBLISHED) == list(KNOWN_MODELS)
    assert [name for name, numbers in PUBLISHED.items() if numbers.mlp_angle is None] == ["gpt-j-6b"]
    for name, numbers in PUBLISHED.items():
        for field, spread in vars(numbers).items():
            if spread is None:
                continue
            assert spread.mean > 0, (name, field)
            assert spread.maximum is None or spread.maximum > spread.mean + spread.std
