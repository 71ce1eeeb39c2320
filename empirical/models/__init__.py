"""Models: where their norm layers are, and how they are loaded."""

from typing import TYPE_CHECKING

from lngeom.lazy import lazy

if TYPE_CHECKING:
    from .calls import reads_text_alone, text_config, text_inputs, vocabulary, watching as watching
    from .code import code_sha256
    from .discovery import FoundNorm, NoNorm, Norms, call as call, ellipsoid, evaluating as evaluating, norms
    from .families import FAMILIES, Family, Topology, family_of, sites_of, topology_of
    from .gpt2_rms import GPT2RMSConfig as GPT2RMSConfig, GPT2RMSLMHeadModel as GPT2RMSLMHeadModel, RMSNorm
    from .known import KNOWN_MODELS, PUBLISHED, PUBLISHED_SOURCE, KnownModel, PublishedSpread
    from .load import (
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
    from .probe import affine as affine, exactly as exactly, first_tensor as first_tensor, layer_error
    from .sites import Kind, NormSite, Role
    from .source import ModelSource, bundled_model, find_model
    from .weights import (
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
