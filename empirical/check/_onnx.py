"""The norms of an ONNX file, each cut out as a model of its own and run by onnxruntime."""

import importlib
from pathlib import Path
from typing import Any

import numpy

from lngeom.errors import InputError

_FUSED = {"LayerNormalization": "layer", "RMSNormalization": "rms", "SimplifiedLayerNormalization": "rms"}
_SCOPES, _CLASSES = "pkg.torch.onnx.name_scopes", "pkg.torch.onnx.class_hierarchy"  # what torch.onnx.export notes


class OnnxNorm:
    """One norm as a function of rows: a fused node, or the nodes that PyTorch's exporter notes as one module's."""

    def __init__(self, name: str, nodes: list[Any], model: Any, held: dict[str, numpy.ndarray], kinds: dict[str, int]):
        onnx, runtime = _packages()
        made = {output for node in nodes for output in node.output}
        wanted = [value for node in nodes for value in node.input if value and value not in made and value not in held]
        inside = {id(node) for node in nodes}
        used = {value for node in model.graph.node if id(node) not in inside for value in node.input}
        used |= {value.name for value in model.graph.output}
        given = [value for node in nodes for value in node.output if value in used]
        if len(set(wanted)) != 1 or len(given) != 1:
            msg = f"the norm {name} has inputs {sorted(set(wanted))} and outputs {given}: one of each can be compared"
            raise InputError(msg)
        self.name, self.input = name, wanted[0]
        element = kinds.get(self.input, onnx.TensorProto.FLOAT)
        self.dtype = onnx.helper.tensor_dtype_to_np_dtype(element)
        ends = [onnx.helper.make_tensor_value_info(value, element, None) for value in (self.input, given[0])]
        kept = [
            onnx.numpy_helper.from_array(held[v], v)
            for v in dict.fromkeys(i for n in nodes for i in n.input)
            if v in held
        ]
        graph = onnx.helper.make_graph(nodes, "norm", ends[:1], ends[1:], kept)
        made_model = onnx.helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
        options = runtime.SessionOptions()
        options.log_severity_level = 3
        text = made_model.SerializeToString()
        self.session = runtime.InferenceSession(text, options, providers=["CPUExecutionProvider"])
        fused = nodes[0].op_type in _FUSED
        attributes = {a.name: a for a in nodes[0].attribute} if fused else {}
        # A fused node with a positive axis counts it from the first of that many axes.
        self.axes = max(0, attributes["axis"].i - 1) if "axis" in attributes else 0
        self.eps = float(attributes["epsilon"].f) if "epsilon" in attributes else 1e-5 if fused else None
        vectors = [
            v.astype(float)
            for node in nodes
            for i in node.input
            if (v := held.get(i)) is not None and v.ndim == 1 and v.size > 1
        ]
        self.gain, self.bias = (*vectors, None, None)[:2]
        self.__name__ = f"{_FUSED[nodes[0].op_type]}_norm" if fused else name

    def __call__(self, x: numpy.ndarray) -> numpy.ndarray:
        rows = numpy.ascontiguousarray(x, dtype=self.dtype)
        got = self.session.run(None, {self.input: rows.reshape((1,) * self.axes + rows.shape)})[0]
        return got.reshape(rows.shape)


def onnx_norms(path: Path) -> list[OnnxNorm]:
    """The norms of the file in the order in which they run."""
    onnx, _ = _packages()
    try:
        model = onnx.load(str(path))
        kinds = {v.name: v.type.tensor_type.elem_type for v in (*model.graph.value_info, *model.graph.input)}
    except Exception as error:  # onnx raises those of protobuf as well
        msg = f"{path} cannot be read as an ONNX model: {type(error).__name__}: {' '.join(str(error).split())[:120]}"
        raise InputError(msg) from error
    held = {value.name: onnx.numpy_helper.to_array(value) for value in model.graph.initializer}
    groups: dict[str, list[Any]] = {}
    for node in model.graph.node:
        if node.op_type == "Constant":
            held[node.output[0]] = onnx.numpy_helper.to_array(node.attribute[0].t)
        elif (name := _owner(node)) is not None:
            groups.setdefault(name, []).append(node)
    return [OnnxNorm(name, nodes, model, held, kinds) for name, nodes in groups.items()]


def _owner(node: Any) -> str | None:
    """The module of a norm that a node belongs to, or its own name for a fused one."""
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
