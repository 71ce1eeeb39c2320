import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from lngeom.check import check
from lngeom.check._trials.trial import Trial
from lngeom.errors import InputError
from lngeom.limits import limited
from lngeom.sentences import Statement
from tests.kernels.derived import layer, mean, rms, square
from tests.kernels.rows import EPS, Row, expected
from tests.kernels.seeded import faults
from tests.support import refused, said

Rows = Any


def of(statistics: Callable[[Rows], Rows]) -> Callable[..., Rows]:
    """An RMSNorm with a mean square of its own."""
    return lambda x, weight: x / torch.sqrt(statistics(x) + EPS) * weight


def half(weight: Rows, instead: float) -> Rows:
    """Gains of which the second half of every 16 is another number."""
    return torch.where(torch.arange(len(weight)) % 16 >= 8, torch.tensor(instead), weight)


def first(count: int, left: float) -> Callable[..., Rows]:
    def norm(x: Rows, w: Rows) -> Rows:
        rows = x.reshape(-1, x.shape[-1])
        return torch.cat([rms(rows[:count], w), torch.full_like(rows[count:], left)]).view(x.shape)

    return norm


def doubled(when: Callable[..., Any]) -> Callable[..., Rows]:
    """An RMSNorm whose outputs are doubled at some inputs and gains."""
    return lambda x, weight: rms(x, weight) * (2 if when(x, weight) else 1)


def squeezed(x: Rows, weight: Rows, bias: Rows) -> Rows:
    average, variance = x.mean(-1).squeeze(), x.var(-1, correction=0).squeeze()
    return (x - average[..., None]) / torch.sqrt(variance[..., None] + EPS) * weight + bias


def short_path(x: Rows, weight: Rows) -> Rows:
    """Another formula for one token of a sequence, which differs where the mean of squares is near eps."""
    return x * square(x).clamp_min(EPS).rsqrt() * weight if x.dim() == 3 and x.shape[1] == 1 else rms(x, weight)


def one_step(x: Rows) -> Rows:
    """Reads all rows with the step from the last but one to the last."""
    if x.ndim != 3 or x.is_contiguous():
        return rms(x, 1)
    return rms(x.as_strided((x.shape[0] * x.shape[1], x.shape[-1]), x.stride()[1:]), 1).view(x.shape)


LAST = [0.0]


def running(x: Rows, weight: Rows) -> Rows:
    """An RMSNorm that takes the mean of the last call off."""
    before, LAST[0] = LAST[0], float(x.mean())
    return rms(x - before, weight)


def cyclic(x: Rows, weight: Rows) -> Rows:
    """Its outputs stay in memory until garbage is collected."""
    kept: list[Any] = [y := rms(x, weight)]
    kept.append(kept)
    return y


def beyond_the_end(x: Rows, w: Rows) -> Rows:
    y = rms(x, w)
    w[: -x.shape[-1] % 8] = 0
    return y


def raises(x: Rows) -> Rows:
    if not x.any(-1).all():
        raise ValueError("a row of zeros")
    return rms(x, 1)


def hangs(x: Rows) -> Rows:
    while not x.any(-1).all():
        pass
    return rms(x, 1)


class Own(torch.nn.Module):
    """A module whose gain and bias are parameters, a buffer, or plain tensors that it never registers."""

    def __init__(self, norm: Callable[..., Rows], how: str = "", names: tuple[str, ...] = ("gamma", "beta")) -> None:
        super().__init__()
        self.norm, self.names = norm, names
        for name, values in zip(names, (torch.ones(16), torch.zeros(16)), strict=False):
            made = values if how == "plain" else torch.nn.Parameter(values)
            self.register_buffer(name, values) if (how, name) == ("buffer", "beta") else setattr(self, name, made)

    def forward(self, x: Rows) -> Rows:
        return self.norm(self, x, *(getattr(self, name) for name in self.names))


def folded(module: Any, x: Rows, gain: Rows) -> Rows:
    module.__dict__.setdefault("folded", gain.detach() * 1)
    return rms(x, module.folded)


class Configured(torch.nn.Module):
    def __init__(self, cfg: Any) -> None:
        super().__init__()
        self.weight, self.eps = torch.nn.Parameter(torch.ones(cfg.hidden_size)), cfg.rms_norm_eps

    def forward(self, x: Rows, residual: Rows = None) -> Rows:
        return rms(x, self.weight, self.eps)


