"""A check in a process of its own, so that a kernel that takes its process down takes no verdict with it."""

import contextlib
import os
import pickle
import re
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from . import _limits
from ._finding import Finding
from ._options import CheckOptions
from ._verdict import nothing_computed

T = TypeVar("T")
_THREADED = ("torch", "jax", "tensorflow", "triton")
"""What starts threads: they do not survive a fork."""


def in_child(run: Callable[[], T], died: Callable[[str, str], T]) -> T:
    """What `run` returns or raises in a child process, or `died` of its end and of a script, if a signal ends it.

    Where no process can be made safely, in this one: on systems but Linux, and behind the first import of PyTorch.
    """
    if sys.platform != "linux" or any(name in sys.modules for name in _THREADED):
        return run()
    told = _limits.watch()
    out, into = os.pipe()
    if not (child := os.fork()):
        os.close(out)
        _send(into, run)
    os.close(into)
    with os.fdopen(out, "rb") as pipe:
        sent = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status < 0:
        what, _, script = bytes(told).rstrip(b"\0").decode(errors="replace").partition("\0")
        return died(_ending(what, status), script)
    done, value = pickle.loads(sent)
    if not done:
        raise value
    return value


def _send(into: int, run: Callable[[], object]) -> None:
    """In the child: result or error through the pipe, and the end of the process."""
    if not Path("/dev/nvidiactl").exists():  # whose driver maps more than there is
        free = re.search(r"MemAvailable: +(\d+)", Path("/proc/meminfo").read_text())
        # A kernel that asks for more gets an error of its framework, and not the end that the system would choose.
        limit = int(free[1]) << 10 if free else resource.RLIM_INFINITY
        resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    try:
        answer: tuple[bool, object] = True, run()
    except BaseException as error:
        answer = False, error
    with os.fdopen(into, "wb") as pipe:
        try:
            pipe.write(pickle.dumps(answer))
        except Exception:  # an error of a framework that cannot be sent
            pipe.write(pickle.dumps((False, RuntimeError(f"{type(answer[1]).__name__}: {answer[1]}"))))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _ending(what: str, status: int) -> str:
    if -status == signal.SIGXCPU:
        return f"{what} does not end, and does not return to Python"
    return f"{what} ends the process by signal {-status} ({signal.Signals(-status).name})"


def dead(asked: CheckOptions, end: str, script: str) -> Finding:
    """The finding on a kernel that ended its process; the script stays if it ends its own alike."""
    found = nothing_computed(asked, end)
    return found.showing(script) if script and _ends(script, asked.seconds) else found


def _ends(script: str, seconds: float) -> bool:
    """Whether a signal ends a script of Python."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 5, resource.RLIM_INFINITY))

    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(OSError):
        (path := Path(folder) / "script.py").write_text(script, encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])}
        done = subprocess.run([sys.executable, str(path)], capture_output=True, preexec_fn=limit, env=environment)
        return done.returncode < 0
    return False
