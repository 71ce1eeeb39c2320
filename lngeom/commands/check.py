"""Is my norm right? Compare a LayerNorm or RMSNorm with its exact definition, on inputs chosen to expose errors.

KERNEL is ``module:name``, importable from the current directory: a function ``f(x)``, ``f(x, gain)``, ``f(x, gain,
bias)`` or ``f(x, gain, bias, eps)`` on arrays of NumPy, PyTorch, JAX, Keras or TensorFlow; or a module or its class; or
a factory ``f(d)`` that returns one of these. The report gives two verdicts. The first is about exact arithmetic:
proved, refuted or not proved. The second is about floating point. A kernel passes if its outputs are within rounding,
or it is a variant that you allow. Even then it fails if a proof refutes it. With --proved it must be proved, too. The
exit code is 0 if every kernel passes, 1 if one fails, and 2 if the check could not run.

Examples:
    lngeom check mykernels:rms_norm --kind rmsnorm --allow '1 + weight'
    lngeom check model.onnx
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lngeom.cli import out_of_memory
from lngeom.errors import InputError, LngeomError
from lngeom.options import argument, json_alone, json_option, option, printable, written

if TYPE_CHECKING:
    from ..check import Finding
    from .reports import Outcome


@dataclass(frozen=True)
class Options:
    """The norm, how it is asked, and what of it passes."""

    targets: tuple[str, ...] = argument(
        "KERNEL", "module:name, an ONNX file, or a Hugging Face model directory", default=(), nargs="*"
    )
    kind: Literal["layernorm", "rmsnorm"] | None = option(None, "the norm (default: inferred from outputs or name)")
    eps: float | None = option(None, "ε (default: the kernel's own, or else the measured value)")
    dtype: Literal["float64", "float32", "bfloat16", "float16"] = option("float32", "dtype of inputs and parameters")
    d: int | None = option(None, "dimension (default: the kernel's own, or many)", type=int)
    axis: int | None = option(None, "axis to normalize, 1 for images (N, C, H, W) (default: the last)", type=int)
    device: str | None = option(None, "for example cuda (default: the framework's)")
    seconds: float = option(60.0, "CPU seconds that one call may take")
    backward: bool = option(False, "check the derivatives too (PyTorch, JAX)")
    contiguous: bool = option(False, "do not test arrays that are not contiguous")
    allow: tuple[str, ...] = option(
        (),
        "let a variant pass if its name contains this text, for example 'Llama'; may be repeated",
        action="append",
        metavar="VARIANT",
    )
    refuse: tuple[str, ...] = option(
        (),
        "fail if the report has a note with this text, for example 'kept in bfloat16'; may be repeated",
        action="append",
        metavar="NOTE",
    )
    require: tuple[str, ...] = option(
        (),
        "batch-invariant: fail unless a row has the same bits in every batch; deterministic: in every run",
        action="append",
        metavar="WHAT",
    )
    proved: bool = option(False, "fail unless the kernel is proved to be the norm, or an allowed variant, for every d")
    certificate: Path | None = option(None, "write the proof, for lngeom verify", metavar="FILE", type=written)
    reproducer: Path | None = option(None, "write a script that shows the bug", metavar="FILE", type=written)
    spec: str | None = option(None, "the right definition: torch, llama, gemma, onnx, FILE.py:NAME, or a kernel")
    write_inputs: Path | None = option(
        None, 'write test inputs for a program; as KERNEL, give its arguments: "f(x, gain, eps)"', metavar="DIR"
    )
    github: bool = option(False, "print annotations for GitHub Actions")
    outputs: Path | None = option(None, "judge the outputs that your program wrote into DIR", metavar="DIR")
    verbose: bool = option(False, "print how it was proved and everything that was not tested")
    json: str | None = json_option("verdict and evidence", any_name=True)


_WRITTEN = ("certificate", "reproducer", "json")
_ASKED = ("kind", "eps", "dtype", "d", "axis", "device", "backward", "spec", "seconds", "contiguous")


def _found(target: str, options: Options, given: dict[str, Any]) -> tuple[dict[str, "Finding"], dict[str, str]]:
    """The findings of a program's outputs, or else of what is named, and the versions behind them."""
    from ..check import CheckOptions, check_outputs, check_spec, dead, in_child
    from .reports import versions

    wanted: dict[str, Any] = {"refuse": options.refuse, "require": options.require}
    if options.outputs is not None:
        plain = CheckOptions()
        other = {name: value for name, value in given.items() if value != getattr(plain, name)}
        return {target: check_outputs(options.outputs, **wanted, **other)}, versions()
    asked = {**given, **wanted}
    return in_child(
        target,
        lambda: (check_spec(target, **asked), versions()),
        lambda end, script: ({target: dead(CheckOptions(**asked), end, script)}, versions()),
    )


