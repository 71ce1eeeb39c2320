"""Is my norm right? Compare a LayerNorm or RMSNorm with its exact definition, on inputs chosen to break it.

SPEC is ``module:name``, importable from the current directory: a function ``f(x)``, ``f(x, gain)``,
``f(x, gain, bias)`` or ``f(x, gain, bias, eps)`` of NumPy, PyTorch, JAX, Keras or TensorFlow arrays, a module, its
class, or a factory ``f(d)``. There are two verdicts. The first is in exact arithmetic, for every dimension (PROVED,
PROVED VARIANT, REFUTED, or NOT TRACED with the reason); the second is in floats. The exit code is 0 for ``rounding``
and allowed variants, 1 for everything else.

Example: lngeom check mykernels:RMSNorm --backward --json verdict.json
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lngeom.errors import InputError
from lngeom.options import argument, json_alone, json_option, option

if TYPE_CHECKING:
    from ..check import Finding


@dataclass(frozen=True)
class Options:
    """The norm, how it is asked, and what of it passes."""

    target: str = argument("SPEC", "module:name, an ONNX file, or a model directory of Hugging Face", default="")
    kind: Literal["layernorm", "rmsnorm"] | None = option(None, "default: what it computes, or else its name")
    eps: float | None = option(None, "default: the kernel's own, or else the measured value")
    dtype: Literal["float64", "float32", "bfloat16", "float16"] = option("float32", "dtype of inputs and parameters")
    d: int | None = option(None, "dimension; default: the kernel's own, or many", type=int)
    device: str | None = option(None, "for example cuda; default: the framework's")
    seconds: float = option(60.0, "processor time that one call may take")
    backward: bool = option(False, "check the derivatives too (PyTorch, JAX)")
    allow: tuple[str, ...] = option(
        (),
        "pass a variant whose cause contains this text, for example 'Llama'; may be repeated",
        action="append",
        metavar="VARIANT",
    )
    refuse: tuple[str, ...] = option(
        (),
        "fail if a note contains this text, for example 'batch invariant'; may be repeated",
        action="append",
        metavar="NOTE",
    )
    proved: bool = option(False, "fail unless proved to be the definition, or an allowed variant, for every d")
    certificate: Path | None = option(None, "write the proof, for lngeom verify", metavar="FILE")
    reproducer: Path | None = option(None, "write a script that shows the fault without lngeom", metavar="FILE")
    spec: str | None = option(None, "the definition that is right: torch, llama, gemma, onnx, or a JSON file")
    write_inputs: Path | None = option(
        None, 'write what a program is to compute; SPEC is its call, as "f(x, gain, eps)"', metavar="DIR"
    )
    outputs: Path | None = option(None, "judge what a program wrote beside these inputs", metavar="DIR")
    json: str | None = json_option("verdict and evidence", any_name=True)


_ASKED = ("kind", "eps", "dtype", "d", "device", "backward", "spec", "seconds")


def _found(options: Options, given: dict[str, Any]) -> tuple[dict[str, "Finding"], dict[str, str]]:
    """The findings of a program's outputs, or else of what SPEC names, and the versions behind them."""
    from ..check import CheckOptions, check_outputs, check_spec, dead, in_child, versions

    name = options.target
    if options.outputs is not None:
        return {str(options.outputs): check_outputs(options.outputs, options.refuse)}, versions()
    if not name:
        raise InputError("no kernel is named: give SPEC, as module:name, or --outputs DIR")
    asked = {**given, "refuse": options.refuse}
    return in_child(
        lambda: (check_spec(name, **asked), versions()),
        lambda end, script: ({name: dead(CheckOptions(**asked), end, script)}, versions()),
    )


def run(options: Options) -> int:
    """Run the command; returns the exit code."""
    from ..check import write_inputs
    from ..proving import write_certificates

    given = {name: getattr(options, name) for name in _ASKED}
    if options.write_inputs is not None:
        count = write_inputs(options.write_inputs, options.target, **given)
        print(f"{options.write_inputs}: {count} folders; write y.npy into each, then --outputs {options.write_inputs}")
        return 0
    findings, loaded = _found(options, given)
    passed = {name: finding.passes(options.allow, proved=options.proved) for name, finding in findings.items()}
    record = {
        "schema": 1,
        "passed": all(passed.values()),
        "versions": loaded,
        "results": [{"name": name, "passed": passed[name], **finding.record()} for name, finding in findings.items()],
    }
    scripts = [finding.point.reproducer for finding in findings.values() if finding.point.reproducer]
    if options.reproducer:
        if not scripts:
            raise InputError("no script can be written: nothing is wrong, or the kernel is not a function of a module")
        options.reproducer.write_text(scripts[0], encoding="utf-8")
    if options.certificate:
        proofs = [finding.proof for finding in findings.values() if finding.proof]
        write_certificates([data for proof in proofs for data in proof.certificates], options.certificate)
    if not json_alone(record, options.json):
        for name, finding in findings.items():
            print(f"{name}: {finding}" if len(findings) > 1 else finding)
    return 0 if record["passed"] else 1
