"""A norm layer and the numbers of its sketch in one kernel, which writes the very bits that the layer writes."""

from collections.abc import Hashable
from typing import Self

import torch
from torch import Tensor, nn
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.passes.split_module import split_module

from ._compiled import by_kernel, free
from ._sketch import row_numbers

_SAFE = {"add", "sub", "mul", "div", "neg", "reciprocal", "sqrt", "rsqrt"}
"""What is done to each component by itself, and by IEEE 754 has one result: a compiler that does not contract a product
and a sum to one operation changes no bit of it. A sum of many has as many results as there are orders to add in."""
_DTYPES = (torch.float32, torch.float64)
"""In 16 bits a layer rounds on its way what a kernel keeps."""
_GRAPHS: dict[Hashable, GraphModule | None] = {}


class FusedNorm:
    """The forward pass of a norm layer that computes the numbers of its sketch too.

    Up to its last reduction the layer runs operator by operator, as ever. The rest, and the numbers, are one kernel,
    so that neither side is read a second time. The first pass of each shape runs the layer itself as well: where a
    single bit differs, that shape is left to the layer and its hook.

    Args:
        module: The layer, whose forward pass this takes the place of while it is installed.
        graph: Its rows and parameters to its output and the numbers, traced.
        d: Length of a row.
    """

    def __init__(self, module: nn.Module, graph: GraphModule, d: int) -> None:
        self._module, self._forward, self._graph, self._d = module, module.forward, graph, d
        self._settings, self._alike = _settings(module), dict[tuple[torch.Size, torch.dtype], bool]()
        self._last: tuple[Tensor, Tensor, Tensor] | None = None

    def installed(self) -> Self:
        """This, in the place of the layer's own forward pass."""
        self._module.forward = self
        return self

    def remove(self) -> None:
        """Give the layer its own forward pass again."""
        del self._module.forward

    def __call__(self, *args: object, **kwargs: object) -> object:
        x, self._last = args[0] if len(args) == 1 and not kwargs else None, None
        if not isinstance(x, Tensor) or not self._fits(x):
            return self._forward(*args, **kwargs)
        case = (x.shape, x.dtype)
        if not self._alike.get(case, True):
            return self._forward(x)
        z, numbers = self._graph(free(x.view(-1, self._d), 0), *self._module.parameters())
        z = z.view(x.shape)
        if case not in self._alike:
            own = self._forward(x)
            self._alike[case] = z.dtype == own.dtype and torch.equal(z, own)
            if not self._alike[case]:
                return own
        self._last = x, z, numbers
        return z

    def _fits(self, x: Tensor) -> bool:
        traced = torch.is_grad_enabled() or torch.is_autocast_enabled(x.device.type) or torch.compiler.is_compiling()
        if traced or _settings(self._module) != self._settings:  # somebody set another ε since
            return False
        plain = type(x) is Tensor and x.device.type == "cpu" and x.is_contiguous() and x.numel() > 0
        return plain and x.dtype in _DTYPES and x.shape[-1] == self._d

    def numbers(self, x: Tensor, z: Tensor) -> Tensor | None:
        """Those of the last pass, float64, (5, N), if these are what entered and what left; they are given once."""
        last, self._last = self._last, None
        return last[2] if last is not None and last[0] is x and last[1] is z else None


class _Unhooked(nn.Module):
    """A layer whose hooks, a user's own, see nothing of being traced."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self._module = module

    def forward(self, x: Tensor) -> Tensor:
        return self._module.forward(x)


class _Kernel(nn.Module):
    """A graph that is compiled, for any number of rows."""

    def __init__(self, graph: nn.Module) -> None:
        super().__init__()
        self._graph = graph

    def forward(self, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        return by_kernel(self._graph, *(free(each, 0) if each.ndim > 1 else each for each in tensors))


def fused(module: nn.Module, d: int) -> FusedNorm | None:
    """The layer with its numbers fused to it; None where it is one operator, not traced, or altered already."""
    graph = None if "forward" in vars(module) else _graph(module, d)
    return None if graph is None else FusedNorm(module, graph, d)


def _graph(module: nn.Module, d: int) -> GraphModule | None:
    """Vectors (N, d) and the parameters to what the layer makes of them and the numbers; None: nothing is fused.

    Layers of one class with the same settings share it.
    """
    shapes = tuple((name, tuple(each.shape), each.dtype) for name, each in module.named_parameters())
    key = (type(module), d, _settings(module), shapes)
    if key not in _GRAPHS:
        try:
            _GRAPHS[key] = _split(module, d)
        except Exception:  # the layer is any code: what cannot be traced, in whatever way, runs and is measured as ever
            _GRAPHS[key] = None
    return _GRAPHS[key]


def _settings(module: nn.Module) -> tuple[tuple[str, object], ...]:
    return tuple((name, value) for name, value in vars(module).items() if isinstance(value, float | int | str | tuple))


def _split(module: nn.Module, d: int) -> GraphModule | None:
    bare = _Unhooked(module)
    parameters = dict(bare.named_parameters())

    def run(x: Tensor, *values: Tensor) -> Tensor:
        return torch.func.functional_call(bare, dict(zip(parameters, values, strict=True)), (x,))

    dtype = next((each.dtype for each in parameters.values()), torch.float32)
    if dtype not in _DTYPES:
        return None
    with torch.inference_mode(False), torch.no_grad():
        # What a layer writes in place becomes a value; where it writes into its input, the last node is that.
        traced = make_fx(torch.func.functionalize(run), tracing_mode="symbolic")(
            torch.ones(2, d, dtype=dtype), *parameters.values()
        )
    nodes = list(traced.graph.nodes)
    entering, (leaving,) = nodes[0], nodes[-1].args
    apart = [index for index, node in enumerate(nodes[:-1]) if node.op != "placeholder" and not _is_safe(node)]
    if not isinstance(leaving, Node) or not apart or nodes.index(leaving) < apart[-1]:
        return None
    if any(node.op == "get_attr" for node in nodes):  # a tensor of this layer, which others of the class do not have
        return None
    before = set(nodes[: apart[-1] + 1])
    with traced.graph.inserting_before(nodes[-1]):
        numbers = traced.graph.call_function(row_numbers, (entering, leaving, dtype))
    nodes[-1].args = ((leaving, numbers),)
    traced.recompile()
    split = split_module(traced, traced, lambda node: int(node not in before))
    split.submod_1 = _Kernel(split.get_submodule("submod_1"))
    return split


def _is_safe(node: Node) -> bool:
    packet = getattr(node.target, "overloadpacket", None)
    return packet is not None and packet.__name__ in _SAFE
