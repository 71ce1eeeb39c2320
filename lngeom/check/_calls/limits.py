"""Limits on a call of a kernel, which may do anything: on its processor time, and on ending the process."""

import mmap
import resource
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_told: list[mmap.mmap] = []
"""A page shared with the process that waits for this one; empty if none does."""
_PAGE = 1 << 14


def page() -> mmap.mmap:
    """A page that this process and its children see."""
    return mmap.mmap(-1, _PAGE)


def watch(told: mmap.mmap) -> None:
    """From now on :func:`limited` writes name and script here, NUL-terminated, and a final flag: a call is running."""
    _told[:] = [told]


def watched() -> bool:
    """Whether another process waits for this one."""
    return bool(_told)


def _tell(what: str, script: str, seconds: float) -> None:
    """Writes name and script; the system ends the process if compiled code runs 2 s past the limit."""
    said = what.encode() + b"\0" + script.encode()
    _told[0][:] = (said if len(said) < _PAGE - 1 else what.encode()).ljust(_PAGE - 1, b"\0") + b"\1"
    used = resource.getrusage(resource.RUSAGE_SELF)
    end = int(used.ru_utime + used.ru_stime + seconds) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (end, resource.getrlimit(resource.RLIMIT_CPU)[1]))


class Endless(BaseException):
    """A call that computed too long; no handler of errors that a kernel may raise catches it."""


@contextmanager
def timed(what: str, seconds: float) -> Iterator[None]:
    """End a call that computes longer; in another thread than the main one there is no limit.

    Processor time is counted, of all threads, so that other work on the machine does not count. Python ends a call
    between two of its own instructions; one that waits without computing is not ended.
    """

    def end(*_: object) -> None:
        raise Endless(f"{what} does not end within {seconds:g} s of processor time")

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler, timer = signal.signal(signal.SIGPROF, end), signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, *timer)
        signal.signal(signal.SIGPROF, handler)


@contextmanager
def limited(what: str, seconds: float, script: str = "") -> Iterator[None]:
    """A call with a limit on its time, in which ``sys.exit`` is an error.

    A call that never returns from compiled code ends with its process, if that is watched.
    """
    if _told:
        _tell(what, script, seconds)
    try:
        with timed(what, seconds), returning(what):
            yield
    finally:
        if _told:  # no limit holds while outputs are judged
            _told[0][-1] = 0
            resource.setrlimit(
                resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.getrlimit(resource.RLIMIT_CPU)[1])
            )


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
