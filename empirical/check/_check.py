"""The check itself: a kernel on many inputs, each output held against the family of correct ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from lngeom.errors import InputError
from lngeom.rounding import (
    FORMATS,
    REAL,
    Arithmetic,
    Case,
    Definition,
    Sample,
    certainly_outside,
    diagnose,
    indistinct,
    rounded,
)

from ..models import behaviour, probes
from ._finding import Finding
from ._gradient import check_gradient, smallest_gradient
from ._inputs import DIMENSIONS, awkward, suite
from ._kernel import Kernel, resolve
from ._shrink import smallest_input

_ROWS_OF_BATCH = 4100


@dataclass
class Trial:
    """One group of rows through the kernel: what came out, and how far it is from the family of correct outputs."""

    label: str
    x: numpy.ndarray
    got: numpy.ndarray
    base: Definition
    ratio: numpy.ndarray

    @property
    def d(self) -> int:
        return self.x.shape[-1]

    @property
    def wrong(self) -> numpy.ndarray:
        return self.ratio.max(axis=-1) > 1

    @property
    def worst(self) -> int:
        """The row with the largest ratio."""
        return int(numpy.argmax(self.ratio.max(axis=-1)))

    def case(self, rows: int = 4) -> Case:
        """A few rows for the diagnosis: the worst, and others over the whole group."""
        worst = numpy.argsort(-self.ratio.max(axis=-1), kind="stable")[:rows]
        chosen = numpy.unique([*worst, *numpy.linspace(0, len(self.x) - 1, rows).astype(int)])
        return Case(self.base, Sample(self.x[chosen]), self.got[chosen])


class Judge:
    """A kernel with the definition that it is held against."""

    def __init__(self, kernel: Kernel, centered: bool, eps: float) -> None:
        self.kernel, self.centered, self.eps = kernel, centered, eps
        self.arithmetic = Arithmetic.of(kernel.dtype)

    def base(self, d: int) -> Definition:
        gain, bias = (None if p is None else p.astype(REAL) for p in self.kernel.parameters(d))
        return Definition(self.centered, gain, bias, self.eps)

    def stored(self, x: numpy.ndarray) -> numpy.ndarray:
        """`x` rounded to the dtype."""
        return rounded(x, self.kernel.dtype).astype(numpy.float64)

    def judged(self, label: str, x: numpy.ndarray, got: numpy.ndarray) -> Trial:
        """Outputs `got` of the rows `x`, both of shape (n, d), as a trial."""
        base = self.base(x.shape[-1])
        fit = base.family(Sample(x), self.arithmetic).fit(got)
        return Trial(label, x, got, base, fit.ratio)

    def certain(self, trial: Trial) -> bool:
        """Whether the worst row of a trial is wrong in exact arithmetic too."""
        row = trial.worst
        return certainly_outside(trial.x[row], trial.got[row], trial.base, self.arithmetic)

    def trial(self, label: str, x: numpy.ndarray) -> Trial:
        """The kernel on the rows `x`."""
        x = self.stored(x)
        got = self.kernel.run(x, *self.kernel.parameters(x.shape[-1]))
        if got.shape != x.shape:
            got = numpy.full_like(x, numpy.nan)
        return self.judged(label, x, got)


def check(
    target: Any,
    *,
    kind: str | None = None,
    eps: float | None = None,
    dtype: str = "float32",
    d: int | None = None,
    device: str | None = None,
    backward: bool = False,
    name: str | None = None,
) -> Finding:
    """Hold a norm against its exact definition on adversarial inputs, and say what it is.

    Parameters
    ----------
    target : callable or str
        ``f(x)``, ``f(x, gain)``, ``f(x, gain, bias)``, ``f(x, gain, bias, eps)`` on arrays of shape (..., d) of NumPy,
        PyTorch, JAX, Keras or TensorFlow, found by trying; a module, its class, or a factory ``f(d)``; or
        ``"module:name"``. Parameters are recognised by their usual names, else by this order.
    kind : {"layernorm", "rmsnorm"}, optional
        Default: by what it computes, then by its name.
    eps : float, optional
        Default: the module's own, the default of the parameter, or what is measured.
    dtype : {"float64", "float32", "bfloat16", "float16"}
    d : int, optional
        Default: that of the module; a kernel that takes any is tried at many.
    device : str, optional
    backward : bool
        Check the derivatives of a PyTorch or JAX kernel as well.
    name : str, optional
        What to call it in messages.

    Returns
    -------
    Finding

    Raises
    ------
    InputError
        It cannot be called, or `kind` or `eps` cannot be inferred.

    Examples
    --------
    >>> from empirical.check import check
    >>> import lngeom as lg
    >>> check(lambda x, gain: lg.rms_norm(x, gain, eps=1e-6), kind="rmsnorm", eps=1e-6, d=8).verdict
    'rounding'
    """
    if dtype not in FORMATS:
        raise InputError(f"dtype is {dtype!r}: the formats are {', '.join(FORMATS)}")
    if kind not in (None, "layernorm", "rmsnorm"):
        raise InputError(f"kind is {kind!r}: the norms are layernorm and rmsnorm")
    if isinstance(target, str):
        name, target = name or target, resolve(target)
    label = name or getattr(target, "__name__", type(target).__name__)
    kernel = Kernel(target, label, dtype, eps=eps, d=d, device=device)
    main = d or kernel.fixed or 64
    kind, eps, measured = _inferred(kernel, kind, eps, main)
    judge = Judge(kernel, kind == "layernorm", eps)
    notes: list[str] = []
    groups = list(suite(main, dtype))
    trials = [judge.trial("ordinary rows", groups[0][1])]
    state = _state(judge, groups[0][1])
    trials += _of_dimension(judge, groups)
    if d is None and kernel.fixed is None:
        for other in DIMENSIONS:
            if other != main:
                try:
                    trials += _of_dimension(judge, list(suite(other, dtype, rows=4)))
                except Exception as error:  # a kernel may refuse a dimension in any way its framework has
                    text = " ".join(str(error).split())[:80]
                    notes.append(f"refuses d = {other}: {type(error).__name__}: {text}")
    shapes, more = _shapes(judge, awkward(groups))
    trials += shapes
    notes += more
    verdict, cause = "rounding", None
    if state:
        verdict, cause = "bug", state
    elif any(trial.wrong.any() for trial in trials):
        verdict, cause = _explained(judge, trials, measured)
    failing = [trial for trial in trials if trial.wrong.any()]
    # The evidence is the worst of the rows of the smallest dimension that fails.
    failing.sort(key=lambda trial: (trial.d, -float(trial.ratio.max())))
    shown, exact = max(trials, key=lambda trial: float(trial.ratio.max())), False
    if failing and not state:
        # A row that floats accuse is evidence once fractions do; where none is, the floats were too near to tell.
        first, fixed = failing[0], kernel.fixed is not None
        small = smallest_input(lambda x: judge.trial(first.label, x), first.x[first.worst], fixed=fixed)
        proved = (trial for trial in filter(None, (small, *failing)) if judge.certain(trial))
        shown = next(proved, shown)
        exact = judge.certain(shown)
        if not exact:
            verdict, cause, failing = "rounding", None, []
    if verdict == "rounding":
        names = ", ".join(indistinct([trial.case() for trial in trials], dtype))
        notes += [f"undetectable by these inputs, within rounding: {names}"] if names else []
    elif backward:
        notes.append("the derivatives were not checked: those of the definition are not those of this forward pass")
    ratio, gradient_ratio = max(float(trial.ratio.max()) for trial in trials), None
    row, evidence = shown.x[shown.worst].tolist(), _evidence(judge, shown)
    if verdict == "rounding" and backward:
        verdict, cause, gradient = check_gradient(judge, main, several=d is None and kernel.fixed is None)
        gradient_ratio = max(float(trial.ratio.max()) for trial in gradient)
        if cause:
            worst = smallest_gradient(judge, gradient[0])
            ratio, exact, row, evidence = max(ratio, gradient_ratio), True, worst.input, worst.evidence
    gain = "none" if judge.base(main).gain is None else "1 + weight" if cause and "1 + gain" in cause else "weight"
    record = (verdict, cause, kind, float(eps), gain, dtype, ratio, row)
    return Finding(*record, *evidence, tuple(notes), exact, gradient_ratio)


def _inferred(kernel: Kernel, kind: str | None, eps: float | None, d: int) -> tuple[str, float, tuple[float, ...]]:
    """Kind and ε where not given, and the ε that the kernel's behaviour shows."""
    x = rounded(probes(d, kernel.dtype), kernel.dtype).astype(numpy.float64)
    found = None
    if d > 2:
        got = kernel.run(x, *kernel.parameters(d))
        found = behaviour(x, got, float(FORMATS[kernel.dtype].roundoff)) if got.shape == x.shape else None
    if kind is None:
        named = kernel.name.lower()
        kind = found.kind if found else "rmsnorm" if "rms" in named else "layernorm" if "layer" in named else None
        if kind is None:
            msg = f"{kernel.name} computes neither norm, and its name does not say which it should: give --kind"
            raise InputError(msg)
    measured = (float(found.eps),) if found and found.eps is not None and found.eps > 0 else ()
    if eps is None:
        own = kernel.eps if kernel.eps is not None else found.eps if found else None
        if own is None:
            raise InputError(f"{kernel.name} does not state its eps, and its outputs do not reveal it: give --eps")
        eps = float(f"{own:.2g}") if kernel.eps is None else own
    return kind, eps, measured


