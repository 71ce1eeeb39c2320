"""Norms in the wild: every norm that can be imported here, through ``lngeom check``.

``python experiments/norms_in_the_wild.py --out docs/results`` writes ``norms_in_the_wild.csv`` and, grouped by
what they do and counted by verdict, ``norms_in_the_wild_groups.csv`` and ``norms_in_the_wild_summary.csv``, and by what
they compute in exact arithmetic ``norms_in_the_wild_exact.csv``; with ``--minutes 0`` only what is proved. Packages
that are not installed are left out and named; Keras is checked on the backend that KERAS_BACKEND names. Classes of
transformers with the same source are checked once. What stands in the CSV already is not checked again, so that parts
(``--only``) and interrupted runs go on.
"""

import argparse
import ast
import ctypes
import functools
import importlib
import importlib.metadata
import itertools
import math
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pandas as pd
import torch
from torch import Tensor

from empirical.check import Finding, check
from empirical.proving import prove_target
from empirical.tracing import OnnxFront, TorchFront
from lngeom.errors import LngeomError

D = 64
DTYPES = ("float32", "bfloat16", "float16")
COLUMNS = ("package", "version", "norm", "classes", "kind", "eps", "dtype", "direction", "verdict", "cause",
           "worst_ratio", "reproducer", "exact")  # fmt: skip
Table = Any  # a DataFrame, whose annotations do not describe it well enough to be checked
FRAMEWORKS: dict[str, str] = dict.fromkeys(("torch", "timm", "diffusers", "transformers", "x-transformers"), "torch")
FRAMEWORKS |= dict.fromkeys(("jax", "flax", "dm-haiku", "equinox"), "jax")
Entry = tuple[str, str, int, Any, str | None, float | None]
"""Package, name, how many classes have this source, target, kind and ε, each None if it is to be found."""


def _get(path: str) -> Any:
    """The object that ``module.name`` or ``module.Class(arguments)`` names."""
    call, value = path.partition("("), None
    parts = call[0].split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            value = getattr(value, part)
        return eval(f"value({call[2]}", {"value": value, "D": D}) if call[1] else value
    raise ModuleNotFoundError(path)


