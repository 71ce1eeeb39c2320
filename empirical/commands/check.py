"""Is my norm right? Compare a LayerNorm or RMSNorm with its exact definition, on inputs chosen to break it.

SPEC is ``module:name``, importable from the current directory: a function ``f(x)``, ``f(x, gain)``,
``f(x, gain, bias)`` or ``f(x, gain, bias, eps)`` of NumPy, PyTorch, JAX, Keras or TensorFlow arrays, a module, its
class, or a factory ``f(d)``. There are two verdicts. The first is in exact arithmetic, for every dimension (PROVED,
PROVED VARIANT, REFUTED, or NOT TRACED with the reason); the second is in floats. The exit code is 0 for ``rounding``
and allowed variants, 1 for everything else.

``--test module:function`` instead scores an acceptance test of yours: a function that takes a kernel, and raises or
returns False to reject it. It lists the seeded faults that the test misses. ``--zoo`` checks rebuilt faults from public
reports.

Example: lngeom check mykernels:RMSNorm --backward --json verdict.json
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lngeom.errors import InputError
from lngeom.options import argument, json_alone, json_option, option


@dataclass(frozen=True)
class Options:
    """The norm, how it is asked, and what of it passes."""

    target: str | None = argument(
        "SPEC", "module:name, an ONNX file, or a model directory of Hugging Face", default=None, nargs="?"
    )
    kind: Literal["layernorm", "rmsnorm"] | None = option(None, "default: what it computes, or else its name")
    eps: float | None = option(None, "default: the kernel's own, or else the measured value")
    dtype: Literal["float64", "float32", "bfloat16", "float16"] = option("float32", "dtype of inputs and parameters")
    d: int | None = option(None, "dimension; default: the kernel's own, or many", type=int)
    device: str | None = option(None, "for example cuda; default: the framework's")
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
    certificate: Path | None = option(None, "write the proof, or the accusation, for lngeom verify", metavar="FILE")
    reproducer: Path | None = option(None, "write a script that shows the fault without lngeom", metavar="FILE")
    spec: str | None = option(None, "the definition that is right: torch, llama, gemma, onnx, or a JSON file")
    test: str | None = option(None, "score an acceptance test f(kernel) by the faults it misses", metavar="TEST")
    zoo: str | None = option(
        None, "check the rebuilt public faults that mention TEXT, or all", nargs="?", const="", metavar="TEXT"
    )
    csv: Path | None = option(None, "write the table of --zoo", metavar="FILE")
    json: str | None = json_option("verdict and evidence", any_name=True)


def run(options: Options) -> int:
    """Run the command; returns the exit code."""
    from ..check import check_spec, versions
    from ..proving import write_certificates

    if options.test is not None:
        return _scored(options.test, options.kind or "layernorm", options.json)
    if options.zoo is not None:
        return _zoo(options.zoo, options.json, options.csv)
    if options.target is None:
        raise InputError("nothing to check: give SPEC, --test or --zoo")
    names = ("kind", "eps", "dtype", "d", "device", "backward", "spec")
    given = {name: getattr(options, name) for name in names}
    findings = check_spec(options.target, **given, refuse=tuple(options.refuse))
    passed = {name: finding.passes(options.allow, proved=options.proved) for name, finding in findings.items()}
    record = {
        "schema": 1,
        "passed": all(passed.values()),
        "versions": versions(),
        "results": [{"name": name, "passed": passed[name], **finding.record()} for name, finding in findings.items()],
    }
    scripts = [finding.point.reproducer for finding in findings.values() if finding.point.reproducer]
    if options.reproducer:
        if not scripts:
            raise InputError("no script can be written: nothing is wrong, or the kernel is not a function of a module")
        options.reproducer.write_text(scripts[0], encoding="utf-8")
    if options.certificate:
        write_certificates(
            [data for name, finding in findings.items() for data in finding.certificates(name)], options.certificate
        )
    if not json_alone(record, options.json):
        for name, finding in findings.items():
            print(f"{name}: {finding}" if len(findings) > 1 else finding)
    return 0 if record["passed"] else 1


def _scored(test: str, kind: str, json: str | None) -> int:
    from ..check import score

    result = score(test, kind)
    if not json_alone(result._asdict(), json):
        print(f"{test} lets {len(result.survivors)} of {result.faults} seeded faults pass")
        for name in result.survivors:
            print(f"  {name}")
    return 1 if result.survivors else 0


def _zoo(words: str, json: str | None, csv: Path | None) -> int:
    from ..check import surveyed, zoo
    from ..support import write_table

    results = list(zoo(words))
    if csv is not None:
        write_table(csv, [result.row() for result in results])
    known, held_out = ([result for result in results if result.held_out is held] for held in (False, True))
    if not json_alone([result._asdict() for result in results], json):
        for result in results:
            print(f"{'' if result.right else 'not caught: '}{result.fault}: {result.verdict}: {result.name}")
            print(f"  {' '.join(result.threads)}")
        for group, when in ((known, ""), (held_out, ", chosen before any of them was tried")):
            right, threads = sum(result.right for result in group), sum(len(result.threads) for result in group)
            print(f"{right} of {len(group)} faults of {threads} threads{when} caught")
        survey = surveyed(results)
        print(f"{sum(survey.values())} of the survey's {len(survey)} reports caught under the right name")
    return 0 if all(result.right for result in known) else 1