def _of_dimension(judge: Judge, groups: Sequence[tuple[str, numpy.ndarray]]) -> list[Trial]:
    """All groups of one dimension in one call."""
    rows = numpy.concatenate([x for _, x in groups])
    whole = judge.trial("all", rows)
    ends = numpy.cumsum([len(x) for _, x in groups])
    parts = zip(groups, ends - [len(x) for _, x in groups], ends, strict=True)
    return [Trial(label, whole.x[i:j], whole.got[i:j], whole.base, whole.ratio[i:j]) for (label, _), i, j in parts]


def _state(judge: Judge, x: numpy.ndarray) -> str | None:
    """Whether a call depends on earlier ones, changes its input, or returns a buffer that the next call overwrites."""
    kernel, d = judge.kernel, x.shape[-1]
    parameters = kernel.arrays(d)
    first, second = judge.stored(x), judge.stored(x[::-1] * 2 + 1)
    given, read = kernel.array(first), kernel.framework.read
    output = kernel.call(given, parameters, d)
    before = read(output)
    if not numpy.array_equal(read(given), first):
        return "input overwritten in place"
    other = read(kernel.call(kernel.array(second), parameters, d))
    if not numpy.array_equal(read(output), before, equal_nan=True):
        return "output buffer reused: the next call overwrites it"
    again = read(kernel.call(kernel.array(first), parameters, d))
    if not numpy.array_equal(again, before, equal_nan=True):
        for got in (again, before):
            if judge.judged("repeated call", first, got).wrong.any():
                return "depends on earlier calls (stale state)"
    if judge.judged("second call", second, other).wrong.any() and not judge.judged("", first, before).wrong.any():
        fresh = read(kernel.call(kernel.array(second[:1]), parameters, d))
        if numpy.allclose(other, before, equal_nan=True) or not judge.judged("", second[:1], fresh).wrong.any():
            return "depends on earlier calls (stale state)"
    return None


