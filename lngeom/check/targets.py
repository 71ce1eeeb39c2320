"""The findings of what the command line names: one kernel, or every norm of an ONNX file or of a model."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lngeom.errors import InputError

from ._calls.onnx_nodes import onnx_norms
from ._verdict.finding import Finding
from .stages import check


def check_spec(target: str, /, **options: Any) -> dict[str, Finding]:
    """Findings by name of ``module:name``, or of the norms of an ONNX file, a GGUF file or a model directory.

    Options are those of :func:`check`; norms of an ONNX file are checked in their own dtype. Of a model everything that
    computes a norm is checked, and what is called one and can be run on rows; norms with one class, dimension and ε
    once.

    >>> from lngeom.check import check_spec
    >>> {name: finding.verdict for name, finding in check_spec("lngeom:layer_norm", eps=1e-5, d=4).items()}
    {'lngeom:layer_norm': 'rounding'}
    """
    path = Path(target)
    if path.suffix == ".onnx":
        norms = onnx_norms(path)
        if not norms:
            msg = f"{path} has no norm: neither a fused node nor a module that torch.onnx.export noted as a norm"
            raise InputError(msg)
        dtypes = ({**options, "dtype": norm.dtype.name} for norm in norms)
        findings = {norm.name: check(norm, name=norm.__name__, **own) for norm, own in zip(norms, dtypes, strict=True)}
        return {target: findings[norms[0].name]} if len(norms) == 1 else findings
    if path.is_dir() or path.suffix == ".gguf":
        return dict(_of_model(path, options))
    if ":" in target:
        return {target: check(target, **options)}
    msg = f"{target!r} is neither module:name nor an .onnx or .gguf file nor a model directory: give one of them"
    raise InputError(msg)


def _of_model(path: Path, options: dict[str, Any]) -> Iterator[tuple[str, Finding]]:
    """Each norm of a model, in the order of its modules."""
    models = importlib.import_module("lngeom.empirical.models")  # by name: the core knows of no outer package
    model = models.load_network(models.find_model(str(path)))
    discovered = models.norms(model)
    lengths: dict[str, int | None] = {norm.path: norm.d for norm in discovered.found}
    if not lengths:
        raise InputError(f"{path} has no module that computes a norm: check its norms one by one as module:name")
    meant = {other.path for other in discovered.others if other.is_called_norm}
    known: dict[tuple[object, ...], Finding] = {}
    for name, module in model.named_modules():
        if name not in lengths and name not in meant:
            continue
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
