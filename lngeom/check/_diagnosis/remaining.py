"""Cotangents of further outputs: the sum that a fused kernel returns, and statistics of the rows."""

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._calls.fused import Fused
from .._trials.claim import Claim
from .._trials.unexamined import statistic


def further(claim: Claim, x: np.ndarray) -> Iterator[str]:
    """What is wrong with d/dx through each further output from which autograd of PyTorch goes back.

    Of the sum it is the cotangent itself, without rounding; of a statistic it is seen only whether it is dropped.
    """
    torch, kernel, x = importlib.import_module("torch"), claim.kernel, claim.stored(x)
    array: Any = kernel.array(x)
    leaf, fused = array.requires_grad_(), kernel.form.target
    output: Any = kernel.whole(leaf)
    outputs = [output, fused.total] if isinstance(fused, Fused) else output if isinstance(output, tuple) else [output]
    for i, values in enumerate(outputs[1:], start=2):
        if not getattr(values, "requires_grad", False):
            continue
        read = np.asarray(kernel.framework.read(values.detach()))
        what = "the sum" if isinstance(fused, Fused) else statistic(claim, x, read) or "no statistic"
        seed = torch.as_tensor(np.random.default_rng(i).integers(-8, 9, values.shape) / 4 + 0.125).to(values)
        gradient = torch.autograd.grad(values, leaf, seed, retain_graph=True, allow_unused=True)[0]
        if gradient is None or not gradient.any():
            yield f"d/dx through output {i}, {what}: its cotangent is dropped"
        elif what == "the sum" and not bool((gradient == seed).all()):
            factor = float((gradient * seed).sum() / (seed * seed).sum())
            yield f"d/dx through output {i}, the sum: not its cotangent, as if multiplied by {factor:.4g}"
