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
    away: dict[nn.Module, dict[str, nn.Parameter]] = {}

    def begin(module: nn.Module, _: tuple[Tensor, ...]) -> None:
        own = {name: value for name, value in module.named_parameters(recurse=False) if value.is_floating_point()}
        away[module] = own
        for name, value in own.items():
            setattr(module, name, nn.Parameter(value.detach().to(dtype), requires_grad=False))

    def end(module: nn.Module, _args: tuple[Tensor, ...], _output: object) -> None:
        for name, value in away.pop(module, {}).items():
            setattr(module, name, value)

    with ExitStack() as hooks:
        for module in model.modules():
            # Rows are looked up, then cast: the table may be the largest layer.
            if isinstance(module, nn.Embedding):
                hooks.enter_context(module.register_forward_hook(lambda _m, _a, rows: rows.to(dtype)))
            elif any(True for _ in module.parameters(recurse=False)):
                hooks.enter_context(module.register_forward_pre_hook(begin))
                hooks.enter_context(module.register_forward_hook(end, always_call=True))
        yield