def exported(only: set[str]) -> Iterator[Entry]:
    """Functions and classes that packages export."""
    backend = os.environ.get("KERAS_BACKEND", "tensorflow")
    table: tuple[tuple[str, str, str, float, Any], ...] = (
        ("torch", "torch.nn.functional.layer_norm", "layernorm", 1e-5, None),
        ("torch", "torch.nn.functional.rms_norm", "rmsnorm", 1e-5, None),
        ("torch", "torch.nn.LayerNorm", "layernorm", 1e-5, None),
        ("torch", "torch.nn.RMSNorm", "rmsnorm", 1e-6, lambda c: lambda d: c(d, eps=1e-6)),
        ("torch", "torch.compile of F.layer_norm", "layernorm", 1e-5, _compiled_layer_norm),
        ("torch", "torch.compile of Llama's", "rmsnorm", 1e-6, _compiled_llama),
        ("timm", "timm.layers.LayerNorm", "layernorm", 1e-6, None),
        ("timm", "timm.layers.LayerNormFp32", "layernorm", 1e-5, None),
        ("timm", "timm.layers.RmsNorm", "rmsnorm", 1e-6, None),
        ("timm", "timm.layers.RmsNormFp32", "rmsnorm", 1e-6, None),
        ("timm", "timm.layers.SimpleNorm", "rmsnorm", 1e-6, None),
        ("timm", "timm.layers.SimpleNormFp32", "rmsnorm", 1e-6, None),
        ("timm", "timm.layers.LayerNorm2d", "layernorm", 1e-6, _channels_first),
        ("timm", "timm.layers.RmsNorm2d", "rmsnorm", 1e-6, _channels_first),
        ("x-transformers", "x_transformers.x_transformers.LayerNorm", "layernorm", 1e-5, None),
        ("x-transformers", "x_transformers.x_transformers.RMSNorm", "rmsnorm", 0.0, None),
        ("x-transformers", "x_transformers.x_transformers.SimpleRMSNorm", "rmsnorm", 0.0, None),
        ("diffusers", "diffusers.models.normalization.RMSNorm", "rmsnorm", 1e-6, lambda c: lambda d: c(d, 1e-6)),
        ("diffusers", "diffusers.models.normalization.FP32LayerNorm", "layernorm", 1e-5, None),
        ("jax", "jax.nn.standardize", "layernorm", 1e-5, lambda f: lambda x: f(x, epsilon=1e-5)),
        ("flax", "flax.linen.LayerNorm()", "layernorm", 1e-6, None),
        ("flax", "flax.linen.LayerNorm(use_fast_variance=False)", "layernorm", 1e-6, None),
        ("flax", "flax.linen.RMSNorm()", "rmsnorm", 1e-6, None),
        ("flax", "flax.nnx.LayerNorm", "layernorm", 1e-6, _nnx),
        ("flax", "flax.nnx.RMSNorm", "rmsnorm", 1e-6, _nnx),
        ("dm-haiku", "haiku.LayerNorm", "layernorm", 1e-5, lambda c: _haiku(c, create_offset=True)),
        ("dm-haiku", "haiku.RMSNorm", "rmsnorm", 1e-5, _haiku),
        ("equinox", "equinox.nn.LayerNorm", "layernorm", 1e-5, _mapped),
        ("equinox", "equinox.nn.RMSNorm", "rmsnorm", 1e-5, _mapped),
        ("tensorflow", "tensorflow.nn.batch_normalization", "layernorm", 1e-5, _moments),
        (f"keras/{backend}", "keras.layers.LayerNormalization()", "layernorm", 1e-3, None),
        (f"keras/{backend}", "keras.layers.RMSNormalization()", "rmsnorm", 1e-6, None),
    )
    runtimes = (("onnx", "reference.ReferenceEvaluator"), ("onnxruntime", "InferenceSession"), ("openvino", "Core"))
    nodes = (
        (package, f"{package}.{name} of {node}", kind, 1e-5, functools.partial(_onnx, operator=node))
        for package, name in runtimes
        for node, kind in (("LayerNormalization", "layernorm"), ("RMSNormalization", "rmsnorm"))
    )
    for package, path, kind, eps, make in (*table, *nodes):
        if only and package not in only:
            continue
        try:
            target = _get(path.partition(" of ")[0])
            yield package, path, 1, target if make is None else make(target), kind, eps
        except Exception as error:  # an import may fail in any way
            print(f"left out: {path}: {type(error).__name__}: {error}"[:160], file=sys.stderr)


def _compiled_layer_norm(compiler: Any) -> Any:
    def layer_norm(x: Any, weight: Any, bias: Any) -> Any:
        return torch.nn.functional.layer_norm(x, (x.shape[-1],), weight, bias, 1e-5)

    importlib.import_module("torch._dynamo").config.recompile_limit = 64  # beyond it, eager runs unasked
    return compiler(layer_norm, dynamic=True)


def _compiled_llama(compiler: Any) -> Any:
    def llama(x: Any, weight: Any) -> Any:
        wide = x.float()
        return weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)

    return compiler(llama, dynamic=True)


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


def _nnx(target: Any) -> Any:
    made = target(1, rngs=importlib.import_module("flax.nnx").Rngs(0))

    class Held:
        """A parameter of any length: ``nnx.Param`` asks its array for a number when it is asked whether it is there."""

        def __init__(self, value: Any) -> None:
            self.value = value

        def __getitem__(self, index: Any) -> Any:
            return self.value[index]

    def norm(x: Any, scale: Any, bias: Any = None) -> Any:
        vars(made).update({"scale": Held(scale)} | ({} if bias is None else {"bias": Held(bias)}))
        return made(x)

    return norm if target.__name__ == "LayerNorm" else lambda x, scale: norm(x, scale)


def _haiku(target: Any, **options: Any) -> Any:
    haiku = importlib.import_module("haiku")

    def norm(x: Any, scale: Any, offset: Any = None) -> Any:
        run = haiku.without_apply_rng(haiku.transform(lambda x: target(-1, create_scale=True, **options)(x)))
        (name,) = run.init(None, x)
        return run.apply({name: {"scale": scale} if offset is None else {"scale": scale, "offset": offset}}, x)

    return norm if options else lambda x, scale: norm(x, scale)


