"""Is my norm right? Hold a LayerNorm or RMSNorm against its exact definition, on inputs chosen to break it.

SPEC is ``module:name``, importable from the current directory: a function ``f(x)``, ``f(x, gain)``,
``f(x, gain, bias)`` or ``f(x, gain, bias, eps)`` of NumPy, PyTorch, JAX, Keras or TensorFlow arrays, a module, its
class, or a factory ``f(d)``.
Exit code 0 for ``rounding`` and allowed variants, 1 for everything else.
"""

import argparse
import json
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("spec", metavar="SPEC", help="module:name, an ONNX file, or a model directory of Hugging Face")
    parser.add_argument("--kind", choices=("layernorm", "rmsnorm"), help="default: what it computes, then its name")
    parser.add_argument("--eps", type=float, help="default: its own, then what is measured")
    parser.add_argument(
        "--dtype",
        choices=("float64", "float32", "bfloat16", "float16"),
        default="float32",
        help="dtype of inputs and parameters (default: %(default)s)",
    )
    parser.add_argument("--d", type=int, metavar="N", help="dimension; default: its own, or many")
    parser.add_argument("--device", help="for example cuda; default: the framework's")
    parser.add_argument("--backward", action="store_true", help="check the derivatives too (PyTorch, JAX)")
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="VARIANT",
        help="pass a variant whose cause contains this text, for example 'Llama'; may be repeated",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write verdict and evidence to FILE")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    from ..check import check_spec

    options = {name: getattr(arguments, name) for name in ("kind", "eps", "dtype", "d", "device", "backward")}
    findings = check_spec(arguments.spec, **options)
    allowed = tuple(arguments.allow)
    for name, finding in findings.items():
        print(f"{name}: {finding}" if len(findings) > 1 else finding)
    if arguments.json:
        records = {name: finding.record() for name, finding in findings.items()}
        value = records if len(records) > 1 else next(iter(records.values()))
        arguments.json.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    return 0 if all(finding.passes(allowed) for finding in findings.values()) else 1
