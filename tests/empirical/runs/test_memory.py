"""A process that allocates the same sizes again and again keeps what it frees."""

import os
import platform
import subprocess
import sys

import pytest

# Four blocks of 8 MB, together more than glibc keeps by itself after the first was given back.
PROGRAM = """
import resource
from empirical.support import keep_freed_memory
def work():
    [b"x" * (8 << 20) for _ in range(4)]
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def of_ten():
    for _ in range(2):
        work()
    before = faults()
    for _ in range(10):
        work()
    return faults() - before
print(of_ten(), keep_freed_memory(), of_ten())
"""
PAGES = 4 * (8 << 20) // os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc gives blocks back that can be kept")
@pytest.mark.parametrize("kept", [True, False])
def test_freed_memory_is_kept_unless_somebody_set_another_policy(kept: bool) -> None:
    policy = {} if kept else {"MALLOC_TRIM_THRESHOLD_": "131072", "MALLOC_MMAP_THRESHOLD_": "131072"}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")} | policy
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=environment)
    before, was_set, after = done.stdout.split()
    assert int(before) >= 9 * PAGES, "or there is nothing to gain"
    assert (was_set, int(after) < PAGES) == (str(kept), kept)