def _mapped(target: Any) -> Any:
    """Equinox norms take one vector."""
    jax, tree_at = importlib.import_module("jax"), importlib.import_module("equinox").tree_at

    def norm(x: Any, weight: Any, bias: Any) -> Any:
        made = tree_at(lambda m: (m.weight, m.bias), target((x.shape[-1],)), (weight, bias))
        return jax.vmap(made)(x.reshape(-1, x.shape[-1])).reshape(x.shape)

    return norm


def _moments(batch_normalization: Any) -> Any:
    tensorflow = importlib.import_module("tensorflow")

    def norm(x: Any, gain: Any, bias: Any) -> Any:
        return batch_normalization(x, *tensorflow.nn.moments(x, -1, keepdims=True), bias, gain, 1e-5)

    return norm


def _onnx(runtime: Any, operator: str) -> Any:
    """One node with inputs x, gain and bias, in the dtype of x, run by a runtime."""
    names = ["x", "gain", "bias"][: 3 if operator == "LayerNormalization" else 2]
    sessions: dict[Any, Any] = {}

    def norm(*arrays: numpy.ndarray) -> numpy.ndarray:
        x = arrays[0]
        if x.dtype not in sessions:
            sessions[x.dtype] = _session(runtime, _onnx_model(operator, names, x.dtype), names, x.dtype)
        rows = numpy.ascontiguousarray(x.reshape(-1, x.shape[-1]))
        return numpy.asarray(sessions[x.dtype](dict(zip(names, (rows, *arrays[1:]), strict=True)))).reshape(x.shape)

    made: Any = (lambda x, gain, bias: norm(x, gain, bias)) if len(names) == 3 else lambda x, gain: norm(x, gain)
    nodes = _onnx_model(operator, names, numpy.dtype("float32")).graph.node
    made.front = OnnxFront(list(nodes), {}, (*names, "y"))
    return made


def _onnx_model(operator: str, names: list[str], dtype: numpy.dtype) -> Any:
    helper = importlib.import_module("onnx").helper
    element = helper.np_dtype_to_tensor_dtype(dtype)
    shapes = {"x": ["n", "d"], "gain": ["d"], "bias": ["d"], "y": ["n", "d"]}
    values = {name: helper.make_tensor_value_info(name, element, shape) for name, shape in shapes.items()}
    node = helper.make_node(operator, names, ["y"], epsilon=1e-5, axis=-1)
    graph = helper.make_graph([node], "norm", [values[name] for name in names], [values["y"]])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)


def _session(runtime: Any, proto: Any, names: list[str], dtype: numpy.dtype) -> Callable[[dict[str, Any]], Any]:
    """A model in a runtime. Neither knows NumPy's bfloat16: OpenVINO would take its bits for float16."""
    half = dtype.name == "bfloat16"
    if runtime.__name__ == "ReferenceEvaluator":
        return lambda given: runtime(proto).run(None, given)[0]
    if runtime.__name__ == "InferenceSession":
        session = runtime(proto.SerializeToString(), providers=["CPUExecutionProvider"])
        return (
            (lambda given: _through_bits(session, given, dtype)) if half else lambda given: session.run(None, given)[0]
        )
    core, openvino = runtime(), importlib.import_module("openvino")
    compiled = core.compile_model(core.read_model(proto.SerializeToString()), "CPU")

    def tensor(array: numpy.ndarray) -> Any:
        made = openvino.Tensor(openvino.Type.bf16, openvino.Shape(array.shape))
        made.data.view(numpy.uint16)[...] = array.view(numpy.uint16)
        return made

    def run(given: dict[str, Any]) -> Any:
        y = compiled([tensor(given[name]) if half else given[name] for name in names])[0]
        return numpy.array(y).view(dtype)

    return run


def _through_bits(session: Any, given: dict[str, Any], dtype: numpy.dtype) -> Any:
    """The output of ONNX Runtime for arrays of bfloat16."""
    value = importlib.import_module("onnxruntime").OrtValue.ortvalue_from_numpy_with_onnx_type
    bfloat16 = importlib.import_module("onnx").TensorProto.BFLOAT16
    typed = {name: value(array.view(numpy.uint16), bfloat16) for name, array in given.items()}
    (y,) = session.run_with_ort_values(["y"], typed)
    return numpy.frombuffer(ctypes.string_at(y.data_ptr(), 2 * math.prod(y.shape())), dtype)


