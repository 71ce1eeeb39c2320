"""Autograd's pass over a program as a graph of its own operations: on traced arrays, and as it runs."""

import contextlib
import functools
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, SupportsFloat
from unittest import mock

import numpy as np
import torch
from torch import Tensor
from torch._decomp import decomposition_table
from torch.autograd.function import BackwardCFunction
from torch.fx.experimental.proxy_tensor import get_proxy_mode, make_fx
from torch.fx.node import Node, map_arg

from .allowed import World
from .arrays import Arr, given
from .grounds import Ground
from .programs import Backward
from .questions import asked, is_program
from .sizes import FEATURE
from .tensors import Tensor as Traced, dispatched, raised
from .torch_front import answering, safe, uninitialised
from .trace import Calls, Trace, program_line

_SIZES = (11, 5, 7, 13, 17)
"""Those that the graph is made at, d first: all different, so that none is taken for another one."""
Block = contextlib.AbstractContextManager[None]
_ALONE: Block = contextlib.nullcontext()
_CREATE = torch.fx.Graph.create_node
_FUSED = ("layer_norm", "group_norm", "batch_norm", "rms_norm")
_ASKED = ("__bool__", "__int__", "__float__", "__index__", "__hash__", "__str__", "__repr__", "__format__")
_OWN: dict[tuple[type, str], Any] = {
    (kind, name): getattr(kind, name, None) for kind in (torch.SymInt, torch.SymFloat, torch.SymBool) for name in _ASKED
}
_MEMORY = {name: getattr(Tensor, name) for name in ("is_contiguous", "stride", "storage_offset", "data_ptr")}


