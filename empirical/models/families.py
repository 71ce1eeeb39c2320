"""The norm layers of a model and the table of architectures: the role of each norm, and its place in the stream."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from torch import nn
from transformers import PreTrainedModel

from ..support import ModelError
from .discovery import Norms, norms
from .sites import NormSite, Role

Topology = Literal["sequential", "parallel", "shared", "post", "branch"]


@dataclass(frozen=True)
class Family:
    """The roles of the norms of one architecture; their formulas are discovered.

    Attributes:
        name: As people call it.
        blocks, embedding, final: Paths in the base model of the list of blocks, and of the norms right after the
            embeddings and before the head, or None.
        norms: The norms of a block, in the order in which they run, each by its path inside the block and its
            :data:`Role`.
        topology: ``sequential``: each norm reads the stream as the branch before it left it (Pre-LN); ``parallel``:
            both norms of a block read the stream that enters it (GPT-NeoX); ``shared``: one norm feeds attention and
            MLP (GPT-J); ``post``: norms act on the stream after each addition (Post-LN, BERT); ``branch``: norms
            follow a branch, before it is added to the stream (OLMo 2).
        not_stream: Last names of norms that act on something else than hidden states (queries and keys).
    """

    name: str
    blocks: str
    norms: tuple[tuple[str, Role], ...]
    final: str | None
    topology: Topology = "sequential"
    embedding: str | None = None
    not_stream: tuple[str, ...] = ()

    def places(self, blocks: int) -> Iterator[tuple[str, Role]]:
        """Path and role of each norm, in the order in which they run."""
        if self.embedding is not None:
            yield self.embedding, "embedding"
        for block in range(blocks):
            for path, role in self.norms:
                yield f"{self.blocks}.{block}.{path}", role
        if self.final is not None:
            yield self.final, "final"


def _gpt2(name: str) -> Family:
    return Family(name, "h", (("ln_1", "pre_attn"), ("ln_2", "pre_mlp")), "ln_f")


def _llama(name: str, **options) -> Family:
    block: tuple[tuple[str, Role], ...] = (("input_layernorm", "pre_attn"), ("post_attention_layernorm", "pre_mlp"))
    return Family(name, "layers", **{"norms": block, "final": "norm", **options})


FAMILIES: dict[str, Family] = {
    "gpt2": _gpt2("GPT-2"),
    "gpt_neo": _gpt2("GPT-Neo"),
    "gpt_neox": _llama("GPT-NeoX, Pythia", final="final_layer_norm", topology="parallel"),
    "gptj": Family("GPT-J", "h", (("ln_1", "pre_both"),), "ln_f", topology="shared"),
    "llama": _llama("Llama"),
    "mistral": _llama("Mistral"),
    "qwen2": _llama("Qwen2"),
    "qwen3": _llama("Qwen3", not_stream=("q_norm", "k_norm")),
    "gemma": _llama("Gemma"),
    "opt": Family(
        "OPT",
        "decoder.layers",
        (("self_attn_layer_norm", "pre_attn"), ("final_layer_norm", "pre_mlp")),
        "decoder.final_layer_norm",
    ),
    "olmo2": _llama(
        "OLMo 2",
        norms=(("post_attention_layernorm", "post_attn"), ("post_feedforward_layernorm", "post_mlp")),
        topology="branch",
        not_stream=("q_norm", "k_norm"),
    ),
    "bert": Family(
        "BERT",
        "encoder.layer",
        (("attention.output.LayerNorm", "post_attn"), ("output.LayerNorm", "post_mlp")),
        None,
        topology="post",
        embedding="embeddings.LayerNorm",
    ),
}
"""Every architecture whose roles are known, by ``config.model_type``."""


def family_of(config: object) -> Family | None:
    """The family of a model configuration, None for an architecture that is not in the table."""
    kind = getattr(config, "model_type", None)
    if kind == "opt" and not getattr(config, "do_layer_norm_before", True):
        msg = "architecture 'opt' with do_layer_norm_before=False (OPT-350M) is Post-LN, which is not known for OPT"
        raise ModelError(msg)
    return FAMILIES.get(kind)  # pyright: ignore[reportArgumentType, reportCallIssue]


def topology_of(config: object) -> Topology | None:
    """How the norms of this model sit in the residual stream, None where that is not known."""
    family = family_of(config)
    if family is None:
        return None
    sequential = family.topology == "parallel" and not getattr(config, "use_parallel_residual", True)
    return "sequential" if sequential else family.topology


def sites_of(model: nn.Module, batch: object = None) -> tuple[NormSite, ...]:
    """The norm layers of a model in the order in which they run: discovered by :func:`norms`, roles by the table.

    The table and the model are compared: every norm that the table of the model's family names must
    compute one, and no other norm may be left over. A model that is not in the table, or has a head, is listed as
    discovered, with the role ``norm``.

    Args:
        model: Any module; of transformers a base model (``AutoModel``, without the head).
        batch: As for :func:`norms`; with one the norms that it calls, each compared with its outputs there.

    Returns:
        The sites, none of a model without norms.

    >>> from transformers import AutoModel, GPTNeoXConfig
    >>> from lngeom.empirical.models import sites_of
    >>> config = GPTNeoXConfig(hidden_size=8, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2)
    >>> for site in sites_of(AutoModel.from_config(config)):
    ...     print(site.path, site.role, site.d, site.same_input_as)
    layers.0.input_layernorm pre_attn 8 None
    layers.0.post_attention_layernorm pre_mlp 8 layers.0.input_layernorm
    final_layer_norm final 8 None
    """
    family = family_of(getattr(model, "config", None)) if getattr(model, "base_model", model) is model else None
    discovered = norms(model, batch)
    return discovered.sites if family is None else _placed(model, family, discovered)


def streams_of(model: nn.Module) -> tuple[NormSite, ...]:
    """The blocks of a model whose norms follow the branches (OLMo 2): no norm but the final one reads the stream."""
    config: Any = getattr(model, "config", None)
    family = family_of(config)
    if family is None or family.topology != "branch":
        return ()
    return tuple(
        NormSite(f"{family.blocks}.{n}", n, "stream", "none", 0.0, config.hidden_size, gain=None, bias=None)
        for n in range(config.num_hidden_layers)
    )


def _placed(model: nn.Module, family: Family, discovered: Norms) -> tuple[NormSite, ...]:
    """The sites that the table names, with their roles."""
    config = cast(PreTrainedModel, model).config
    parallel = topology_of(config) == "parallel"
    left = {site.path: site for site in discovered.sites}
    sites: list[NormSite] = []
    for path, role in family.places(config.num_hidden_layers):
        if path not in left:
            reasons = [other.reason for other in discovered.others if other.path == path]
            actual = type(dict(model.named_modules()).get(path)).__name__.replace("NoneType", "missing")
            raise ModelError(
                f"{path} is {actual}, expected a norm{''.join(f' ({reason})' for reason in reasons)}; "
                "load the base model by AutoModel, with use_kernels off"
            )
        twin = sites[-1].path if parallel and role == "pre_mlp" else None
        sites.append(replace(left.pop(path), role=role, same_input_as=twin))
    unnamed = [path for path in left if path.rpartition(".")[2] not in family.not_stream]
    if unnamed:
        more = f"{unnamed[0]} and {len(unnamed) - 1} more norm modules"
        raise ModelError(f"{more} are not in the table of architecture {config.model_type!r}")
    return tuple(sites)