def transformers_classes(only: set[str]) -> Iterator[Entry]:
    """Norm classes of the model files of transformers, one for each different source."""
    if only and "transformers" not in only:
        return
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
        yield "transformers", name, len(names), target, None, None


def _shown(finding: Finding) -> str:
    """The input with runs of equal numbers counted, and what came out of it."""
    if finding.wrong is None or finding.verdict == "rounding":
        return ""
    runs = [f"{value:.7g} * {n}" if n > 1 else f"{value:.7g}" for value, group in itertools.groupby(finding.input)
            for n in [len(list(group))]]  # fmt: skip
    x = ", ".join(runs) if len(runs) <= 12 else f"{', '.join(runs[:12])}, ... ({len(finding.input)})"
    return f"x = [{x}]: {finding.wrong:.5g} for {finding.right:.5g} ± {finding.bound:.2g}"


def _checked(entry: Entry, dtype: str) -> Iterator[tuple[Any, ...]]:
    """Rows of the CSV for one norm in one dtype, from the kind on."""
    package, name, _, norm, kind, eps = entry
    options: dict[str, Any] = {"eps": eps, "dtype": dtype, "d": D, "name": name}
    options["backward"] = not package.startswith(("keras", "tensorflow", "onnx", "openvino"))
    # A class says neither whether it takes images nor, if it computes no norm, which one it should.
    ways = (_called(norm),) if name in CALLS else (norm, _channels_first(norm), _called(norm))
    tries = [(norm, kind)] if kind else [(n, k) for n in ways for k in (None, "rmsnorm")]
    problem = NO_NORM.get(name, "")
    tries = [] if problem else tries
    for target, named in tries:
        try:
            finding = check(target, kind=named, **options)
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
    yield kind or "", f"{eps:g}" if eps is not None else "", dtype, "forward", "not checked", problem, "", ""


def _proved(entry: Entry) -> str:
    """The proof of a norm in exact arithmetic: status and formula, or the reason why none is known."""
    package, name, _, target, kind, _ = entry
    framework = FRAMEWORKS.get(package, package.partition("/")[0])
    proof = prove_target(target, name.rpartition(".")[2], framework, kind=kind)
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    parser.add_argument("--only", nargs="+", default=[], metavar="PACKAGE", help="default: all that are installed")
    parser.add_argument("--minutes", type=float, default=120.0, help="stop after this time (default: %(default)s)")
    arguments = parser.parse_args()
    end, only = time.monotonic() + 60 * arguments.minutes, set(arguments.only)
    target = arguments.out / "norms_in_the_wild.csv"
    rows = read(target) if target.exists() else pd.DataFrame(columns=COLUMNS)
    warnings.simplefilter("ignore")
    for entry in itertools.chain(exported(only), transformers_classes(only)):
        package, name, classes, *_ = entry
        same = (rows["package"] == package) & (rows["norm"] == name)
        rows.loc[same, "exact"] = proof = _proved(entry)
        known = set(rows[same]["dtype"])
        for dtype in DTYPES:
            if dtype in known or time.monotonic() > end:
                continue
            version = importlib.metadata.version(package.partition("/")[0].replace("tensorflow", "tensorflow-cpu"))
            made = [(package, version, name, classes, *told, proof) for told in _checked(entry, dtype)]
            rows = pd.concat([rows, pd.DataFrame(made, columns=COLUMNS)], ignore_index=True)
            rows.to_csv(target, index=False)
    rows.to_csv(target, index=False)
    rows = read(target)
    for name, table in (("groups", groups), ("summary", summary), ("exact", exact)) if len(rows) else ():
        table(rows).to_csv(arguments.out / f"norms_in_the_wild_{name}.csv", index=False)
    print(target)
    return 0


def read(path: Path) -> Table:
    """The rows as they are written, all words but the number of classes."""
    return pd.read_csv(path, dtype=str, keep_default_na=False).astype({"classes": int})


if __name__ == "__main__":
    sys.exit(main())
