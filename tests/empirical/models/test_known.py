"""The seven models: their shapes on the meta device, and the numbers published for them."""

import pytest
import torch
from transformers import AutoModel, AutoModelForCausalLM

from empirical.models import KNOWN_MODELS, PUBLISHED, sites_of

# Blocks with two norms, with one norm (GPT-J), and the final norm.
NORMS = {"gpt2-xl": 97, "gpt-neo-1.3b": 49, "pythia-1.4b": 49, "gpt-j-6b": 29, "pythia-6.9b": 65}
NORMS |= {"llama-2-7b": 65, "llama-3-8b": 65}


@pytest.mark.parametrize("name", KNOWN_MODELS)
def test_shape(name: str) -> None:
    known = KNOWN_MODELS[name]
    config = known.config()
    with torch.device("meta"):
        whole, base = AutoModelForCausalLM.from_config(config), AutoModel.from_config(config)
    assert whole.num_parameters() == known.parameters
    sites = sites_of(base)
    assert len(sites) == NORMS[name]
    assert {(site.d, site.kind, site.eps) for site in sites} == {(known.d, known.norm, 1e-5)}
    assert max(site.layer for site in sites if site.layer is not None) == known.blocks - 1
    twins = sum(site.same_input_as is not None for site in sites)
    assert twins == (known.blocks if "pythia" in name else 0)


def test_every_model_has_published_numbers() -> None:
    assert list(PUBLISHED) == list(KNOWN_MODELS)
    assert [name for name, numbers in PUBLISHED.items() if numbers.mlp_angle is None] == ["gpt-j-6b"]
    for name, numbers in PUBLISHED.items():
        for field, spread in vars(numbers).items():
            if spread is None:
                continue
            assert spread.mean > 0, (name, field)
            assert spread.maximum is None or spread.maximum > spread.mean + spread.std
            if "angle" in field:
                # The smallest and the largest of the table, but for the hidden states of GPT-2 XL.
                outlier = (name, field) == ("gpt2-xl", "hidden_angle")
                assert outlier or 88.74 <= spread.mean <= 90.15, (name, field)
