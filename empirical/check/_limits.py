"""The call of a kernel, that may do anything: it computes no longer than it may, and it does not end the check."""

import mmap
import resource
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_told: list[mmap.mmap] = []
"""What this process does, for the one that waits for it."""
_PAGE = 1 << 14


def watch() -> mmap.mmap:
    """From now on :func:`limited` says here what is called, and a script of the call, each up to a NUL."""
    _told[:] = [mmap.mmap(-1, _PAGE)]
    return _told[0]


def watched() -> bool:
    """Whether another process waits for this one."""
    return bool(_told)


def _tell(what: str, script: str, seconds: float) -> None:
    """Says it, and has the system end what does not return to Python a while after a call may last."""
    said = what.encode() + b"\0" + script.encode()
    _told[0][:] = (said if len(said) < _PAGE else what.encode()).ljust(_PAGE, b"\0")
    used = resource.getrusage(resource.RUSAGE_SELF)
    end = int(used.ru_utime + used.ru_stime + seconds) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (end, resource.getrlimit(resource.RLIMIT_CPU)[1]))


class Endless(BaseException):
    """A call that computed too long; no handler of errors that a kernel may raise catches it."""


@contextmanager
def limited(what: str, seconds: float, script: str = "") -> Iterator[None]:
    """Turn ``sys.exit`` into an error, and end what computes longer; outside the main thread it may take long.

    Processor time is counted, of all threads, so that other work on the machine does not count. Python ends a call
    between two of its own instructions. One that never returns from compiled code ends with its process, if that is
    watched; one that waits without computing is not ended.
    """
    if _told:
        _tell(what, script, seconds)

    def end(*_: object) -> None:
        raise Endless(f"{what} does not end within {seconds:g} s of processor time")

    if threading.current_thread() is not threading.main_thread():
        with _exits(what):
            yield
        return
    handler, timer = signal.signal(signal.SIGPROF, end), signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        with _exits(what):
            yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, *timer)
        signal.signal(signal.SIGPROF, handler)
        if _told:  # what judges the outputs may take its time
            resource.setrlimit(
                resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.getrlimit(resource.RLIMIT_CPU)[1])
            )


@contextmanager
def _exits(what: str) -> Iterator[None]:
    try:
        yield
    except SystemExit as error:
        raise RuntimeError(f"{what} ends the process by sys.exit({error.code!r})") from None
