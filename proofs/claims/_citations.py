"""Dated sources for statements about history, definitions and practice, each with what it says."""

from __future__ import annotations

from ._claim import Citation

BA = Citation(
    "Ba et al., arXiv:1607.06450",
    2016,
    "defines layer normalization without ε and argues for it by invariance under re-centring and re-scaling",
)
BATCH = Citation(
    "Ioffe and Szegedy, arXiv:1502.03167",
    2015,
    "statistics of the mini-batch in training and of the population at inference; the affine step can "
    "restore identity",
)
VASWANI = Citation(
    "Vaswani et al., arXiv:1706.03762",
    2017,
    "the first transformer has LayerNorm after each residual addition",
)
ZHANG = Citation(
    "Zhang and Sennrich, arXiv:1910.07467",
    2019,
    "RMSNorm x/RMS(x) with a gain; their code has an optional bias, off by default; 7 to 64 % less run time",
)
XU = Citation(
    "Xu et al., arXiv:1911.07013",
    2019,
    "the derivatives of mean and variance, which re-centre and re-scale gradients, matter more than the "
    "forward pass",
)
XIONG = Citation(
    "Xiong et al., arXiv:2002.04745",
    2020,
    "Lemma 3: the Jacobian of LayerNorm has spectral norm O(√d/‖x‖); Post-LN gradients O(d√ln d) in the "
    "last layer, "
    "Pre-LN smaller by √L",
)
WINSOR = Citation(
    "Winsor et al., “Re-examining LayerNorm”, Alignment Forum",
    2022,
    "LayerNorm projects off 1 and puts on a sphere",
)
BRODY = Citation(
    "Brody et al., arXiv:2305.02582",
    2023,
    "writes mean subtraction as the projector off 1 (appendix C) and shows what it does for attention",
)
MOLINA = Citation(
    "Molina, arXiv:2309.07315",
    2023,
    "eq. 5: LayerNorm is √d times the normalized projection onto the hyperplane 1^⊥",
)
JIANG = Citation(
    "Jiang et al., arXiv:2305.14858",
    2023,
    "a Pre-LN transformer computes the same with RMSNorm once its writers are centred; 1 to 10 % faster "
    "end to end",
)
ASHKBOOS = Citation(
    "Ashkboos et al., arXiv:2401.15024",
    2024,
    "SliceGPT folds the mean subtraction into the preceding linear maps",
)
RIECHERS = Citation(
    "Riechers, arXiv:2405.04134",
    2024,
    "projector Π₂ off α = 1/g, axes from Π₂G⁻²Π₂, lengths √(N/λ); for zero gains the squared Drazin "
    "inverse of G",
)
GUPTA_2 = Citation(
    "Gupta et al., arXiv:2409.12951v2",
    2025,
    "table 2: mean angles with 1 of 88.7° to 90.0° for six models, and 101.48° ± 3.20° for GPT-2 XL",
)
GUPTA_3 = Citation(
    "Gupta et al., arXiv:2409.12951v3",
    2025,
    "section 2.1 defines the mean vector as μ1; tables 1 and 2 list models and shapes; eqs. 12 to 16 a "
    "decoder layer",
)
GPT_J = Citation(
    "Wang and Komatsuzaki, GPT-J-6B",
    2021,
    "attention and MLP in parallel, both reading one LayerNorm of the stream",
)
GPT_NEOX = Citation(
    "Black et al., arXiv:2204.06745",
    2022,
    "attention and MLP in parallel, each with a LayerNorm of the same stream",
)
LLAMA = Citation(
    "Touvron et al., arXiv:2302.13971", 2023, "RMSNorm before each sublayer, gated MLP without biases"
)
GEMMA = Citation("Gemma Team, arXiv:2403.08295", 2024, "RMSNorm; its code multiplies by 1 + weight")
PYTORCH = Citation(
    "PyTorch documentation of LayerNorm and RMSNorm",
    2025,
    "√(σ² + ε) with ε = 1e−5 for LayerNorm; RMSNorm takes the machine epsilon where none is given",
)
BERT = Citation("Devlin et al., arXiv:1810.04805", 2018, "the released configuration has ε = 1e−12")
QK_NORM = Citation(
    "Henry et al., arXiv:2010.04245", 2020, "queries and keys are normalized before their product"
)
BLOOM = Citation("BigScience, arXiv:2211.05100", 2022, "a LayerNorm on the embeddings")
GPT_2 = Citation(
    "Radford et al., GPT-2", 2019, "LayerNorm before each sublayer, and one more before the output"
)
SPEED = Citation(
    "PyTorch issue 157345",
    2025,
    "users measure nn.RMSNorm slower than nn.LayerNorm, which has a fused kernel",
)
SUN = Citation(
    "Sun et al., arXiv:2402.17762",
    2024,
    "a few coordinates of a few tokens carry almost all the norm in trained models",
)
LAYER_REMOVAL = Citation(
    "Baroni et al., arXiv:2507.02559",
    2025,
    "GPT-2 models without any normalization, fine-tuned to nearly equal loss",
)
