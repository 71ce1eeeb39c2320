"""Checks: a kernel goes through eight stages to its verdict; so does each norm of a model, and a program's files."""

import importlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from lngeom.errors import InputError
from lngeom.limits import Endless
from lngeom.sentences import Cause

from ._calls.call_files import Filed
from ._calls.call_form import call_form
from ._calls.onnx_nodes import onnx_norms
from ._calls.options import CheckOptions
from ._calls.triton_hook import without_gpu
from ._diagnosis.counterexample import judged
from ._diagnosis.gradients import differentiated, gradient_trials
from ._diagnosis.names import named
from ._tracing import triton
from ._trials.beside import beside
from ._trials.claim import claimed
from ._trials.inputs import inputs
from ._trials.trials import tried
from ._verdict.finding import Finding
from ._verdict.verdict import nothing_computed, verdict


def check(target: object, **options: Any) -> Finding:
    """Compare a norm with its exact definition on adversarial inputs, and name what it computes.

    Args:
        target: ``f(x)``, ``f(x, gain)``, ``f(x, gain, bias)``, ``f(x, gain, bias, eps)`` on arrays of shape (..., d) of
            NumPy, PyTorch, JAX, Keras or TensorFlow, found by trying; a module, its class, or a factory ``f(d)``; or
            ``"module:name"``. Parameters are recognised by their usual names, else by this order.
        **options: See :class:`CheckOptions`.

    Raises:
        InputError: It cannot be called, or `kind` or `eps` cannot be inferred.

    >>> from lngeom.check import check
    >>> import lngeom as lg
    >>> check(lambda x, gain: lg.rms_norm(x, gain, eps=1e-6), kind="rmsnorm", eps=1e-6, d=8).verdict
    'rounding'
    """
    asked = CheckOptions(**options)
    try:
        with without_gpu():
            kernel = call_form(target, asked)
            claim = claimed(kernel)
            outputs = judged(tried(inputs(claim)))
            found = replace(verdict(differentiated(named(outputs))), beside=beside(outputs.inputs))
            return found.refusing(asked.refuse).requiring(asked.require)
    except (triton.BeyondEnd, Endless) as error:
        return nothing_computed(asked, Cause("fault", str(error)))


def check_spec(target: str, /, **options: Any) -> dict[str, Finding]:
    """Findings by name of ``module:name``, or of the norms of an ONNX file, a GGUF file or a model directory.

    Options are those of :func:`check`; norms of an ONNX file are checked in their own dtype. In a model, every module
    that computes a norm is checked, and every module that is called one and can be run on rows; norms with the same
    class, dimension and ε are checked once.

    >>> from lngeom.check import check_spec
    >>> {name: finding.verdict for name, finding in check_spec("lngeom:layer_norm", eps=1e-5, d=4).items()}
    {'lngeom:layer_norm': 'rounding'}
    """
    path = Path(target)
    if path.suffix == ".onnx":
        if not (norms := onnx_norms(path)):
            raise InputError(f"{path} has no norm: no fused node, and no module that torch.onnx.export noted as one")
        dtypes = ({**options, "dtype": norm.dtype.name} for norm in norms)
        findings = {norm.name: check(norm, name=norm.__name__, **own) for norm, own in zip(norms, dtypes, strict=True)}
        return {target: findings[norms[0].name]} if len(norms) == 1 else findings
    if path.is_dir() or path.suffix == ".gguf":
        return dict(_of_model(path, options))
    if ":" in target:
        return {target: check(target, **options)}
    raise InputError(f"{target!r} is neither module:name nor an .onnx or .gguf file nor a model directory: give one")


def _of_model(path: Path, options: dict[str, Any]) -> Iterator[tuple[str, Finding]]:
    """Each norm of a model, in the order of its modules."""
    models = importlib.import_module("lngeom.empirical.models")  # by name: the core knows of no outer package
    model = models.load_network(models.find_model(str(path)))
    discovered = models.norms(model)
    lengths: dict[str, int | None] = {norm.path: norm.d for norm in discovered.found}
    if not lengths:
        raise InputError(f"{path} has no module that computes a norm: check its norms one by one as module:name")
    checked = lengths.keys() | {other.path for other in discovered.others if other.is_called_norm}
    known: dict[tuple[object, ...], Finding] = {}
    for name, module in ((name, module) for name, module in model.named_modules() if name in checked):
        d = lengths.get(name)
        key = type(module), d, str({k: v for k, v in vars(module).items() if isinstance(v, float)})
        try:
            if key not in known:
                known[key] = check(module, name=type(module).__name__, **{**options, "d": options.get("d") or d})
        except InputError:
            if name in lengths:
                raise
            continue  # a norm of groups or of batches, or with a second input: lngeom norms says which
        yield name, known[key]


def write_inputs(folder: Path, form: str = "", **options: Any) -> int:
    """Write the inputs of a program, a folder for each call; returns the number of calls.

    `form` is the call, for example ``f(x, gain, eps)``; by default with all parameters of the kind. Options are as for
    :func:`check`; kind and ε must be given.

    Raises:
        InputError: They are not, `form` is no call, or the folder is not empty.
    """
    asked = CheckOptions(**options)
    filed = Filed.write(folder, form, asked)
    rows = inputs(claimed(call_form(filed, asked)))
    tried(rows)
    if asked.backward:
        list(gradient_trials(rows))
    return filed.finish()


def check_outputs(folder: Path, **options: Any) -> Finding:
    """The finding on a program that has written its outputs, ``y.npy``, beside each ``x.npy`` of a folder.

    Options are `refuse` and `require` of :func:`check`; others are those that the inputs were written with.

    Raises:
        InputError: The folder is none of :func:`write_inputs`, or was written with other options; an input is not what
            was written; or a file of outputs is missing or of another shape.
    """
    filed = Filed.read(folder)
    for name in sorted(options.keys() - {"refuse", "require", "name", "seconds"}):
        if options[name] != (wrote := getattr(filed.asked, name)):
            raise InputError(f"{folder} was written with {name} {wrote}, not {options[name]}: write the inputs again")
    return check(filed, **vars(filed.asked) | options)
