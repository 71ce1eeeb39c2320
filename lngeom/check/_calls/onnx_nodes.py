"""The norms of an ONNX file, each cut out as a model of its own and run by onnxruntime."""

import importlib
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lngeom.errors import InputError

if TYPE_CHECKING:
    from onnx import NodeProto
    from onnxruntime import InferenceSession

_FUSED = {"LayerNormalization": "layer", "RMSNormalization": "rms", "SimplifiedLayerNormalization": "rms"}
_SCOPES, _CLASSES = "pkg.torch.onnx.name_scopes", "pkg.torch.onnx.class_hierarchy"  # notes of torch.onnx.export


class OnnxFile:
    """An ONNX model, in which nothing runs yet, its constants as arrays by name, and the types of its values."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.onnx, self.runtime = (importlib.import_module(name) for name in ("onnx", "onnxruntime"))
        except ModuleNotFoundError as error:
            raise InputError("an ONNX file needs two packages: pip install onnx onnxruntime") from error
        try:
            self.model = self.onnx.load(str(path))
            if not (graph := self.model.graph).node:
                raise ValueError("it is empty")
            self.kinds = defaultdict[str, int](lambda: self.onnx.TensorProto.FLOAT)
            typed = {v.name: v.type.tensor_type for v in (*graph.value_info, *graph.input)}
            self.kinds |= {name: kind.elem_type for name, kind in typed.items()}
            array = self.onnx.numpy_helper.to_array
            self.constants = {value.name: array(value) for value in graph.initializer}
            sparse = (tensor.values.name for tensor in graph.sparse_initializer)
            known = {"", *self.constants, *sparse, *(v.name for v in graph.input)}
            for node in graph.node:
                if node.op_type == "Constant":
                    self.constants[node.output[0]] = array(node.attribute[0].t)
                if odd := [*({*node.input} - known), *(known.intersection(node.output) - {""})]:
                    raise ValueError(f"{node.op_type} reads {odd[0]!r} before it is written, or writes it again")
                known.update(node.output)
            self.ranks = {name: len(kind.shape.dim) for name, kind in typed.items() if kind.HasField("shape")}
        except Exception as error:  # of onnx or of protobuf
            raise self.unreadable(error) from None

    def ends(self, name: str, nodes: "list[NodeProto]") -> tuple[str, str]:
        """The one value that enters a group of nodes, and the one that leaves it."""
        known = {"", *self.constants, *(output for node in nodes for output in node.output)}
        wanted = {value for node in nodes for value in node.input} - known
        inside = {id(node) for node in nodes}
        used = {value for node in self.model.graph.node if id(node) not in inside for value in node.input}
        used |= {value.name for value in self.model.graph.output}
        given = [value for node in nodes for value in node.output if value in used]
        if len(wanted) != 1 or len(given) != 1:  # a residual or a further output: no function of rows
            raise InputError(f"{name} has inputs {sorted(wanted)} and outputs {given}: one of each can be compared")
        return wanted.pop(), given[0]

    def session(self, nodes: "list[NodeProto]", ends: tuple[str, str]) -> "InferenceSession":
        """The nodes as a model that runs."""
        helper, element = self.onnx.helper, self.kinds[ends[0]]
        wanted, given = ([helper.make_tensor_value_info(end, element, None)] for end in ends)
        names = dict.fromkeys(value for node in nodes for value in node.input if value in self.constants)
        kept = [self.onnx.numpy_helper.from_array(self.constants[name], name) for name in names]
        graph = helper.make_graph(nodes, "norm", wanted, given, kept)
        model = helper.make_model(graph, opset_imports=self.model.opset_import, ir_version=self.model.ir_version)
        options = self.runtime.SessionOptions()
        options.log_severity_level = 4  # the error has one line
        return self.runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def unreadable(self, error: Exception) -> InputError:
        """The error of what cannot be read."""
        text = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
        return InputError(f"{self.path} cannot be read as an ONNX model: {text}; export it again")


class OnnxNorm:
    """One norm as a function of rows: a fused node, or the nodes that PyTorch's exporter notes as one module's."""

    def __init__(self, name: str, nodes: "list[NodeProto]", file: OnnxFile) -> None:
        ends = file.ends(name, nodes)
        self.name, self.input = name, ends[0]
        self.dtype = file.onnx.helper.tensor_dtype_to_np_dtype(file.kinds[self.input])
        self.session = file.session(nodes, ends)
        from .._tracing.onnx_graph import OnnxFront

        self.front = OnnxFront(nodes, file.constants, ends)
        fused = _FUSED.get(nodes[0].op_type)
        attributes = {a.name: a for a in nodes[0].attribute} if fused else {}
        # A fused node with a positive axis counts it from the first of the axes that its input is declared with.
        axis = attributes["axis"].i if "axis" in attributes else -1
        self.rank = 0 if axis < 0 else file.ranks.get(self.input, axis + 1)
        self.eps = float(attributes["epsilon"].f) if "epsilon" in attributes else 1e-5 if fused else None
        inputs = [file.constants.get(value) for node in nodes for value in node.input]
        vectors = [value.astype(float) for value in inputs if value is not None and value.ndim == 1 and value.size > 1]
        self.gain, self.bias = (*vectors, None, None)[:2]
        self.__name__ = f"{fused}_norm" if fused else name

    def __call__(self, x: np.ndarray) -> np.ndarray:
        rows = np.ascontiguousarray(x, dtype=self.dtype)
        lead = rows.shape[:-1] if not self.rank else (*(1,) * (self.rank - 2), -1)[: self.rank - 1]
        got = self.session.run(None, {self.input: rows.reshape(*lead, rows.shape[-1])})[0]
        return np.asarray(got).reshape(rows.shape)


def onnx_norms(path: Path) -> list[OnnxNorm]:
    """The norms of the file in the order in which they run."""
    file = OnnxFile(path)
    groups: dict[str, list[NodeProto]] = {}
    for node in file.model.graph.node:
        if (name := _owner(node)) is not None:
            groups.setdefault(name, []).append(node)
            if any(attribute.HasField("g") for attribute in node.attribute):  # a loop, or a condition
                raise InputError(f"{path}: {name} holds {node.op_type}, which may never end: check it as module:name")
    try:
        return [OnnxNorm(name, nodes, file) for name, nodes in groups.items()]
    except InputError:
        raise
    except Exception as error:  # a damaged file can fail anywhere
        raise file.unreadable(error) from None


def _owner(node: "NodeProto") -> str | None:
    """The module of a norm that a node belongs to, or its own name for a fused one; a graph tells it by names alone."""
    if node.op_type == "Constant":  # several norms may share it
        return None
    noted = {item.key: item.value for item in node.metadata_props}
    texts = (noted.get(key, "").strip("[]").split(",") for key in (_SCOPES, _CLASSES))  # as lists are exported
    names, classes = ([part.strip(" '\"") for part in text] for text in texts)
    own = (node.name or node.output[0]) if node.op_type in _FUSED else None
    return next((name for name, kind in zip(names, classes, strict=False) if kind.lower().endswith("norm")), own)
