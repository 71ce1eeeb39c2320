"""Two forms of one model on the same tokens: the first norm whose output differs beyond rounding, and why."""

from dataclasses import dataclass
from typing import Any

import numpy
import torch

from lngeom.errors import InputError
from lngeom.rounding import FORMATS, REAL, Arithmetic, Case, Definition, Sample, diagnose

from ..models import behaviour, probes
from ._onnx import OnnxNorm


@dataclass(frozen=True)
class Diagnosis:
    """What :func:`compare_models` found.

    Attributes
    ----------
    sites : int
        Norms that both models have, in the order in which they run.
    first : str or None
        The first of them that computes something else in the port, given the same input.
    cause : str or None
        How the port's norm differs from the source's.
    differences : list of (site, cause)
        All that differ.

    Examples
    --------
    >>> from empirical.check import Diagnosis
    >>> Diagnosis(3, None, None, []).first is None
    True
    """

    sites: int
    first: str | None
    cause: str | None
    differences: list[tuple[str, str]]


def _recorded(model: torch.nn.Module, ids: torch.Tensor) -> list[tuple[str, torch.nn.Module, torch.Tensor]]:
    """Norms with their inputs, in the order of one forward pass."""
    found: list[tuple[str, torch.nn.Module, torch.Tensor]] = []
    handles = [
        module.register_forward_pre_hook(
            lambda m, inputs, name=name: found.append((name, m, inputs[0].detach().float()))
        )
        for name, module in model.named_modules()
        if type(module).__name__.lower().endswith("norm") and not list(module.children())
    ]
    try:
        with torch.no_grad():
            model(ids)
    finally:
        for handle in handles:
            handle.remove()
    return found


def compare_models(source: torch.nn.Module, port: torch.nn.Module | list[OnnxNorm], ids: Any) -> Diagnosis:
    """Run both on the token ids, then each norm of the port on the inputs of the source's: the first that differs.

    Of an ONNX file the port is the list of its norms, :func:`onnx_norms`, in the order in which they run.

    Both norms get the same vectors, so that an error further up does not hide one further down. The source's gain, bias
    and ε are read off its outputs; the port's outputs must lie in the family of that layer.

    Examples
    --------
    >>> import torch
    >>> from empirical.check import compare_models
    >>> source = torch.nn.Sequential(torch.nn.Embedding(9, 8), torch.nn.LayerNorm(8))
    >>> compare_models(source, source, [[1, 2, 3]]).first is None
    True
    """
    tokens = torch.as_tensor(ids)
    here = _recorded(source.eval(), tokens)
    there = port if isinstance(port, list) else [norm for _, norm, _ in _recorded(port.eval(), tokens)]
    if len(here) != len(there) or not here:
        raise InputError(f"the source runs {len(here)} norms and the port {len(there)}: compare two forms of one model")
    differences = []
    for (name, mine, x), other in zip(here, there, strict=True):
        cause = _difference(mine, other, x)
        if cause is not None:
            differences.append((name, cause))
    name, cause = differences[0] if differences else (None, None)
    return Diagnosis(len(here), name, cause, differences)


def _difference(mine: torch.nn.Module, other: torch.nn.Module | OnnxNorm, x: torch.Tensor) -> str | None:
    d = x.shape[-1]
    rows = x.reshape(-1, d)[:32].double().numpy()
    rows = numpy.concatenate([rows, probes(d).astype(numpy.float32).astype(float)])
    wanted, got = (_run(module, rows) for module in (mine, other))
    format_name = other.dtype.name if isinstance(other, OnnxNorm) else str(_dtype(other)).rpartition(".")[2]
    if numpy.array_equal(wanted, got):
        return None
    read = behaviour(rows, wanted, float(FORMATS[format_name].roundoff))
    if read is None or read.eps is None:
        return None if numpy.allclose(wanted, got) else "outputs differ, and the source's norm is not a known one"
    # The gain as the module stores it, if it is one of its parameters or 1 + one of them; else as it was read.
    own = [p.detach().double().numpy() for p in mine.parameters() if tuple(p.shape) == (d,)]
    gain, bias = (
        next((v for p in own for v in (p, 1 + p) if numpy.allclose(v, r, rtol=1e-3, atol=1e-3)), r)
        for r in (read.gain, read.bias)
    )
    attribute = next((getattr(mine, n) for n in ("eps", "variance_epsilon") if getattr(mine, n, None)), read.eps)
    base = Definition(
        read.kind == "layernorm", gain.astype(REAL), bias.astype(REAL) if read.bias.any() else None, float(attribute)
    )
    sample, arithmetic = Sample(rows), Arithmetic.of(format_name)
    case = Case(base, sample, got)
    if case.explained_by(base, arithmetic):
        return None
    theirs = behaviour(rows, got, float(FORMATS[format_name].roundoff))
    verdict, cause = diagnose([case], format_name, eps=(theirs.eps,) if theirs and theirs.eps else ())
    if cause is None and theirs is not None:
        gain_off, bias_off = abs(theirs.gain - read.gain).max(), abs(theirs.bias - read.bias).max()
        cause = f"gain off by up to {gain_off:.3g}, bias by up to {bias_off:.3g}"
    return f"{verdict}: {cause or 'no known variant, mistake or algorithm'}"


def _dtype(module: torch.nn.Module) -> torch.dtype:
    return next((p.dtype for p in module.parameters()), torch.float32)


def _run(module: torch.nn.Module | OnnxNorm, rows: numpy.ndarray) -> numpy.ndarray:
    if isinstance(module, OnnxNorm):
        return module(rows).astype(float)
    with torch.no_grad():
        return module(torch.tensor(rows).to(_dtype(module))).double().numpy()
