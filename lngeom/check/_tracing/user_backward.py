"""User-written backward passes: functions of autograd that launch kernels."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .arrays import Arr, given
from .grounds import Ground
from .programs import Backward
from .sizes import form
from .tensors import Tensor, raised
from .trace import Trace, runs

Gradients = Mapping[str, Arr | None]
"""The derivative by each variable, None where the program gives none."""
Passes = tuple[Arr, Gradients]
"""Output and derivatives."""


@dataclass
class UserBackward(Backward):
    """A user-written backward pass, a function of autograd that launches kernels."""

    cotangent: str

    def paths(self) -> Iterator[tuple[Trace, Passes | Exception]]:
        """The run on terms on each path through its branches, with its result or its error."""

        def attempt(trace: Trace) -> Passes | Exception:
            try:
                return self.traced(trace)
            except Exception as error:  # a program may fail in any way
                return error

        return runs(lambda plan: Trace(Ground(), self.program.literals, planned=plan, backward=True), attempt)

    def traced(self, trace: Trace) -> Passes:
        """The output and the derivatives on one path.

        Raises:
            Refusal: The program is more than one function of autograd, or does what is not traced.
        """
        made: dict[str, Arr | None] = {}
        output = self.program.traced(trace, self.dtype, self.axes, lambda y: made.update(self._pulled(trace, y)))
        return output, made

    def _pulled(self, trace: Trace, output: Arr | None) -> Gradients:
        trace.never(not trace.kernels.functions, "it has no backward pass")
        trace.never(len(trace.kernels.functions) > 1, "several functions of autograd")
        ((function, context, inputs, ((first, value), *others)),) = trace.kernels.functions
        trace.never(not isinstance(first, Tensor), "a first output that is no array")
        same = output is not None and first.arr.memory is output.memory and output.value is value
        if not (same and output and output.labels == first.arr.labels == output.memory.labels):
            trace.refuse("derivatives of what is computed beside a function of autograd")
        v = given(trace, self.cotangent, self.axes, self.dtype).view(first.arr.axes)
        context.needs_input_grad = (True,) * len(inputs)
        for kept in (v, *(one.arr for one in _tensors(vars(context).values()))):
            kept.memory.saved = True  # a second pass reads it as well
        zeros = [raised(one.arr.filled(0)) if isinstance(one, Tensor) else None for one, _ in others]
        before = dict(vars(context))
        found = function.backward(context, raised(v), *zeros)
        changed = [name for name, value in vars(context).items() if before.get(name) is not value]
        trace.never(changed, f"the backward pass changes what {' and '.join(f'ctx.{name}' for name in changed)} keeps")
        found = found if isinstance(found, tuple) else (found,)
        more = len(found) < len(inputs) or any(one is not None for one in found[len(inputs) :])
        trace.never(more, f"{len(found)} derivatives by {len(inputs)} inputs")
        made: dict[str, Arr | None] = dict.fromkeys(self.leaves)
        for taken, gradient in zip(inputs, found, strict=False):
            if isinstance(taken, Tensor) and taken.arr.memory.name not in trace.symbols.numbers:
                name = taken.arr.memory.name
                if name not in self.leaves or taken.arr.labels != taken.arr.memory.labels:
                    trace.refuse("a function of autograd of something that is computed")
                trace.never(made[name] is not None, f"{name} enters a function of autograd twice")
                made[name] = self._of_leaf(name, taken.arr, gradient)
        return made

    def _of_leaf(self, name: str, taken: Arr, gradient: Any) -> Arr | None:
        """A derivative with the axes of the variable differentiated by."""
        if not isinstance(gradient, Tensor):
            return None
        arr = gradient.arr
        taken.trace.never(arr.axes != taken.axes, f"the derivative by {name} has the shape {form(arr.axes)}")
        taken.trace.never(arr.memory.undefined, f"the derivative by {name} is memory that nothing was written into")
        axes = self.axes if self.leaves[name] else [taken.labels]
        return Arr(taken.trace, arr.value, axes, arr.dtype, summed=arr.summed)


def _tensors(values: Iterable[Any]) -> Iterator[Tensor]:
    """The traced arrays among values, and in lists of them."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, tuple | list):
            yield from _tensors(value)
