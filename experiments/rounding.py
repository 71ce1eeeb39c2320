"""Losses of a network stored in several forms, with weights or activations rounded, document by document.

    python experiments/rounding.py docs/results/gauge/rounding-smollm2.csv
    python experiments/rounding.py docs/results/gauge/rounding-whisper.csv --speech runs/whisper

The first takes about ten CPU minutes, the second twenty, in the folder that ``docs/results/whisper/prepare.py`` writes.
A run that was stopped is continued. At the end stand all losses, what rounding costs, and the differences of forms.
"""

import argparse
import copy
import csv
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.linalg import hadamard

from lngeom.empirical import folding
from lngeom.empirical.models import bundled_model, find_model, load_network
from lngeom.empirical.observe import random_rotation, ratio_interval, reflection
from lngeom.empirical.text import bundled_wikipedia, open_corpus

BITS = {"none": (0, 0), "W8": (8, 0), "W4": (4, 0), "A8": (0, 8)}
"""Bits of weights and of activations, 0 for none."""

HEADER = ("form", "rounding", "document", "tokens", "nats")
REFERENCE = {"hadamard, embedding centred": "hadamard", "gains moved": "centred", "centred": "stored"}
"""The form that a form is compared with beside the one as stored, by default the folded one."""


def hadamard_matrix(d: int, seed: int = 0) -> np.ndarray:
    """An orthogonal d × d matrix of entries ±1/√d with random signs of its columns, d a product of 12s and 2s."""
    squares = {k * k % 11 for k in range(1, 11)}
    paley = np.array([[0 if i == j else 1 if (i - j) % 11 in squares else -1 for j in range(11)] for i in range(11)])
    twelve = np.eye(12) + np.block([[np.zeros((1, 1)), np.ones((1, 11))], [-np.ones((11, 1)), paley]])
    matrix = np.ones((1, 1))
    while d % 3 == 0:
        matrix, d = np.kron(matrix, twelve), d // 12
    matrix = np.kron(matrix, hadamard(d))
    return matrix * np.random.default_rng(seed).choice([-1, 1], len(matrix)) / math.sqrt(len(matrix))


def embedding_centred(network: Any) -> Any:
    """The gains folded, and the mean subtracted from the rows of the embedding alone: another function."""
    changed, name = folding.fold(network, gains=True).checkpoint, "model.embed_tokens.weight"
    folding.put(changed, name, folding.centered(folding.own(changed, name), 1))
    return changed


def forms(network: Any, fitted: list[dict[str, torch.Tensor]]) -> dict[str, Callable[[], Any]]:
    """Each form of the network, made when it is asked for."""
    if network.config.is_encoder_decoder:
        return {
            "stored": lambda: network,
            "centred": lambda: folding.fold(network).checkpoint,
            "gains moved": lambda: folding.fold(network, gains=True).checkpoint,
            "shifted": lambda: folding.shift(network, fitted, degrees=45).checkpoint,
        }
    d, turned = network.config.hidden_size, lambda network, matrix: folding.rotate(network, matrix).checkpoint
    return {
        "stored": lambda: network,
        "folded": lambda: folding.fold(network, gains=True).checkpoint,
        "hadamard": lambda: turned(network, hadamard_matrix(d)),
        "folded, embedding centred": lambda: embedding_centred(network),
        "hadamard, embedding centred": lambda: turned(embedding_centred(network), hadamard_matrix(d)),
        "rotated 0": lambda: turned(network, random_rotation(d, 0)),
        "rotated 1": lambda: turned(network, random_rotation(d, 1)),
        "reflected": lambda: turned(network, reflection(folding.dominant(network, fitted))),
    }


def nearest(values: torch.Tensor, bits: int) -> torch.Tensor:
    """Each row rounded to multiples of its largest absolute value over 2^(bits − 1) − 1."""
    step = values.abs().amax(-1, keepdim=True) / (2 ** (bits - 1) - 1)
    return torch.where(step > 0, (values / step).round() * step, values)


def rounded(network: Any, rounding: str) -> Any:
    """A copy whose linear maps inside the blocks have rounded weights, or round what they read."""
    (weights, activations), changed = BITS[rounding], copy.deepcopy(network)
    for path, module in changed.named_modules():
        if isinstance(module, torch.nn.Linear) and any(part.isdigit() for part in path.split(".")):
            if weights:
                module.weight.data = nearest(module.weight.data, weights)
            if activations:
                module.register_forward_pre_hook(lambda _, args: (nearest(args[0], activations), *args[1:]))
    return changed


def measure(path: Path, speech: Path | None, tokens: int) -> None:
    source = find_model(str(speech / "model" if speech else bundled_model()))
    network: Any = load_network(source)
    corpus = open_corpus(str(speech / "passages" if speech else bundled_wikipedia()))
    chosen = folding.passages_for(network, source, corpus, tokens=tokens, length=128, per_document=1)
    fitted = [folding.tensors(network, chosen[:1])]
    done = read(path)
    for form, make in forms(network, fitted).items():
        missing = [rounding for rounding in BITS if (form, rounding) not in done]
        made = make() if missing else None
        for rounding in missing:
            changed, none = rounded(made, rounding), folding.Change("none", "all")
            rows = np.concatenate([folding.Measurement(changed, [passage], 1)(none) for passage in chosen])
            with path.open("a", encoding="utf-8", newline="") as file:
                lines = csv.writer(file, lineterminator="\n")
                lines.writerows([HEADER] if file.tell() == 0 else [])
                lines.writerows((form, rounding, int(row[0]), int(row[1]), round(row[2], 6)) for row in rows)


def read(path: Path) -> dict[tuple[str, str], np.ndarray]:
    """Tokens and nats of every document, for each form and rounding."""
    found: dict[tuple[str, str], list[list[float]]] = {}
    for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines() if path.exists() else []):
        found.setdefault((row["form"], row["rounding"]), []).append([float(row["tokens"]), float(row["nats"])])
    return {key: np.array(pairs) for key, pairs in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv", type=Path)
    parser.add_argument("--speech", type=Path, help="Whisper, and passages of speech, in this folder")
    parser.add_argument("--tokens", type=int, default=1_280)
    options = parser.parse_args()
    measure(options.csv, options.speech, options.tokens)
    found = read(options.csv)
    for (form, rounding), rows in found.items():
        print(f"{form}, {rounding}: loss", told(rows[:, 1], rows[:, 0], 0))
        for other in ((form, "none"), ("stored", rounding), (REFERENCE.get(form, "folded"), rounding)):
            if other in found and other != (form, rounding):
                print("   less that of", *other, told(rows[:, 1] - found[other][:, 1], rows[:, 0], -math.inf))


def told(nats: np.ndarray, tokens: np.ndarray, floor: float) -> str:
    return "{:.4f} [{:.4f}, {:.4f}]".format(*ratio_interval(nats, tokens, floor=floor))


if __name__ == "__main__":
    main()
