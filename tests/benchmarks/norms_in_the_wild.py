"""Norms in the wild: every norm class that can be imported here, through ``lngeom check``.

``python tests/benchmarks/norms_in_the_wild.py --out docs/results`` writes ``norms_in_the_wild.csv``. Packages that are
not installed are left out and named. Classes of transformers with the same source are checked once, the most frequent
first, forward.
"""

from __future__ import annotations

import argparse
import ast
import csv
import importlib
import importlib.metadata
import inspect
import re
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from empirical.checking import check
from lngeom import LngeomError

D = 64
DTYPES = ("float32", "bfloat16", "float16")
Entry = tuple[str, str, Any, str, float]
"""Package, name, target, kind and ε."""


def _get(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def named() -> Iterator[Entry]:
    """Functions and classes that packages export."""
    for package, path, kind, eps, make in (
        ("torch", "torch.nn.functional.layer_norm", "layernorm", 1e-5, None),
        ("torch", "torch.nn.functional.rms_norm", "rmsnorm", 1e-5, None),
        ("torch", "torch.nn.LayerNorm", "layernorm", 1e-5, None),
        ("timm", "timm.layers.LayerNorm", "layernorm", 1e-6, None),
        ("timm", "timm.layers.RmsNorm", "rmsnorm", 1e-6, None),
        ("timm", "timm.layers.SimpleNorm", "rmsnorm", 1e-6, None),
        ("x-transformers", "x_transformers.x_transformers.LayerNorm", "layernorm", 1e-5, None),
        ("x-transformers", "x_transformers.x_transformers.RMSNorm", "rmsnorm", 0.0, None),
        ("jax", "jax.nn.standardize", "layernorm", 1e-5, lambda f: lambda x: f(x, epsilon=1e-5)),
        ("flax", "flax.linen.LayerNorm", "layernorm", 1e-6, lambda c: c()),
        ("flax", "flax.linen.RMSNorm", "rmsnorm", 1e-6, lambda c: c()),
        ("flax", "flax.linen.LayerNorm (slow variance)", "layernorm", 1e-6, lambda c: c(use_fast_variance=False)),
        ("keras", "keras.layers.LayerNormalization", "layernorm", 1e-3, lambda c: c()),
        ("keras", "keras.layers.RMSNormalization", "rmsnorm", 1e-6, lambda c: c()),
    ):
        try:
            target = _get(path.partition(" ")[0])
            yield package, path, target if make is None else make(target), kind, eps
        except (ImportError, AttributeError) as error:
            print(f"left out: {path}: {error}", file=sys.stderr)


def compiled() -> Iterator[Entry]:
    """The same through torch.compile."""
    import torch

    def llama(x: Any, weight: Any) -> Any:
        wide = x.float()
        return weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)

    def layer(x: Any, weight: Any, bias: Any) -> Any:
        return torch.nn.functional.layer_norm(x, (x.shape[-1],), weight, bias, 1e-5)

    for name, function, kind, eps in (("F.layer_norm", layer, "layernorm", 1e-5), ("Llama's", llama, "rmsnorm", 1e-6)):
        yield "torch", f"torch.compile of {name}", torch.compile(function, dynamic=True), kind, eps


def transformers_classes() -> Iterator[Entry]:
    """Norm classes of the model files of transformers, one for each different source."""
    import transformers

    root = Path(transformers.__file__).parent / "models"
    seen: dict[str, list[str]] = {}
    for path in sorted(root.glob("*/modeling_*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and re.search(r"Norm(2d)?$", node.name):
                body = [part for part in node.body if not isinstance(part, ast.Expr)]
                key = re.sub(r"\b\w*Norm\w*\b", "N", "\n".join(map(ast.unparse, body)))
                seen.setdefault(key, []).append(f"{path.parent.name}.{path.stem}.{node.name}")
    for names in sorted(seen.values(), key=len, reverse=True):
        module, _, name = names[0].rpartition(".")
        try:
            target = getattr(importlib.import_module(f"transformers.models.{module}"), name)
            made = target(D)
            stated = [getattr(made, name, None) for name in ("variance_epsilon", "eps", "epsilon")]
            eps = next(float(value) for value in stated if value is not None)
        except Exception as error:  # whatever a class wants instead of a dimension
            text = f"left out: {names[0]} ({len(names)} classes): {type(error).__name__}: {error}"
            print(text[:160], file=sys.stderr)
            continue
        source = inspect.getsource(target)
        centered = re.search(r"layer_norm|nn\.LayerNorm|\.mean\(.*\n?.*var|- .*mean|u = ", source)
        kind = "layernorm" if centered else "rmsnorm"
        yield "transformers", f"{name} ({len(names)} classes)", made, kind, eps


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    parser.add_argument("--minutes", type=float, default=120.0, help="stop after this time (default: %(default)s)")
    arguments = parser.parse_args()
    end = time.monotonic() + 60 * arguments.minutes
    columns = ("package", "version", "norm", "kind", "eps", "dtype", "pass", "verdict", "cause", "worst_ratio")
    target = arguments.out / "norms_in_the_wild.csv"
    with target.open("w", newline="", encoding="utf-8") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for source in (named, compiled, transformers_classes):
            for package, name, norm, kind, eps in source():
                for dtype in DTYPES:
                    for backward in (False, True):
                        skipped = package == "keras" or dtype == "float16" or source is transformers_classes
                        if (backward and skipped) or time.monotonic() > end:
                            continue
                        try:
                            found = check(norm, kind=kind, eps=eps, dtype=dtype, d=D, name=name, backward=backward)
                            row = (found.verdict, found.cause, f"{found.worst_ratio:.3g}")
                        except LngeomError as error:
                            row = ("not checked", str(error)[:120], "")
                        except Exception as error:
                            row = ("not checked", f"{type(error).__name__}: {error}"[:120], "")
                        version = importlib.metadata.version(package)
                        way = "backward" if backward else "forward"
                        writer.writerow((package, version, name, kind, f"{eps:g}", dtype, way, *row))
                        file.flush()
                        if row[0] not in ("rounding", "variant"):
                            break
    print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
