"""The hold of one process on a directory."""

from __future__ import annotations

from pathlib import Path

import filelock

from ._errors import RunError


def lock(directory: Path) -> filelock.BaseFileLock:
    """Hold a directory for this process; the hold ends with the process, however that ends."""
    hold = filelock.FileLock(directory / ".lock")
    try:
        hold.acquire(timeout=0)
    except filelock.Timeout:
        msg = f"{directory}: another process is writing this run; wait for it, or choose another directory"
        raise RunError(msg) from None
    return hold
