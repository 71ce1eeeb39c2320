"""Networks and ports with a known difference: each is found, named or refused."""

import json
import random
import re

import torch
from safetensors.torch import load_file, save_file

from lngeom.empirical.folding import fold
from tests.empirical.networks import Odd

from .scene import Scene, area, refused_or, said


@area("ports with a known difference", 0.3)
def ports(scene: Scene, generator: random.Random) -> str:
    """A checkpoint in which one number is another, or with fewer bits: the doctor names that, and nothing else."""
    with scene.copy("model") as (model,):
        weights, path = load_file(model / "model.safetensors"), model / "config.json"
        what, by = (
            generator.choice([*sorted(weights), "eps", "bfloat16", "float16"]),
            generator.choice([1e-3, 0.01, 1.0]),
        )
        if what == "eps":
            path.write_text(json.dumps(json.loads(path.read_text()) | {"layer_norm_epsilon": by}))
        elif what in weights:
            value = weights[what].view(-1)
            value[generator.randrange(len(value))] += by
        else:
            weights = {name: value.to(getattr(torch, what)) for name, value in weights.items()}
            path.write_text(json.dumps(json.loads(path.read_text()) | {"dtype": what}))
        save_file(weights, model / "model.safetensors", {"format": "pt"})
        told, text = said("doctor", scene.model, model)
    same, path = "all 3 norms compute the same" in text, what.rpartition(".")[0]
    if what in ("bfloat16", "float16"):
        right = told == "done"
    elif what == "eps":
        right = f"eps = {by:g}" in text and "weights are the same" in text
    else:
        off = re.search(rf"{path}: bug: (gain|bias) off by up to", text) and "1 of 3 norms differ" in text
        gauge = "same function: the outputs agree, though weights differ" in text  # of a key's bias, for example
        right = told.startswith("exit code 1: []") or gauge
        right = right and (off if "ln_" in what else same) and f"{what}: " in text
    return "" if right else f"{what}, {by}: {told} {text}"


@area("networks that are odd, folded", 0.3)
def odd_networks(_: Scene, generator: random.Random) -> str:
    """A network with a few odd things, folded with its gains or not: refused, or the same on other inputs."""
    ways = ["shared norm", "shared gain", "tied", "twice", "item", "view", "long", "added in place", "reader"]
    odd, gains = set(generator.sample(ways, generator.randrange(4))), generator.random() < 0.5
    torch.manual_seed(generator.randrange(1 << 30))
    network = Odd(*odd).double().eval()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter)

    def folded() -> str:
        made, ids = fold(network, gains=gains), torch.randint(9, (2, 16))
        with torch.no_grad():
            right, got = (each(input_ids=ids)["logits"] for each in (network, made.model))
        gap = float((right - got).abs().max() / right.abs().max())
        return f"{odd}, gains {gains}: off by {gap:.3g}" if gap > 1e-9 else ""

    return refused_or(f"{odd}, gains {gains}", folded)
