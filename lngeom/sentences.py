"""What a diagnosis says: values, on which every decision is taken, and the one table of their English sentences."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, init=False)
class Statement:
    """A kind, a key of SENTENCES, and the values of its places; its text is made when it is printed.

    Sets of values are printed in alphabetical order with "and", tuples in their own order with commas.
    """

    kind: str
    values: tuple[object, ...]

    def __init__(self, kind: str, *values: object) -> None:
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "values", values)

    def __str__(self) -> str:
        if self.kind == "several":
            parts = [(value, str(value)) for value in self.values if isinstance(value, Statement)]
            return "".join(f"{'; ' if value.kind in _BESIDE else ' and '}{text}" for value, text in parts)[5:]
        return SENTENCES[self.kind].format(*map(_printed, self.values))

    @property
    def ways(self) -> Iterator["Way"]:
        """All ways that it tells."""
        for value in self.values:
            for one in value if isinstance(value, frozenset | tuple) else (value,):
                yield from (one,) if isinstance(one, Way) else one.ways if isinstance(one, Statement) else ()


class Way(Statement):
    """How rows are given to a norm: a group of rows, or a shape, memory or mode."""


class Cause(Statement):
    """Why outputs are not those of the definition."""

    @property
    def parts(self) -> tuple["Cause", ...]:
        """The causes that hold together."""
        return tuple(part for part in self.values if isinstance(part, Cause)) if self.kind == "several" else (self,)

    @property
    def kinds(self) -> set[str]:
        """The kinds of its parts."""
        return {part.kind for part in self.parts}

    def renamed(self, kinds: dict[str, str]) -> "Cause":
        """With other kinds in place of some, whose sentences have no places."""
        return several(*(Cause(kinds[p.kind]) if p.kind in kinds else p for p in self.parts))


def several(first: Cause | None, *others: Cause | None) -> Cause:
    """The causes that hold together as one; at least one is given."""
    parts = [part for cause in (first, *others) if cause is not None for part in cause.parts]
    return parts[0] if len(parts) == 1 else Cause("several", *parts)


_REFUSED = re.compile(r"refuses d = (\d+):")


def joined(texts: Iterable[str]) -> tuple[str, ...]:
    """Sentences, of those that say which d is refused for the same reason one alone."""
    alike = dict[str, list[str]]()
    for text in texts:
        alike.setdefault(re.sub(r"\d+", "", text) if _REFUSED.match(text) else text, []).append(text)
    return tuple(map(_together, alike.values()))


def _together(texts: list[str]) -> str:
    sizes = [int(found[1]) for text in texts if (found := _REFUSED.match(text))]
    powers = len(sizes) > 3 and all(d & (d - 1) for d in sizes)
    which = "every d tried but powers of 2" if powers else f"d = {', '.join(map(str, sizes))}"
    return _REFUSED.sub(f"refuses {which}:", texts[0])


_BESIDE = {"where", "beyond", "only for", "later rows", "d not multiple", "d above", "d below", "d only"}
"""Kinds of causes that say where another one shows."""


def _printed(value: object) -> object:
    if isinstance(value, frozenset):
        return " and ".join(sorted(map(str, value)))
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return str(value) if isinstance(value, Statement) else value


# fmt: off
SENTENCES = {
    # Groups of rows, and ways to give them.
    "ordinary": "ordinary rows", "small": "rows of small variance", "large mean": "rows of large mean",
    "massive": "rows with a massive entry", "large": "rows of large values", "subnormal": "subnormal rows",
    "zero": "zero rows", "constant": "constant rows", "nearly constant": "nearly constant rows",
    "probes": "rows of many sizes", "one entry": "rows with one entry", "ordered": "ordered rows",
    "batch": "a batch of {} rows", "other eps": "calls with eps = {:g}",
    "odd gains": "gains with zeros and large entries",
    "gains of one": "gains of one with a bias", "biases of zero": "biases of zero with a gain",
    "training": "training mode", "no gradients": "calls under torch.no_grad()", "of dtype": "rows of {}",
    "inference": "calls under torch.inference_mode()", "autocast": "calls under torch.autocast",
    "compiled": "calls where torch.compiler.is_compiling()", "traced": "calls where torch.jit.is_tracing()",
    "exported": "calls where torch.onnx.is_in_onnx_export()",
    "five axes": "batches of five axes, as (2, 2, 1, n, d)", "strided": "gain and bias that are not contiguous",
    "other dtype": "gain and bias of {}", "no gain": "no gain given",
    "no bias": "no bias given", "vectors": "single vectors of shape (d,)", "single": "batches of one row",
    "zeros": "a batch of zeros", "tokens": "batches of shape (n, 1, d)", "no rows": "no rows",
    "three axes": "batches of three axes, as (2, n, d)", "four axes": "batches of four axes, as (2, 2, n, d)",
    "many": "batches of {} rows", "grid": "rows of a batch of {}",
    "every other component": "every other component of a wider array",
    "first components": "the first components of a wider array", "every other row": "every other row of an array",
    "last components": "the last components of a wider array", "last rows": "the last rows of an array",
    "one later": "memory that begins one element later", "transposed": "a transposed array",
    "three exchanged": "three axes, two exchanged", "heads": "the heads of a wider array",
    "four exchanged": "four axes, two exchanged", "cotangent transposed": "a transposed cotangent",
    "cotangent expanded": "one cotangent expanded to all components", "batch of one": "a batch of one row",
    "one sign": "{} terms of {} rows of one sign", "alone": "the derivative by {} alone",
    "second backward": "a second backward pass through one graph (retain_graph=True)",
    "another forward": "a backward pass that follows a forward pass of other rows",
    "input changed": "rows changed in place before the backward pass, which ctx.save_for_backward would have refused",
    "output changed": "an output changed in place before the backward pass, which ctx.save_for_backward refuses",
    "accumulated": "what y.backward() leaves in .grad", "cotangent scaled": "cotangents multiplied by {:g}",
    "cotangent of one row": "one row of cotangents expanded to all rows (stride 0)",
    "cotangent later": "cotangents with a storage offset, as behind torch.cat", "wide": "a row of {} components",
    "shared": "gain and bias that share memory", "two axes": "a normalized_shape of two axes",
    "eps before": "a backward pass that follows a forward pass with another eps",
    "freed": "a backward pass after x is freed", "another thread": "a backward pass in another thread",
    "square": "as many rows as components", "kept": "a result that is read after another backward pass",
    "beside grad": "torch.autograd.grad where an earlier backward pass has left .grad",
    "second batch": "a second batch, with .grad and main_grad of the first",
    "create graph": "a backward pass with create_graph=True",
    "saved elsewhere": "saved tensors in other memory (saved_tensors_hooks, as offloading does)",
    "default dtype": "calls under torch.set_default_dtype(torch.bfloat16)",
    "parameters changed": "parameters changed in place after an earlier call",
    # Variants and mistakes of the definition.
    "cast gain": "normalized value cast to {} before the gain (as Llama)",
    "cast root": "reciprocal of the root cast to {} before the product",
    "cast row": "reciprocal of the root cast to {}, products not: one error for the whole row",
    "gain plus 1": "gain used as 1 + gain (as Gemma)", "gain rounded": "gain rounded to {} (1 + gain formed in it)",
    "gain plus 1 rounded": "gain used as 1 + gain, rounded to {} (as Nemotron)", "eps outside": "eps outside the root",
    "eps inside": "eps inside the root", "ddof": "variance divided by d - 1 (ddof=1)",
    "no mean": "mean not subtracted (RMSNorm)", "mean": "mean subtracted (LayerNorm)",
    "eps max2": "eps multiplied by max|x|^2", "eps lost": "eps missing, or 0 as a number of float16",
    "eps missing": "eps missing", "eps squared": "eps squared",
    "eps floor": "eps as a lower limit of the variance instead of a summand",
    "eps floor of root": "eps as a lower limit of the deviation instead of a summand",
    "eps on sum": "eps added to the sum of squares, not to their mean", "eps d": "eps multiplied by d",
    "eps max": "eps multiplied by max|x|", "eps variance": "eps multiplied by the variance",
    "eps both": "eps added inside and outside the root", "eps twice": "eps added twice",
    "eps on reciprocal": "eps added to the reciprocal of the root", "eps root": "root of eps added outside the root",
    "no root": "square root missing (divided by the variance)", "root twice": "square root taken twice",
    "deviation in root": "standard deviation in place of the variance (root taken twice)",
    "not divided": "not divided by the root", "multiplied": "multiplied by the root instead of divided",
    "by variance": "multiplied by the variance instead of divided by its root",
    "times variance": "normalized value multiplied by the variance",
    "norm": "divided by the norm, factor sqrt(d) missing",
    "norm no eps": "divided by the norm, factor sqrt(d) and eps missing", "d twice": "divided by d once too often",
    "d plus 1": "sum of squares divided by d + 1",
    "mean absolute": "mean absolute value instead of the root mean square",
    "largest absolute": "largest absolute value instead of the root mean square",
    "only twice": "normalized twice", "twice": "normalized twice, gain and bias once",
    "all twice": "normalized twice, gain and bias both times",
    "d less 1": "sum of squares divided by d - 1", "mean in variance": "mean subtracted in the variance only",
    "mean not in variance": "mean missing in the variance", "mean added": "mean added instead of subtracted",
    "median": "mean replaced by the median", "absolute mean": "absolute value of the mean subtracted",
    "first subtracted": "first component subtracted from all before, which rounds each by the size of that one",
    "deviation": "divided by the standard deviation instead of the root mean square",
    "mean not in square": "mean subtracted, yet not in the mean square",
    "deviation ddof": "divided by the standard deviation instead of the root mean square, with divisor d - 1",
    "no last": "last component left out of the statistics",
    "no last in sums": "last component left out of the sums, divisor d",
    "no first": "first component left out of the statistics",
    "no first in sums": "first component left out of the sums, divisor d",
    "every other": "statistics of every other component",
    "first k": "statistics over a part of the row: components 0 to {}",
    "first half": "statistics of the first half only", "gain missing": "gain missing", "gain squared": "gain squared",
    "gain less 1": "gain used as gain - 1", "gain absolute": "absolute value of the gain used",
    "gain sign": "sign of the gain wrong", "gain divided": "divided by the gain",
    "gain exponential": "exponential of the gain used", "gain first": "only the first gain used for all components",
    "gain reversed": "gain in reverse order", "gain shifted": "gain shifted by one component",
    "gain shifted back": "gain shifted back by one component", "gain doubled": "gain multiplied by 2",
    "gain halved": "gain halved", "gain before": "gain applied before the normalization",
    "gain plus 1 before": "1 + gain applied before the normalization (as Muse Spark)",
    "gain both": "gain applied before and after the normalization", "gain no last": "last component without the gain",
    "bias missing": "bias missing", "bias subtracted": "bias subtracted", "bias twice": "bias added twice",
    "bias halved": "bias halved", "bias reversed": "bias in reverse order",
    "bias shifted": "bias shifted by one component", "bias first": "only the first bias used for all components",
    "bias gain": "bias multiplied by the gain (added before it)", "exchanged": "gain and bias exchanged",
    "bias before": "bias added before the normalization", "bias divided": "bias divided by the root as well",
    "bias carried": "bias divided by the root and multiplied by the gain", "input float16": "input rounded to float16",
    "input TF32": "input rounded to TF32 (11 bits)",
    "input TF32 ties": "input rounded to TF32 (11 bits, ties away from zero)",
    "input TF32 cut": "input cut off to TF32 (11 bits)", "input bfloat16 cut": "input cut off to bfloat16",
    "input bfloat16": "input rounded to bfloat16", "eps other": "eps = {:.4g}",
    "another eps": "another eps for {}: the one that is given does not enter",
    "tail statistics": "components after the last whole block of {} left out of the statistics",
    "tail sums": "components after the last whole block of {} left out of the sums",
    "tail gain": "components after the last whole block of {} without the gain",
    "tail bias": "components after the last whole block of {} without the bias", "multiple": "a multiple of {}",
    "power of 2": "the next power of 2", "padding statistics": "padding to {} counted in the statistics",
    "padding variance": "padding to {} counted in the variance",
    "padding variance sums": "padding to {} counted in sum and divisor of the variance",
    "padding mean": "padding to {} counted in the mean", "padding divisor": "variance divided by d padded to {}",
    # Algorithms, and what is measured of the scale.
    "one-pass": "one-pass variance mean(x^2) - mean(x)^2, whose relative error grows as kappa^2",
    "one-pass in": "one-pass variance in {}", "toward zero": "output rounded toward zero in {}, not to nearest",
    "kept half": "intermediate results kept in {} (half-precision accumulation)",
    "kept low": "intermediate results kept in {} (lower precision)",
    "approximate": "approximate reciprocal square root (off by up to {:.2g}, {:.1f} digits left)",
    "multiplied by": "normalized value multiplied by {}", "output multiplied": "output multiplied by {:.6g}",
    "clamped": "variance clamped {} at {:.3g}", "scale": "outputs scaled by factors {:.3g} to {:.3g}",
    "scale below": "outputs scaled by factors {:.3g} to {:.3g} in rows of variance below {:.3g}",
    "padding filled": "padding to a multiple of {}, filled with {:.3g}, counted in the statistics",
    "quantity rounded": "{} rounded to {} (half-precision accumulation)",
    # What a kernel refuses, or does although its outputs are right.
    "refused": "refuses {}: {}", "not examined": "{} not examined: {}", "beyond end": "{} at {} ({})",
    "works in place": "works in place", "residual after": "the residual is added after the norm",
    "forks": "a call forks other processes, which are not examined",
    "interpreted":
        "interpreted: order and rounding of sums are not the GPU's, and a load without `other` gives 0 beyond its mask",
    "filed": "outputs read from files: repeated calls, layouts in memory and mixed dtypes were not examined",
    "too large": "shapes, memory and batches are not tried at more than {} components",
    "not batch invariant": "batch invariant: {1:,} of {2:,} rows have other bits {3} than in the whole batch",
    "not deterministic": "deterministic: {1:,} of {2:,} rows have other bits {3}",
    "same bits": "{} has the same bits {}",
    "bits unknown": "undecided: whether bits are the same in every {} is neither proved nor seen",
    "bits differ": "not the same bits in every {}: {}",
    "contiguous": "contiguous arrays only",
    "if contiguous": "if your callers pass contiguous arrays only, --contiguous leaves the others out",
    "strides of gain": "reads a gain or bias that is not contiguous as if it were",
    "to other dtype":
        "with gain and bias of {0} rows of {1} are right to {0} alone, to which they are cast before the gain",
    "read as own dtype": "reads {} as if they were of {}",
    "output dtype": "outputs are of {} for rows of {}, where PyTorch keeps the dtype",
    "products in autocast":
        "under torch.autocast its products of matrices are computed in bfloat16: errors {:.3g} times the allowed one",
    "eps by default": "no eps is given, stated or seen: the default, {:.3g}, is meant",
    "infinite at": "NaN or infinite at d = {}",
    "derivatives not read": "the derivatives were not examined: {}",
    "derivatives not checked": "the derivatives were not checked: the forward pass is wrong",
    "derivatives not examined": "the derivatives were not examined: no error bounds are derived for this formula",
    "derivatives are numbers":
        "the derivatives were only checked for NaN, at finite outputs: no error bounds are derived for this formula",
    "bounds by hand": "the error bounds for the derivatives are derived by hand",
    "statistics kept": "statistics kept in {} for the backward pass: one error for the whole row",
    "statistics kept for gain": "statistics kept in {} for d/dgain",
    "buffer": "{} gets no gradient: a buffer",
    "unregistered": "{} gets no gradient: not registered as a parameter of the module",
    # Faults that calls show, and what is normalized instead of each row.
    "eps ignored": "the eps that is given is ignored: {:g} and {:g} give the same outputs",
    "output shape": "outputs of shape {} for {}", "at d": "{}, at d = {}", "in d": "{}, d = {}",
    "overwritten": "{} overwritten in place", "buffer reused": "output buffer reused: the next call overwrites it",
    "stale": "depends on earlier calls (stale state)",
    "stale array": "depends on earlier calls: an array that was changed in place is answered as before (stale state)",
    "stale parameters": "gain and bias of an earlier call are used after they were changed (stale state)",
    "copy bound": "a copy of the module (copy.deepcopy) uses the gain and bias of the original",
    "replaced ignored": "gain and bias given with torch.func.functional_call are ignored",
    "residual not in output": "the residual is not added to the output, as it is elsewhere",
    "other sum returned": "the sum that is returned is not that of input and residual, rounded once",
    "no sum": "neither the rounded nor the unrounded sum of input and residual is normalized",
    "cotangent dropped": "d/dx through output {}, {}: its cotangent is dropped",
    "cotangent changed": "d/dx through output {}, the sum: not its cotangent, as if multiplied by {:.4g}",
    "cotangent alone": "a cotangent of output {}, {}, alone",
    "cotangents together": "{} through outputs 1 and {} together: not the sum of those through each",
    "fault": "{}", "leak": "memory leak: every call keeps about as much memory as it returns",
    "no output": "no output: x is left as it is, and nothing else is returned",
    "unsteady": "two calls in a row differ on the same rows (noise, or a state that grows)",
    "rows not computed": "rows after the first {} of a batch are not computed: they are 0",
    "rows wrong": "rows after the first {} of a batch are wrong, which are right in a smaller batch",
    "rows mixed": "the output of a row depends on the other rows of its batch",
    "rows mixed by": "the output of a row depends on the other rows of its batch: {} of {}",
    "row step": "row i {} for row i", "one row": "row {} for all rows",
    "axis of rows": "statistics over the wrong axis (over the rows of the batch)",
    "whole array": "statistics over the whole array instead of each row",
    "axis": "statistics over the wrong axis (axis {} instead of the last; of {})",
    "axes": "statistics over the wrong axis (axes {} instead of the last; of {})",
    "halves": "statistics over a part of the row: of each half by itself (d = {})",
    "blocks": "statistics over a part of the row: of each block of {} components by itself (d = {})",
    "offset ignored": "storage offset ignored: wrong for {}",
    "strides ignored": "strides ignored, rows read as if they were contiguous: wrong for {}",
    "parameter strides": "strides of the {} ignored: read as if contiguous",
    "residual lost": "residual not added before the norm", "residual twice": "residual added twice before the norm",
    "residual subtracted": "residual subtracted, not added, before the norm",
    "residual halved": "residual halved when it is added before the norm",
    "residual alone": "residual normalized alone, without the input",
    "sum": "sum of input and residual {} before it is normalized",
    # Casts and conventions that are not those of the contract.
    "not cast": "normalized value not cast to {} before the gain", "1 twice": "1 added to the weight twice",
    "weight alone": "w used for 1 + w (plain where Gemma's is meant)",
    # What is fitted to outputs.
    "counted": "{} counted {} times in the statistics{}", "part": "statistics over a part of the row: {} of {}{}",
    "divisor": " / {}", "divisor d": ", divisor d", "times gain": "{:.3g} times the gain added",
    "of places": "{} {}", "without": "without the {}", "with 0": "with {} 0", "with another": "with another {}",
    "with later": "with the {} of {} components later",
    "power": "divided by the power {:g} of (variance + eps) instead of its root",
    "eps vanishes": "eps lost: variance + eps is kept in {}, where {:g} is 0: NaN or inf at small variance",
    "squares overflow": "the {} of the squares is kept in float16: beyond {:g} it is infinite, and outputs are 0",
    "gain bits": "gain read in another format: its bits in {} read as {}",
    "left out": "{} of {} left out: outputs are 0{}", "in statistics": ", and out of the statistics",
    "in sums": ", and out of the sums, divisor d", "two halves": "the two halves", "blocks of": "blocks of {}",
    "merged": "variances of {} merged without the distance of the means", "lanes": "{} lanes",
    # Symptoms, and where they show.
    "unknown": "no known variant, mistake or algorithm", "not finite": "NaN or inf", "zeros out": "outputs are 0",
    "not stated": "not {}: {}",
    "limited": "output limited to ±{:.3g}", "component wrong": "{} component wrong",
    "places wrong": "{} wrong (d = {})",
    "all": "all {}s", "none": "no {}s", "last": "the last {}", "at": "{} {}", "range": "{}s {} to {}",
    "period": "{} of each {}", "count": "{} of {} {}s, the first at {},", "runs": "{}s {}",
    "where": "{}", "d not multiple": "only at d that is not a multiple of {}", "d above": "only at d > {}",
    "d below": "only at d < {}", "d only": "only at d = {}", "only for": "only for {}",
    "later rows": "only for row {} and later rows of {}", "beyond": "beyond that {}",
    # Derivatives.
    "no gain in it": "gain missing", "gain twice in it": "gain applied twice",
    "gain after terms": "gain applied after the correction terms, not before",
    "gain again": "gain applied again after the correction terms",
    "mean without gain": "mean of the cotangent taken without the gain",
    "along without gain": "term along the output taken without the gain",
    "terms without gain": "both correction terms taken without the gain",
    "along times gain": "term along the output multiplied by the gain", "no r": "not divided by the root",
    "r twice": "divided by the root twice", "r thrice": "divided by the root three times",
    "no terms": "both correction terms missing", "no along": "term along the output missing",
    "times": "multiplied by {:.4g}", "times 6": "multiplied by {:.6g}", "is zero": "zero",
    "cotangent times": "cotangent itself multiplied by {:.4g}", "mean kept": "mean of the cotangent not subtracted",
    "mean sign": "sign of the mean of the cotangent wrong", "mean twice": "mean of the cotangent subtracted twice",
    "mean as in LayerNorm": "mean of the cotangent subtracted as in LayerNorm",
    "sum for mean": "sum of the cotangent subtracted, not its mean",
    "mean times": "mean of the cotangent multiplied by {:.4g}",
    "along sign": "sign of the term along the output wrong", "along twice": "term along the output doubled",
    "along halved": "term along the output halved", "along sum": "sum along the output subtracted, not its mean",
    "along ddof": "term along the output divided by d - 1",
    "along times": "term along the output multiplied by {:.4g}", "list": "{}", "zeros in": "{} zero",
    "output": "the output", "less bias": "the output less the bias", "c": "the deviation",
    "of row": "that of row i + {} for row i",
    "recovered of": "the output recovered with the gain and bias of other components (of {} for {})",
    "recovered": "the output recovered with the gain and bias of other components, which depend on the row",
    "mean of rows": "divided by the number of rows", "rows alone": "summed over the {} {} of {} rows alone",
    "shifted": "shifted by {} components", "reversed": "in reverse order",
    "first for all": "the first for all components", "in another order": "in another order of components",
    "input lost": "x gets no gradient", "no residual gradient": "no gradient for the residual",
    "detached contiguous":
        "no gradient: the output on contiguous rows is detached from them, that on a transposed array not",
    "detached": "no gradient: the output is detached from x, gain and bias, so that there are no derivatives to check",
    "backward": "backward pass wrong: {}{}{}{}", "raises": "backward pass wrong: it raises an error{1}: {0}",
    "infinite lost": "d/dx is finite in a row with an infinite cotangent",
    "infinite elsewhere": "d/dx is wrong in rows beside one with an infinite cotangent",
    "tangent": "the forward-mode derivative (jvp) is not that of the output", "not 0": "is not 0 for no rows",
    "NaN for": "backward pass wrong: d/d{} is NaN for {}, where the outputs are finite", "by": "d/d{}",
    "by so": "d/d{} {}", "by many": "d/d{} for {} rows of {}: as if summed in 16 bits",
    "that by": "that by {}", "two exchanged": "these two exchanged",
    "earlier": "of an earlier call", "known": ": {}",
    "in 16 bits": "as if summed over the rows in 16 bits", "NaN at 0": "NaN where the gain is 0", "NaN": "NaN",
    "instead": "in place of the normalized value {}", "gain instead": "d/dgain, in place of the normalized value {}",
    "cotangent strides": ": strides of the cotangent ignored, wrong only for {}", "in ways": ", only for {}",
    "except in ways": ", except for {}",
    "only in": ", only in {} of a batch of {}", "zero only in": ", zero only in {} of a batch of {}",
    "odd too": "; beyond that {} {}", "for": "for {}",
}
# fmt: on
