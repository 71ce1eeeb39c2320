"""Folding: mean subtraction removed from a network, exactly.

>>> import tempfile
>>> from pathlib import Path
>>> import torch
>>> from transformers import GPT2Config, GPT2LMHeadModel
>>> from empirical.folding import fold, verify_fold, write_fold
>>> from empirical.models import find_model
>>> config = GPT2Config(n_embd=8, n_layer=1, n_head=2, vocab_size=16, bos_token_id=0, eos_token_id=0)
>>> network, tokens = GPT2LMHeadModel(config).eval(), {"input_ids": torch.arange(10)[None]}
>>> with tempfile.TemporaryDirectory() as folder:
...     network.save_pretrained(f"{folder}/model")
...     source, made = find_model(f"{folder}/model"), Path(folder, "folded")
...     written = write_fold(made, network, fold(network), source, [tokens], "ten tokens")
...     verify_fold(made)[1]  # nothing is wrong
[]
"""

from __future__ import annotations

from ._certificate import (
    compare as compare,
    load_folded as load_folded,
    verify_fold as verify_fold,
    write_fold as write_fold,
)
from ._fold import Fold as Fold, Map as Map, centered as centered, fold as fold, own as own, put as put
from ._inputs import cases_for as cases_for, sample_inputs as sample_inputs, tensors as tensors
from ._streams import find_streams as find_streams
from ._trace import find_norms as find_norms, trace as trace

__all__ = ["Fold", "Map", "fold", "load_folded", "verify_fold", "write_fold"]
