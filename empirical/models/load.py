"""Loading base models and tokenizers of transformers, safely and quietly."""

import functools
import importlib.util
import io
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from unittest import mock

# Kernels of the hub replace the norms' forward on GPUs: hooks would then measure something else than the module says.
os.environ["USE_HUB_KERNELS"] = "0"

import numpy as np
import torch
import transformers
from rich.console import Console
from torch import nn
from transformers import AutoConfig, AutoModel, AutoTokenizer, PretrainedConfig, PreTrainedModel
from transformers.initialization import no_init_weights
from transformers.utils import logging as transformers_logging

from lngeom.files import Json

from ..support import ModelError, say
from .calls import text_config
from .families import Topology, family_of, sites_of, topology_of
from .sites import NormSite
from .source import ModelSource
from .weights import refuse_declared, refuse_integers, refuse_larger, unused_line, unused_weights

WIDE: Json = {"experts_implementation": "eager"}
"""Options of a network that runs in float64, which the default kernel of experts, ``grouped_mm``, does not know."""
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16, "float64": torch.float64}


@dataclass(frozen=True)
class LoadedModel:
    """A base model ready to be measured, from :func:`load_model`.

    Attributes:
        model: The base model, in evaluation mode.
        sites, topology: Its norm layers, in the order in which they run, and how they sit in the residual stream;
            empty and None for an architecture that is not in the table ``FAMILIES``, until they are discovered.
        revision: Commit on the hub, or hash of the local files.
        random_weights: Whether the weights were drawn at random from the configuration.
        unused: Weights of the checkpoint that the base model does not need, such as those of a head.
    """

    source: ModelSource
    model: nn.Module
    sites: tuple[NormSite, ...]
    topology: Topology | None
    revision: str
    random_weights: bool = False
    unused: tuple[str, ...] = ()

    @property
    def config(self) -> PretrainedConfig:
        """The configuration of transformers."""
        return cast(PreTrainedModel, self.model).config

    @property
    def device(self) -> torch.device:
        """The device that token ids belong on."""
        return next(self.model.parameters()).device

    @property
    def dtype(self) -> str:
        """The dtype of the weights."""
        return str(next(self.model.parameters()).dtype).removeprefix("torch.")


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the progress bars and remarks of transformers while a model is loaded."""
    verbosity, bars = transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        # The GGUF reader's progress bar cannot be switched off.
        with redirect_stderr(io.StringIO()):
            yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        if bars:
            transformers_logging.enable_progress_bar()


@functools.lru_cache(maxsize=1)
def _metadata(read: Callable[[str], dict[str, Json]], path: str, modified: int) -> dict[str, Json]:
    return read(path)


@contextmanager
def _gguf_once(source: ModelSource) -> Iterator[None]:
    """The metadata of a GGUF file are parsed once, and the names of its tensors made once.

    transformers parses the vocabulary anew for the configuration, for the tokenizer and for the model, makes all names
    anew for each module, and the parser takes a million slices, which cost three times as much on a memory map as on an
    array. SmolLM2 takes 5 to 6 CPU seconds to load, and 24 without all this.
    """
    if source.gguf_file is None or importlib.util.find_spec("gguf") is None:
        yield
        return
    import gguf
    from transformers import modeling_gguf_pytorch_utils as legacy

    read = legacy.load_gguf_checkpoint

    class Reader(gguf.GGUFReader):
        """Of the same bytes as a plain array."""

        @property
        def data(self) -> np.ndarray:
            return self._data

        @data.setter
        def data(self, mapped: np.memmap) -> None:
            self._data = mapped.view(np.ndarray)

    def load(path: str, return_tensors: bool = False, **options) -> dict[str, Json]:
        if return_tensors:
            return read(path, return_tensors=True, **options)
        metadata = _metadata(read, path, os.stat(path).st_mtime_ns)
        return {part: dict(values) for part, values in metadata.items()}  # whoever asks changes it

    with (
        mock.patch.object(legacy, "load_gguf_checkpoint", load),
        mock.patch.object(gguf, "get_tensor_name_map", functools.cache(gguf.get_tensor_name_map)),
        mock.patch.object(gguf, "GGUFReader", Reader),
    ):
        yield


def _explained(source: ModelSource, error: Exception) -> ModelError:
    """One line from whatever transformers raised."""
    text = " ".join(str(error).split())
    lower, hub = text.lower(), not source.is_local
    if not hub and Path(source.location, "adapter_config.json").is_file():
        reason, advice = "it is an adapter", "merge it into its base model with peft's merge_and_unload, and save that"
    elif hub and re.search(r"gated repo|\b40[13] (client error|unauthorized|forbidden)", lower):
        reason, advice = "access is restricted", "accept its licence on huggingface.co and set HF_TOKEN"
    elif "safetensors" in lower and "no file named" in lower:
        reason, advice = "it has no safetensors weights", "pickled weights run code; load them with --allow-pickle"
    elif hub and os.environ.get("HF_HUB_OFFLINE", "0") not in ("", "0"):
        reason, advice = "it is not in the local cache", "HF_HUB_OFFLINE is set; unset it, or give a local directory"
    elif isinstance(error, MemoryError) or "can't allocate memory" in lower:
        reason, advice = "out of memory", "free some, use --dtype bfloat16, or choose a smaller model"
    elif hub and isinstance(error, OSError):
        reason, advice = "it was not found on the hub", "check its name and the network, or give a local directory"
    else:
        reason, advice = f"{type(error).__name__}: {text[:160]}", "check the files, or download them again"
    return ModelError(f"model {source.spec!r} cannot be loaded: {reason}; {advice}")


@contextmanager
def loading(source: ModelSource) -> Iterator[None]:
    """Quietly, and with one line for whatever goes wrong."""
    try:
        if source.is_local:
            source.files()
            if Path(source.location, "adapter_config.json").is_file():
                raise ValueError("an adapter")
        with _quiet(), _gguf_once(source):
            yield
    except (ModelError, torch.cuda.OutOfMemoryError):
        raise
    except Exception as error:
        # transformers raises OSError, ValueError, KeyError and more here, depending on the file at fault.
        raise _explained(source, error) from None


def _pretrained(source: ModelSource, kind: Any, *, allow_pickle: bool, **options) -> tuple[Any, Json]:
    """A transformers model with the weights of a checkpoint, and the report of loading."""
    if source.gguf_file is None:
        options["use_safetensors"] = None if allow_pickle else True
    # One thread reads the weights: out of memory, a second may die while starting, and be waited for forever.
    with mock.patch.dict(os.environ, {"HF_DEACTIVATE_ASYNC_LOAD": "1"}):
        model, report = kind.from_pretrained(
            source.location, use_kernels=False, output_loading_info=True, ignore_mismatched_sizes=True,
            **source.arguments(), **options,
        )  # fmt: skip
    refuse_integers(source, model, report)
    return model, report


def load_config(source: ModelSource, *, random_weights: bool = False) -> PretrainedConfig:
    """The configuration of a model, its architecture checked before any weight is read.

    `random_weights` need the shape alone, which a known model has without the hub.
    """
    if random_weights and source.known is not None:
        return source.known.config()
    with loading(source):
        config = AutoConfig.from_pretrained(source.location, **source.arguments())
        refuse_declared(source, config, of_files=not random_weights)
        if random_weights:
            refuse_larger(source, config)
        family_of(config)
    return config


def resolve_device(name: str) -> torch.device:
    """The torch device of a name; ``auto`` is the first GPU, or else the CPU."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()  # fails on "meta", which holds no numbers
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0]
        there = "auto, cpu or cuda" if torch.cuda.is_available() else "auto or cpu"
        raise ModelError(f"--device {name}: cannot be used ({reason}); use {there}") from None
    return device


