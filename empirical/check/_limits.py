"""The call of a kernel, that may do anything: it ends in time, and it does not end the check."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Endless(BaseException):
    """A call that did not end in time; no handler of errors that a kernel may raise catches it."""


@contextmanager
def limited(what: str, seconds: float) -> Iterator[None]:
    """Turn ``sys.exit`` into an error, and end what takes longer; in threads other than the main one it may take long.

    Python ends a call between two of its own instructions: one that never returns from compiled code is not ended.
    """

    def end(*_: object) -> None:
        raise Endless(f"{what} does not end within {seconds:g} s")

    if threading.current_thread() is not threading.main_thread():
        with _exits(what):
            yield
        return
    handler, timer = signal.signal(signal.SIGALRM, end), signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with _exits(what):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, handler)


@contextmanager
def _exits(what: str) -> Iterator[None]:
    try:
        yield
    except SystemExit as error:
        raise RuntimeError(f"{what} ends the process by sys.exit({error.code!r})") from None
