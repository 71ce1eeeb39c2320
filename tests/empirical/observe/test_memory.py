"""Memory while measuring does not grow with the tokens measured."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from transformers import AutoModel, LlamaConfig

SCRIPT = Path(__file__).parents[3] / "experiments" / "benchmarks" / "bench_sweep.py"
TOKENS = (10_000, 60_000)
WIDTH, BLOCKS, LENGTH = 8, 4, 256
SITES = 2 * BLOCKS + 1
SETTLED = {**os.environ, "OMP_NUM_THREADS": "1", "MALLOC_MMAP_THRESHOLD_": "131072"}
"""With a threshold that the allocator does not move by itself, peaks of processes that do the same differ less."""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux lets a process forget its peak")
def test_memory_beyond_the_forward_pass_does_not_grow_with_the_tokens(tmp_path: Path) -> None:
    config = LlamaConfig(
        vocab_size=64,
        hidden_size=WIDTH,
        intermediate_size=2 * WIDTH,
        num_hidden_layers=BLOCKS,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=LENGTH,
    )
    AutoModel.from_config(config).save_pretrained(tmp_path / "model")
    words = [sys.executable, str(SCRIPT), "--model", str(tmp_path / "model"), "--sequence-length", str(LENGTH)]
    words += ["--directions", "2", "--memory", *map(str, TOKENS), "--json", str(tmp_path / "memory.json")]
    done = subprocess.run(words, stderr=subprocess.PIPE, text=True, check=False, env=SETTLED)
    assert done.returncode == 0, done.stderr
    few, many = json.loads((tmp_path / "memory.json").read_text())["results"]
    assert (few["tokens"], many["tokens"]) == TOKENS
    assert max(few["extra_mb"], many["extra_mb"]) < 100
    # Keeping two float64 of each token at both sides of every layer would take this much. The peaks of processes that
    # do the same differ by up to 10 MB, which is what the allocator keeps in reserve.
    kept = 2 * 2 * 8 * SITES * (TOKENS[1] - TOKENS[0]) / 1e6
    assert many["extra_mb"] - few["extra_mb"] < kept
