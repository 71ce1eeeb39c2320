"""The call of a kernel, that may do anything: it computes no longer than it may, and it does not end the check."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Endless(BaseException):
    """A call that computed too long; no handler of errors that a kernel may raise catches it."""


@contextmanager
def limited(what: str, seconds: float) -> Iterator[None]:
    """Turn ``sys.exit`` into an error, and end what computes longer; outside the main thread it may take long.

    Processor time is counted, of all threads, so that other work on the machine does not count. Python ends a call
    between two of its own instructions: one that waits, or never returns from compiled code, is not ended.
    """

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


@contextmanager
def _exits(what: str) -> Iterator[None]:
    try:
        yield
    except SystemExit as error:
        raise RuntimeError(f"{what} ends the process by sys.exit({error.code!r})") from None
