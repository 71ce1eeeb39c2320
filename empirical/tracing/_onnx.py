"""Norms of ONNX files on traced arrays: their nodes, one after the other, with their constants as arbitrary vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import lngeom as lg

from ._arrays import Arr, given
from ._factories import Function
from ._front import Front
from ._numpy import applied
from ._sizes import FEATURE
from ._torch import layer
from ._trace import Trace

if TYPE_CHECKING:
    from onnx import NodeProto as Node

_NAMES = {
    "Add": "add", "Sub": "subtract", "Mul": "multiply", "Div": "divide", "Pow": "power", "Sqrt": "sqrt",
    "Neg": "negative", "Reciprocal": "reciprocal", "Abs": "absolute", "Max": "maximum", "Min": "minimum",
}  # fmt: skip
_FLOATS = (1, 10, 11, 16)
"""TensorProto's numbers of float32, float16, float64 and bfloat16."""
_LAYERS = {
    "LayerNormalization": lg.layer_norm,
    "RMSNormalization": lg.rms_norm,
    "SimplifiedLayerNormalization": lg.rms_norm,
}


class OnnxFront(Front):
    """One norm of an ONNX file: its nodes, its constants, and the values that enter it and, last, leave it."""

    formats = ("float32",)

    def __init__(self, nodes: list[Node], constants: Mapping[str, np.ndarray], ends: tuple[str, ...]) -> None:
        self.nodes, self.ends = nodes, ends
        self.constants = {
            name: value for node in nodes for name in node.input if (value := constants.get(name)) is not None
        }
        vectors = {name: value for name, value in self.constants.items() if value.dtype.kind == "f" and value.size > 1}
        self.names = {name: f"p{k}" for k, name in enumerate(vectors)}
        self.held = {self.names[name]: value.astype(float).reshape(-1) for name, value in vectors.items()}

    @property
    def size(self) -> int | None:
        """The dimension of its constants."""
        return next((value.size for value in self.held.values()), None)

    def call(self, function: Function, values: Sequence[Any]) -> Arr | None:
        x: Arr = values[0]
        known = {"": None, **dict(zip(self.ends, values, strict=False))}
        for name, value in self.constants.items():
            dims = tuple((FEATURE,) if n == self.size else () for n in value.shape)
            plain = value.item() if value.size == 1 else value
            known[name] = given(x.trace, self.names[name], dims, x.dtype) if name in self.names else plain
        for node in self.nodes:
            if node.op_type != "Constant":
                known[node.output[0]] = _result(x.trace, node, [known[name] for name in node.input])
        return known[self.ends[-1]]


def _result(trace: Trace, node: Node, inputs: list[Any]) -> Arr:
    """One node."""
    name, x = node.op_type, inputs[0]
    attributes: dict[str, Any] = {a.name: a.i or a.f or list(a.ints) for a in node.attribute}
    if name in _LAYERS:
        if x.axes[-1] != (FEATURE,) or attributes.get("axis", -1) not in (-1, len(x.axes) - 1):
            trace.refuse(f"{name} over axis {attributes.get('axis')}")
        trace.operations[name] += 1
        return layer(x, _LAYERS[name], attributes.get("epsilon", 1e-5), *inputs[1:])
    if name in ("ReduceMean", "ReduceSum"):
        axes = attributes.get("axes", inputs[1] if len(inputs) > 1 else None)
        trace.operations[name] += 1
        if axes is None:
            trace.refuse(f"{name} over all axes")
        reduce = x.mean if name == "ReduceMean" else x.sum
        return reduce([int(axis) for axis in np.atleast_1d(axes)], bool(attributes.get("keepdims", 1)))
    if name == "Identity" or (name == "Cast" and attributes["to"] in _FLOATS):
        return x.view(x.axes)
    if name not in _NAMES:
        trace.refuse(f"{name} is not among the operations that are traced")
    trace.operations[name] += 1
    like = next(value for value in inputs if isinstance(value, Arr))
    return applied(_NAMES[name], like, inputs)