@dataclass
class Autograd(Backward):
    """The derivatives of a program as PyTorch computes them; `numbers` are parameters of size 1.

    A run of what is `watched` answers questions for circumstances, and notes what else its backward passes read.
    """

    numbers: tuple[str, ...]
    watched: Trace
    questions: list[tuple[Any, str]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    graphs: dict[tuple[str, ...], torch.fx.GraphModule] = field(default_factory=dict)
    calls: dict[tuple[str, ...], Calls] = field(default_factory=dict)
    forward: set[str] = field(default_factory=set)

    def _run(
        self, settings: Mapping[str, SupportsFloat], asked: Sequence[str], around: Block, v: Tensor, *tensors: Tensor
    ) -> tuple[Tensor | None, ...]:
        """The derivatives along a cotangent by what is asked for, None by what does not enter; `around` autograd."""
        names = [*self.leaves, *self.numbers]
        taken = [t.detach().requires_grad_(name in (asked or names)) for name, t in zip(names, tensors, strict=True)]
        named = dict(zip(names, taken, strict=True))
        d = named["x"].shape[self.axes.index((FEATURE,))]
        with torch.enable_grad(), uninitialised():
            function, arguments = self.program.called(named, d, settings)
            output: Any
            if isinstance(function, torch.nn.Module):
                buffers = dict(function.named_buffers())
                held = dict(function.named_parameters()) | buffers
                own = {path: named[safe(path)].reshape(t.shape) for path, t in held.items() if safe(path) in named}
                own |= {path: own[path].detach() for path in own.keys() & buffers.keys()}
                output = torch.func.functional_call(function, own, tuple(arguments))
            else:
                output = function(*arguments)
            output = output[0] if isinstance(output, tuple | list) else output
            if mode := get_proxy_mode():
                self.forward = {node.name for node in mode.tracer.graph.nodes}
            moving = {name: one for name in self.leaves if (one := named[name]).requires_grad}
            with around:
                found = torch.autograd.grad(output, [*moving.values()], v, allow_unused=True)
            return tuple(map(dict(zip(moving, found, strict=True)).get, self.leaves))

    def graph(self, *asked: str) -> torch.fx.GraphModule:
        """The operations for sizes without values, of the forward and of the backward pass; fused layers in parts."""
        if asked in self.graphs:
            return self.graphs[asked]
        labels = dict.fromkeys(label for dim in self.axes for label in dim if label != FEATURE)
        sizes = {FEATURE: _SIZES[0], **dict(zip(labels, _SIZES[1:], strict=False))}
        rows = [math.prod(sizes[label] for label in dim) for dim in self.axes]
        leaves = (rows if by_row else _SIZES[:1] for by_row in self.leaves.values())
        shapes = [rows, *leaves, *([] for _ in self.numbers)]
        tensors = [torch.ones(list(shape), dtype=getattr(torch, self.dtype)) for shape in shapes]
        parts = {op: how for op, how in decomposition_table.items() if any(name in str(op) for name in _FUSED)}
        run = functools.partial(self._run, self._settings(), asked, _ALONE)
        placing = mock.patch.object(torch.fx.Graph, "create_node", _placed)
        self.forward = set()
        quiet = mock.patch.object(logging.getLogger("torch.__trace"), "disabled", True)
        in_order = torch.backends.opt_einsum.flags(enabled=False)  # another order of products asks for sizes
        with answering(self.watched), self._asking(), placing, in_order, quiet:
            self.graphs[asked] = make_fx(run, parts, "symbolic")(*tensors)
        with answering(self.watched):  # as it runs: much other code makes a graph, loaded above
            self._run({}, asked, self._watching(), *tensors)
        return self.graphs[asked]

    @contextlib.contextmanager
    def _watching(self) -> Iterator[None]:
        """A block in which backward passes of the program may use what is allowed, and ask for what all arrays have."""
        world = World(self.watched, lambda name: self.program.front.knows(name) or _computes(name))
        world.built = True

        def lacking(tensor: Tensor, name: str) -> NoReturn:
            if is_program():
                self.watched.refused(f"it asks whether an array has {name} ({program_line().strip()})")
            raise AttributeError(name)

        with mock.patch.object(Tensor, "__getattr__", lacking, create=True), world.watching():
            yield
        world.close()

    @contextlib.contextmanager
    def _asking(self) -> Iterator[None]:
        """What the program asks of sizes without values: PyTorch takes them for more than 1, and may do so alone.

        It may not ask for memory, which is that of arrays of our own, nor change what a second backward pass reads.
        """

        def seen(name: str, tensor: Tensor, *others: Any, **options: Any) -> object:
            self.refused.append(f"the backward pass asks for {name} ({program_line().strip()})")
            return _MEMORY[name](tensor, *others, **options)

        def changed(context: object, name: str, value: object) -> None:
            if self.forward and is_program():
                line = program_line().strip()
                self.refused.append(f"the backward pass changes what ctx.{name} keeps ({line})")
            object.__setattr__(context, name, value)

        def answer(name: str, size: Any, *others: object) -> object:
            if not (isinstance(size, torch.SymBool) and size.node.expr in (True, False)):
                self.questions.append((size.node._expr, f" ({program_line().strip()})"))
            return _OWN[type(size), name](size, *others)

        with contextlib.ExitStack() as stack:
            for kind in (torch.SymInt, torch.SymFloat, torch.SymBool):
                names = [name for name in _ASKED if name in vars(kind)]
                stack.enter_context(mock.patch.multiple(kind, **asked(kind, names, answer)))
            stack.enter_context(mock.patch.multiple(Tensor, **asked(Tensor, _MEMORY, seen)))
            stack.enter_context(mock.patch.object(BackwardCFunction, "__setattr__", changed))
            yield

    def _settings(self) -> dict[str, float]:
        """A number of its own for each setting, by which it is known where it stands in the graph."""
        literals, numbers = self.program.literals, dict[str, float]()
        for k, (name, value) in enumerate(literals.values.items()):
            if not literals.is_constant(name):
                numbers[name] = value * (1 + 2.0**-21 * (1 + k))
                literals.names |= {numbers[name]: name, float(np.float32(numbers[name])): name}
        return numbers

    def traced(self, trace: Trace, v: Arr, *asked: str) -> dict[str, Arr | None]:
        """The derivatives on traced arrays, all or those `asked` for; refused where a graph is of some sizes alone."""
        graph = self.graph(*asked)
        guards = graph.shape_env.guards  # type: ignore[union-attr]
        for asked_of, line in [*self.questions, *((guard.expr, "") for guard in guards)]:
            shape = next(iter(graph.graph.nodes)).meta["val"].shape
            names = [f"axis {k}" for k, size in enumerate(shape) if size.node._expr in asked_of.free_symbols]
            trace.refuse(f"the backward pass depends on the size of {' and '.join(names) or 'an axis'} of x", line)
        replayed: Any = trace.calls.replayed
        for name in trace.calls.called[:1]:
            trace.refuse(f"nothing is known of the derivative of {replayed.kinds[name].name}", "")
        trace.calls = Calls(trace.ground, trace.symbols, None if type(trace.ground) is Ground else self.calls[asked])
        self.calls.setdefault(asked, trace.calls)  # terms say which calls of opaque functions are one
        trace.never(self.refused, "; ".join(self.refused[:1]))
        trace.never(self.watched.refusals, "; ".join(map(str, self.watched.refusals[:1])))
        graph.graph.eliminate_dead_code()
        made = [given(trace, name, self.axes if rows else ((FEATURE,),), v.dtype) for name, rows in self.leaves.items()]
        made += [given(trace, name, (), v.dtype) for name in self.numbers]
        inputs = map(raised, (v, *made))
        known: dict[Node, Any] = {}
        frozen = False
        for node in graph.graph.nodes:
            taken = map_arg((node.args, node.kwargs), known.__getitem__)
            if node.op == "output":
                by_name = zip(self.leaves, *taken[0], strict=True)
                return {name: None if tensor is None else tensor.arr for name, tensor in by_name}
            trace.never(node.op == "get_attr", f"autograd's pass holds the tensor {node.target}")
            if node.op == "call_function" and node.name not in self.forward and not frozen:
                frozen = True  # a second backward pass reads what the forward pass made
                for value in known.values():
                    if isinstance(value, Traced):
                        value.arr.memory.saved = True
            trace.line = node.meta.get("line", "")
            known[node] = next(inputs) if node.op == "placeholder" else _result(node, *taken)
        raise AssertionError("a graph ends with its output")

    def real(self, values: Mapping[str, np.ndarray], cotangent: str) -> dict[str, np.ndarray]:
        """The derivatives that run, of values by name: rows (n, d) fill the batch, two of its first axis."""
        d, place = values["x"].shape[-1], self.axes.index((FEATURE,))
        sizes = [-1, d] if len(self.axes) == 2 else [2, -1, *[1] * (len(self.axes) - 3), d]

        def laid(name: str, rows: bool) -> Tensor:
            array = np.moveaxis(values[name].reshape(sizes), -1, place) if rows else values[name]
            return torch.tensor(array).to(getattr(torch, self.dtype))

        tensors = [laid(cotangent, True), *(laid(name, rows) for name, rows in self.leaves.items())]
        derivatives = self._run(values, (), _ALONE, *tensors, *(laid(name, False) for name in self.numbers))
        found = zip(self.leaves.items(), derivatives, strict=True)
        known = ((name, place if by_row else 0, dx) for (name, by_row), dx in found if dx is not None)
        moved = ((name, np.moveaxis(dx.double().numpy(), axis, -1)) for name, axis, dx in known)
        return {name: dx.reshape(-1, d) for name, dx in moved}


def _computes(name: str) -> bool:
    """Whether it is an operation of ATen that gives arrays, which the graph shows."""
    packet = getattr(torch.ops.aten, name, None)
    forms = (getattr(packet, form)._schema for form in (packet.overloads() if packet else ()))
    return any("Tensor" in str(result.type) for form in forms for result in form.returns)


def _placed(graph: torch.fx.Graph, *args: Any, **options: Any) -> Node:
    """A new node, which keeps its line of the program."""
    node = _CREATE(graph, *args, **options)
    node.meta["line"] = program_line()
    return node


def _result(node: Node, args: Sequence[object], options: Mapping[str, object]) -> object:
    """One node: an operation of ATen, or arithmetic of sizes."""
    target = node.target
    assert callable(target)
    if not isinstance(target, torch._ops.OpOverload):
        return args[0] if target is torch.sym_float else target(*args)
    return dispatched(target, args, options)
