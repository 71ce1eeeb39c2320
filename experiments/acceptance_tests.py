"""Six public acceptance tests of norm kernels, scored: how many seeded faults they let pass, today and after a line.

``python -m experiments.acceptance_tests docs/results/acceptance_tests.csv`` writes the table, and ``lngeom check --test
experiments.acceptance_tests:flashinfer_rms_norm --kind rmsnorm`` scores one. Each test is rebuilt in our words from the
file that it names: its inputs, parameters and tolerance, the forward pass alone, with fewer rows, on the CPU, with
eps = 1e-5 and the exact definition as the reference. The two changes are one line each: the rows and parameters are
drawn by :func:`rows` as part of a wider array, and the outputs compared with the derived tolerance.
"""

import csv
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional

from empirical.check import score
from lngeom import tolerance

EPS, ODD = 1e-5, (70_002, 9)
"""ε, and more rows than 16 bits count, of an odd width; as one batch and as two."""
Inputs = tuple[Tensor, Tensor, Tensor]


def rows(n: int, d: int) -> Inputs:
    """Rows of several scales and means, massive entries in some; gain and bias drawn."""
    x = torch.randn(n, d) * torch.logspace(-3, 0.5, n)[:, None]  # float16 holds them with what follows
    x += torch.tensor([0.0, 1.0, -30.0, -1000.0])[torch.arange(n) % 4, None] * x.std(-1, keepdim=True)
    for row, component, factor in ((0, 0, 3000), (4, d // 3, 300), (6, -1, 300)):
        x[row::8, component] *= factor
    return x, torch.randn(d), torch.randn(d)


def drawn(mean: float, scale: float, gain: Callable[[int], Tensor], bias: Callable[[int], Tensor]) -> Any:
    """Rows of one scale around one mean."""
    return lambda n, d: (mean + scale * torch.randn(n, d), gain(d), bias(d))


@dataclass(frozen=True)
class Public:
    """A test; called with a kernel, whether it accepts it. Without `atol` the tolerance is the derived one."""

    source: str
    kind: Literal["layernorm", "rmsnorm"]
    draw: Callable[[int, int], Inputs]
    dtype: torch.dtype
    atol: float | None
    rtol: float
    shapes: tuple[tuple[int, int], ...]

    def __call__(self, kernel: Any) -> bool:
        torch.manual_seed(0)
        given = [self.draw(*shape) for shape in self.shapes]
        if self.atol is None:
            x, gain, bias = rows(*ODD)
            given += [(x, gain, bias), (x.unflatten(0, (2, -1)), gain, bias)]
        return all(self._accepts(kernel, *each) for each in given)

    def _accepts(self, kernel: Any, x: Tensor, gain: Tensor, bias: Tensor) -> bool:
        x, *given = (t.to(self.dtype) for t in ((x, gain, bias) if self.kind == "layernorm" else (x, gain)))
        x = functional.pad(x, (1, 1, 1, 0))[..., 1:, 1:-1] if self.draw is rows else x
        wide = [t.double() for t in given]
        if self.atol is None:
            name = str(self.dtype).removeprefix("torch.")
            allowed = tolerance(x.double().numpy(), *(t.numpy() for t in wide), eps=EPS, kind=self.kind, dtype=name)
            return bool(allowed.accepts(kernel(x, *given).double().numpy()))
        norm = functional.layer_norm if self.kind == "layernorm" else functional.rms_norm
        right = norm(x.double(), x.shape[-1:], *wide, eps=EPS).to(self.dtype)
        return torch.allclose(kernel(x, *given), right, atol=self.atol, rtol=self.rtol)


F32, BF16, F16 = torch.float32, torch.bfloat16, torch.float16
liger_layer_norm = Public(
    "Liger-Kernel, test/transformers/test_layer_norm.py", "layernorm", drawn(0, 1, torch.ones, torch.zeros),
    F32, 1e-5, 1e-5, ((16, 64), (64, 128), (1, 1023), (21, 256)),
)  # fmt: skip
triton_tutorial = Public(
    "Triton, python/tutorials/05-layer-norm.py", "layernorm", drawn(-2.3, 0.5, torch.rand, torch.rand),
    F16, 1e-2, 0, ((64, 1024),),
)  # fmt: skip
flashinfer_layer_norm = Public(
    "FlashInfer, tests/test_layernorm.py", "layernorm", drawn(0, 1, torch.randn, torch.randn),
    BF16, 1e-2, 1e-2, ((19, 128), (19, 1024)),
)  # fmt: skip
liger_rms_norm = Public(
    "Liger-Kernel, test/transformers/test_rms_norm.py", "rmsnorm", drawn(0, 1, torch.ones, torch.ones),
    BF16, 0.2, 0.02, ((64, 512), (45, 123)),
)  # fmt: skip
flashinfer_rms_norm = Public(
    "FlashInfer, tests/test_norm.py", "rmsnorm", drawn(0, 1, torch.randn, torch.randn),
    F16, 1e-3, 1e-3, ((1, 111), (19, 500), (19, 1024)),
)  # fmt: skip
vllm_rms_norm = Public(
    "vLLM, tests/kernels/core/test_layernorm.py at width 5120", "rmsnorm",
    drawn(0, 1 / (2 * 5120), lambda d: 1 + 0.1 * torch.randn(d), torch.zeros), BF16, 1e-2, 1e-2, ((7, 5120),),
)  # fmt: skip
COLUMNS: tuple[str, ...] = (
    "test",
    "kind",
    "dtype",
    "faults",
    "pass today",
    "with drawn rows",
    "and the derived tolerance",
    "left",
)


def line(test: Public) -> dict[str, str]:
    """The scores of a test and of what its two changes make of it."""
    better = replace(test, draw=rows)
    scores = [score(each, test.kind) for each in (test, better, replace(better, atol=None))]
    left = "; ".join(scores[-1].survivors)
    counts = (len(each.survivors) for each in scores)
    dtype = str(test.dtype).removeprefix("torch.")
    return dict(zip(COLUMNS, map(str, (test.source, test.kind, dtype, scores[0].faults, *counts, left)), strict=True))


if __name__ == "__main__":
    tests = [value for value in list(globals().values()) if isinstance(value, Public)]
    with Path(sys.argv[1]).open("w", newline="", encoding="utf-8") as file:
        columns: list[str] = [*COLUMNS]
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        for test in tests:
            writer.writerow(told := line(test))
            print(told, flush=True)
