"""A check in a process of its own, so that a kernel that takes its process down takes no verdict with it."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from lngeom import limits
from lngeom.apart import Ended, apart, intact, outlasted
from lngeom.errors import InputError
from lngeom.sentences import Cause

from ._calls.options import CheckOptions
from ._verdict.finding import Finding
from ._verdict.verdict import nothing_computed

T = TypeVar("T")


def in_child(name: str, run: Callable[[], T], died: Callable[[str, str], T], ended: str = "") -> T:
    """What `run` returns or raises in a child process, or `died` of its end and of a script, if a call ends it.

    If tracing ends it, that is no fault: the outputs decide, in another child that is told how the first one `ended`.

    Raises:
        InputError: The code of `name` ends it, or raises what is no Exception, outside of a call.
    """
    told, here = limits.page(), os.getpid()

    def watched() -> T:
        if os.getpid() != here:
            limits.bound_memory()
            limits.watch(told, ended)
            os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # threads that wait use no processor time
        with intact(name):
            return run()

    try:
        return apart(watched, limits.overdue(told))
    except Ended as end:
        what, script, running = limits.read(told)
        endless = -end.status == signal.SIGXCPU
        if what and (end.status < 0 or running):
            how = f"{what} does not end, and does not return to Python" if endless else f"{what} {end}"
            return in_child(name, run, died, how) if what == limits.TRACE else died(how, script)
        how = "does not end" if endless else str(end)
        raise InputError(f"code of {name} or of a definition {how}; mend its file, then check again") from None


def dead(asked: CheckOptions, end: str, script: str) -> Finding:
    """The finding on a kernel that ended its process; the script is kept if it ends in the same way."""
    found = nothing_computed(asked, Cause("fault", end))
    shown = replace(found, point=found.point._replace(reproducer=script))
    return shown if script and _ends(script, asked.seconds) else found


def _ends(script: str, seconds: float) -> bool:
    """Whether a signal ends a script of Python, or does it when the script is overdue."""
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(OSError):
        (path := Path(folder) / "script.py").write_text(script, encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])}
        command, none = [sys.executable, str(path)], subprocess.DEVNULL
        with subprocess.Popen(command, env=environment, stdout=none, stderr=none) as ran:
            outlasted(ran.pid, limits.overdue(limits.page(seconds)))
        return ran.returncode < 0
    return False
