"""What a SPEC of the command line names: one kernel, the norm of an ONNX file, or every norm of a model."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy

from lngeom import InputError

from ._check import check
from ._finding import Finding

_NODES = {"LayerNormalization": "layernorm", "RMSNormalization": "rmsnorm", "SimplifiedLayerNormalization": "rmsnorm"}


def check_spec(spec: str, **options: Any) -> dict[str, Finding]:
    """Findings by name of ``module:name``, of an ONNX file with one norm, or of a model directory of Hugging Face.

    Options are those of :func:`check`. Norms of a model with one class, dimension and ε are checked once.

    Examples
    --------
    >>> from empirical.checking import check_spec
    >>> found = check_spec("lngeom:layer_norm", eps=1e-5, d=4)
    >>> {name: finding.verdict for name, finding in found.items()}
    {'lngeom:layer_norm': 'rounding'}
    """
    path = Path(spec)
    if path.suffix == ".onnx":
        return {spec: check(OnnxNorm(path), name=spec, **{**options, "dtype": "float32"})}
    if path.is_dir():
        return dict(_of_model(path, options))
    if ":" in spec:
        return {spec: check(spec, **options)}
    msg = f"{spec!r} is neither module:name nor an .onnx file nor a model directory: give one of them"
    raise InputError(msg)


class OnnxNorm:
    """The one norm of an ONNX file, run by onnxruntime, with gain, bias and ε as the file states them."""

    def __init__(self, path: Path) -> None:
        try:
            onnx, runtime = (importlib.import_module(name) for name in ("onnx", "onnxruntime"))
        except ModuleNotFoundError as error:
            msg = f"{path} needs the packages onnx and onnxruntime: pip install onnx onnxruntime"
            raise InputError(msg) from error
        try:
            model = onnx.load(str(path))
            self.session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        except Exception as error:  # the two libraries share no class of errors
            msg = f"{path} cannot be read as an ONNX model: {type(error).__name__}: {str(error)[:120]}"
            raise InputError(msg) from error
        nodes = [node for node in model.graph.node if node.op_type in _NODES]
        if len(nodes) != 1:
            msg = f"{path} has {len(nodes)} nodes {', '.join(_NODES)}: export the one norm that is to be checked"
            raise InputError(msg)
        values = {i.name: onnx.numpy_helper.to_array(i).astype(float) for i in model.graph.initializer}
        given = [values.get(name) for name in nodes[0].input[1:]]
        self.gain, self.bias = (*given, None, None)[:2]
        self.eps = next((float(a.f) for a in nodes[0].attribute if a.name == "epsilon"), 1e-5)
        self.input = self.session.get_inputs()[0].name
        self.__name__ = _NODES[nodes[0].op_type].replace("norm", "_norm")

    def __call__(self, x: numpy.ndarray) -> numpy.ndarray:
        return self.session.run(None, {self.input: numpy.ascontiguousarray(x, dtype=numpy.float32)})[0]


def load_plain(path: str | Path) -> Any:
    """The base model in a directory of Hugging Face, from safetensors or a GGUF file, in evaluation mode.

    Examples
    --------
    >>> from empirical.checking import load_plain
    >>> load_plain("no/such/directory")
    Traceback (most recent call last):
    lngeom._errors.InputError: no/such/directory is not a directory: give a model directory of Hugging Face
    """
    if not Path(path).is_dir():
        msg = f"{path} is not a directory: give a model directory of Hugging Face"
        raise InputError(msg)
    from transformers import AutoModel

    gguf = sorted(file.name for file in Path(path).glob("*.gguf"))
    try:
        return AutoModel.from_pretrained(path, local_files_only=True, **({"gguf_file": gguf[0]} if gguf else {})).eval()
    except Exception as error:  # transformers raises whatever the files lead to
        msg = f"{path} cannot be loaded as a model: {type(error).__name__}: {' '.join(str(error).split())[:120]}"
        raise InputError(msg) from error


def _of_model(path: Path, options: dict[str, Any]) -> Any:
    model = load_plain(path)
    known: dict[Any, Finding] = {}
    norms = [
        (name, module)
        for name, module in model.named_modules()
        if type(module).__name__.lower().endswith("norm") and not list(module.children())
    ]
    if not norms:
        msg = f"{path} has no module whose class is named Norm: check its norms one by one as module:name"
        raise InputError(msg)
    for name, module in norms:
        d = next((int(p.shape[-1]) for p in module.parameters() if p.ndim == 1), None)
        key = type(module), d, str({k: v for k, v in vars(module).items() if isinstance(v, float)})
        if key not in known:
            known[key] = check(module, name=type(module).__name__, **{**options, "d": options.get("d") or d})
        yield name, known[key]
