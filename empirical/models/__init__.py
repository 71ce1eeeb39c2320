"""Models: where their norm layers are, and how they are loaded."""

from typing import TYPE_CHECKING

from lngeom.lazy import ROOMS, lazy

if ROOMS:
    from .calls import passing, watching
    from .discovery import call, evaluating
    from .load import WIDE
    from .probe import affine, exactly, first_tensor
    from .weights import (
        LackingError,
        QuantizedError,
        refuse_lost_blocks,
        refuse_nan_weights,
        stored_otherwise,
        unused_line,
        weights_sha256,
    )
if TYPE_CHECKING:
    from .calls import reads_text_alone, text_config, text_inputs, vocabulary
    from .discovery import FoundNorm, NoNorm, Norms, norms
    from .families import FAMILIES, Family, Topology, family_of, sites_of, streams_of, topology_of
    from .known import KNOWN_MODELS, PUBLISHED, PUBLISHED_SOURCE, KnownModel, PublishedSpread
    from .load import (
        DTYPES,
        LoadedModel,
        empty_network,
        load_config,
        load_model,
        load_network,
        load_tokenizer,
        loading,
        longest_sequence,
        resolve_device,
        resolve_dtype,
    )
    from .probe import layer_error
    from .rms_norm import RMSNorm
    from .sites import Kind, NormSite, Role
    from .source import ModelSource, bundled_model, find_model
    from .weights import fingerprints
else:
    __getattr__ = lazy(__name__, __file__)
