"""Norms in the wild: every norm class of transformers, through ``lngeom check``.

``python experiments/norms_in_the_wild.py docs/results`` adds to ``norms_in_the_wild.csv`` and writes, grouped by what
they do and counted by verdict, ``norms_in_the_wild_groups.csv`` and ``norms_in_the_wild_summary.csv``, and by what they
compute in exact arithmetic ``norms_in_the_wild_exact.csv``. Classes with the same source are checked once. What stands
in the CSV already is not checked again: an interrupted run goes on, and rows of other packages stay.
"""

import ast
import importlib
import importlib.metadata
import itertools
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from lngeom.check import Finding, check
from lngeom.check._proving.verdict import prove_target
from lngeom.check._tracing.torch_front import TorchFront
from lngeom.errors import LngeomError

D = 64
DTYPES = ("float32", "bfloat16", "float16")
COLUMNS = ("package", "version", "norm", "classes", "kind", "eps", "dtype", "direction", "verdict", "cause",
           "worst_ratio", "reproducer", "exact")  # fmt: skip
Table = Any  # a DataFrame, whose annotations do not describe it well enough to be checked


def _channels_first(target: Any) -> Any:
    """Rows as pixels of a batch of images with one column."""

    class Rows(torch.nn.Module):
        def __init__(self, d: int) -> None:
            super().__init__()
            self.norm = target(d)

        def forward(self, x: Any) -> Any:
            return self.norm(x.reshape(-1, x.shape[-1], 1, 1)).reshape(x.shape)

    return Rows


FIXED, LAYER = "the statistics are of training or of the batch, none of the row", "a whole layer, which holds norms"
NO_NORM: dict[str, str] = {
    "ConditionalDetrFrozenBatchNorm2d": FIXED, "PatchTSMixerBatchNorm": FIXED, "PatchTSTBatchNorm": FIXED,
    "NoNorm": "a gain and a bias, no statistics", "VoxtralRealtimeTextAdaRmsNorm": "two linear maps, no statistics",
    "DbrxNormAttentionNorm": LAYER, "VibeVoiceDiffusionHeadAdaLayerNorm": LAYER,
} | {
    f"{model}Encoder{part}StableLayerNorm": LAYER
    for model in ("Hubert", "UniSpeech", "UniSpeechSat", "Wav2Vec2", "WavLM") for part in ("", "Layer")
}  # fmt: skip
"""Classes called norms that compute none of a row, and what they compute."""
Call = Callable[[Any, Tensor, Tensor], Tensor]


def _channels(rows: Tensor) -> Tensor:
    """Rows as images of one line in 32 channels, of which each is a group of its own."""
    return torch.nn.functional.pad(rows, (0, 0, 0, -len(rows) % 32)).reshape(-1, 32, 1, rows.shape[-1])


def _open(norm: Any, x: Tensor, zero: Tensor) -> Tensor:
    """At a gate whose sigmoid is 1."""
    norm.mlp.forward = lambda _: zero + 32
    return norm(x)


CALLS: dict[str, Call] = {
    "AXK2GatedRMSNorm": _open,
    "EsmFold2AdaptiveLayerNorm": lambda norm, x, zero: norm(x, zero),
    "ConvDropoutLayerNorm": lambda norm, x, zero: norm(zero[..., None], x[..., None]),
    "Emu3VQVAESpatialNorm": lambda norm, x, zero: norm(_channels(x), _channels(zero)).view(-1, D)[: len(x)],
    "Gemma3nAudioCumulativeGroupNorm": lambda norm, x, zero: norm(x[:, None]),
    "HYV4UnweightedRMSNorm": lambda norm, x, zero: x * norm(x),
    "ZayaQKNorm": lambda norm, x, zero: norm(x[None, None], x[None, None])[0],
}  # fmt: skip
"""How classes that take more than rows, or return less, are called with rows of shape (n, d) and zeros of it."""
MADE: dict[str, dict[str, Any]] = {
    "Emu3VQVAESpatialNorm": {"in_channels": 32, "out_channels": 32},
    "Gemma3nAudioCumulativeGroupNorm": {"num_channels": D, "feature_dims": ()},
    "ConvDropoutLayerNorm": {"cin": D, "cout": D, "groups": 1, "dropout_prob": 0.0},
}


