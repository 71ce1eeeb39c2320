import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import lngeom as lg
from lngeom.empirical import judge
from lngeom.empirical.judge import Prediction, predict
from lngeom.empirical.judge.exact import THEOREMS
from lngeom.empirical.models import NormSite, layer_error
from lngeom.proofs import find

from ..conftest import ARCHITECTURES, VOCABULARY, centred, loaded, tiny_model, uncentred

DTYPES = [torch.float32, torch.bfloat16, torch.float16]
TOKENS = np.random.default_rng(0).integers(3, VOCABULARY, (3, 32))


SIZE = {
    "gpt2": {"standardization.layer", "epsilon.gauge", "epsilon.scaling"},
    "llama": {"rmsnorm.definition", "rmsnorm.length", "rmsnorm.scaling"},
}
"""What depends on ε and on the divisor of the variance: the lengths, but neither direction nor hyperplane."""


def test_every_theorem_exists() -> None:
    assert [find(id).id for id in judge.THEOREM_IDS] == list(judge.THEOREM_IDS)


@pytest.mark.parametrize(
    ("architecture", "dtype"),
    [*product(ARCHITECTURES, DTYPES[:2]), *product(SIZE, DTYPES[2:])],  # the half formats take one way
    ids=str,
)
def test_all_hold_for_every_architecture(architecture: str, dtype: torch.dtype) -> None:
    model = loaded(tiny_model(architecture).to(dtype))
    predictions = predict(model, TOKENS)
    assert [each for each in predictions if each.verdict != "holds"] == []
    whole = [each for each in predictions if each.site == "model"]
    assert len(predictions) == len(THEOREMS[model.sites[0].kind]) * len(model.sites) + len(whole)
    assert len(whole) == (model.topology not in ("post", "branch"))


def violated(model: Any, wrong: Callable[[Any], None], *, whole: bool = False) -> set[str]:
    """Theorems that a changed norm layer of the first block violates: there, or if `whole` in the whole model too."""
    described = loaded(model)
    path = described.sites[0].path
    wrong(dict(model.named_modules())[path])
    bad: dict[str, set[str]] = {}
    for each in predict(described, TOKENS):
        if each.verdict == "violated":
            bad.setdefault(each.site, set()).add(each.theorem)
    assert set(bad) == {path} | ({"model"} if whole else set())
    return bad[path]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("architecture", SIZE)
def test_another_eps_is_reported_where_inputs_are_small(architecture: str, dtype: torch.dtype) -> None:
    def wrong(module: Any) -> None:
        for name in ("eps", "variance_epsilon"):
            if hasattr(module, name):
                assert getattr(module, name) == 1e-5
                setattr(module, name, 1e-6)

    model = tiny_model(architecture)
    with torch.no_grad():
        for embedding in model.modules():
            if isinstance(embedding, nn.Embedding):
                embedding.weight.mul_(2.0**-7)  # mean squares of 2⁻¹⁸, about 4e-6
    assert violated(model.to(dtype), wrong) == SIZE[architecture]


def test_another_eps_is_not_seen_where_rounding_hides_it() -> None:
    model = loaded(tiny_model("llama").to(torch.bfloat16))
    model.model.layers[0].input_layernorm.variance_epsilon = 1e-6  # mean squares of 0.04: one part in 10⁴
    assert {each.verdict for each in predict(model, TOKENS)} == {"holds"}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_sample_variance_is_reported(dtype: torch.dtype) -> None:
    def kernel(module: Any) -> None:
        def forward(x: Tensor) -> Tensor:
            wide = x.float()
            variance, mean = torch.var_mean(wide, -1, keepdim=True, correction=1)
            y = (wide - mean) * torch.rsqrt(variance + module.eps)
            return (y * module.weight.float() + module.bias.float()).to(x.dtype)

        module.forward = forward

    assert violated(tiny_model("gpt2").to(dtype), kernel) == SIZE["gpt2"]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_forgotten_one_beside_the_weight_is_reported(dtype: torch.dtype) -> None:
    model = loaded(tiny_model("gemma").to(dtype))
    model.sites = tuple(replace(site, gain_offset=0.0) for site in model.sites)
    definitions = [each for each in predict(model, TOKENS) if each.theorem == "rmsnorm.definition"]
    assert {each.verdict for each in definitions} == {"violated"}


def test_a_missing_mean_subtraction_is_reported() -> None:
    broken = violated(tiny_model("gpt2"), uncentred, whole=True)
    assert broken >= {"standardization.mean_zero", "ellipsoid.hyperplane", "angles.rotation_by_layer_norm"}


def test_a_subtracted_mean_in_an_rms_norm_is_reported() -> None:
    assert violated(tiny_model("llama"), centred) >= {"rmsnorm.definition", "angles.rotation_by_rms_norm"}


def test_an_output_outside_the_ellipsoid_is_reported() -> None:
    def kernel(module: Any) -> None:
        real = module.forward
        module.forward = lambda x: 1.001 * real(x)

    assert violated(tiny_model("llama"), kernel) == {"rmsnorm.interior", *SIZE["llama"]}


