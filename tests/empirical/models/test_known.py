import pytest
import torch
from transformers import AutoModelForCausalLM

from lngeom.empirical.models import KNOWN_MODELS, find_model, sites_of

SHAPES = {
    "gpt2-xl": (1600, 48, "layernorm", 1_557_611_200, 97),
    "gpt-neo-1.3b": (2048, 24, "layernorm", 1_315_575_808, 49),
    "pythia-1.4b": (2048, 24, "layernorm", 1_414_647_808, 49),
    "gpt-j-6b": (4096, 28, "layernorm", 6_050_882_784, 29),
    "pythia-6.9b": (4096, 32, "layernorm", 6_857_302_016, 65),
    "llama-2-7b": (4096, 32, "rmsnorm", 6_738_415_616, 65),
    "llama-3-8b": (4096, 32, "rmsnorm", 8_030_261_248, 65),
}
"""d, blocks and kind as in Table 1 of Gupta et al., the exact number of parameters of the whole, and the norms: two a
block, one in GPT-J, and the final one.
"""


@pytest.mark.parametrize("name", KNOWN_MODELS)
def test_shape(name: str) -> None:
    d, blocks, kind, parameters, count = SHAPES[name]
    config = KNOWN_MODELS[name].config()
    assert find_model(name.upper()).location == KNOWN_MODELS[name].hub_id
    with torch.device("meta"):
        whole = AutoModelForCausalLM.from_config(config)
    assert whole.num_parameters() == parameters
    sites = sites_of(whole.base_model)
    assert len(sites) == count
    assert {(site.d, site.kind, site.eps) for site in sites} == {(d, kind, 1e-5)}
    assert max(site.layer for site in sites if site.layer is not None) == blocks - 1
    assert sum(site.same_input_as is not None for site in sites) == (blocks if "pythia" in name else 0)
