"""Limitations and appendix: the decoder layer, the residual stream, models and sizes."""

from __future__ import annotations

from .. import _citations as cited
from .._claim import Claim
from .._columns import sites, summary
from ..counterexamples import networks

CLAIMS = (
    Claim(
        id="1-52",
        place="eqs. 12 to 16",
        says="In most decoders f = LN1(h), a = Att(f), g = LN2(h + a), and a and the MLP's m are added "
        "one after the other.",
        verdict="convention",
        why="Three of the seven models of the paper are built otherwise: attention and MLP in parallel.",
        correction="g = LN2(h) in GPT-NeoX (both Pythias), g = f in GPT-J; as stated in GPT-2, GPT-Neo "
        "and Llama.",
        citations=(cited.GPT_NEOX, cited.GPT_J, cited.GPT_2),
    ),
    Claim(
        id="1-53",
        place="eq. 15",
        says="The MLP is W_proj σ(W_fc g + b_fc) + b_proj.",
        verdict="convention",
        why="Not in Llama, whose MLP is gated and has no biases; and b_proj lacks the index of its layer.",
        correction="As stated in GPT-2; W_down(silu(W_gate g) ∘ W_up g) in Llama.",
        citations=(cited.LLAMA, cited.GPT_2),
    ),
    Claim(
        id="1-54",
        place="eq. 17",
        says="h^l = h⁰ + Σ_{i=0}^l a^i + Σ_{i=0}^l m^i.",
        verdict="false",
        why="The recursion of equation 16 starts with i = 1; a⁰ and m⁰ are defined by no equation.",
        correction="h^l = h⁰ + Σ_{i=1}^l (a^i + m^i).",
        where=("h¹ = h⁰ + a¹ + m¹", "h² = h¹ + a² + m²"),
        theorems=("residual.sum",),
        counterexample=networks.index_zero,
    ),
    Claim(
        id="1-55",
        place="appendix A.1",
        says="Summing update on update makes the norm of the stream grow, so that it must be normalized.",
        verdict="false",
        why="An update can point against the stream. Networks without normalization exist.",
        correction="‖h + a‖² = ‖h‖² + ‖a‖² + 2h·a: growth is certain where updates are orthogonal to "
        "the stream, or on average "
        "uncorrelated with it.",
        hypotheses=("h·a = 0",),
        where=("c > 0", "c < 2", "h ≠ 0"),
        theorems=("residual.orthogonal_growth", "residual.shrinking"),
        counterexample=networks.cancelling_update,
        citations=(cited.LAYER_REMOVAL,),
    ),
    Claim(
        id="1-57",
        place="section 5",
        says="Angles of a million tokens need 2 TB of stored states for GPT-2 XL and 4 TB for Llama-3-8B.",
        verdict="empirical",
        why="Before and after two norms in 48 layers of 1600 numbers in float32 are 1.23 TB; and the "
        "statistics are running "
        "sums, which need no storage.",
        correction="Reduce each vector where it is computed; the table says of how many tokens.",
        columns=sites("tokens"),
        counterexample=networks.storage,
    ),
    Claim(
        id="1-58",
        place="appendix A.2, table 2",
        says="A GPT-2 architecture of these shapes has 70M, 160M, 410M and 1B parameters.",
        verdict="empirical",
        why="With the tied embeddings of GPT-2 they are 45, 124, 355 and 910 million. Tying matters for "
        "folding as well.",
        correction="With an unembedding of its own: 70.9, 162.9, 406.0 and 1013.3 million.",
        columns=summary("parameters"),
        counterexample=networks.tied_embeddings,
        citations=(cited.GUPTA_3, cited.GPT_2),
    ),
    Claim(
        id="1-66",
        place="table 1",
        says="Dimensions, layers and norms of the seven models, from d = 1600 and 48 layers (GPT-2 XL) "
        "to d = 4096 and 32 layers.",
        verdict="empirical",
        correction="As stated; the table of a run has d, layers and kind of norm of the model that was "
        "loaded.",
        columns=sites("d", "layer", "norm"),
        citations=(cited.GUPTA_3,),
    ),
    Claim(
        id="1-67",
        place="section 3",
        says="Llama is the most prominent family with RMSNorm.",
        verdict="convention",
        correction="Dated: Mistral, Qwen and Gemma use it as well.",
        citations=(cited.LLAMA, cited.GEMMA),
    ),
    Claim(
        id="1-68",
        place="appendix A.1",
        says="The stream is the sum of all that was written to it.",
        verdict="true",
        correction="h^l = h⁰ + Σ_{i=1}^l (a^i + m^i), for Pre-LN blocks, sequential or parallel.",
        where=("h¹ = h⁰ + a¹ + m¹", "h² = h¹ + a² + m²"),
        theorems=("residual.sum",),
    ),
)