def at_first_norm(model: Any) -> dict[str, Prediction]:
    """The predictions about the first norm, by theorem."""
    described = loaded(model)
    described.sites = described.sites[:1]
    return {each.theorem: each for each in predict(described, TOKENS)}


def test_nothing_is_decided_without_a_bound() -> None:
    wide = predict(loaded(tiny_model("llama").to(torch.float64)), TOKENS)
    assert {(each.verdict, each.reason) for each in wide if each.site != "model"} == {
        ("undecided", "no wider format to check float64 in")
    }

    sharp = tiny_model("gpt2")
    sharp.h[0].ln_1.eps = 0.0
    predictions = at_first_norm(sharp)
    assert {id: each.reason for id, each in predictions.items() if each.verdict == "undecided"} == dict.fromkeys(
        ("epsilon.gauge", "ellipsoid.interior"), "the theorem takes ε > 0"
    )

    for architecture, of_all in (("llama", 5), ("gpt2", 7)):
        still = tiny_model(architecture)
        still.get_input_embeddings().weight.data.zero_()
        if architecture == "gpt2":
            still.wpe.weight.data.fill_(1.0)
        assert [each.verdict for each in at_first_norm(still).values()] == ["undecided"] * of_all

    lost = tiny_model("gpt2")
    lost.wte.weight.data.fill_(math.nan)
    assert {each.verdict for each in predict(loaded(lost), TOKENS)} == {"undecided"}


@pytest.mark.parametrize(
    ("architecture", "path", "holding"),
    [
        ("gpt2", "h.0.ln_1", {"standardization.layer", "ellipsoid.zero_gain_interior", "epsilon.scaling"}),
        ("llama", "layers.0.input_layernorm", {"rmsnorm.definition", "rmsnorm.zero_gain_interior", "rmsnorm.scaling"}),
    ],
)
def test_a_zero_gain_hides_what_most_theorems_speak_of(architecture: str, path: str, holding: set[str]) -> None:
    model = tiny_model(architecture)
    model.get_submodule(path).weight.data[3] = 0.0
    predictions = at_first_norm(model)
    assert {id for id, each in predictions.items() if each.verdict == "holds"} == holding
    assert {each.verdict for each in predictions.values()} == {"holds", "undecided"}


def test_what_a_zero_gain_hides_is_allowed_its_error() -> None:
    """An output off by E, all in one direction: the hidden component −Σy_i is then off by ΣE_i/|g_i|."""
    x, gain = np.array([[1.0, 1.0, 1.0, -3.0]]), np.array([1.0, 1.0, 1.0, 0.0])
    site = NormSite("norm", None, "final", "layernorm", 1e-9, 4)
    z, scaled = (lg.layer_norm(a * x, gain, eps=1e-9) for a in (1.0, 8.0))
    error = layer_error(x, gain, None, kind="layernorm", eps=1e-9, dtype="float32")
    for times, verdict in ((1, "holds"), (2, "violated")):
        sample = judge.SiteSample(site, x, z + times * error * gain, scaled, gain, None, "float32")
        verdicts = {each.theorem: each.verdict for each in judge.check_sample(sample)}
        assert verdicts["ellipsoid.zero_gain_interior"] == verdict


def test_half_of_the_layer_in_another_dtype_is_not_judged() -> None:
    model = tiny_model("llama").to(torch.bfloat16)
    model.norm.weight.data = model.norm.weight.data.float()
    ids = torch.from_numpy(TOKENS.astype(np.int64))
    sample = judge.samples(model, loaded(model).sites, lambda: model(input_ids=ids))[-1]
    assert {each.reason for each in judge.check_sample(sample)} == {"input, output and parameters differ in dtype"}


def row(**entries: Any) -> dict[str, Any]:
    defaults = {
        "site": "norm", "bucket": "all", "side": "input", "same_input_as": None, "tokens": 10, "sequences": 5,
        "d_cos2": 1.2, "d_cos2_low": 0.9, "d_cos2_high": 1.5, "rank_among_random": 3,
        "rank_among_signs": 2,
    }  # fmt: skip
    return {**defaults, **entries}


def test_isotropy_is_judged_by_its_interval() -> None:
    [held] = judge.isotropy([row()])
    expected = Prediction(
        "norm", held.prediction, judge.ISOTROPY, 1.2, 1.0, 10, "not distinguished", 0.9, 1.5, 3, "", 2
    )
    assert held == expected
    [low] = judge.isotropy([row(d_cos2=0.5, d_cos2_low=0.4, d_cos2_high=0.6)])
    [high] = judge.isotropy([row(d_cos2=9.0, d_cos2_low=8.0, d_cos2_high=10.0)])
    assert low.verdict == high.verdict == "not isotropic"
    [single] = judge.isotropy([row(sequences=1, d_cos2_low=0.0, d_cos2_high=math.inf)])
    assert single.verdict == "undecided"
    assert list(judge.isotropy([row(same_input_as="other"), row(bucket="first")])) == []
