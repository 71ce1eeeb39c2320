"""The same network at another precision: every layer computes in one format, with the model's own parameters."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor, nn


@contextmanager
def computed_in(model: nn.Module, dtype: torch.dtype) -> Iterator[None]:
    """Let the layers of a model compute in `dtype`, whatever its parameters are stored in.

    Each layer's parameters are cast when it is called and put back when it has returned, so that no more than one
    layer is in memory twice. Steps for which the model's code names a format (the softmax of some attentions in
    float32, say) stay in that format. Widening a parameter is exact, narrowing rounds it. The model is unchanged when
    the block ends, also by an exception.
    """
    with ExitStack() as hooks:
        for module in model.modules():
            own = [name for name, value in module.named_parameters(recurse=False) if value.is_floating_point()]
            # Rows are looked up, then cast: the table may be the largest layer.
            if isinstance(module, nn.Embedding):
                hooks.callback(module.register_forward_hook(lambda _m, _a, rows: rows.to(dtype)).remove)
            elif own:
                cast = _Cast(own, dtype)
                hooks.callback(module.register_forward_pre_hook(cast.begin).remove)
                hooks.callback(module.register_forward_hook(cast.end, always_call=True).remove)
        yield


class _Cast:
    """The parameters of one layer, away while it is called."""

    def __init__(self, names: list[str], dtype: torch.dtype) -> None:
        self.names, self.dtype = names, dtype
        self.stored: dict[str, nn.Parameter] = {}

    def begin(self, module: nn.Module, _: tuple[Tensor, ...]) -> None:
        self.stored = {name: getattr(module, name) for name in self.names}
        for name, value in self.stored.items():
            setattr(module, name, nn.Parameter(value.detach().to(self.dtype), requires_grad=False))

    def end(self, module: nn.Module, _args: tuple[Tensor, ...], _output: object) -> None:
        for name, value in self.stored.items():
            setattr(module, name, value)
        self.stored = {}