def resolve_dtype(name: str, config: PretrainedConfig, device: torch.device) -> torch.dtype:
    """The torch dtype of a name of :data:`DTYPES`; ``auto`` is float32 on the CPU, elsewhere the checkpoint's."""
    if name == "auto":
        stored = getattr(config, "dtype", None)
        return stored if device.type != "cpu" and isinstance(stored, torch.dtype) else torch.float32
    if name not in DTYPES:
        raise ModelError(f"--dtype {name}: unknown; use auto, {', '.join(DTYPES)}")
    return DTYPES[name]


def load_model(
    source: ModelSource,
    *,
    dtype: str = "auto",
    device: str = "auto",
    allow_pickle: bool = False,
    random_weights: bool = False,
    seed: int = 0,
    config: PretrainedConfig | None = None,
) -> LoadedModel:
    """Load a base model without its head, eager and in evaluation mode, from safetensors or the GGUF file.

    Args:
        source: Where it is.
        dtype, device: See :func:`resolve_dtype` and :func:`resolve_device`.
        allow_pickle: Read pickled weights, which can run code, where they alone are stored.
        random_weights, seed: Build the architecture from the configuration alone, PyTorch's global generator seeded.
        config: The configuration, if it is loaded already.
    """
    config = config or load_config(source, random_weights=random_weights)
    place = resolve_device(device)
    kind = resolve_dtype(dtype, config, place)
    wide = WIDE if kind is torch.float64 else {}
    try:
        with loading(source):
            if random_weights:
                model, report = _drawn(config, seed, place, dtype=kind, **wide)
            else:
                model, report = _pretrained(source, AutoModel, allow_pickle=allow_pickle, dtype=kind, **wide)
                model = model.to(place)
    except torch.cuda.OutOfMemoryError:
        msg = f"model {source.spec!r} does not fit on {place}; use --dtype bfloat16 or --device cpu"
        raise ModelError(msg) from None
    unused = unused_weights(source, model, report)
    model.eval()
    topology = topology_of(model.config)
    sites = () if topology is None else sites_of(model)
    revision = source.resolved_revision(model.config, random_weights=random_weights)
    return LoadedModel(source, model, sites, topology, revision, random_weights, unused)


