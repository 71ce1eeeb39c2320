"""Code of others in a process of its own: it neither decides how this one ends nor writes on its standard output."""

import builtins
import contextlib
import ctypes
import os
import pickle
import secrets
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import IO, NoReturn, TypeVar

from .errors import InputError, LngeomError

T = TypeVar("T")
_THREADED = ("torch", "jax", "tensorflow", "triton")
"""What starts threads: they do not survive a fork."""
_KNOWN = ("builtins", "lngeom", "concurrent")
"""Whose errors this process can read; one of the code would be imported with it."""


class Ended(LngeomError):
    """The end of the process in place of a result; `status` is its exit code, or minus the signal."""

    def __init__(self, how: str, status: int = 0) -> None:
        super().__init__(how, status)
        self.status = status

    def __str__(self) -> str:
        return f"ends the process {self.args[0]}"


def apart(run: Callable[[], T], overdue: Callable[[int], bool] = lambda _: False) -> T:
    """What `run` returns or raises in a child process; what it prints goes to standard error.

    Where no process can be made safely, in this one: on systems but Linux, and behind the first import of PyTorch.
    There ``os._exit`` ends the code alone, as ``sys.exit`` does; a signal ends this process too. A child is killed when
    `overdue` says so, and then counts as ended by SIGXCPU.

    Raises:
        Ended: The code ended the process, or raised a BaseException that is no Exception.

    >>> apart(lambda: 1 + 1)
    2
    """
    if sys.platform != "linux" or any(name in sys.modules for name in _THREADED):
        try:
            with contextlib.redirect_stdout(sys.stderr), staying():
                return run()
        except SystemExit as error:
            raise Ended(f"by {error!r}") from None
    key = secrets.token_bytes(16)  # what the code writes into every open file is no answer
    with os.fdopen(os.memfd_create("answer"), "w+b") as answer:
        if not (child := os.fork()):
            _answer(answer, run, key)
        try:
            late = outlasted(child, overdue)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            status = -signal.SIGXCPU if late and status < 0 else status
        except KeyboardInterrupt:
            with contextlib.suppress(ProcessLookupError):  # which it reached as well
                os.kill(child, signal.SIGKILL)
            raise
        answer.seek(0)
        sent = answer.read()
    if status < 0:
        names = {each.value: each.name for each in signal.Signals}
        raise Ended(f"by signal {-status} ({names.get(-status, 'real-time')})", status)
    if not sent.startswith(key):
        raise Ended(f"with exit code {status}{' and writes into open files' if sent else ''}", status)
    done, value = pickle.loads(sent.removeprefix(key))
    if not done:
        raise value
    return value


def outlasted(child: int, overdue: Callable[[int], bool]) -> bool:
    """Wait for the end of a child process, whose status stays to be read; whether it was overdue, and was killed."""
    late = False
    while os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        if not late and (late := overdue(child)):
            os.kill(child, signal.SIGKILL)
        time.sleep(0.02)
    return late


@contextlib.contextmanager
def intact(spec: str) -> Iterator[None]:
    """Refuse code that replaces a function, number or method of what judges its outputs; what it replaced is put back.

    Raises:
        InputError: One was replaced.
    """
    for name in (front := sys.modules["lngeom"]).__all__:
        getattr(front, name)  # loaded when first asked for, and what is loaded later is not guarded
    modules = {name: module for name, module in sys.modules.items() if _judges(name)}
    listed = [each for module in modules.values() for each in vars(module).values()]
    classes = {f"{each.__module__}.{each.__qualname__}": each for each in listed if isinstance(each, type)}
    places = modules | {name: each for name, each in classes.items() if _judges(name)}
    before = {name: dict(vars(each)) for name, each in places.items()}
    try:
        yield
    finally:
        replaced = list[str]()
        for place, each in places.items():
            now, old = dict(vars(each)), before[place]
            for name in [name for name, value in old.items() if now.get(name) is not value and _acts(value)]:
                setattr(each, name, old[name])
                replaced.append(f"{place}.{name}")
            # A new method counts, and a new function that hides one of Python.
            hiding = (name for name in now if name not in old and (isinstance(each, type) or name in vars(builtins)))
            for name in [name for name in hiding if _acts(now[name])]:
                delattr(each, name)
                replaced.append(f"{place}.{name}")
        if replaced:
            raise InputError(f"{spec} replaces {replaced[0]}, which judges outputs: let it leave that as it is")


def _judges(name: str) -> bool:
    return name.partition(".")[0] in ("builtins", "math", "fractions", "numpy", "lngeom")


def _acts(value: object) -> bool:
    """Whether it is a function, a method, a property or a number."""
    return callable(value) or isinstance(value, float) or hasattr(value, "__get__")


@contextlib.contextmanager
def staying() -> Iterator[None]:
    """Have ``os._exit`` raise SystemExit in this process; those that it forks end."""
    leave, here = os._exit, os.getpid()

    def exit_of(status: int) -> NoReturn:
        if os.getpid() != here:
            leave(status)
        raise SystemExit(status)

    os._exit = exit_of
    try:
        yield
    finally:
        os._exit = leave


def _answer(answer: IO[bytes], run: Callable[[], object], key: bytes) -> NoReturn:
    """In the child: result or error, and the end of the process."""
    try:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: it does not outlive the process that waits
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a KeyboardInterrupt is now one that the code raises
        os.dup2(2, 1)
        sys.stdout = open(1, "w", buffering=1, errors="replace", closefd=False)  # noqa: SIM115
        try:
            sent = pickle.dumps((True, run()))
        except BaseException as error:
            foreign = type(error).__module__.partition(".")[0] not in _KNOWN
            kind = OSError if isinstance(error, OSError) else RuntimeError
            told = kind(f"{type(error).__name__}: {error}") if foreign else error
            sent = pickle.dumps((False, told if isinstance(error, Exception) else Ended(f"by {error!r}")))
        answer.seek(0)
        answer.truncate()
        answer.write(key + sent)
        answer.flush()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        os._exit(0)
