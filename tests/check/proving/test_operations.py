import ast
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from lngeom.check._proving.verdict import prove_target
from lngeom.check._tracing import tensors
from lngeom.check._tracing.grounds import DIRECTION, FloatGround, Ground, Opaque
from lngeom.check._tracing.programs import program
from lngeom.check._tracing.sizes import Num
from lngeom.check._tracing.symbols import Literals
from lngeom.check._tracing.trace import Refusal, Trace

aten, END = torch.ops.aten, 2**63 - 1
AXES = (("B",), ("L",), ("d",))
S = {"dim": -1, "keepdim": True}

EXPRESSIONS: dict[str, Callable[..., Any]] = {
    "arithmetic": lambda x, w: (2 * x - w) / (w**2 + 1) + (1 - x) * (3 / (w * w + 1)) - (-x),
    "names of arithmetic": lambda x, w: x.add(w, alpha=2).sub(w).multiply(w).subtract(x).div(2).negative().absolute()
    + torch.rsub(x, w) + torch.true_divide(x, 2) + torch.divide(x, 4) + torch.neg(x) + abs(w) + torch.addcmul(x, w, x),
    "in place": lambda x, w: x.clone().mul_(w).add_(1).sub_(x).div_(2),
    "augmented": lambda x, w: _augmented(x, w),
    "roots": lambda x, w: torch.sqrt(x * x + 1) + (w.square() + 1).rsqrt() + (x.pow(2) + 1).reciprocal()
    + (w * w) ** 1.5,
    "clamps": lambda x, w: x.clamp(-0.5, 0.5) + x.clamp_min(0) + x.clamp_max(0.2) + x.clip(min=0.1)
    + torch.maximum(x, w) + torch.minimum(x, w),
    "functions": lambda x, w: x.sigmoid() + F.silu(x) + x.tanh() + F.relu(x) + F.softplus(x) + F.gelu(x)
    + (0.1 * x).exp(),
    "casts": lambda x, w: x.float().double() + x.half().to(torch.float64) * 0 + x.bfloat16().type_as(w) * 0 + x.to(w)
    + x.type(torch.float64) + aten._to_copy.default(x, dtype=torch.float32),
    "views": lambda x, w: x.reshape(-1, x.shape[-1]).view(x.shape) + x.view_as(x) + x.reshape_as(x) + x.contiguous()
    + x.permute(0, 2, 1).transpose(1, 2) + x.swapaxes(0, 1).swapdims(0, 1) + x.mT.mT + x[:, None].squeeze(1)
    + x.unsqueeze(-1)[..., 0] + x.detach() + x.data + x.flatten(0, 1).reshape(x.shape)
    + x.movedim(-1, 0).moveaxis(0, -1)
    + x.reshape(x.shape[1] * x.shape[0], x.shape[2]).view(x.shape)
    + w.expand(x.shape) + w.expand_as(x) + w.broadcast_to(x.shape) + w.t(),
    "parts": lambda x, w: _halves(x, w)
    + x[..., :3].sum(**S) - x[..., 3:].sum(**S) * x[..., :1] + x[..., 0, None] * x[..., -1:] + x[..., :-2].sum(**S)
    + x[..., -2:].sum(**S) * x[..., 2::3].sum(**S) - x[..., 1::3].sum(**S) + x[..., ::3].shape[-1],
    "derivatives of parts": lambda x, w: aten.slice_backward.default(x[..., 1:], x.shape, 2, 1, END, 1)
    + aten.slice_backward.default(x, x.shape, 2, 0, END, 1) * w
    + aten.select_backward.default(x[..., 0], x.shape, 2, 0),
    "a direction": lambda x, w: _direction(x) * w,
    "pieces": lambda x, w: torch.cat(x.split([x.shape[-1] // 2, x.shape[-1] - x.shape[-1] // 2], -1), -1)
    + torch.cat(x.chunk(3, -1), -1) + torch.hypot(x, w) + F.linear(x, w)[..., None] + x.abs().amax(**S)
    + torch.exp(torch.log(w) * 1.5),
    "choices": lambda x, w: torch.where(x * x + 1 > 0, x, w) + torch.where(x * x + 1 >= 0, x, w)
    + torch.where(x == 0, x, w)
    + torch.where(-1 - x * x < 0, x, w) + torch.where(-1 - x * x <= 0, x, w) + torch.where(x * x + 1 != 0, x, w),
    "statistics": lambda x, w: x.sum(**S) + x.mean(**S) + x.var(**S) + x.std(-1, keepdim=True, unbiased=False)
    + torch.var_mean(x, dim=-1, keepdim=True, unbiased=False)[0] + torch.std_mean(x, -1, False, True)[1]
    + x.norm(p=2, **S) + torch.linalg.vector_norm(x, dim=-1, keepdim=True) + torch.linalg.norm(x, **S) + 0 * x,
    "einsum": lambda x, w: torch.einsum("bld,bld->bl", x, x)[..., None] * x,
    "einsum of three": lambda x, w: torch.einsum("...d,...,d->...d", x, x.mean(-1), w),
    "layers": lambda x, w: F.layer_norm(x, (x.shape[-1],), w, None, 1e-3) + F.rms_norm(x, (x.shape[-1],), w, 1e-3)
    + F.normalize(x, dim=-1) + F.dropout(x, 0.5, False)
    + F.group_norm(x.reshape(-1, x.shape[-1]), 1, w, w, 1e-3).view(x.shape)
    + F.batch_norm(x.transpose(1, 2), w, w * w, w, w, False, 0.1, 1e-3).transpose(1, 2),
    "with sizes": lambda x, w: torch.addcdiv(x, w, w * w + 1, value=2) + x @ x.new_full((x.shape[-1], 1), 0.5)
    + torch.bmm(x[..., None].mT.flatten(0, 1), x[..., None].flatten(0, 1)).view(*x.shape[:2], 1)
    + torch.matmul(x, torch.ones(x.shape[-1], dtype=x.dtype))[..., None] + x.new_empty(x.shape[-1]).fill_(1)
    + torch.where(torch.tensor(x.shape[-1] > 3), x, w) + F.gelu(x, approximate="tanh")
    + torch.add(x, w, out=torch.empty_like(x)) + torch.native_layer_norm(x, (x.shape[-1],), w, w, 1e-3)[0],
    "new arrays": lambda x, w: torch.ones_like(x) + torch.zeros_like(x) + torch.full_like(x, 2.0)
    + x.new_ones(x.shape[-1]) + x.new_zeros(x.shape[-1]) + torch.ones(x.shape[-1]) + torch.zeros(x.shape[-1])
    + torch.full((x.shape[-1],), 3.0) + torch.empty_like(x).fill_(1) + torch.empty(x.shape[-1]).zero_() + w,
    "questions": lambda x, w: aten.alias.default(x) * (x.dim() + aten.sym_size.int(x, -1)
    + x.ndim + x.ndimension() + x.size(-1) + x.shape[-1])
    + (w if not x.is_cuda and not x.is_nested and x.is_floating_point() else x)
    + (w if x.numel() is not None and x.nelement() is not None and x.dtype else x),
    "a row of one": lambda x, w: x * aten.slice.Tensor(w[None], 0) + aten.select.int(w[None], 0, 0),
}  # fmt: skip


def _halves(x: Any, w: Any) -> Any:
    half = x.shape[-1] // 2
    return torch.cat([x[..., :half] * 2, x[..., half:] * w[half:]], -1)


def _direction(x: Any) -> Any:
    length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return (x / length).masked_fill(length == 0, 0)


def _augmented(x: Any, w: Any) -> Any:
    y = x * 1
    y += w
    y -= 1
    y *= w
    y /= 2
    return y


def traced(function: Callable[..., Any], values: dict[str, np.ndarray], d: int) -> tuple[np.ndarray, np.ndarray]:
    """The output for one row, and a bound on its operations' error."""
    trace = Trace(FloatGround(values, d, error=True), Literals())
    value = program(function, "f", "torch", factory=False).traced(trace, "float64", AXES).value
    return np.broadcast_to(value.value, (d,)), np.broadcast_to(value.error, (d,))


@pytest.mark.parametrize("name", EXPRESSIONS)
@pytest.mark.parametrize("d", [1, 5])
def test_a_trace_agrees_with_pytorch_within_its_bound(name: str, d: int) -> None:
    if d == 1 and name == "statistics":
        pytest.skip("a variance with divisor d − 1 has no value at d = 1; the other statistics run at d = 5")
    rng = np.random.default_rng(d)
    x, w = rng.normal(size=(3, 2, d)), rng.normal(size=d) + 2
    function = EXPRESSIONS[name]
    with torch.no_grad():
        real = function(torch.tensor(x), torch.tensor(w)).expand(3, 2, d).double().numpy()
    for place in np.ndindex(3, 2):
        got, error = traced(lambda x, w: _wide(function(x, w), x), {"x": x[place], "w": w}, d)
        assert (abs(got - real[place]) <= error).all(), name
        assert error.max() < abs(got).max() * 2.0**-7, "a bound that tells nothing"


@pytest.mark.parametrize(("row", "unit"), [([3.0, 4.0], [0.6, 0.8]), ([0.0, 0.0], [0.0, 0.0])])
def test_a_direction_has_the_length_1_or_0(row: list[float], unit: list[float]) -> None:
    ground = FloatGround({"x": row}, 2, error=True)
    found = ground.applied(Opaque(DIRECTION), ground.vector("x"), "direction1")
    assert (abs(found.value - unit) <= found.error).all()
    assert (found.error <= 2.0**-49).all()


def _wide(y: Any, x: Any) -> Any:
    return y + 0 * x


def test_every_operation_of_the_table_is_called_by_an_expression(monkeypatch: pytest.MonkeyPatch) -> None:
    noted = {name: Mock(wraps=f, __signature__=inspect.signature(f)) for name, f in tensors.OPERATIONS.items()}
    monkeypatch.setattr(tensors, "OPERATIONS", noted)
    for function in EXPRESSIONS.values():
        traced(lambda x, w, f=function: _wide(f(x, w), x), {"x": np.arange(1.0, 6), "w": np.arange(2.0, 7)}, 5)
    called = {name for name, action in noted.items() if action.called}
    aliases = "linalg_norm vector_norm linalg_vector_norm norm native_layer_norm clip rdiv rtruediv"
    aliases += " ndimension nelement truediv radd rmul rsub sub mul maximum pow"
    silent = "T device layout is_meta is_leaf grad_fn grad requires_grad requires_grad_ __set__requires_grad stride"
    silent += " is_contiguous data_ptr element_size is_complex is_inference is_sparse is_quantized"
    untried = set(tensors.OPERATIONS) - called
    assert untried - {*aliases.split(), *silent.split()} == set()


REFUSED: dict[str, Callable[..., Any]] = {
    "does not broadcast": lambda x, w: x + x.mean(-1),
    "are combined": lambda x, w: x[..., None] + w,
    "number rows": lambda x, w: x.mean(0),
    "a sum over rows": lambda x, w: x * x.sum(0),
    "its size is 1": lambda x, w: x.squeeze(),
    "a part is taken": lambda x, w: x * x[..., 2:5].sum(-1, keepdim=True),
    r"\[slice\(None, every_3_0": lambda x, w: x * x[..., : x[..., ::3].shape[-1]].sum(-1, keepdim=True),
    "are put together": lambda x, w: torch.cat([x[..., 2:], x[..., :2]], -1),
    "number of rows": lambda x, w: x * x.shape[0],
    "einsum d,d": lambda x, w: torch.einsum("d,d->d", x, w),
    "einsum bdd": lambda x, w: x * torch.einsum("bdd,bdd->b", x, x)[:, None, None],
    "a norm of order": lambda x, w: x.norm(p=1, dim=-1, keepdim=True) * x,
    "exponent": lambda x, w: x**0.3,
    "normalizes": lambda x, w: F.layer_norm(x, x.shape[1:]),
    "groups": lambda x, w: F.group_norm(x, 2),
    "batch statistics": lambda x, w: F.batch_norm(x, None, None, training=True),
    "is_contiguous": lambda x, w: x if x.is_contiguous() else w,
    "a cast": lambda x, w: x.long(),
    "the output has the shape": lambda x, w: x.transpose(0, 1),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_has_no_one_meaning_is_refused(reason: str) -> None:
    with pytest.raises(Refusal, match=reason if reason not in ("does not broadcast", "a cast") else "broadcast|long"):
        traced(REFUSED[reason], {"x": np.ones(3), "w": np.ones(3)}, 3)


DROPPED: dict[str, tuple[str, Callable[..., Any]]] = {
    "a narrow format": ("torch", lambda x, w: x.to("cpu", torch.float8_e5m2)),
    "another softplus": ("torch", lambda x, w: F.softplus(x, beta=2)),
    "an activation in place": ("torch", lambda x, w: F.relu(x, inplace=True)),
    "a sum of whole numbers": ("torch", lambda x, w: x.sum(-1, keepdim=True, dtype=torch.int32) * w),
    "a truth for an axis": ("torch", lambda x, w: x * w.var(False)),
    "the other batch norm": ("torch", lambda x, w: torch.batch_norm(x, w, w, w, w, False, 0.1, 1e-5, False)),
    "an output that others see": ("torch", lambda x, w: torch.mul(x, 2, out=w)),
    "rows or columns": ("numpy", lambda x, w: x.reshape(x.shape, order="F")),
    "where a sum begins": ("numpy", lambda x, w: w * np.add.reduce(x, axis=-1, keepdims=True, initial=1e-9)),
    "which are computed": ("numpy", lambda x, w: np.multiply(x, w, where=np.array([True]))),
    "a sum so far": ("numpy", lambda x, w: np.add.accumulate(x, axis=-1)),
    "another norm": ("numpy", lambda x, w: w * np.linalg.norm(x, 1, axis=-1, keepdims=True)),
    "a method that is missing": ("numpy", lambda x, w: x.cumsum(-1) if hasattr(x, "cumsum") else w),
}


@pytest.mark.parametrize("name", DROPPED)
def test_an_option_is_computed_or_refused(name: str) -> None:
    framework, kernel = DROPPED[name]

    def catching(x: Any, weight: Any) -> Any:
        try:
            return kernel(x, weight)
        except Exception:
            return x * weight

    assert prove_target(catching, "norm", framework).status == "not traced"


@pytest.mark.parametrize("file", ["tensors", "torch_operations", "numpy_arrays", "jax_front", "onnx_graph"])
def test_no_option_is_dropped(file: str) -> None:
    tree = ast.parse(Path(tensors.__file__).with_name(f"{file}.py").read_text())
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.Lambda):
            stars = {star.arg for star in (function.args.vararg, function.args.kwarg) if star}
            assert stars <= {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}, function.lineno


def test_two_activations_of_one_name_differ() -> None:
    def kernel(x: Any, weight: Any, eps: float = 1e-6) -> Any:
        return F.rms_norm(x, (x.shape[-1],), weight, eps) + F.gelu(x) - F.gelu(x, approximate="tanh")

    assert prove_target(kernel, "kernel", "torch").status != "proved"


class OfNumpy:
    def __init__(self, dim: int, eps: float = 1e-5) -> None:
        self.weight, self.bias, self.eps = np.ones(dim, np.float32), np.zeros((dim,), np.float32), eps

    def __call__(self, x: Any) -> Any:
        x = np.asarray(x)
        square = np.einsum("...d,...d->...", x, x)[..., None] / x.shape[-1] - x.mean(-1, None, None, True) ** 2
        return (x - np.mean(x, -1, keepdims=True)) / np.sqrt(square + self.eps) * self.weight + self.bias


class Tied(torch.nn.LayerNorm):
    def __init__(self, dim: int, eps: float = 1e-5) -> None:
        super().__init__(dim, eps)
        self.bias = self.weight


@pytest.mark.parametrize(
    ("target", "framework", "status", "text"),
    [
        (OfNumpy, "numpy", "proved", "weight∘LayerNorm(x; ε = eps) + bias"),
        (Tied, "torch", "proved", "weight∘LayerNorm(x; ε = eps) + weight"),
    ],
)
def test_a_class_gets_its_status_and_its_formula(target: Any, framework: str, status: str, text: str) -> None:
    verdict = prove_target(target, target.__name__, framework)
    assert (verdict.status, verdict.text) == (status, f"{target.__name__} computes {text}")


def test_a_comparison_of_sizes_branches_only_where_it_is_open() -> None:
    trace = Trace(Ground(), Literals())
    d = Num(trace, trace.ground.d, ("d",))
    assert d >= 1
    assert d != 0
    assert d + 1 > d
    assert trace.decisions.branches == []
    assert d > 7, "an open question is answered with yes first"
    assert len(trace.decisions.branches) == 1


def test_a_largest_value_is_no_less_than_its_bounds_say() -> None:
    trace = Trace(Ground(), Literals())
    x = program(lambda x: x.abs().amax(**S).clamp(min=-0.5), "f", "torch", factory=False).traced(trace, "float64", AXES)
    assert (trace.ground.sign(x.value, ">="), trace.ground.sign(x.value, ">")) == (True, None)
