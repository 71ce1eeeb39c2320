import gzip
import hashlib
import os
import random
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

import pytest
from transformers import GPT2Tokenizer

from lngeom.empirical.sweep import Drawing, draw_tokens
from lngeom.empirical.text import open_corpus

SIZES = (1_500_000, 4_500_000)
PROGRAM = """
import sys
from multiprocessing import get_context
from lngeom.empirical.text import packing, plain
from tests.empirical.text.test_memory import read
packing._CHARACTERS_AT_ONCE = plain._PIECE = 1 << 17  # what is tokenized at once takes time, whatever the length
with get_context("fork").Pool(1, maxtasksperchild=1) as pool:
    print(*pool.imap(read, sys.argv[1:], 1), sep="\\n")
"""


def _megabytes(entry: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(entry)) * 1024 / 1e6


def read(path: str) -> str:
    """Read a corpus to its end and draw tokens of it: the SHA-256 of its text, and the peak of memory in MB."""
    tokenizer = GPT2Tokenizer().train_new_from_iterator(["a few words"], 258, show_progress=False)
    Path("/proc/self/clear_refs").write_text("5")
    begun, digest = _megabytes("VmRSS"), hashlib.sha256()
    for text in open_corpus(path).documents():
        digest.update(text.encode())
    with tempfile.TemporaryDirectory() as folder:
        draw_tokens(Path(folder, "tokens.npy"), open_corpus(path), tokenizer, Drawing(100, 50, 258, 0), lambda _: None)
    return f"{digest.hexdigest()} {_megabytes('VmHWM') - begun}"


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux lets a process forget its peak")
def test_the_memory_that_a_text_takes_does_not_grow_with_its_length(tmp_path) -> None:
    letters = "".join(random.Random(0).choices("漢字😀é", k=1 << 14))
    words = {".txt.gz": letters, ".txt": "a few words on a line\n"}
    paths = [tmp_path / f"{size}{suffix}" for suffix in words for size in SIZES]
    digests = []
    for path, (text, size) in zip(paths, product(words.values(), SIZES), strict=True):
        content = text.encode() * (size // len(text.encode()))
        path.write_bytes(gzip.compress(content, 1) if path.suffix == ".gz" else content)
        digests.append(hashlib.sha256(content).hexdigest())
    # A threshold that the allocator does not move by itself: else the peaks of processes that do the same differ.
    settled = {**os.environ, "OMP_NUM_THREADS": "1", "MALLOC_MMAP_THRESHOLD_": "131072"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *paths], capture_output=True, text=True, check=False, env=settled
    )
    assert done.returncode == 0, done.stderr
    found, peaks = zip(*(line.split() for line in done.stdout.splitlines()), strict=True)
    assert [*found] == digests
    for few, many in zip(peaks[::2], peaks[1::2], strict=True):
        # Bytes or characters of the whole would take so much more at least.
        assert float(many) - float(few) < (SIZES[1] - SIZES[0]) / 1e6
        assert float(many) < 1500