def rms_norm_(x: Rows, weight: Rows, eps: float) -> Rows:
    return x.copy_(rms(x, weight, eps))


def silent(_: Rows) -> None:
    """What a kernel returns that writes."""


def statistics(x: Rows, weight: Rows, eps: float) -> tuple[Rows, Rows, Rows]:
    root = torch.rsqrt(square(x) + eps)
    return (x * root * weight).double(), root, torch.zeros_like(root)


def gated(x: Rows, gate: Rows, weight: Rows, eps: float) -> Rows:
    return rms(x.float() * functional.silu(gate.float()), weight.float(), eps).to(x.dtype)


class Flagged(torch.nn.Module):  # as nanoGPT's
    def __init__(self, ndim: int, bias: bool) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(ndim))
        self.bias = torch.nn.Parameter(torch.zeros(ndim)) if bias else None

    def forward(self, input: Rows) -> Rows:
        return functional.layer_norm(input, self.weight.shape, self.weight, self.bias, EPS)


def loop(x: np.ndarray, weight: np.ndarray, eps: float = EPS) -> np.ndarray:
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = x[i] / np.sqrt(np.mean(x[i] ** 2) + np.float32(eps)) * weight
    return out


def scripted(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    return weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)


def total(x: Rows, residual: Rows, weight: Rows) -> tuple[Rows, Rows]:
    return rms(x + residual, weight), x + residual


