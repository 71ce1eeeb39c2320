import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from lngeom.cli import main
from lngeom.empirical.folding import own, put
from lngeom.empirical.models import find_model, load_network, weights_sha256
from lngeom.files import Json, read_sealed, write_sealed
from tests.support import failed, refused, said

from ..networks import saved

Forgery = Callable[[Any, Json], object]


def changed(network: Any, name: str, place: tuple[int, ...] = (0,), by: float = 0.05) -> None:
    """One entry of a parameter, which shares its memory with no other afterwards."""
    values = own(network, name).detach().clone()
    values[place] += by
    put(network, name, values)


def without(certificate: Json, parameter: str) -> None:
    certificate["maps"] = [entry for entry in certificate["maps"] if entry["parameter"] != parameter]


def unseen(network: Any, certificate: Json) -> None:
    """The embedding of one token, said to have moved as the gain of a norm does."""
    changed(network, "transformer.wte.weight", (-1,))
    certificate["moved"] += ["transformer.wte", "lm_head"]
    without(certificate, "transformer.wte.weight")


def uniform(network: Any, certificate: Json) -> None:
    """A constant on a weight whose outputs are seen, said to be a gauge."""
    name = "transformer.h.0.mlp.c_fc.bias"
    put(network, name, own(network, name).detach() + 1e-4)
    certificate["maps"].append(certificate["maps"][0] | {"parameter": name, "amount": 1e-4})


FORGERIES: dict[str, tuple[str, str, Forgery]] = {
    "an embedding that moved": ("gpt2", "fold --gains", unseen),
    "a module that moved": (
        "gpt2", "fold --gains",
        lambda n, c: (changed(n, "transformer.wpe.weight"), c["moved"].append("transformer.wpe"),
                      without(c, "transformer.wpe.weight")),
    ),
    "a gain that is not 1": ("gpt2", "fold --gains", lambda n, c: changed(n, "transformer.ln_f.weight", by=1e-6)),
    "a weight that was tied": ("gpt2", "fold", lambda n, c: changed(n, "lm_head.weight", (0, 0), by=1e-6)),
    "another epsilon": ("gpt2", "fold", lambda n, c: setattr(n.config, "layer_norm_epsilon", 2e-5)),
    "another nonlinearity": ("gpt2", "fold", lambda n, c: setattr(n.config, "activation_function", "gelu")),
    "another class": ("gpt2", "fold", lambda n, c: c.update({"class": "GPT2Model"})),
    "no angles": ("gpt2", "gauge --shift=0.5", lambda n, c: c.pop("angles")),
    "a smaller error": ("gpt2", "fold", lambda n, c: c["maps"][0].update({"worst": 0.1})),
    "a format that is not compared": ("gpt2", "fold", lambda n, c: c["compared"].update({"dtype": "float64"})),
    "a member more": ("gpt2", "fold", lambda n, c: c.update({"extra": "proved optimal"})),
    "a constant that is seen": ("gpt2", "gauge --shift=0.5", uniform),
    "a constant beside the list": ("gpt2", "gauge --shift=0.5", lambda n, c: changed(n, "lm_head.weight", (0, 0))),
    "a gain beside the rotation": (
        "llama", "gauge --rotate=0",
        lambda n, c: (changed(n, "model.norm.weight", by=1e-6), c["moved"].append("model.norm")),
    ),
    "a weight that was not turned": (
        "llama", "gauge --rotate=0",
        lambda n, c: (changed(n, "model.embed_tokens.weight", (-1, 0)), c["moved"].append("model.embed_tokens"),
                      without(c, "model.embed_tokens.weight")),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Callable[[str, str], Path]:
    """What a command writes for a network, verified."""

    @cache
    def made(family: str, words: str) -> Path:
        folder, (command, *how) = tmp_path_factory.mktemp("sound"), words.split()
        assert main([command, *saved(family, folder)[1], *how, "--output", str(folder / "written")]) == 0
        assert main([command, "--verify", str(folder / "written")]) == 0
        return folder / "written"

    return made


@pytest.mark.parametrize("kind", FORGERIES)
def test_a_forged_fold_fails(kind: str, sound: Callable[[str, str], Path], tmp_path) -> None:
    """Each is signed anew, as anybody can."""
    family, words, forge = FORGERIES[kind]
    written = shutil.copytree(sound(family, words), tmp_path / "written")
    network, certificate = load_network(find_model(str(written))), read_sealed(written / "certificate.json")
    forge(network, certificate)
    network.save_pretrained(written)
    certificate["weights_sha256"]["folded"] = weights_sha256(load_network(find_model(str(written))))
    write_sealed(written / "certificate.json", certificate)
    outcome = said(words.split()[0], "--verify", written)
    failed(outcome, "FAIL")
    assert "\n  the weights of the" not in outcome[1]


def test_a_verification_tells_what_it_measures_and_what_it_cannot(sound: Callable[[str, str], Path], tmp_path) -> None:
    written = shutil.copytree(sound("gpt2", "gauge --shift=0.5"), tmp_path / "written")
    certificate = read_sealed(written / "certificate.json")
    invented = {"angles": {path: [45.0, 90.0] for path in certificate["angles"]}, "model": "gpt2-xl"}
    write_sealed(written / "certificate.json", certificate | invented)
    done, told = said("gauge", "--verify", written)
    assert done == "done"
    assert "mean angle" in told
    assert "45.00°" not in told
    assert "not checked in the certificate: lngeom, model, location, revision, compared, angles" in told
    told = json.loads(said("gauge", "--verify", written, "--json", "-q")[1])
    assert "angles" in told["not_checked"]
    assert told["certificate"]["angles"].keys() == invented["angles"].keys()
    assert told["certificate"]["angles"] != invented["angles"]
    assert told["certificate"]["model"] == "model"
    refused(said("fold", "--verify", written), "this is the certificate of a gauge; give it to lngeom gauge --verify")
