"""Models: where their norm layers are, and how they are loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from ._families import (
        FAMILIES as FAMILIES,
        Family as Family,
        Norm as Norm,
        Topology as Topology,
        family_of as family_of,
        norm_sites as norm_sites,
        topology_of as topology_of,
    )
    from ._gpt2_rms import GPT2RMSConfig as GPT2RMSConfig, GPT2RMSLMHeadModel as GPT2RMSLMHeadModel, RMSNorm as RMSNorm
    from ._known import KNOWN_MODELS as KNOWN_MODELS, KnownModel as KnownModel
    from ._load import (
        DTYPES as DTYPES,
        LoadedModel as LoadedModel,
        load_config as load_config,
        load_model as load_model,
        load_network as load_network,
        load_tokenizer as load_tokenizer,
        longest_sequence as longest_sequence,
        resolve_device as resolve_device,
        resolve_dtype as resolve_dtype,
    )
    from ._published import PUBLISHED as PUBLISHED, SOURCE as PUBLISHED_SOURCE, Published as Published, Spread as Spread
    from ._sites import Kind as Kind, NormSite as NormSite, Role as Role
    from ._source import ModelSource as ModelSource, bundled_model as bundled_model, find_model as find_model
    from ._text import text_config as text_config, text_inputs as text_inputs
    from ._weights import fingerprints as fingerprints
else:
    __getattr__ = lazy(__name__, __file__)

__all__ = [
    "DTYPES",
    "FAMILIES",
    "KNOWN_MODELS",
    "PUBLISHED",
    "PUBLISHED_SOURCE",
    "Family",
    "Kind",
    "KnownModel",
    "LoadedModel",
    "ModelSource",
    "Norm",
    "NormSite",
    "Published",
    "RMSNorm",
    "Role",
    "Spread",
    "Topology",
    "bundled_model",
    "family_of",
    "find_model",
    "fingerprints",
    "load_config",
    "load_model",
    "load_network",
    "load_tokenizer",
    "longest_sequence",
    "norm_sites",
    "resolve_device",
    "resolve_dtype",
    "text_config",
    "text_inputs",
    "topology_of",
]