def _shapes(judge: Judge, x: numpy.ndarray) -> tuple[list[Trial], list[str]]:
    """One row, one row alone, three axes, strided memory, many rows."""
    kernel, trials, notes = judge.kernel, [], []
    x = judge.stored(x)
    n, d = x.shape
    parameters = kernel.parameters(d)
    together = kernel.run(x, *parameters)

    def tried(label: str, rows: numpy.ndarray, run: Any) -> None:
        try:
            got = run()
        except Exception as error:  # refused, in whatever way the framework has
            notes.append(f"refuses {label}: {type(error).__name__}: {' '.join(str(error).split())[:80]}")
            return
        if got.size != rows.size:
            notes.append(f"output of shape {got.shape} for {label}")
            got = numpy.full_like(rows, numpy.nan)
        trials.append(judge.judged(label, rows, got.reshape(rows.shape)))

    def alone(count: int) -> numpy.ndarray:
        return numpy.concatenate([kernel.run(x[i : i + 1], *parameters) for i in range(min(n, count))])

    tried("single vectors of shape (d,)", x[:2], lambda: numpy.stack([kernel.run(row, *parameters) for row in x[:2]]))
    tried("batches of one row", x[:3], lambda: alone(3))
    cube = x[: n // 2 * 2].reshape(2, -1, d)
    tried("batches of shape (2, n, d)", cube.reshape(-1, d), lambda: kernel.run(cube, *parameters))
    arrays = kernel.arrays(d)
    for label, values, view in (
        ("every other component of a wider array", numpy.repeat(x, 2, axis=-1), lambda a: a[..., ::2]),
        ("a transposed array", x.T.copy(), lambda a: a.T),
    ):

        def viewed(values: numpy.ndarray = values, view: Any = view) -> numpy.ndarray:
            return kernel.framework.read(kernel.call(view(kernel.array(values)), arrays, d))

        tried(label, x, viewed)
    # All different, so that a row computed in the place of another one is seen.
    many = judge.stored(numpy.random.default_rng(d).normal(size=(_ROWS_OF_BATCH if d <= 1024 else 64, d)))
    tried(f"batches of {len(many)} rows", many, lambda: kernel.run(many, *parameters))
    if not numpy.array_equal(alone(4), together[:4], equal_nan=True):
        notes.append("not batch invariant: a row alone gives other bits than in a batch")
    return trials, notes


def _explained(judge: Judge, trials: list[Trial], measured: tuple[float, ...]) -> tuple[str, str | None]:
    """Verdict and cause: what explains all, else what explains the failing groups, else where it fails."""
    dtype = judge.kernel.dtype
    if (axis := _other_axis(judge, trials[0])) is not None:
        return "bug", axis
    if _rows_mix(judge, trials[0]):
        return "bug", "the output of a row depends on the other rows of its batch"
    # The failing ones first, so that a wrong explanation is given up early.
    whole = sorted(trials, key=lambda trial: (not trial.wrong.any(), trial.d > 300))
    # At d = 1 a divisor d − 1 gives NaN, which no definition is compared with: more components name it.
    several = [trial for trial in whole if trial.d > 1]
    chosen = several if any(trial.wrong.any() for trial in several) else whole
    verdict, cause = diagnose([trial.case() for trial in chosen], dtype, eps=measured)
    if cause is not None:
        return verdict, cause
    failing = [trial for trial in whole if trial.wrong.any()]
    condition = _condition(judge, trials)
    part = []
    cases = [trial.case() for trial in failing if trial.wrong.all()] or [trial.case() for trial in failing[:1]]
    # Rows whose variance vanishes would alone let anything without ε explain whatever comes out.
    least = 16 * float(judge.arithmetic.work.tiny)
    if any((case.base.exact(case.sample)[1] > least).any() for case in cases):
        verdict, cause = diagnose(cases, dtype, eps=measured)
        part = [cause] if cause and verdict != "unstable" else []  # an algorithm would show everywhere
    return "bug", "; ".join([*(part or [_symptom(trials)]), *([condition] if condition else [])])


def _other_axis(judge: Judge, trial: Trial) -> str | None:
    """Whether the statistics are those of the columns, or of the whole array."""
    base, x = trial.base, trial.x.astype(REAL)
    gain = 1 if base.gain is None else base.gain
    bias = 0 if base.bias is None else base.bias
    for text, axes in (
        ("statistics over the wrong axis (over the rows of the batch)", (0,)),
        ("statistics over the whole array instead of each row", (0, 1)),
    ):
        center = x.mean(axes, keepdims=True) if base.centered else 0
        square = ((x - center) ** 2).mean(axes, keepdims=True)
        expected = (x - center) / numpy.sqrt(square + base.eps) * gain + bias
        # Fewer than d·n roundings: far below the differences of order 1 between rows and columns.
        allowed = 4 * x.size * 2.0 ** -FORMATS[judge.kernel.dtype].bits * (1 + abs(expected))
        if (abs(trial.got - expected) <= numpy.minimum(allowed, 0.05 * abs(expected).max())).all():
            return text
    return None


def _rows_mix(judge: Judge, trial: Trial) -> bool:
    """Whether the first rows, wrong in their batch, differ by more than rounding when each is a batch alone."""
    alone = numpy.concatenate([judge.trial("", row).got for row in trial.x[:3, None]])
    unit = 2.0 ** -FORMATS[judge.kernel.dtype].bits * (1 + abs(alone))
    return bool(trial.wrong[:3].any() and (abs(alone - trial.got[:3]) > 64 * trial.d * unit).any())


def _condition(judge: Judge, trials: list[Trial]) -> str | None:
    """Where it fails, if that is only in some dimensions, groups or batches."""
    # Shapes and batches are tried at one dimension: they do not tell in which others it fails.
    everywhere = {trial.label for trial in trials if trial.d != trials[0].d}
    dims = {trial.d for trial in trials}
    bad = {trial.d for trial in trials if trial.wrong.any() and trial.label in everywhere} or dims
    found = []
    if bad != dims:
        good = dims - bad
        block = next((b for b in (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024) if bad == {d for d in dims if d % b}), None)
        if block:
            found.append(f"only at d that is not a multiple of {block}")
        elif min(bad) > max(good):
            found.append(f"only at d > {max(good)}")
        elif max(bad) < min(good):
            found.append(f"only at d < {min(good)}")
        else:
            found.append(f"only at d = {', '.join(map(str, sorted(bad)))}")
    labels = {trial.label for trial in trials if trial.d in bad}
    wrong = {trial.label for trial in trials if trial.wrong.any()}
    if wrong != labels and len(wrong) <= len(labels) // 2:
        text = " and ".join(sorted(wrong))
        for trial in trials:
            if wrong == {trial.label} and trial.label.startswith("batches of") and not trial.wrong[0]:
                text = f"row {int(numpy.flatnonzero(trial.wrong)[0])} and later rows of {trial.label}"
        found.append(f"only for {text}")
    return ", ".join(found) or None


def _symptom(trials: list[Trial]) -> str:
    """What is wrong, seen from the components."""
    wrong = [trial for trial in trials if trial.wrong.any()]
    rows = [(t.d, r) for t in wrong for r in t.ratio[t.wrong]]
    if all(not numpy.isfinite(t.got[t.wrong]).all(axis=-1).any() for t in wrong):
        return "NaN or inf"
    limit = {abs(value) for t in wrong for value in t.got[t.ratio > 1]}
    if len(limit) == 1 and all(abs(t.got).max() <= max(limit) for t in trials) and max(limit) > 0:
        return f"output limited to ±{max(limit):.3g}"
    places = [numpy.flatnonzero(r > 1) for _, r in rows]
    # A row of large mean holds so wide a family that one wrong component may look like several.
    for which, at in (("last", -1), ("first", 0)):
        one = [p.tolist() == [range(d)[at]] for p, (d, _) in zip(places, rows, strict=True) if d > 1]
        if one and sum(one) > 0.8 * len(one):
            return f"{which} component wrong"
    start = min(int(p[0]) for p in places)
    if start > 0:
        return f"components from {start} on wrong"
    return "no known variant, mistake or algorithm"


def _evidence(judge: Judge, trial: Trial) -> tuple[float | None, float | None, float | None]:
    """The worst component of the worst row: computed, exact, and the half-width of its interval."""
    row = trial.worst
    i = int(numpy.argmax(trial.ratio[row]))
    sample = Sample(trial.x[row : row + 1])
    exact = float(trial.base.output(sample)[0, i])
    low, high = trial.base.family(sample, judge.arithmetic).box()
    return float(trial.got[row, i]), exact, float(max(high[0, i] - exact, exact - low[0, i]))
