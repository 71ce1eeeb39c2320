"""How the C library treats the memory that tensors give back."""

import ctypes
import os
import sys

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
