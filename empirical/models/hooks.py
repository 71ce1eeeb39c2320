"""Hooks that report calls of modules."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from torch import nn


@contextmanager
def watching(
    model: nn.Module, paths: Iterable[str], leave: Callable[..., None], enter: Callable[..., None] | None = None
) -> Iterator[None]:
    """Inside a ``with`` block, report each call of these modules by path, module and arguments, and where it fails.

    ``enter(path, module, args, kwargs)`` before it, ``leave(path, module, args, kwargs, output)`` after it, the output
    None if it failed.
    """
    with ExitStack() as hooks:
        for path in paths:
            module = model.get_submodule(path)
            if enter is not None:
                hooks.enter_context(module.register_forward_pre_hook(partial(enter, path), with_kwargs=True))
            left = module.register_forward_hook(partial(leave, path), with_kwargs=True, always_call=True)
            hooks.enter_context(left)
        yield
