"""What became of ε, and faults of derivatives that no output tells: each rule names more kernels than one."""

import re
from typing import Any

import pytest
import torch
from torch.nn import functional

from empirical.check import check
from tests.kernels.derived import EPS, mean

LOST, ROOT = "eps lost: variance . eps is kept in float16, where 1e-09 is 0", "standard deviation in place of the"


def std(x: Any, correction: int = 0) -> Any:
    return x.std(-1, keepdim=True, correction=correction)


class Held(torch.nn.Module):
    """A LayerNorm whose gain and bias are parameters, a buffer, or plain tensors that it never registers."""

    def __init__(self, how: str, names: tuple[str, str] = ("gamma", "beta"), correction: int = 0) -> None:
        super().__init__()
        self.names, self.correction = names, correction
        for name, values in zip(names, (torch.ones(16), torch.zeros(16)), strict=True):
            made = values if how == "plain" else torch.nn.Parameter(values)
            self.register_buffer(name, values) if (how, name) == ("buffer", "beta") else setattr(self, name, made)

    def forward(self, x: Any) -> Any:
        gain, bias = (getattr(self, name) for name in self.names)
        return (x - mean(x)) / (std(x, self.correction) ** (2 - self.correction) + EPS).sqrt() * gain + bias


EPSILONS: dict[str, tuple[Any, str]] = {
    "missing": (lambda x, w: x / mean(x * x).sqrt() * w, "^eps missing$"),
    "missing, whole array": (lambda x, w: x / (x * x).mean().sqrt() * w, "statistics over the whole array"),
    "root": (lambda x, w, eps: x * torch.rsqrt((mean(x.float() ** 2) + eps).to(x.dtype)) * w, LOST),
    "square": (lambda x, w, eps: x / (mean(x.float() ** 2).to(x.dtype) + eps).sqrt() * w, LOST),
    "root twice": (lambda x, w, eps: x / (mean(x * x).sqrt() + eps).sqrt() * w, f"^{ROOT}"),
    "std of d - 1, names that say nothing": (Held("", ("mult", "added"), 1), f"ddof=1.*{ROOT}"),
}


@pytest.mark.parametrize("name", EPSILONS)
def test_what_became_of_eps_is_named(name: str) -> None:
    norm, told = EPSILONS[name]
    kind, eps = (
        "layernorm" if "std" in name else "rmsnorm",
        None if "missing" in name else 1e-9 if told is LOST else EPS,
    )
    half: dict[str, Any] = {"dtype": "float16", "d": 64} if told is LOST else {}  # such rows show it in any dimension
    finding = check(norm, kind=kind, eps=eps, **half)
    assert re.search(told, finding.cause or ""), finding
    assert ("no eps is given, stated or seen: the default, 1.19e-07, is meant" in finding.notes) == (not eps)
    if told is LOST:
        assert "eps" not in (check(norm, kind=kind, eps=1e-4, **half).cause or "")


@pytest.mark.parametrize(("left", "told"), [(0.0, "not computed: they are 0"), (-1e30, "wrong, which are right in")])
def test_rows_that_a_fixed_number_of_programs_leaves_out_are_named(left: float, told: str) -> None:
    def first_rows(x: Any, w: Any) -> Any:
        rows = x.reshape(-1, x.shape[-1])
        done = functional.rms_norm(rows[:48], rows.shape[-1:], w, EPS)
        return torch.cat([done, torch.full_like(rows[48:], left)]).view(x.shape)

    cause = check(first_rows, kind="rmsnorm", eps=EPS).cause
    assert cause is not None
    assert cause.startswith(f"rows after the first 48 of a batch are {told}")


def test_squares_that_float16_cannot_hold_are_named() -> None:
    def half_sum(x: Any, w: Any) -> Any:
        total = (x.half().square().sum(-1, keepdim=True)).float()
        return x * torch.rsqrt(total / x.shape[-1] + EPS) * w

    cause = check(half_sum, kind="rmsnorm", eps=EPS).cause or ""
    assert cause.startswith("the sum of the squares is kept in float16: beyond 65504 it is infinite, and outputs are 0")


