"""Derivatives of a norm kernel against the exact transposed Jacobian."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy

from lngeom.errors import InputError
from lngeom.rounding import Definition, Gradients

from ._inputs import DIMENSIONS, suite
from ._shrink import smallest_input

if TYPE_CHECKING:
    from ._check import Judge

_MISTAKES: dict[str, Callable[[int, Any], dict[str, Any]]] = {
    "mean of the cotangent not subtracted": lambda d, g: {"mean": 0},
    "term along the output missing": lambda d, g: {"along": 0},
    "both correction terms missing": lambda d, g: {"mean": 0, "along": 0},
    "gain missing": lambda d, g: {"gain": g * 0 + 1},
    "gain applied twice": lambda d, g: {"gain": g * g},
    "sum of the cotangent subtracted, not its mean": lambda d, g: {"mean": d},
    "sum along the output subtracted, not its mean": lambda d, g: {"along": d},
    "term along the output divided by d - 1": lambda d, g: {"along": d / (d - 1)},
    "term along the output doubled": lambda d, g: {"along": 2},
    "term along the output halved": lambda d, g: {"along": 0.5},
    "sign of the term along the output wrong": lambda d, g: {"along": -1},
    "sign of the mean of the cotangent wrong": lambda d, g: {"mean": -1},
}


@dataclass
class GradientTrial:
    """One derivative of one group of rows: what came out, and the box that holds every correct one."""

    name: str
    label: str
    x: numpy.ndarray
    cotangent: numpy.ndarray
    got: numpy.ndarray
    base: Definition
    judge: Judge

    def _floats(self) -> Gradients:
        return Gradients.of(self.x, self.base, self.judge.arithmetic)

    def _of(self, passed: Gradients) -> Any:
        return {"x": passed.of_input, "gain": passed.of_gain, "bias": passed.of_bias}[self.name]

    def __post_init__(self) -> None:
        with numpy.errstate(all="ignore"):
            low, high = self._of(self._floats())(self.cotangent)
            self.right, self.bound = (low + high) / 2, (high - low) / 2
            top = float(self.judge.arithmetic.storage.largest)
            within = numpy.clip(self.got, -top, top)  # inf is right where the exact value may be larger
            ratio = numpy.where(within == self.right, 0, abs(within - self.right) / self.bound)
            void = ~numpy.isfinite(self.bound)
            self.ratio = numpy.where(void, 0, numpy.where(numpy.isnan(within), numpy.inf, ratio)).astype(float)

    @property
    def wrong(self) -> numpy.ndarray:
        """Rows outside, as floats see it."""
        return self.ratio.max(axis=-1) > 1

    @property
    def worst(self) -> tuple[int, int]:
        """Row and component with the largest ratio."""
        row, component = numpy.unravel_index(numpy.argmax(self.ratio), self.ratio.shape)
        return int(row), int(component)

    @property
    def input(self) -> list[Any]:
        """The row, or for derivatives by parameters all rows, at which it is worst."""
        return self.x[self.worst[0]].tolist() if self.name == "x" else self.x.tolist()

    @property
    def evidence(self) -> tuple[float, float, float]:
        """The worst component: computed, exact, and how far a correct kernel may be off."""
        return float(self.got[self.worst]), float(self.right[self.worst]), float(self.bound[self.worst])

    def outside(self) -> bool:
        """Whether the worst component is outside the box in fractions too."""
        row, component = self.worst
        rows = slice(row, row + 1) if self.name == "x" else slice(None)
        passed = Gradients.exactly(self.x[rows].tolist(), self.base, self.judge.arithmetic)
        if passed is None:
            return False
        low, high = self._of(passed)(self.cotangent[rows])
        top = float(self.judge.arithmetic.storage.largest)
        return not low[0, component] <= numpy.clip(self.got[row, component], -top, top) <= high[0, component]

    def resembles(self, mistake: Callable[[int, Any], dict[str, Any]]) -> bool:
        """Whether the derivative by x with some mistake lies as close to what came out as a correct one may."""
        d, gain = self.x.shape[-1], self.base.gain
        options = mistake(d, numpy.ones(d) if gain is None else gain)
        with numpy.errstate(all="ignore"):
            low, high = self._floats().of_input(self.cotangent, **options)
        return bool(((low <= self.got) & (self.got <= high) | ~numpy.isfinite(self.bound)).all())


def check_gradient(judge: Judge, d: int, *, several: bool) -> tuple[str, str | None, list[GradientTrial]]:
    """Verdict, cause and trials of the derivatives by x, gain and bias, the evidence first; of many d if `several`."""
    trials = sorted(_trials(judge, d, several=several), key=lambda trial: -trial.ratio.max())
    doubtful = sorted((trial for trial in trials if trial.wrong.any()), key=lambda trial: trial.x.shape[-1])
    # Of each derivative the first that fractions refute is the evidence; where floats alone do, none.
    of_each = ([trial for trial in doubtful if trial.name == name] for name in ("x", "gain", "bias"))
    proved = [trial for group in of_each if (trial := next((t for t in group if t.outside()), None))]
    if not proved:
        return "rounding", None, trials
    names = [trial.name for trial in proved]
    wrong = [trial for trial in doubtful if trial.name in names]
    telling = [trial for trial in wrong if trial.name == "x" and trial.x.shape[-1] > 3]
    known = [text for text, how in _MISTAKES.items() if telling and all(trial.resembles(how) for trial in telling)]
    cause = f"backward pass wrong: {', '.join(f'd/d{name}' for name in names)}"
    cause += f": {known[0]}" if known else ""
    where = {trial.label for trial in wrong}
    return "bug", cause + (f", only for {where.pop()}" if len(where) == 1 else ""), [*proved, *wrong]


def smallest_gradient(judge: Judge, worst: GradientTrial) -> GradientTrial:
    """A trial of one row as short and as simple as can be on which the derivative by x is wrong, or `worst`."""
    if worst.name != "x":
        return worst
    row, fixed = worst.x[worst.worst[0]], judge.kernel.fixed is not None
    small = smallest_input(lambda x: gradient_at(judge, x, worst.label)[0], row, fixed=fixed)
    return small if small is not None and small.outside() else worst


def gradient_at(
    judge: Judge, x: numpy.ndarray, label: str = "", *, lead: tuple[int, ...] = (-1,)
) -> list[GradientTrial]:
    """The derivatives at the rows `x`, with cotangents of order 1, of batches with the leading axes `lead`."""
    x = judge.stored(x)
    cotangent = judge.stored(numpy.random.default_rng(7).normal(size=x.shape))
    cotangent = numpy.ones_like(x) if not lead else cotangent
    computed = _computed(judge, x, cotangent, lead)
    base = judge.base(x.shape[-1])
    return [
        GradientTrial(name, label, x, cotangent, numpy.reshape(got, (-1, x.shape[-1])), base, judge)
        for name, got in computed.items()
    ]


def _trials(judge: Judge, main: int, *, several: bool) -> Iterator[GradientTrial]:
    groups = dict(suite(main, judge.kernel.dtype))
    for label, rows in groups.items():
        yield from gradient_at(judge, rows, label)
    ordinary = groups["ordinary rows"]
    yield from gradient_at(judge, ordinary, "one cotangent expanded to all components", lead=())
    others = [("batches of shape (2, n, d)", ordinary, (2, -1))]
    for d in DIMENSIONS if several else ():
        others += [(label, rows, (-1,)) for label, rows in [*suite(d, judge.kernel.dtype, rows=4)][:2] if d != main]
    for label, rows, lead in others:
        # A kernel may refuse a shape in any way its framework has; the forward pass has noted which.
        with contextlib.suppress(Exception):
            yield from gradient_at(judge, rows, label, lead=lead)


def _computed(
    judge: Judge, x: numpy.ndarray, cotangent: numpy.ndarray, lead: tuple[int, ...]
) -> dict[str, numpy.ndarray]:
    kernel, d = judge.kernel, x.shape[-1]
    read, shape = kernel.framework.read, (*(lead or (-1,)), d)
    given = dict(zip(("gain", "bias"), kernel.parameters(d), strict=True))
    own = kernel.leaves(d)
    leaves = {"x": kernel.array(x.reshape(shape))}
    leaves |= own or {name: kernel.array(p) for name, p in given.items() if p is not None and not kernel.holds(d)}

    def forward(*values: Any) -> Any:
        by_name = dict(zip(leaves, values, strict=True))
        return kernel.call(by_name["x"], (by_name.get("gain"), by_name.get("bias")), d)

    if kernel.framework.name == "torch":
        torch = importlib.import_module("torch")
        output = forward(*(leaf.requires_grad_() for leaf in leaves.values()))
        seed = kernel.array(cotangent.reshape(shape) if lead else numpy.ones(())).to(output.dtype).expand(output.shape)
        found = torch.autograd.grad(output, list(leaves.values()), seed, allow_unused=True)
        return {name: read(g) for name, g in zip(leaves, found, strict=True) if g is not None}
    if kernel.framework.name == "jax":
        jax = importlib.import_module("jax")
        output, pull = jax.vjp(forward, *leaves.values())
        found = pull(kernel.array(cotangent.reshape(shape)).astype(output.dtype))
        return {name: read(g) for name, g in zip(leaves, found, strict=True)}
    msg = f"{kernel.name} is a {kernel.framework.name} kernel: --backward needs PyTorch or JAX to differentiate it"
    raise InputError(msg)
