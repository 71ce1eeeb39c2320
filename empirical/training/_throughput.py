"""Speed of a run: tokens per second, and the fraction of the device's peak that the model's arithmetic uses."""

from __future__ import annotations

import torch
from transformers import GPT2LMHeadModel

PEAK_BFLOAT16 = {"A100": 312e12, "H100 PCIe": 756e12, "H100": 989e12, "H200": 989e12, "L40S": 362e12, "A6000": 155e12}
"""Dense bfloat16 matrix FLOP/s by a part of the device name, from the vendor's data sheets."""


def flops_per_token(model: GPT2LMHeadModel, sequence_length: int) -> float:
    r"""Floating-point operations of forward and backward pass per token, 6N + 12·L·T·d.

    N counts the parameters that multiply each token: all but the two embedding tables, which are looked up. The
    second term is the attention scores and their application to the values, over T tokens (the causal half is not
    deducted, as is the custom).

    Args:
        model: GPT2LMHeadModel. On any device, the meta device included.
        sequence_length: T, tokens that each token may attend to.

    References:
        Chowdhery et al., "PaLM", arXiv:2204.02311, appendix B.

    >>> from empirical.training import Shape, build_model, flops_per_token
    >>> model = build_model(Shape(1, 8, 2, 1e-3, 10, 11, 4, 2, 0.1), "layer", seed=0)
    >>> flops_per_token(model, 4)  # of 1096 parameters 120 are looked up: 6·976 + 12·1·4·8
    6240
    """
    looked_up = model.transformer.wte.weight.numel() + model.transformer.wpe.weight.numel()
    matrix = sum(parameter.numel() for parameter in model.parameters()) - looked_up
    return 6 * matrix + 12 * model.config.n_layer * sequence_length * model.config.n_embd


def peak_flops(device: torch.device) -> float | None:
    """Peak bfloat16 FLOP/s of a GPU, or None where it is not known (any CPU)."""
    if device.type != "cuda":
        return None
    name = torch.cuda.get_device_name(device)
    return next((peak for part, peak in PEAK_BFLOAT16.items() if part in name), None)
