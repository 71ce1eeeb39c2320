import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lngeom.check import onnx_norms
from lngeom.check._proving.proof import Proof
from lngeom.check._proving.verdict import prove_target
from lngeom.errors import InputError

onnx = pytest.importorskip("onnx", reason="the packages onnx and onnxruntime are not installed")
pytest.importorskip("onnxruntime", reason="the packages onnx and onnxruntime are not installed")


def proof(folder: Path, steps: list[tuple[str, list[str], str]], **attributes: Any) -> Proof:
    """The verdict on a graph of x, the gain g, the bias b, ε = 1e-5, 2 and the last axis."""
    helper, rng = onnx.helper, np.random.default_rng(0)
    arrays: dict[str, Any] = {"g": rng.normal(size=8), "b": rng.normal(size=8), "eps": 1e-5, "two": 2.0}
    made = [onnx.numpy_helper.from_array(np.asarray(value, dtype=np.float32), name) for name, value in arrays.items()]
    made.append(onnx.numpy_helper.from_array(np.array([-1]), "last"))
    nodes = [
        helper.make_node(kind, inputs, [output], name=f"n{k}", **attributes)
        for k, (kind, inputs, output) in enumerate(steps)
    ]
    for node in nodes:
        noted = {"pkg.torch.onnx.name_scopes": "['', 'norm']", "pkg.torch.onnx.class_hierarchy": "['M', 'MyNorm']"}
        node.metadata_props.extend(onnx.StringStringEntryProto(key=key, value=value) for key, value in noted.items())
    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [None, 8]) for name in ("x", "y"))
    graph = helper.make_graph(nodes, "g", [x], [y], made)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    onnx.save(model, str(folder / "m.onnx"))
    (norm,) = onnx_norms(folder / "m.onnx")
    return prove_target(norm, "norm", "numpy", kind="layernorm")


CENTER = [("ReduceMean", ["x", "last"], "m"), ("Sub", ["x", "m"], "c")]
DIVIDE = [("Add", ["v", "eps"], "e"), ("Sqrt", ["e"], "s"), ("Div", ["c", "s"], "n")]
AFFINE = [("Mul", ["n", "g"], "a"), ("Add", ["a", "b"], "y")]


def test_layer_norm_of_primitive_nodes_is_proved(tmp_path: Path) -> None:
    variance = [("Pow", ["c", "two"], "q"), ("ReduceMean", ["q", "last"], "v")]
    verdict = proof(tmp_path, [*CENTER, *variance, *DIVIDE, *AFFINE])
    assert (verdict.status, verdict.text) == ("proved", "norm computes p0∘LayerNorm(x; ε = 1e-05) + p1")


def test_the_mean_square_for_the_variance_is_refuted(tmp_path: Path) -> None:
    verdict = proof(tmp_path, [*CENTER, ("Mul", ["x", "x"], "q"), ("ReduceMean", ["q", "last"], "v"), *DIVIDE, *AFFINE])
    assert verdict.status == "refuted"
    assert verdict.counterexample is not None


def test_another_node_is_refused(tmp_path: Path) -> None:
    verdict = proof(tmp_path, [("Relu", ["x"], "y")])
    assert (verdict.status, "Relu is not among" in verdict.text) == ("not traced", True)


@pytest.mark.parametrize(("attributes", "status"), [({"epsilon": 0.0}, "not traced"), ({"epsilon": 1e-3}, "proved")])
def test_epsilon_of_a_node_is_read(tmp_path: Path, attributes: dict[str, Any], status: str) -> None:
    verdict = proof(tmp_path, [("LayerNormalization", ["x", "g", "b"], "y")], **attributes)
    assert verdict.status == status
    assert "used as a number" not in verdict.text


@pytest.mark.parametrize(
    "after", [[("Relu", ["z"], "q")], [("Neg", ["y"], "q")], [("Neg", ["x"], "q"), ("Relu", ["x"], "q")]]
)
def test_a_graph_that_is_not_in_order_is_refused(after: list[tuple[str, list[str], str]], tmp_path: Path) -> None:
    """A cycle, a value that is read before it is written, and one that is written twice."""
    with pytest.raises(InputError, match="before it is written, or writes it again"):
        proof(tmp_path, [*after[1:], ("LayerNormalization", ["q", "g", "b"], "z"), *after[:1]])


def test_attributes_are_read_in_a_process_that_made_no_node(tmp_path: Path) -> None:
    proof(tmp_path, [("LayerNormalization", ["x", "g", "b"], "y")], epsilon=1e-3)
    words = [sys.executable, "-m", "lngeom", "check", "m.onnx"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert "m.onnx: proved for every d" in done.stdout, done
