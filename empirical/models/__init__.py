"""Models: where their norm layers are, and how they are loaded."""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from ._behaviour import behaviour as behaviour, probes as probes
    from ._families import FAMILIES, Family, Topology, family_of, sites_of, topology_of
    from ._gpt2_rms import GPT2RMSConfig as GPT2RMSConfig, GPT2RMSLMHeadModel as GPT2RMSLMHeadModel, RMSNorm
    from ._known import KNOWN_MODELS, KnownModel
    from ._load import (
        DTYPES,
        LoadedModel,
        LoadOptions,
        load_config,
        load_model,
        load_network,
        load_tokenizer,
        longest_sequence,
        resolve_device,
        resolve_dtype,
    )
    from ._norms import FoundNorm, NoNorm, Norms, call as call, ellipsoid, evaluating as evaluating, norms
    from ._probe import affine as affine, exactly as exactly, first_tensor as first_tensor, layer_error
    from ._published import PUBLISHED, SOURCE as PUBLISHED_SOURCE, PublishedSpread
    from ._sites import Kind, NormSite, Role
    from ._source import ModelSource, bundled_model, find_model
    from ._text import reads_text_alone, text_config, text_inputs, vocabulary
    from ._watching import watching as watching
    from ._weights import (
        LackingError as LackingError,
        fingerprints,
        refuse_lost_blocks as refuse_lost_blocks,
        refuse_nan_weights as refuse_nan_weights,
        stored_otherwise as stored_otherwise,
        unused_line as unused_line,
        weights_sha256 as weights_sha256,
    )
else:
    __getattr__ = lazy(__name__, __file__)
