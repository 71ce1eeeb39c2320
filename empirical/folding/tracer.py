"""A forward pass, recorded: every call, from which tensors and parameters to which; each norm is one call."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch._C._functorch import is_functorch_wrapped_tensor
from torch.overrides import TorchFunctionMode

from lngeom.cli import out_of_memory

from ..models import FoundNorm, norms, watching
from ..support import ModelError

Arguments = tuple[object, ...]
Options = dict[str, object]


def mapped(value: Any, change: Callable[[Any], Any], kind: type = Tensor) -> Any:
    """`value` with every tensor (or value of another `kind`) inside tuples, lists and dicts changed."""
    if isinstance(value, kind):
        return change(value)
    if type(value) in (tuple, list):
        return type(value)(mapped(entry, change, kind) for entry in value)
    if type(value) is dict:
        return {key: mapped(entry, change, kind) for key, entry in value.items()}
    return value


@dataclass(eq=False)
class Call:
    """One call: the function, its arguments with slot numbers in place of tensors, the slots that it made."""

    function: Callable[..., Any]
    args: Arguments
    kwargs: Options
    inputs: list[int]
    outputs: list[int]
    module: str
    norm: FoundNorm | None = None

    @property
    def name(self) -> str:
        """The name of the function, for messages."""
        return self.norm.kind if self.norm else getattr(self.function, "__name__", "a call")


@dataclass(frozen=True)
class _Slot:
    number: int


@dataclass(eq=False)
class Trace:
    """A recorded forward pass.

    A slot is one tensor at one time. A parameter has a slot for each name under which it is used, so that tied ones
    can be distinguished. ``boundaries`` are tensors that were handed to a module: path, argument and slot.
    """

    calls: list[Call] = field(default_factory=list)
    tensors: list[Tensor] = field(default_factory=list)
    maker: dict[int, Call] = field(default_factory=dict)
    users: dict[int, list[Call]] = field(default_factory=dict)
    parameters: dict[int, str] = field(default_factory=dict)
    boundaries: list[tuple[str, int | str, int]] = field(default_factory=list)
    results: list[int] = field(default_factory=list)

    def replay(self, call: Call, values: Mapping[int, Tensor]) -> Tensor | tuple[Tensor, ...]:
        """The result of the same call on other values, those in place of the recorded ones."""

        def fill(slot: _Slot) -> Tensor:
            return values.get(slot.number, self.tensors[slot.number]).clone()

        try:
            with torch.no_grad():
                return call.function(*mapped(call.args, fill, _Slot), **mapped(call.kwargs, fill, _Slot))
        except RuntimeError as error:
            if out_of_memory(error):
                raise
            reason = " ".join(str(error).split())[:120]
            raise ModelError(f"{call.name} in {call.module or 'the model'} is not made again: {reason}") from None


def _assigned(tensor: Tensor, key: Any, value: Tensor) -> Tensor:
    tensor[key] = value
    return tensor


class _Recorder(TorchFunctionMode):
    def __init__(self, model: nn.Module, norms: Mapping[str, FoundNorm]) -> None:
        super().__init__()
        self.trace, self._norms, self._model = Trace(), norms, model
        self._stack, self._held, self._muted = [""], {}, 0
        self._names: dict[int, list[str]] = {}
        stored = model.state_dict().keys()  # other buffers are computed again when a network is loaded
        for source in (model.named_parameters, model.named_buffers):
            for name, tensor in source(remove_duplicate=False):
                if name in stored:
                    self._names.setdefault(id(tensor), []).append(name)
        self._aliases: dict[str, int] = {}

    def _new(self, tensor: Tensor) -> int:
        self.trace.tensors.append(tensor)
        number = len(self.trace.tensors) - 1
        self._held[id(tensor)] = number
        return number

    def slot(self, tensor: Tensor) -> int:
        names = self._names.get(id(tensor))
        if names is None:
            return self._held[id(tensor)] if id(tensor) in self._held else self._new(tensor)
        here = [name for name in names if name.rpartition(".")[0] == self._stack[-1]] or names
        if here[0] not in self._aliases:
            self.trace.tensors.append(tensor)
            self._aliases[here[0]] = len(self.trace.tensors) - 1
            self.trace.parameters[self._aliases[here[0]]] = here[0]
        return self._aliases[here[0]]

    def record(
        self,
        function: Callable[..., Any],
        args: Arguments,
        kwargs: Options,
        result: object,
        norm: FoundNorm | None = None,
    ) -> None:
        outputs: list[Tensor] = []
        mapped(result, outputs.append)
        if not outputs:
            return
        inputs: list[int] = []

        def numbered(tensor: Tensor) -> _Slot:
            inputs.append(self.slot(tensor))
            return _Slot(inputs[-1])

        call = Call(function, mapped(args, numbered), mapped(kwargs, numbered), inputs, [], self._stack[-1], norm)
        call.outputs += [self._new(tensor) for tensor in outputs]
        self.trace.calls.append(call)
        self.trace.maker.update(dict.fromkeys(call.outputs, call))
        for number in inputs:
            self.trace.users.setdefault(number, []).append(call)

    def __torch_function__(
        self, func: Callable[..., object], types: object, args: tuple[Any, ...] = (), kwargs: Options | None = None
    ) -> object:
        tensors: list[Tensor] = []
        mapped([list(args), kwargs or {}], tensors.append)
        tensors = [tensor for tensor in tensors if not tensor.is_inference()]  # whose writes are not counted
        versions = [tensor._version for tensor in tensors]
        result = func(*args, **(kwargs or {}))
        if not self._muted:
            assigns = func is Tensor.__setitem__
            self.record(_assigned if assigns else func, args, kwargs or {}, args[0] if assigns else result)
            for tensor, version in zip(tensors, versions, strict=True):
                if tensor._version != version:
                    self._forget_aliases(tensor)
        return result

    def _forget_aliases(self, written: Tensor) -> None:
        """From here on, tensors that share memory with one that was written to come from an unknown call."""
        place = written.untyped_storage().data_ptr()
        for name in self._held:
            other = self.trace.tensors[self._held[name]]
            mapped_over = is_functorch_wrapped_tensor(other)  # inside vmap: it has no storage
            if not mapped_over and other is not written and other.untyped_storage().data_ptr() == place:
                self._new(other)

    def enter(self, path: str, _: nn.Module, args: Arguments, kwargs: Options) -> None:
        self._stack.append(path)
        if self._muted == 0:
            for key, value in (*enumerate(args), *kwargs.items()):
                if isinstance(value, Tensor) and id(value) in self._held:
                    self.trace.boundaries.append((path, key, self._held[id(value)]))
        self._muted += path in self._norms

    def leave(self, path: str, module: nn.Module, args: Arguments, kwargs: Options, result: object) -> None:
        if path in self._norms:
            self._muted -= 1
            self.record(module, args, kwargs, result, self._norms[path])
        self._stack.pop()


def find_norms(model: nn.Module, inputs: Mapping[str, Tensor]) -> dict[str, FoundNorm]:
    """The norm modules that a forward pass calls, by path, in the order of the calls."""
    if any(parameter.dtype == torch.float64 for parameter in model.parameters()):
        # Many RMSNorms go through float32 even then, which in float64 is another function.
        model = nn.Module.float(copy.deepcopy(model))  # transformers refuses it for models from GGUF files
        inputs = mapped(dict(inputs), lambda t: t.float() if t.is_floating_point() else t)
    all_norms = norms(model, dict(inputs)).found
    return {n.path: n for n in all_norms if n.calls and n.axis == -1 and n.placement == "inside"}


def tensors_of(model: nn.Module, inputs: Mapping[str, Tensor]) -> list[Tensor]:
    """The tensors among the outputs of a forward pass."""
    with torch.no_grad():
        outputs = model(**inputs)
    results: list[Tensor] = []
    mapped(dict(outputs) if hasattr(outputs, "keys") else outputs, results.append)
    return results


def trace(model: nn.Module, inputs: Mapping[str, Tensor]) -> Trace:
    """Record one forward pass."""
    if any(each.is_meta for each in model.parameters()):
        raise ModelError("the weights of the network are on the device meta, without numbers; load them first")
    recorder = _Recorder(model, find_norms(model, inputs))
    paths = [path for path, _ in model.named_modules()]
    with watching(model, paths, recorder.leave, recorder.enter), recorder:
        results = tensors_of(model, inputs)
    recorder.trace.results = [recorder.slot(tensor) for tensor in results]
    return recorder.trace
