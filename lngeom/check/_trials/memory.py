"""Memory that this process holds, and calls that keep some of it."""

import ctypes
import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lngeom.sentences import Cause

from .claim import Claim

LEAK = Cause("leak")
_LARGE, _CALLS, _BLOCKS, _BYTES = 1 << 18, 4, 4, {"float64": 8, "float32": 4}
"""Components of a batch large enough to be seen, calls in a block, and blocks, so that no one-time growth counts."""
_STATISTICS = Path("/proc/self/statm")


def memory() -> int:
    """Bytes that this process holds, on the machine and on its GPU; 0 where the system does not say.

    Free memory goes back to the system first, so that a lost block cannot be taken from it unseen.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
    torch = sys.modules.get("torch")
    held = torch.cuda.memory_allocated() if torch is not None and torch.cuda.is_initialized() else 0
    pages = int(_STATISTICS.read_text().split()[1]) if _STATISTICS.exists() else 0
    return held + pages * os.sysconf("SC_PAGE_SIZE")


def leak(claim: Claim, x: np.ndarray) -> Iterator[Cause]:
    """A fault if each call keeps as much memory as it returns, in block after block of calls."""
    kernel, (n, d) = claim.kernel, x.shape
    if kernel.form.interpreted or kernel.form.filed:  # large batches take too long; files are not called
        return
    rows = kernel.array(claim.stored(np.resize(x, (max(n, _LARGE // d), d))))

    def grown() -> int:
        before = memory()
        for _ in range(_CALLS):
            kernel.framework.read(kernel.call(rows)[:1])  # waits for the whole output
        if memory() - before > returned / 2:  # garbage in reference cycles is no leak
            gc.collect()
        return memory() - before

    returned = _CALLS * rows.shape[0] * d * _BYTES.get(kernel.dtype, 2)
    grown()  # caches are filled once
    if all(grown() > returned / 2 for _ in range(_BLOCKS)):
        yield LEAK