def _drawn(config: PretrainedConfig, seed: int, place: torch.device, **options) -> tuple[PreTrainedModel, Json]:
    """A base model with random weights, and that nothing is missing."""
    torch.manual_seed(seed)
    with torch.device(place):
        model = AutoModel.from_config(config, **options)
    return model, dict.fromkeys(("missing_keys", "mismatched_keys", "unexpected_keys"), ())


def load_network(source: ModelSource, *, allow_pickle: bool = False) -> PreTrainedModel:
    """Load a whole network, head included, of any architecture of transformers, on the CPU and in evaluation mode.

    Its dtype is the checkpoint's; `allow_pickle` as for :func:`load_model`. Weights that it does not need are
    reported, and are its attribute ``unused_weights``. Raises ModelError.
    """
    with loading(source):
        network, report = _pretrained(source, _network(source)[1], allow_pickle=allow_pickle, dtype="auto", **WIDE)
    network.unused_weights = unused_weights(source, network, report)
    if network.unused_weights:
        say(Console(stderr=True), unused_line(network.unused_weights))
    network.config.use_cache = False
    return network.eval()


def empty_network(source: ModelSource) -> PreTrainedModel:
    """The network that a configuration asks for, whose weights are still to be set; raises ModelError."""
    with loading(source), no_init_weights():
        config, chosen = _network(source)
        make = getattr(chosen, "_from_config", None) or chosen.from_config
        return make(config, **WIDE).eval()


def _network(source: ModelSource) -> tuple[PretrainedConfig, Any]:
    """The configuration, refused where it declares too much, and its class."""
    config = AutoConfig.from_pretrained(source.location, **source.arguments())
    refuse_declared(source, config)
    named = (config.architectures or ["AutoModelForCausalLM"])[0]
    return config, getattr(transformers, named, transformers.AutoModelForCausalLM)


def load_tokenizer(source: ModelSource) -> Any:
    """The tokenizer that belongs to a model."""
    tokenizer: Any = None
    try:
        with _quiet(), _gguf_once(source):
            tokenizer = AutoTokenizer.from_pretrained(source.location, **source.arguments())
        # Of a model saved without it transformers makes one that knows special tokens alone, and perhaps the space.
        ordinary = set(tokenizer.get_vocab().values()) - set(tokenizer.all_special_ids)
        reason = "" if len(ordinary) > 1 else "the one that transformers makes knows only special tokens"
    except Exception as error:
        # As above.
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
    if reason:
        raise ModelError(
            f"model {source.spec!r} has no tokenizer that can be loaded ({reason}); "
            "save a tokenizer in the model's directory, or give token ids as the corpus (.npy or .bin); lngeom sweep "
            "also takes the corpus random and, for a model that does not read text, MODULE:FUNCTION"
        )
    return tokenizer


def longest_sequence(config: PretrainedConfig | None) -> int | None:
    """The number of positions of the model, or None if its configuration does not say."""
    names = ("max_position_embeddings", "max_target_positions")
    positions = (getattr(text_config(config), name, None) for name in names)
    return next((number for number in positions if isinstance(number, int) and number > 0), None)
