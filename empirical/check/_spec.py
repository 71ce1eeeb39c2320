"""What a SPEC of the command line names: one kernel, or every norm of an ONNX file or of a model."""

from pathlib import Path
from typing import Any

from lngeom.errors import InputError

from ._check import check
from ._finding import Finding
from ._onnx import onnx_norms


def check_spec(spec: str, **options: Any) -> dict[str, Finding]:
    """Findings by name of ``module:name``, or of the norms of an ONNX file, a GGUF file or a model directory.

    Options are those of :func:`check`; norms of an ONNX file are checked in their own dtype. Norms of a model with one
    class, dimension and ε are checked once.

    Examples
    --------
    >>> from empirical.check import check_spec
    >>> found = check_spec("lngeom:layer_norm", eps=1e-5, d=4)
    >>> {name: finding.verdict for name, finding in found.items()}
    {'lngeom:layer_norm': 'rounding'}
    """
    path = Path(spec)
    if path.suffix == ".onnx":
        norms = onnx_norms(path)
        if not norms:
            msg = f"{path} has no norm: neither a fused node nor a module that torch.onnx.export noted as a norm"
            raise InputError(msg)
        found = {norm.name: check(norm, name=norm.__name__, **{**options, "dtype": norm.dtype.name}) for norm in norms}
        return {spec: found[norms[0].name]} if len(norms) == 1 else found
    if path.is_dir() or path.suffix == ".gguf":
        return dict(_of_model(path, options))
    if ":" in spec:
        return {spec: check(spec, **options)}
    msg = f"{spec!r} is neither module:name nor an .onnx or .gguf file nor a model directory: give one of them"
    raise InputError(msg)


def _of_model(path: Path, options: dict[str, Any]) -> Any:
    from ..models import find_model, load_network

    model = load_network(find_model(str(path)))
    known: dict[Any, Finding] = {}
    norms = [
        (name, module)
        for name, module in model.named_modules()
        if type(module).__name__.lower().endswith("norm") and not list(module.children())
    ]
    if not norms:
        raise InputError(f"{path} has no module whose class is named Norm: check its norms one by one as module:name")
    for name, module in norms:
        d = next((int(p.shape[-1]) for p in module.parameters() if p.ndim == 1), None)
        key = type(module), d, str({k: v for k, v in vars(module).items() if isinstance(v, float)})
        if key not in known:
            known[key] = check(module, name=type(module).__name__, **{**options, "d": options.get("d") or d})
        yield name, known[key]
