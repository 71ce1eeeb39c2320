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


Ablation: what it costs to drop or to add mean subtraction, in nats per token.

>>> import numpy as np
>>> from transformers import GPT2Config, GPT2LMHeadModel
>>> from empirical.folding import Change, Measurement
>>> from empirical.text import Case, batches
>>> given = [Case.of_ids(number, np.arange(6)) for number in range(3)]
>>> [len(batch) for batch in batches(given, tokens=12)]
[2, 1]
>>> config = GPT2Config(n_embd=8, n_layer=1, n_head=2, vocab_size=16, bos_token_id=0, eos_token_id=0)
>>> Measurement(GPT2LMHeadModel(config).eval(), given, batch=12)(Change("none", "all")).shape  # cases, fields
(3, 5)
"""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from ._ablate import run_ablation
    from ._ablation import Ablation
    from ._certificate import compare as compare, load_folded, verify_fold, write_fold
    from ._changes import Change, applied, plan_changes
    from ._fold import Fold, Map, centered as centered, fold, own as own, put as put
    from ._inputs import cases_for as cases_for, sample_inputs as sample_inputs, tensors as tensors
    from ._measure import Measurement
    from ._streams import find_streams as find_streams
    from ._trace import find_norms as find_norms, trace as trace
else:
    __getattr__ = lazy(__name__, __file__)

__all__ = [
    "Ablation",
    "Change",
    "Fold",
    "Map",
    "Measurement",
    "applied",
    "fold",
    "load_folded",
    "plan_changes",
    "run_ablation",
    "verify_fold",
    "write_fold",
]