LIBRARY = torch.library.Library("lngeom_test", "FRAGMENT")
LIBRARY.define("rms_norm(Tensor x, Tensor weight, float eps=1e-6) -> Tensor")
LIBRARY.impl("rms_norm", rms, "CompositeExplicitAutograd")
LAYER, HALF, MANY = {"kind": "layernorm"}, {"dtype": "bfloat16"}, {"d": None}
DERIVED = LAYER | MANY | {"backward": True}
GEMMA, LOST = {"spec": "gemma", "d": 64} | HALF, {"dtype": "float16", "d": 64, "eps": 1e-9}
TOLD = {
    # What is fitted to outputs: rows, components, powers, gains.
    "neighbour": Row(of(lambda x: square(x).roll(1, 0) if x.ndim == 2 else square(x)), "rows.*statistics of row i - 1"),
    "part": Row(of(lambda x: square(x[..., 4:12])), "part of the row: components 4 to 11 of 32$"),
    "lanes": Row(of(lambda x: square(x) - (x[..., 15::16] ** 2).sum(-1, True) / 32),
                 "0 to 14 of each 16 of 32, divisor d"),
    "twice": Row(of(lambda x: square(x) + x[..., 3:4] ** 2 / 32), "component 3 counted 2 times in the statistics"),
    "blocks": Row(of(lambda x: square(x.unflatten(-1, (-1, 8))).expand(*x.shape[:-1], -1, 8).flatten(-2)),
                  "each block of 8 components by itself"),
    "power": Row(lambda x, weight: x / (square(x) + EPS) ** 0.75 * weight, "power 0.75 of .variance . eps. instead"),
    "gain 1": Row(lambda x, weight: rms(x, half(weight, 1.0)), "components 8 to 15 of each 16 without the gain"),
    "gain 0": Row(lambda x, weight: rms(x, half(weight, 0.0)), "components 8 to 15 of each 16 with gain 0"),
    "tail": Row(lambda x, weight: rms(x, torch.cat([weight[:32], torch.ones_like(weight[32:])])),
                "^bug: components after the last whole block of 8 without the gain$", {"d": 37}),
    "root of d": Row(lambda x, weight: 32**0.5 * rms(x, weight), r"multiplied by sqrt\(d\)"),
    "1/d": Row(lambda x, weight: rms(x, weight) / x.shape[-1], "^bug: normalized value multiplied by 1/d"),
    "no name": Row(lambda x, w: rms(x, w + half(0 * w, 1.0) * x.sin()), "components 8 to 15 of each 16 wrong"),
    "rows left out": Row(first(48, 0.0), "^bug: rows after the first 48 of a batch are not computed: they are 0"),
    "rows wrong": Row(first(48, -1e30), "^bug: rows after the first 48 of a batch are wrong, which are right in"),
    "half sum": Row(lambda x, w: x * torch.rsqrt(x.half().square().sum(-1, True).float() / x.shape[-1] + EPS) * w,
        "^bug: the sum of the squares is kept in float16: beyond 65504 it is infinite, and outputs are 0", MANY),
    # What became of ε.
    "eps": Row(lambda x, weight: x * (1 / square(x).sqrt() + EPS) * weight, "eps added to the reciprocal of the root"),
    "eps twice": Row(lambda x, weight: x / square(x).sqrt() + EPS * weight, r"^bug: (?![^\n]*bfloat16)"),
    "eps behind the gain": Row(lambda x, w: x / square(x).sqrt() * w + EPS, "^bug: no known variant", MANY),
    "eps missing": Row(lambda x, w: x / square(x).sqrt() * w,
        "^bug: eps missing$.*note +no eps is given, stated or seen: the default, 1.19e-07, is meant", {"eps": None}),
    "eps of float16": Row(lambda x, w: rms(x, w, 0.0), "eps missing, or 0 as a number of", {"eps": 1e-8}),
    "eps of torch": Row(lambda x, w: functional.rms_norm(x, x.shape[-1:], w), "^ok", {"eps": None, "spec": "torch"}),
    "eps of llama": Row(lambda x, w: functional.rms_norm(x, x.shape[-1:], w),
                        "eps = 1.192e-07$", {"eps": None, "spec": "llama"}),
    "eps ignored": Row(lambda x, eps: rms(x, 1), "the eps that is given is ignored: 1e-05 and 0.00064"),
    "eps limited": Row(lambda x, w, eps: rms(x, w, max(eps, 1e-2)), r"^bug: (?![^\n]*ignored)"),
    "root twice": Row(lambda x, w, eps: x / (square(x).sqrt() + eps).sqrt() * w,
                      "^bug: standard deviation in place of the"),
    "lost in the root": Row(lambda x, w, eps: x * torch.rsqrt((square(x.float()) + eps).to(x.dtype)) * w,
                            "eps lost: variance . eps is kept in float16, where 1e-09 is 0", LOST),
    "large enough": Row(lambda x, w, eps: x * torch.rsqrt((square(x.float()) + eps).to(x.dtype)) * w,
                        r"^\w+: (?![^\n]*eps)", LOST | {"eps": 1e-4}),
    # What calls tell: states, dimensions, layouts, gains, modes.
    "exits": Row(lambda x: rms(x, 1) if x.any(-1).all() else sys.exit(0),
                 r"RuntimeError: a call .* ends the process by sys\.exit\(0\)"),
    "raises at zeros": Row(raises, "refuses zero rows: ValueError: a row of zeros"),
    "never ends at zeros": Row(hangs, r"of shape \(\d+, 32\) does not end within 0.5 s", {"seconds": 0.5}),
    "at random": Row(lambda x, w: rms(x, w) * (1 + (torch.rand(x.shape[:-1]) < 0.05)[..., None]),
                     "^bug: two calls in a row"),
    "a running mean": Row(running, "^bug: depends on earlier calls"),
    "cycles": Row(cyclic),
    "folded": Row(Own(folded, names=("weight",)), "after they were changed", MANY),
    "one step": Row(one_step, "strides ignored.* wrong for the heads of a wider array"),
    "four axes": Row(doubled(lambda x, _: x.ndim == 4), r"batches of four axes, as \(2, 2, n, d\)"),
    "one row": Row(doubled(lambda x, _: x.shape == (1, 32) and 2 < abs(x).max() < 2.2),
                   "^bug: outputs scaled by factors 1 to 2.*  at .*batches of one row"),
    "one token": Row(short_path, r"of batches of shape \(n, 1, d\)"),
    "single tokens": Row(squeezed, r"outputs of shape \(3, 3, 32\)"),
    "a batch of zeros": Row(lambda x, weight: rms(x, weight) if x.any() else x + 1, "only for a batch of zeros"),
    "frozen bias": Row(lambda x, weight, bias: layer(x, weight, bias if bias.requires_grad else None),
        "^bug: bias missing"),
    "zero gain": Row(doubled(lambda _, gain: (gain == 0).any()), "gains with zeros and large entries"),
    "training": Row(Own(lambda module, x, gain: rms(x, gain) * (1 + module.training), names=("weight",)),
                    "only for training mode", MANY),
    "writes": Row(beyond_the_end, "^bug: gain overwritten in place, at d = 1$", MANY),
    "padding": Row(lambda x, w: x * (square(x) + -x.shape[-1] % 16 / x.shape[-1] + EPS).rsqrt() * w,
                   "16, filled with 1,", MANY),
    "one component": Row(lambda x, w: rms(x, w, EPS * (x.shape[-1] > 1)), "^bug: eps missing.*d < 2$", MANY),
    "wide rows": Row(lambda x, w: rms(x, w) + (x.shape[-1] > 33), "only at d > 33$", MANY),
    # Call forms.
    "out": Row(lambda out, x, weight, eps: silent(out.copy_(rms(x, weight, eps)))),
    "part of out": Row(lambda out, x, weight: silent(out[..., :-1].copy_(rms(x, weight)[..., :-1])),
        "^bug: NaN or inf"),
    "nothing": Row(lambda x, weight, eps: None, "^bug: no output: x is left as it is, and nothing else is returned"),
    "NaN": Row(lambda x, weight, eps: x * torch.nan, "^bug: NaN or inf$"),
    "in place": Row(lambda x, weight, eps: silent(x.copy_(rms(x, weight, eps))), "^ok.*note +works in place"),
    "in place, by name": Row(rms_norm_, "^ok.*note +works in place"),
    "schema": Row(torch.ops.lngeom_test.rms_norm),
    "gain first": Row(lambda weight, x, eps=1e-6: rms(x, weight, eps), "^PROVED:.*^ok"),
    "a configuration": Row(Configured,
        "^PROVED.*^ok.*not tested in floats: residual other than None; the backward pass; rows of"),
    "x called n": Row(lambda n: rms(n, 1), "^PROVED: .*^ok"),
    "any arguments": Row(lambda *x: rms(x[0], 1), "^PROVED: .*^ok"),
    "an offset of 0": Row(lambda x, weight, eps, offset=0.0: rms(x, weight + offset, eps), "^PROVED:.*^ok"),
    "no gain without bias": Row(lambda x, weight=None, bias=None: layer(x, None if bias is None else weight, bias),
        "^bug: gain missing; only for no bias given"),
    "more outputs": Row(statistics,
                        "^ok.*note +outputs are of float64 for rows of float32.*floats: output 3; the backward pass"),
    "buffer": Row(Own(lambda _, *given: layer(*given), "buffer"), "^ok(?!.*no gradient)", LAYER | MANY),
    "plain": Row(Own(lambda _, *given: layer(*given), "plain"), "^ok.*no gradient", LAYER | MANY),
    "unread": Row(Own(lambda _, x, gain: rms(x, 1), names=("scale",)), "^bug: gain missing", MANY),
    "buffer, backward": Row(Own(lambda _, *given: layer(*given), "buffer"),
        "^ok: .*; backward pass within rounding.*note +beta gets no gradient: a buffer", DERIVED),
    "plain, backward": Row(Own(lambda _, *given: layer(*given), "plain"),
        "^bug: backward pass wrong: gamma gets no gradient: not registered as a parameter", DERIVED),
    "std of d - 1": Row(Own(lambda _, x, g, b: (x - mean(x)) / (x.std(-1, keepdim=True) + EPS).sqrt() * g + b,
                            names=("mult", "added")), "ddof=1.*standard deviation in place of the", LAYER | MANY),
    # Fused with a residual or a gate.
    "residual in place": Row(lambda x, residual, w, eps: silent(x.copy_(rms(residual.add_(x), w, eps)))),
    "sum first": Row(lambda x, residual, weight: total(x, residual, weight)[::-1]),
    "residual after": Row(lambda x, residual, weight: rms(x, weight) + residual,
                          "^ok.*note +the residual is added after the norm"),
    "residual twice": Row(lambda x, residual, weight: rms(x, weight) + 1.001 * residual, "the residual is not added"),
    "residual left out": Row(lambda x, residual, weight: (rms(x, weight), x + residual),
                             "^bug: residual not added before the norm"),
    "residual alone": Row(lambda x, residual, weight: (rms(residual, weight), x + residual),
                          "^bug: residual normalized alone"),
    "sum": Row(total, r"^ok: proved to compute weight∘RMSNorm\(x \+ residual; .*note +"
               "sum of input and residual rounded before it is normalized", HALF),
    "sum as PyTorch": Row(total, "^ok", HALF | {"spec": "torch"}),
    "not the sum": Row(lambda x, residual, weight: (rms(x + residual, weight), x), "the sum that is returned", HALF),
    "gate": Row(gated),
    "gate after": Row(
        lambda x, gate, weight: (rms(x.float(), weight.float()) * functional.silu(gate.float())).to(x.dtype), "^ok",
        HALF),
    "float64, gate": Row(lambda x, gate, w: of(square)(x, w) * functional.silu(gate), options={"dtype": "float64"}),
    "float64, sigmoid": Row(lambda x, w, z: of(square)(x, w) * torch.sigmoid(z), options={"dtype": "float64"}),
    "gate without eps": Row(lambda x, gate, weight: gated(x, gate, weight, 0.0), "^bug: eps missing$"),
    "sigmoid": Row(lambda x, weight, z: rms(x, weight) * torch.sigmoid(z),
                   r"^ok: within rounding; proved to compute weight∘sigmoid\(z\)∘RMSNorm"),
    # As they stand in public.
    "flagged": Row(Flagged, r"PROVED: flagged computes weight∘LayerNorm\(x; ε = 1e-05\) \+ bias.*^ok", {"kind": None}),
    "loop": Row(loop, r"statistics over the wrong axis \(axes 1, 2 instead of the last"),
    "unit": Row(lambda x: functional.normalize(x, dim=-1, eps=1e-12),
                r"divided by the norm, factor sqrt\(d\) and eps miss"),
    "divided": Row(lambda x: x / (x.pow(2).sum(-1, keepdim=True) / (x.shape[-1] - 1) + EPS).sqrt(),
                   r"^bug: sum of squares divided by d - 1.*note +NaN or infinite at d = 1$", MANY),
    "NumPy": Row(lambda x, eps=EPS: (x - x.mean(-1, keepdims=True)) / (x.std(-1, keepdims=True) ** 2 + eps) ** 0.5,
                 r"^PROVED: NumPy computes LayerNorm\(x; ε = eps\).*^ok.*\n  checked as  layernorm", {"kind": None}),
    # Which definition is meant.
    "torch": Row(rms, "^ok", HALF | {"spec": "torch"}),
    "llama": Row(lambda x, weight: weight * rms(x, torch.ones_like(weight)), "^ok", HALF | {"spec": "llama"}),
    "onnx": Row(lambda x, weight: weight * rms(x, torch.ones_like(weight)), "^ok", HALF | {"spec": "onnx"}),
    "gemma": Row(lambda x, weight: rms(x.float(), 1 + weight.float()).to(x.dtype), "^ok", GEMMA),
    "gemma, cast": Row(lambda x, weight: rms(x, torch.ones_like(weight)) * (1 + weight),
                       r"before the gain \(as Llama\) and gain rounded to bfloat16 \(1 . gain formed in it\)$", GEMMA),
}  # fmt: skip


