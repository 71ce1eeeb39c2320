"""The norms of an ONNX file, each cut out as a model of its own and run by onnxruntime."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np

from lngeom.errors import InputError

_FUSED = {"LayerNormalization": "layer", "RMSNormalization": "rms", "SimplifiedLayerNormalization": "rms"}
_SCOPES, _CLASSES = "pkg.torch.onnx.name_scopes", "pkg.torch.onnx.class_hierarchy"  # what torch.onnx.export notes


class _File:
    """An ONNX model, its constants as arrays by name, and the types of its values."""

    def __init__(self, path: Path) -> None:
        self.onnx, self.runtime = _packages()
        try:
            self.model = self.onnx.load(str(path))
            graph = self.model.graph
            self.kinds = {v.name: v.type.tensor_type.elem_type for v in (*graph.value_info, *graph.input)}
        except Exception as error:  # onnx raises those of protobuf as well
            text = " ".join(str(error).split())[:120]
            msg = f"{path} cannot be read as an ONNX model: {type(error).__name__}: {text}"
            raise InputError(msg) from error
        array = self.onnx.numpy_helper.to_array
        self.constants = {value.name: array(value) for value in graph.initializer}
        for node in graph.node:
            if node.op_type == "Constant":
                self.constants[node.output[0]] = array(node.attribute[0].t)

    def ends(self, name: str, nodes: list[Any]) -> tuple[str, str]:
        """The one value that enters a group of nodes, and the one that leaves it."""
        known = {"", *self.constants, *(output for node in nodes for output in node.output)}
        wanted = {value for node in nodes for value in node.input} - known
        inside = {id(node) for node in nodes}
        used = {value for node in self.model.graph.node if id(node) not in inside for value in node.input}
        used |= {value.name for value in self.model.graph.output}
        given = [value for node in nodes for value in node.output if value in used]
        if len(wanted) != 1 or len(given) != 1:
            msg = f"the norm {name} has inputs {sorted(wanted)} and outputs {given}: one of each can be compared"
            raise InputError(msg)
        return wanted.pop(), given[0]

    def session(self, nodes: list[Any], ends: tuple[str, str]) -> Any:
        """The nodes as a model that runs."""
        helper, element = self.onnx.helper, self.element(ends[0])
        wanted, given = ([helper.make_tensor_value_info(end, element, None)] for end in ends)
        names = dict.fromkeys(value for node in nodes for value in node.input if value in self.constants)
        kept = [self.onnx.numpy_helper.from_array(self.constants[name], name) for name in names]
        graph = helper.make_graph(nodes, "norm", wanted, given, kept)
        model = helper.make_model(graph, opset_imports=self.model.opset_import, ir_version=self.model.ir_version)
        options = self.runtime.SessionOptions()
        options.log_severity_level = 3
        return self.runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def element(self, name: str) -> int:
        """The type of a value, in the numbers of ONNX."""
        return self.kinds.get(name, self.onnx.TensorProto.FLOAT)


class OnnxNorm:
    """One norm as a function of rows: a fused node, or the nodes that PyTorch's exporter notes as one module's."""

    def __init__(self, name: str, nodes: list[Any], file: _File) -> None:
        ends = file.ends(name, nodes)
        self.name, self.input = name, ends[0]
        self.dtype = file.onnx.helper.tensor_dtype_to_np_dtype(file.element(self.input))
        self.session = file.session(nodes, ends)
        fused = _FUSED.get(nodes[0].op_type)
        attributes = {a.name: a for a in nodes[0].attribute} if fused else {}
        # A fused node with a positive axis counts it from the first of that many axes.
        self.axes = max(0, attributes["axis"].i - 1) if "axis" in attributes else 0
        self.eps = float(attributes["epsilon"].f) if "epsilon" in attributes else 1e-5 if fused else None
        inputs = [file.constants.get(value) for node in nodes for value in node.input]
        vectors = [value.astype(float) for value in inputs if value is not None and value.ndim == 1 and value.size > 1]
        self.gain, self.bias = (*vectors, None, None)[:2]
        self.__name__ = f"{fused}_norm" if fused else name

    def __call__(self, x: np.ndarray) -> np.ndarray:
        rows = np.ascontiguousarray(x, dtype=self.dtype)
        got = self.session.run(None, {self.input: rows.reshape((1,) * self.axes + rows.shape)})[0]
        return got.reshape(rows.shape)


def onnx_norms(path: Path) -> list[OnnxNorm]:
    """The norms of the file in the order in which they run."""
    file = _File(path)
    groups: dict[str, list[Any]] = {}
    for node in file.model.graph.node:
        if (name := _owner(node)) is not None:
            groups.setdefault(name, []).append(node)
    return [OnnxNorm(name, nodes, file) for name, nodes in groups.items()]


def _owner(node: Any) -> str | None:
    """The module of a norm that a node belongs to, or its own name for a fused one; a graph tells it by names alone."""
    if node.op_type == "Constant":
        return None
    noted = {item.key: item.value for item in node.metadata_props}
    names, classes = (_listed(noted.get(key, "")) for key in (_SCOPES, _CLASSES))
    for name, kind in zip(names, classes, strict=False):
        if kind.lower().endswith("norm"):
            return name
    return (node.name or node.output[0]) if node.op_type in _FUSED else None


def _listed(text: str) -> list[str]:
    """The items of a list as the exporter writes it."""
    return [part.strip(" '\"") for part in text.strip("[]").split(",")]


def _packages() -> tuple[Any, Any]:
    try:
        return importlib.import_module("onnx"), importlib.import_module("onnxruntime")
    except ModuleNotFoundError as error:
        msg = "an ONNX file needs the packages onnx and onnxruntime: pip install onnx onnxruntime"
        raise InputError(msg) from error