@pytest.mark.parametrize(
    ("before", "told"),
    [
        (True, "1 + weight rounded to bfloat16, and normalized value cast to bfloat16 before the gain"),
        (False, None),
        (None, "gain rounded to bfloat16 (1 + gain formed in it)"),
    ],
)
def test_a_gain_that_is_rounded_itself_is_named(before: bool | None, told: str | None) -> None:
    class Norm(torch.nn.Module):
        def __init__(self, d: int) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(d))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = functional.rms_norm(x.float(), x.shape[-1:], eps=EPS)
            if before:
                return y.to(x.dtype) * (1 + self.weight)
            return (y * (1 + self.weight.float() if before is False else (1 + self.weight).float())).to(x.dtype)

    finding = check(Norm, kind="rmsnorm", eps=EPS, spec="gemma", dtype="bfloat16", d=64)
    assert finding.cause == told, finding


def _beyond_the_end(x: Any, w: Any) -> Any:
    y = functional.rms_norm(x, x.shape[-1:], w, EPS)
    w[: -x.shape[-1] % 8] = 0
    return y


def _at_random(x: Any, w: Any) -> Any:
    return functional.rms_norm(x, x.shape[-1:], w, EPS) * (1 + (torch.rand(x.shape[:-1]) < 0.05)[..., None])


OF_CALLS: dict[str, tuple[Any, str]] = {
    "writes": (_beyond_the_end, "^gain overwritten in place, at d = 1$"),
    "random": (_at_random, "^two calls in a row differ"),
    "ones": (lambda x, w: x * (mean(x * x) + -x.shape[-1] % 16 / x.shape[-1] + EPS).rsqrt() * w, "16, filled with 1,"),
    "one way": (lambda x, w: functional.rms_norm(x, x.shape[-1:], w, EPS * (x.shape[-1] > 1)), "^eps missing.*d < 2$"),
}


@pytest.mark.parametrize("name", OF_CALLS)
def test_what_a_call_does_at_times_or_in_some_dimensions_is_named(name: str) -> None:
    norm, told = OF_CALLS[name]
    assert re.search(told, check(norm, kind="rmsnorm", eps=EPS).cause or "")


@pytest.mark.parametrize("how", ["", "buffer", "plain"])
def test_gain_and_bias_without_a_gradient_are_named(how: str) -> None:
    forward, finding = (check(Held(how), kind="layernorm", eps=EPS, backward=b) for b in (False, True))
    wrong = "backward pass wrong: gamma gets no gradient: not registered as a parameter of the module"
    assert (finding.cause or "") == wrong * (how == "plain"), finding
    assert ("beta gets no gradient: a buffer" in finding.notes) == (how == "buffer")
    assert (forward.verdict, forward.gain, "no gradient" in str(forward)) == ("rounding", "weight", how == "plain")


RECOVERED = "the output recovered with the gain and bias of other components"
INSTEAD: dict[str, Any] = {
    f"{RECOVERED}, which depend on the row": lambda x, n, y, g, b: (
        (y - b[(at := torch.arange(len(y))[:, None] % len(g))]) / g[at]
    ),
    f"{RECOVERED} (of 1 for 0)": lambda x, n, y, g, b: (y - b.roll(-1)) / g.roll(-1),
    "the output less the bias": lambda x, n, y, g, b: y - b,
    "that of row i + 1 for row i": lambda x, n, y, g, b: n.roll(-1, 0),
}


@pytest.mark.parametrize("told", INSTEAD)
def test_what_stands_in_the_place_of_the_normalized_value_is_named(told: str) -> None:
    def norm(x: Any, gain: Any, bias: Any) -> Any:
        n = functional.layer_norm(x, x.shape[-1:], None, None, EPS)
        rows = (t.detach().reshape(-1, len(gain)) for t in (x, n, n * gain + bias))
        used = INSTEAD[told](*rows, gain.detach(), bias.detach()).reshape(x.shape)
        return n * gain.detach() + bias + (gain - gain.detach()) * torch.nan_to_num(used)

    cause = check(norm, kind="layernorm", eps=EPS, d=24, backward=True).cause or ""
    assert cause.startswith(f"backward pass wrong: d/dgain: in place of the normalized value {told}"), cause


def test_what_is_not_examined_of_a_fused_kernel_is_said() -> None:
    def norm(x: Any, gate: Any, weight: Any, linear_weight: Any) -> Any:
        return x * torch.rsqrt(mean(x * x) + EPS) * weight * functional.silu(gate) @ linear_weight.T

    left = check(norm, kind="rmsnorm", eps=EPS, d=8, backward=True).left
    assert "the activation of gate and its derivative" in left
    assert "another linear_weight than the identity, and the derivative by it" in left