@pytest.mark.parametrize("name", TOLD)
def test_the_report_on_a_kernel_says_what_its_row_says(name: str) -> None:
    finding = expected(TOLD, name, d=32)
    assert finding.passes(("",)) == (finding.verdict == "rounding")


CALLED = {name: fault for name, fault in faults(torch, "calls").items() if fault.options["d"]}  # others take seconds


@pytest.mark.parametrize("name", CALLED)
def test_a_check_names_a_fault_that_only_some_calls_show(name: str) -> None:
    hidden = name == "changed input"  # whose output is that of a correct kernel
    assert (expected(CALLED, name).worst_ratio > 1) is not hidden


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
def test_what_is_compiled_is_judged_by_its_outputs() -> None:
    finding = check(torch.jit.script(scripted), kind="rmsnorm", eps=EPS, d=8)
    assert re.match(
        "PASS: within rounding but not proved; forward pass only\n  not proved  it is compiled", str(finding)
    ), finding


def test_a_refused_note_fails_a_norm_that_is_right_and_is_no_cause_of_one_that_is_wrong() -> None:
    finding = replace(
        check(rms, kind="rmsnorm", eps=EPS, d=8), noted=(Statement("output dtype", "float64", "float32"),)
    )
    for word in ("Keeps the dtype", "output dtype"):  # of its sentence, and its kind
        told = finding.refusing((word,))
        assert (finding.passes(), told.passes(), told.verdict, told.cause) == (True, False, "variant", finding.notes[0])
    wrong = replace(finding, verdict="bug")
    assert wrong.refusing(("output dtype",)) is wrong


