"""Ablation: what it costs to drop or to add mean subtraction, in nats per token.

>>> import numpy as np
>>> from transformers import GPT2Config, GPT2LMHeadModel
>>> from empirical.ablation import Change, Measurement
>>> from empirical.corpora import Case, batches
>>> given = [Case.of_ids(number, np.arange(6)) for number in range(3)]
>>> [len(batch) for batch in batches(given, tokens=12)]
[2, 1]
>>> config = GPT2Config(n_embd=8, n_layer=1, n_head=2, vocab_size=16, bos_token_id=0, eos_token_id=0)
>>> Measurement(GPT2LMHeadModel(config).eval(), given, batch=12)(Change("none", "all")).shape  # cases, fields
(3, 5)
"""

from __future__ import annotations

from ._ablate import Ablation as Ablation, run_ablation as run_ablation
from ._changes import Change as Change, applied as applied, plan_changes as plan_changes
from ._measure import Measurement as Measurement

__all__ = ["Ablation", "Change", "Measurement", "applied", "plan_changes", "run_ablation"]
