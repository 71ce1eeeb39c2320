"""The memory of this process."""

import ctypes
import os
import sys
from pathlib import Path

_STATISTICS = Path("/proc/self/statm")


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