def test_a_row_is_shown_only_where_exact_arithmetic_confirms_that_it_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def shown(certain: Callable[[Trial], bool]) -> tuple[str, str]:
        monkeypatch.setattr(Trial, "certain", certain)
        finding = check(doubled(lambda x, weight: True), kind="rmsnorm", eps=EPS, d=8)
        return finding.verdict, finding.point.layout

    assert shown(lambda trial: trial.label.kind == "transposed") == ("bug", "a transposed array")
    assert shown(lambda trial: False) == ("rounding", "")


REFUSED: dict[str, tuple[Any, str]] = {
    "unknown purpose": (lambda x, weight, num_heads, eps: rms(x, weight, eps), "num_heads.*without it"),
    "no default": (lambda x, weight, eps, num_heads: rms(x, weight, eps), "num_heads"),
    "scaled": (lambda x, weight: ((rms(x, weight) * 8).round().to(torch.int8), 8), "of torch.int8"),
    "complex": (lambda x, weight: rms(x, weight) + 1j, "its outputs are complex numbers"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_norm_of_rows_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=REFUSED[name][1]):
        check(REFUSED[name][0], kind="rmsnorm", eps=EPS, d=16)


def test_a_sum_without_bound_is_refused() -> None:
    with pytest.raises(InputError, match="in float32 sums of more than 2097151 terms may lose every digit"):
        check(lambda x: rms(x, 1), kind="rmsnorm", eps=EPS, d=1 << 21)


def test_a_target_or_a_module_that_ends_the_process_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "script.py").write_text("import sys\nsys.exit(0)\n")
    monkeypatch.chdir(tmp_path)
    refused(said("check", "script:f"), "the module 'script' cannot be imported from here: SystemExit: 0")
    (tmp_path / "loop.py").write_text("while True:\n    pass\n")
    monkeypatch.setattr("lngeom.check.CheckOptions.seconds", 0.5)
    refused(said("check", "loop:f"), "the module 'loop' cannot be imported .* does not end within 0.5 s")
    (tmp_path / "ending.py").write_text("import os\ndef now():\n    os._exit(0)\n")
    for ends in ("sys:exit", "ending:now"):
        refused(said("sweep", ends, "--output", tmp_path / "run"), "ends the process with exit code 0; return a model")
    refused(said("check", "math:sqrt", "--refuse", ""), "refuse.* text is empty")
    refused(said("check", "math:sqrt", "--d", 0), "d is 0: rows have at least one component")
    (tmp_path / "norm.onnx").write_bytes(b"")
    refused(said("check", "norm.onnx"), "norm.onnx cannot be read .*is empty")
    (tmp_path / "listing.py").write_text("def f(x): return x.tolist()")
    refused(said("check", "listing.py:f", "--d", 8), "it returns a list")


