"""Architectures: where the norm layers of each are, and how they sit in the residual stream."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from torch import nn

from ..support import ModelError
from ._sites import Kind, NormSite, Role

Topology = Literal["sequential", "parallel", "shared", "post", "branch"]


@dataclass(frozen=True)
class Family:
    """One architecture, by the name people use.

    Attributes:
        blocks, embedding, final: Paths in the base model of the list of blocks, and of the norms right after the
            embeddings and before the head, or None.
        norms, kind: The norms of a block, in the order in which they run, each by its path inside the block and its
            :data:`Role`; and what they compute.
        modules: Class names that these norm modules may have; anything else there was replaced (by a fused kernel,
            say).
        eps: Name of the modules' ε.
        topology: ``sequential``: each norm reads the stream as the branch before it left it (Pre-LN); ``parallel``:
            both norms of a block read the stream that enters it (GPT-NeoX); ``shared``: one norm feeds attention and
            MLP (GPT-J); ``post``: norms stand on the stream after each addition (Post-LN, BERT); ``branch``: norms
            stand on what a branch adds to the stream (OLMo 2).
        gain_offset: 1 where the module multiplies by 1 + weight, else 0.
        not_stream: Last names of norm modules that act on something else than hidden states (queries and keys).

    >>> from empirical.models import FAMILIES
    >>> FAMILIES["opt"].norms
    (('self_attn_layer_norm', 'pre_attn'), ('final_layer_norm', 'pre_mlp'))
    >>> gemma = FAMILIES["gemma"]
    >>> gemma.kind, gemma.gain_offset  # it multiplies by 1 + weight
    ('rmsnorm', 1.0)
    >>> [family.name for family in FAMILIES.values() if family.topology == "branch"]
    ['OLMo 2']
    """

    name: str
    blocks: str
    norms: tuple[tuple[str, Role], ...]
    final: str | None
    kind: Kind
    modules: tuple[str, ...]
    eps: str = "eps"
    topology: Topology = "sequential"
    embedding: str | None = None
    gain_offset: float = 0.0
    not_stream: tuple[str, ...] = ()


_PRE_LN_GPT2: tuple[tuple[str, Role], ...] = (("ln_1", "pre_attn"), ("ln_2", "pre_mlp"))
_PRE_LN: tuple[tuple[str, Role], ...] = (("input_layernorm", "pre_attn"), ("post_attention_layernorm", "pre_mlp"))
_QK = ("q_norm", "k_norm")


def _llama_like(name: str, module: str, *, not_stream: tuple[str, ...] = ()) -> Family:
    return Family(name, "layers", _PRE_LN, "norm", "rmsnorm", (module,), eps="variance_epsilon", not_stream=not_stream)


FAMILIES: dict[str, Family] = {
    "gpt2": Family("GPT-2", "h", _PRE_LN_GPT2, "ln_f", "layernorm", ("LayerNorm",)),
    "gpt2_rms": Family("GPT-2 with RMSNorm", "h", _PRE_LN_GPT2, "ln_f", "rmsnorm", ("RMSNorm",)),
    "gpt_neo": Family("GPT-Neo", "h", _PRE_LN_GPT2, "ln_f", "layernorm", ("LayerNorm",)),
    "gpt_neox": Family(
        "GPT-NeoX, Pythia", "layers", _PRE_LN, "final_layer_norm", "layernorm", ("LayerNorm",), topology="parallel"
    ),
    "gptj": Family("GPT-J", "h", (("ln_1", "pre_both"),), "ln_f", "layernorm", ("LayerNorm",), topology="shared"),
    "llama": _llama_like("Llama", "LlamaRMSNorm"),
    "mistral": _llama_like("Mistral", "MistralRMSNorm"),
    "qwen2": _llama_like("Qwen2", "Qwen2RMSNorm"),
    "qwen3": _llama_like("Qwen3", "Qwen3RMSNorm", not_stream=_QK),
    "gemma": Family("Gemma", "layers", _PRE_LN, "norm", "rmsnorm", ("GemmaRMSNorm",), gain_offset=1.0),
    "opt": Family(
        "OPT",
        "decoder.layers",
        (("self_attn_layer_norm", "pre_attn"), ("final_layer_norm", "pre_mlp")),
        "decoder.final_layer_norm",
        "layernorm",
        ("LayerNorm",),
    ),
    "olmo2": Family(
        "OLMo 2",
        "layers",
        (("post_attention_layernorm", "post_attn"), ("post_feedforward_layernorm", "post_mlp")),
        "norm",
        "rmsnorm",
        ("Olmo2RMSNorm",),
        eps="variance_epsilon",
        topology="branch",
        not_stream=_QK,
    ),
    "bert": Family(
        "BERT",
        "encoder.layer",
        (("attention.output.LayerNorm", "post_attn"), ("output.LayerNorm", "post_mlp")),
        None,
        "layernorm",
        ("LayerNorm",),
        topology="post",
        embedding="embeddings.LayerNorm",
    ),
}
"""Every architecture that can be measured, by ``config.model_type``."""


def family_of(config: Any) -> Family:
    """The family of a model configuration.

    >>> from transformers import GPTNeoXConfig, OPTConfig
    >>> from empirical.models import family_of
    >>> [family_of(config).final for config in (GPTNeoXConfig(), OPTConfig())]  # paths of the final norms
    ['final_layer_norm', 'decoder.final_layer_norm']
    """
    kind = getattr(config, "model_type", None)
    if kind not in FAMILIES:
        msg = f"architecture {kind!r} is not known; known are {', '.join(FAMILIES)}; a new one is a row of FAMILIES"
        raise ModelError(msg)
    if kind == "opt" and not config.do_layer_norm_before:
        msg = "architecture 'opt' with do_layer_norm_before=False (OPT-350M) is Post-LN, which is not known for OPT"
        raise ModelError(msg)
    return FAMILIES[kind]


def topology_of(config: Any) -> Topology:
    """How the norms of this model sit in the residual stream.

    >>> from transformers import GPTNeoXConfig
    >>> from empirical.models import topology_of
    >>> [topology_of(GPTNeoXConfig(use_parallel_residual=parallel)) for parallel in (True, False)]
    ['parallel', 'sequential']
    """
    family = family_of(config)
    if family.topology == "parallel" and not getattr(config, "use_parallel_residual", True):
        return "sequential"
    return family.topology


def _modules_of(model: nn.Module, family: Family, blocks: int) -> Iterator[tuple[str, int | None, Role]]:
    """Paths of the norms in the order in which they run."""
    if family.embedding is not None:
        yield family.embedding, None, "embedding"
    for layer in range(blocks):
        for path, role in family.norms:
            yield f"{family.blocks}.{layer}.{path}", layer, role
    if family.final is not None:
        yield family.final, None, "final"


def norm_sites(model: nn.Module) -> tuple[NormSite, ...]:
    """The norm layers of a base model, in the order in which they run.

    The table of the model's family is checked against the model itself: every module must be there, of the expected
    class, with an ε and one weight per dimension, and no norm module may be left over.

    Args:
        model: A base model of transformers (``AutoModel``, without the head).

    >>> from transformers import AutoModel, GPTNeoXConfig
    >>> from empirical.models import norm_sites
    >>> config = GPTNeoXConfig(hidden_size=8, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2)
    >>> for site in norm_sites(AutoModel.from_config(config)):
    ...     print(site.path, site.role, site.d, site.same_input_as)
    layers.0.input_layernorm pre_attn 8 None
    layers.0.post_attention_layernorm pre_mlp 8 layers.0.input_layernorm
    final_layer_norm final 8 None
    """
    config: Any = model.config
    family, topology = family_of(config), topology_of(config)
    modules = dict(model.named_modules())
    sites: list[NormSite] = []
    for path, layer, role in _modules_of(model, family, config.num_hidden_layers):
        module = modules.get(path)
        if type(module).__name__ not in family.modules:
            msg = (
                f"{path} is {'missing' if module is None else type(module).__name__}, expected "
                f"{' or '.join(family.modules)}; load the base model by AutoModel, with use_kernels off"
            )
            raise ModelError(msg)
        eps, weight = getattr(module, family.eps), getattr(module, "weight", None)
        d = config.hidden_size if weight is None else weight.shape[0]
        twin = sites[-1].path if topology == "parallel" and role == "pre_mlp" else None
        sites.append(NormSite(path, layer, role, family.kind, float(eps), int(d), twin, family.gain_offset))
    listed = {site.path for site in sites}
    left = [
        path
        for path, module in modules.items()
        if type(module).__name__ in family.modules
        and path not in listed
        and path.rpartition(".")[2] not in family.not_stream
    ]
    if left:
        more = f"{left[0]} and {len(left) - 1} more norm modules"
        raise ModelError(f"{more} are not in the table of architecture {config.model_type!r}")
    return tuple(sites)
