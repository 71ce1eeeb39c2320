"""Limits on a call of a kernel, which may do anything: on its time and memory, and on ending the process."""

import ctypes
import mmap
import os
import re
import resource
import signal
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

TRACE = "its trace"
"""The call with symbols in place of arrays, which compiled code may take for these."""
_ended: list[str] = []
"""How the trace ended an earlier process."""
_told: list[mmap.mmap] = []
"""A page shared with the process that waits for this one; empty if none does."""
_forks = list[int]()
"""A number for each time that this process forked."""
os.register_at_fork(after_in_parent=lambda: _forks.append(1))
_STATISTICS = Path("/proc/self/statm")
_PAGE = 1 << 14
_ENDS = struct.Struct("dd")
"""When what runs is overdue, in processor time of the process and on the clock of the system; 0: nothing runs."""
_TEXT, _LIMITS = slice(-1 - _ENDS.size), slice(-1 - _ENDS.size, -1)


def page(seconds: float = 0.0) -> mmap.mmap:
    """A page that this process and its children see: name and script of a call, its limits, and whether it runs."""
    made = mmap.mmap(-1, _PAGE)
    made[_LIMITS] = _ends(0.0, seconds)
    return made


def _ends(used: float, seconds: float) -> bytes:
    return _ENDS.pack(used + seconds + 4, time.monotonic() + 20 * seconds + 60) if seconds else bytes(_ENDS.size)


def read(told: mmap.mmap) -> tuple[str, str, bool]:
    """The name of the last call, its script, and whether it is running."""
    what, _, script = bytes(told[_TEXT]).rstrip(b"\0").decode(errors="replace").partition("\0")
    return what, script, bool(told[-1])


def overdue(told: mmap.mmap) -> Callable[[int], bool]:
    """Tells of a child, asked now and then, whether it is stopped, or goes on although it should have ended."""
    states = ["", ""]

    def late(child: int) -> bool:
        status = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
        states[:] = states[1], status[0]
        processor, clock = _ENDS.unpack(told[_LIMITS])
        used = (int(status[11]) + int(status[12])) / os.sysconf("SC_CLK_TCK")
        return states == ["T", "T"] or 0 < processor < used or 0 < clock < time.monotonic()

    return late


def watch(told: mmap.mmap, ended: str) -> None:
    """From now on calls are told to the process that waits; a trace that ended one is an error."""
    _told[:], _ended[:] = [told], [ended] if ended else []


def watched() -> bool:
    """Whether another process waits for this one."""
    return bool(_told)


def _tell(what: str, script: str, seconds: float) -> None:
    """Writes name and script; the system ends the process if compiled code runs 2 s past the limit."""
    said = what.encode() + b"\0" + script.encode()
    room = len(_told[0][_TEXT])
    _told[0][_TEXT] = (said if len(said) < room else what.encode()).ljust(room, b"\0")
    _told[0][-1] = 1
    used = resource.getrusage(resource.RUSAGE_SELF)
    end = int(used.ru_utime + used.ru_stime + seconds) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (end, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def forks() -> int:
    """How often this process has forked."""
    return len(_forks)


def bound_memory() -> None:
    """A kernel that asks for more than there is gets an error of its framework, and not the end the system chooses."""
    if not Path("/dev/nvidiactl").exists():  # whose driver maps more than there is
        free = re.search(r"MemAvailable: +(\d+)", Path("/proc/meminfo").read_text())
        limit = int(free[1]) << 10 if free else resource.RLIM_INFINITY
        resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.getrlimit(resource.RLIMIT_DATA)[1]))


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


class Endless(BaseException):
    """A call that computed too long; no handler of errors that a kernel may raise catches it."""


@contextmanager
def timed(what: str, seconds: float) -> Iterator[None]:
    """End a call that computes longer; in another thread than the main one there is no limit.

    Processor time is counted, of all threads, so that other work on the machine does not count. Python ends a call
    between two of its own instructions; one that waits, or ignores that, is ended with its process, if that is watched.
    """

    def end(*_: object) -> None:
        raise Endless(f"{what} does not end within {seconds:g} s of processor time")

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    for told in _told:
        told[_LIMITS] = _ends(time.process_time(), seconds)
    handler, timer = signal.signal(signal.SIGPROF, end), signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        for told in _told:
            told[_LIMITS] = _ends(0.0, 0.0)
        signal.setitimer(signal.ITIMER_PROF, *timer)
        signal.signal(signal.SIGPROF, handler)


@contextmanager
def limited(what: str, seconds: float, script: str = "") -> Iterator[None]:
    """A call with a limit on its time, in which ``sys.exit`` is an error.

    A call that never returns from compiled code ends with its process, if that is watched.
    """
    if _ended and what == TRACE:
        raise RuntimeError(*_ended)
    if _told:
        _tell(what, script, seconds)
    here = os.getpid()
    try:
        with timed(what, seconds), returning(what):
            yield
    finally:
        if os.getpid() != here:  # a process that the call forked, which would go on with the check
            os.kill(os.getpid(), signal.SIGKILL)
        if _told:  # no limit holds while outputs are judged
            _told[0][-1] = 0
            hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
            resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, hard))


@contextmanager
def returning(what: str) -> Iterator[None]:
    """Turn exceptions that would end the process into errors; Ctrl-C stays if no other process waits for this one."""
    try:
        yield
    except SystemExit as error:
        raise RuntimeError(f"{what} ends the process by sys.exit({error.code!r})") from None
    except BaseException as error:
        if isinstance(error, Exception | Endless) or (isinstance(error, KeyboardInterrupt) and not _told):
            raise
        raise RuntimeError(f"{what} ends the process by {error!r}") from None


@contextmanager
def stating(what: str) -> Iterator[None]:
    """A call of a definition: if it ends the process, the kernel is not to blame, even within a call of one."""
    running = _told[0][-1] if _told else 0
    for flag in _told:
        flag[-1] = 0
    with returning(what):
        yield
    for flag in _told:
        flag[-1] = running