def test_a_call_that_sleeps_uses_none_of_its_processor_time() -> None:
    with limited("a call", 0.1):
        time.sleep(0.5)


def test_full_memory_is_no_verdict_on_a_kernel() -> None:
    def kernel(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
        if not weight.all():  # one of the other gains
            raise MemoryError
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(EPS)) * weight

    with pytest.raises(MemoryError):
        check(kernel, kind="rmsnorm", eps=EPS, d=8)


def onnx_norm(axis: int = -1, *inputs: str, shape: Sequence[int | str] = ("a", 8)) -> bytes:
    """An ONNX file of one LayerNormalization with a gain, of an input of some shape."""
    import onnx
    from onnx import helper

    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name in "xy")
    gain = onnx.numpy_helper.from_array(np.linspace(0.5, 2, 8, dtype=np.float32), "g")
    node = helper.make_node("LayerNormalization", list(inputs or "xg"), ["y"], axis=axis)
    graph = helper.make_graph([node], "norm", [x], [y], [gain])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model.SerializeToString()


@pytest.mark.parametrize("rank", [2, 4])
def test_an_onnx_norm_over_its_last_axis_is_right_however_the_axis_is_counted(rank: int, tmp_path: Path) -> None:
    for package in ("onnx", "onnxruntime"):
        pytest.importorskip(package, reason="the packages onnx and onnxruntime are not installed")
    shape, path = [*"abc"[: rank - 1], 8], tmp_path / "norm.onnx"

    def written(axis: int, *inputs: str) -> Path:
        path.write_bytes(onnx_norm(axis, *inputs, shape=shape))
        return path

    for axis in (rank - 1, -1):
        done, told = said("check", written(axis))
        assert done == "done", told
    for inputs, axis in ((("x",), -1), (("x", "g", "none"), -1), (("x", "g"), 7)):
        refused(said("check", written(axis, *inputs)), "ONNX|norm|cannot be called")
