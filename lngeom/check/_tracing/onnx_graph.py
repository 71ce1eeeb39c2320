"""Norms of ONNX files on traced arrays: their nodes, one after the other, with their constants as arbitrary vectors."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

import lngeom as lg

from .arrays import Arr, given
from .components import components
from .factories import Function
from .front import Front
from .reductions import mean, total
from .sizes import FEATURE
from .torch_operations import layer
from .trace import Trace

if TYPE_CHECKING:
    from onnx import NodeProto as Node

_FLOATS = (1, 10, 11, 16)
"""TensorProto's numbers of float32, float16, float64 and bfloat16."""


class OnnxFront(Front):
    """One norm of an ONNX file: its nodes, its constants, and the values that enter it and, last, leave it."""

    formats = ("float32",)

    def __init__(self, nodes: list[Node], constants: Mapping[str, np.ndarray], ends: tuple[str, ...]) -> None:
        self.nodes, self.ends, read = nodes, ends, importlib.import_module("onnx").helper.get_attribute_value
        # Before a call is traced: the first reading changes a class of protobuf.
        self.attributes = [{attribute.name: read(attribute) for attribute in node.attribute} for node in nodes]
        inputs = [name for node in nodes for name in node.input]
        self.constants = {name: constants[name] for name in inputs if constants.get(name) is not None}
        vectors = {name: value for name, value in self.constants.items() if value.dtype.kind == "f" and value.size > 1}
        self.names = {name: f"p{k}" for k, name in enumerate(vectors)}
        self.held = {self.names[name]: value.astype(float).reshape(-1) for name, value in vectors.items()}

    size = property(lambda self: next((value.size for value in self.held.values()), None))

    def call(self, function: Function, values: Sequence[Any]) -> Arr | None:
        x: Arr = values[0]
        known = {"": None, **dict(zip(self.ends, values, strict=False))}
        for name, value in self.constants.items():
            dims = tuple((FEATURE,) if n == self.size else () for n in value.shape)
            plain = value.item() if value.size == 1 else value
            known[name] = given(x.trace, self.names[name], dims, x.dtype) if name in self.names else plain
        for node, attributes in zip(self.nodes, self.attributes, strict=True):
            if node.op_type != "Constant":
                known[node.output[0]] = _result(x.trace, node, [known[name] for name in node.input], attributes)
        x.trace.line = ""
        return known[self.ends[-1]]


def _result(trace: Trace, node: Node, inputs: list[Any], attributes: dict[str, Any]) -> Arr:
    """One node."""
    trace.line = f"{node.op_type} {node.name or node.output[0]}"
    result = trace.applied(node.op_type, _OPERATIONS.get(node.op_type), *inputs, **attributes)
    if result.value is not inputs[0].value:
        trace.values.operations[node.op_type] += 1
    return result


def _layer(function: Function) -> Function:
    return lambda x, gain, bias=None, *, axis=-1, epsilon=1e-5, stash_type=1: (
        layer(x, function, epsilon, gain, bias)
        if x.axes[-1] == (FEATURE,) and axis in (-1, len(x.axes) - 1)
        else x.trace.refuse(f"a layer over axis {axis}")
    )


def _over(x: Arr, axes: ArrayLike | None) -> list[int]:
    return x.trace.refuse("a reduction over all axes") if axes is None else [int(axis) for axis in np.atleast_1d(axes)]


def _reduced(statistic: Function) -> Function:
    return lambda x, given=None, *, axes=None, keepdims=1, noop_with_empty_axes=0: statistic(
        x, _over(x, axes if given is None else given), bool(keepdims)
    )


_OPERATIONS: dict[str, Function] = components("onnx", lambda arrays: arrays[0].dtype) | {
    "Identity": lambda x: x.view(x.axes),
    "Cast": lambda x, *, to, saturate=1: (
        x.view(x.axes) if to in _FLOATS else x.trace.refuse(f"a cast to the format {to}")
    ),
    "ReduceMean": _reduced(mean), "ReduceSum": _reduced(total), "LayerNormalization": _layer(lg.layer_norm),
    "RMSNormalization": _layer(lg.rms_norm), "SimplifiedLayerNormalization": _layer(lg.rms_norm),
}  # fmt: skip
"""Nodes, by their names."""
