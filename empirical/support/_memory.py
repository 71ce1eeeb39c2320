"""The memory of this process, and how the C library treats what tensors give back."""

import ctypes
import os
import sys
from pathlib import Path

_STATISTICS = Path("/proc/self/statm")
_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1  # M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of glibc's malloc.h
_LARGEST_MMAP_THRESHOLD = 1 << 25  # of 64-bit machines; larger values are refused


def keep_freed_memory() -> bool:
    """Let this process keep what it frees, up to a gigabyte: for programs that allocate the same sizes pass after pass.

    Otherwise glibc gives large blocks back to the system and faults them in again, page by page. Returns whether it
    could be set: the C library is glibc. An environment variable ``MALLOC_...`` that was set by hand is left as it is.
    """
    if sys.platform != "linux" or any(name.startswith("MALLOC_") for name in os.environ):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    settings = {_MMAP_THRESHOLD: _LARGEST_MMAP_THRESHOLD, _TRIM_THRESHOLD: 1 << 30}
    return [mallopt(name, value) for name, value in settings.items()] == [1, 1]


def memory() -> int:
    """Bytes that this process holds, on the machine and on its GPU; 0 where the system does not say.

    What is free goes back to the system before, so that a block that is lost cannot hide in it.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
    torch = sys.modules.get("torch")
    held = torch.cuda.memory_allocated() if torch is not None and torch.cuda.is_initialized() else 0
    pages = int(_STATISTICS.read_text().split()[1]) if _STATISTICS.exists() else 0
    return held + pages * os.sysconf("SC_PAGE_SIZE")