def _called(target: Any) -> Any:
    """A class as a norm of rows: configurations and shapes made up, maps 0 but for biases that leave a product at 1."""
    name, call = target.__name__, CALLS.get(target.__name__)

    class Rows(torch.nn.Module):
        def __init__(self, d: int) -> None:
            super().__init__()
            chosen = MADE.get(name)
            made: Any = target(**chosen) if chosen else TorchFront().of_class(target, d, lambda _, value: value)
            for path, part in made.named_modules():
                if isinstance(part, torch.nn.Linear | torch.nn.Conv1d | torch.nn.Conv2d) or path == "cond_norm":
                    for key, value in [*part.named_parameters()]:
                        delattr(part, key)
                        held = {"conv_y.bias": 1.0, "gate_proj.bias": 32.0}.get(f"{path}.{key}", 0.0)
                        part.register_buffer(key, torch.full_like(value, held))
            self.norm = made

        def forward(self, x: Tensor) -> Tensor:
            rows = x.reshape(-1, x.shape[-1])
            if call is not None:
                return call(self.norm, rows, torch.zeros_like(rows)).reshape(x.shape)
            try:
                return self.norm(x)
            except (RuntimeError, ValueError):
                return self.norm(rows[..., None]).reshape(x.shape)

    return Rows


def transformers_classes() -> Iterator[tuple[str, int, Any]]:
    """Norm classes of the model files of transformers, one for each different source: how many have it, and it."""
    root = Path(importlib.import_module("transformers").__file__ or "").parent / "models"
    seen: dict[str, list[str]] = {}
    for path in sorted(root.glob("*/modeling_*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and re.search(r"Norm(1P|2d)?$", node.name):
                body = [part for part in node.body if not isinstance(part, ast.Expr)]
                key = re.sub(r"\b\w*Norm\w*\b", "N", "\n".join(map(ast.unparse, body)))
                seen.setdefault(key, []).append(f"{path.parent.name}.{path.stem}.{node.name}")
    for names in sorted(seen.values(), key=len, reverse=True):
        module, _, name = names[0].rpartition(".")
        try:
            target = getattr(importlib.import_module(f"transformers.models.{module}"), name)
        except Exception as error:  # a model file may import what is not installed, or what does not load
            print(f"left out: {names[0]}: {error}"[:160], file=sys.stderr)
            continue
        yield name, len(names), target


def _shown(finding: Finding) -> str:
    """The input with runs of equal numbers counted, and what came out of it."""
    if finding.wrong is None or finding.verdict == "rounding":
        return ""
    runs = [f"{value:.7g} * {n}" if n > 1 else f"{value:.7g}" for value, group in itertools.groupby(finding.input)
            for n in [len(list(group))]]  # fmt: skip
    x = ", ".join(runs) if len(runs) <= 12 else f"{', '.join(runs[:12])}, ... ({len(finding.input)})"
    return f"x = [{x}]: {finding.wrong:.5g} for {finding.right:.5g} ± {finding.bound:.2g}"


def _checked(name: str, norm: Any, dtype: str) -> Iterator[tuple[Any, ...]]:
    """Rows of the CSV for one norm in one dtype, from the kind on."""
    # A class says neither whether it takes images nor, if it computes no norm, which one it should.
    ways = (_called(norm),) if name in CALLS else (norm, _channels_first(norm), _called(norm))
    problem = NO_NORM.get(name, "")
    for target, kind in () if problem else itertools.product(ways, (None, "rmsnorm")):
        try:
            finding = check(target, kind=kind, dtype=dtype, d=D, name=name, backward=True)
        except Exception as error:
            text = str(error) if isinstance(error, LngeomError) else f"{type(error).__name__}: {error}"
            problem = problem or " ".join(text.split())[:120]
            continue
        told, gradient = (finding.kind, f"{finding.eps:g}", dtype), (finding.cause or "").startswith("backward")
        forward = ("rounding", "") if gradient else (finding.verdict, finding.cause or "")
        yield *told, "forward", *forward, f"{finding.worst_ratio:.3g}", "" if gradient else _shown(finding)
        if finding.gradient_ratio is not None:
            yield *told, "backward", finding.verdict, finding.cause or "", f"{finding.gradient_ratio:.3g}", ""
        return
    yield "", "", dtype, "forward", "not checked", problem, "", ""


def _proved(name: str, norm: Any) -> str:
    """The proof of a norm in exact arithmetic: status and formula, or the reason why none is known."""
    proof = prove_target(norm, name, "torch")
    told = proof.text.partition(" computes ")[2] if proof.certificates else proof.text
    where = "" if proof.dimensions in ("", "every d ≥ 1") else f", {proof.dimensions}"
    return f"{proof.status}: {told}{where}"


def exact(rows: Table) -> Table:
    """How many classes compute what in exact arithmetic, the definitions first."""
    norms = rows[rows["exact"] != ""].drop_duplicates(["package", "norm"])
    parts = norms["exact"].str.partition(": ")
    named = parts[2].str.replace(r"\b\w*(bias|beta|offset)\b", "b", regex=True)
    named = named.str.replace(r"\b\w*(weight|scale|gamma|gain)\b", "w", regex=True)
    plain = named.str.replace(r"ε = [\w.-]+", "ε", regex=True).where(parts[0].isin(["proved", "variant"]), parts[2])
    order = parts[0].map(["proved", "variant", "refuted", "not traced"].index)
    table = counted(norms.assign(order=order), {"verdict": parts[0], "in exact arithmetic": plain})
    return table.sort_values("order", kind="stable").drop(columns="order")


def groups(rows: Table) -> Table:
    """Classes by kind and the verdicts of each dtype: their number, and the packages with the first names."""
    text = rows["verdict"] + (": " + rows["cause"]).where(rows["cause"] != "", "")
    by_norm = rows.assign(text=text).groupby(["package", "norm", "classes"], sort=False)
    norms = by_norm["kind"].first().reset_index().assign(order=0)
    forward, backward = (
        rows[rows["direction"] == direction].assign(text=text) for direction in ("forward", "backward")
    )
    keys = pd.MultiIndex.from_frame(norms[["package", "norm"]])
    told = forward.pivot(index=["package", "norm"], columns="dtype", values="text").reindex(keys, columns=DTYPES)
    other = backward.groupby(["package", "norm"])["text"].agg(lambda each: "; ".join(sorted(set(each)))).reindex(keys)
    columns = {dtype: told[dtype].fillna("").to_numpy() for dtype in DTYPES}
    return counted(norms, {"kind": norms["kind"], **columns, "backward": other.fillna("").to_numpy()}).drop(
        columns="order"
    )


def counted(norms: Table, told: dict[str, Any]) -> Table:
    """How many classes are alike in what is told of them, and the first three names, the most first."""
    alike = norms.assign(**told, name=norms["package"] + " " + norms["norm"]).groupby([*told], sort=False)
    table = pd.DataFrame(
        {"classes": alike["classes"].sum(), "for example": alike["name"].agg(lambda each: ", ".join(each[:3]))}
    )
    table = table.assign(order=alike["order"].first()).sort_values("classes", ascending=False, kind="stable")
    return table.reset_index()[["classes", "for example", *told, "order"]]


def summary(rows: Table) -> Table:
    """How many classes have each verdict, by dtype, and by dtype of the derivatives."""
    places = [f"{dtype}, {direction}" for direction in ("forward", "backward") for dtype in DTYPES]
    found = rows.assign(place=rows["dtype"] + ", " + rows["direction"])
    table = found.groupby(["verdict", "place"])["classes"].sum().unstack()
    table = table.reindex(index=["rounding", "variant", "unstable", "bug", "not checked"], columns=places)
    return table.fillna(0).astype(int).reset_index()


def main(out: Path) -> None:
    target, version = out / "norms_in_the_wild.csv", importlib.metadata.version("transformers")
    rows = read(target) if target.exists() else pd.DataFrame(columns=COLUMNS)
    warnings.simplefilter("ignore")
    for name, classes, norm in transformers_classes():
        same = (rows["package"] == "transformers") & (rows["norm"] == name)
        rows.loc[same, "exact"] = proof = _proved(name, norm)
        for dtype in sorted(set(DTYPES) - set(rows[same]["dtype"]), key=DTYPES.index):
            made = [("transformers", version, name, classes, *told, proof) for told in _checked(name, norm, dtype)]
            rows = pd.concat([rows, pd.DataFrame(made, columns=COLUMNS)], ignore_index=True)
        rows.to_csv(target, index=False)
    rows = read(target)
    for name, table in (("groups", groups), ("summary", summary), ("exact", exact)):
        table(rows).to_csv(out / f"norms_in_the_wild_{name}.csv", index=False)


def read(path: Path) -> Table:
    """The rows as they are written, all words but the number of classes."""
    return pd.read_csv(path, dtype=str, keep_default_na=False).astype({"classes": int})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