def _outcomes(options: Options, given: dict[str, Any]) -> tuple[list["Outcome"], dict[str, str], list[LngeomError]]:
    """What came of each kernel, the versions behind it, and the errors of what could not be checked."""
    from .reports import Outcome

    targets = [str(options.outputs)] if options.outputs is not None else list(dict.fromkeys(options.targets))
    outcomes, loaded, errors = [], dict[str, str](), list[LngeomError]()
    for target in targets:
        try:
            findings, more = _found(target, options, given)
        except Exception as error:  # the others are judged
            if isinstance(error, ImportError | OSError) or out_of_memory(error):
                raise
            told = f"{target} cannot be judged: {type(error).__name__}: {error}; report it"
            errors.append(error if isinstance(error, LngeomError) else InputError(told))
            outcomes.append(Outcome(target, None, str(errors[-1]), False))
            continue
        loaded |= more
        for name, finding in findings.items():
            passed = finding.passes(options.allow, proved=options.proved)
            outcomes.append(Outcome(name, finding, "", passed))
    return outcomes, loaded, errors


def _written(outcomes: list["Outcome"], options: Options) -> list[InputError]:
    """Write scripts and proofs, where they are asked for; returns why some could not be written."""
    from ..check import write_certificates

    missing = list[InputError]()
    findings = [one.finding for one in outcomes if one.finding]
    if options.certificate:
        certificates = [data for each in findings if each.proof for data in each.proof.certificates]
        try:
            write_certificates(certificates, options.certificate)
        except InputError as error:
            missing.append(error)
    wrong = [one for one in outcomes if one.finding and one.finding.verdict != "rounding"]
    if options.reproducer and findings and not wrong:
        print(f"{options.reproducer} is not written, because no output was wrong", file=sys.stderr)
    elif options.reproducer and findings:
        scripts = [script for one in wrong if one.finding and (script := one.finding.point.reproducer)]
        if scripts:
            options.reproducer.write_text(scripts[0], encoding="utf-8")
        else:
            msg = (
                f"{options.reproducer} is not written: a script shows wrong outputs of a module's function without "
                "parameters, on contiguous rows, against LayerNorm or RMSNorm, and nothing else; the fault of "
                f"{wrong[0].name} is another, so copy the row from the verdict"
            )
            missing.append(InputError(msg))
    return missing


def run(options: Options) -> int:
    from ..check import write_inputs
    from .reports import annotations, table

    given = {name: getattr(options, name) for name in _ASKED}
    if (folder := options.write_inputs) is not None:
        count = write_inputs(folder, " ".join(options.targets), **given)
        print(f"{folder}: {count} folders; write y.npy into each, then --outputs {folder}")
        return 0
    if not options.targets and options.outputs is None:
        raise InputError("no kernel is named: give KERNEL, as module:name, or --outputs DIR")
    written = [path for name in _WRITTEN if (path := getattr(options, name)) not in (None, "-")]
    code = [target.partition(":")[0] for target in options.targets]
    named = (each if Path(each).suffix else f"{each.replace('.', '/')}.py" for each in code)
    files = [Path(path).resolve() for path in (*written, *named)]
    if again := [path for k, path in enumerate(written) if files.count(files[k]) > 1]:
        raise InputError(f"{again[0]} would be written over: it is the kernel's file, or named twice; give another")
    outcomes, loaded, errors = _outcomes(options, given)
    passed = all(one.passed for one in outcomes)
    record = {"schema": 1, "passed": passed, "versions": loaded}
    record |= {"results": [one.record() for one in outcomes if one.finding]}
    record |= {"errors": {one.name: one.error for one in outcomes if one.error}} if errors else {}
    alone = json_alone(record, options.json)
    if not alone:
        for one in outcomes:
            if one.finding:
                name = one.name if len(outcomes) > 1 else one.name.rpartition(":")[2]
                asked = {"proved": options.proved, "verbose": options.verbose}
                print(printable(one.finding.told(name, options.allow, **asked)))
        if len(outcomes) > 1:
            print(printable(table(outcomes)))
    if options.github and (lines := annotations(outcomes)):
        print(lines)
    missing = _written(outcomes, options)
    if errors or (passed and missing):
        raise (errors + missing)[0]
    for error in missing:
        print(f"lngeom check: {printable(str(error))}", file=sys.stderr)
    return 0 if passed else 1
