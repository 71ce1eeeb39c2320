"""A whole ONNX file as a function of token ids."""

import importlib
from collections.abc import Callable

import numpy as np

from lngeom.check import OnnxFile
from lngeom.errors import InputError


def onnx_network(file: OnnxFile) -> Callable[[np.ndarray], np.ndarray]:
    """The whole file as a function of token ids, in float64; InputError if it needs other inputs or cannot run so."""
    kinds = {str(value.dtype) for value in file.constants.values()} - {"float32", "float64", "int32", "int64", "bool"}
    given = {"input_ids": lambda ids: ids, "attention_mask": np.ones_like,
             "position_ids": lambda ids: np.arange(ids.shape[1])[None]}  # fmt: skip
    names = [value.name for value in file.model.graph.input if value.name not in file.constants]
    if kinds or "input_ids" not in names or not set(names) <= set(given):
        what = f"numbers of {', '.join(sorted(kinds))}" if kinds else f"the inputs {', '.join(names)}"
        raise InputError(f"{file.path} has {what}; files of float32 with the inputs {', '.join(given)} can be run")
    helper, double = file.onnx.numpy_helper, file.onnx.TensorProto.DOUBLE
    nodes = [attribute for node in file.model.graph.node for attribute in node.attribute]
    for tensor in (*file.model.graph.initializer, *(each.t for each in nodes if each.HasField("t"))):
        if tensor.data_type == file.onnx.TensorProto.FLOAT:
            tensor.CopyFrom(helper.from_array(helper.to_array(tensor).astype(float), tensor.name))
    for each in (each for each in nodes if each.name == "to" and each.i == file.onnx.TensorProto.FLOAT):
        each.i = double
    outputs = [value.name for value in file.model.graph.output]

    def run(ids: np.ndarray) -> np.ndarray:
        feeds = {name: given[name](ids) for name in names}
        try:
            got = importlib.import_module("onnx.reference").ReferenceEvaluator(file.model).run(outputs, feeds)
        except Exception as error:  # of a shape that was fixed, for example
            raise file.unreadable(error) from None
        return np.asarray(got[outputs.index("logits") if "logits" in outputs else 0])

    return run
