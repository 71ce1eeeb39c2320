import json
import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from lngeom import check as wing
from lngeom.cli import main
from tests.support import python, refused, said

SOURCE = """
#include <math.h>
#include <stdlib.h>
void rms(float *y, const float *x, double eps, long n, long d, int how) {
    if (how == 1 && d > 64) x = (float *)16;
    while (how == 2 && d == 5) {}
    for (long r = 0; r < n; r++, x += d, y += d) {
        double s = 0;
        for (long i = 0; i < d; i++) s += (double)x[i] * x[i];
        for (long i = 0; i < d; i++) y[i] = x[i] / sqrt(s / d + eps);
    }
    volatile float *lost = how == 3 ? malloc(n * d * sizeof *lost) : NULL;
    for (long i = 0; lost && i < n * d; i++) lost[i] = 1;
}
"""
KERNELS = """
import ctypes
import numpy as np
rms = ctypes.CDLL("./rms.so").rms
def call(x, eps, how):
    x, d = np.ascontiguousarray(x), x.shape[-1]
    y, at = np.empty_like(x), lambda a: ctypes.c_void_p(a.ctypes.data)
    rms(at(y), at(x), ctypes.c_double(eps), ctypes.c_long(x.size // d), ctypes.c_long(d), how)
    return y
def good(x, eps): return call(x, eps, 0)
def outside(x, eps): return call(x, eps, 1)
def endless(x, eps): return call(x, eps, 2)
def leaking(x, eps): return call(x, eps, 3)
"""


def _run(folder: Path, *words: object) -> "subprocess.CompletedProcess[str]":
    return python("-m", "lngeom", "check", "--kind", "rmsnorm", "--eps", "1e-6", *words, cwd=folder)


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("cc") is None, reason="needs Linux and a compiler of C")
def test_a_kernel_that_takes_its_process_down_gets_a_verdict(tmp_path: Path) -> None:
    (tmp_path / "rms.c").write_text(SOURCE)
    (tmp_path / "kernels.py").write_text(KERNELS)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "rms.so", "rms.c", "-lm"], check=True, cwd=tmp_path)
    names = [f"kernels:{name}" for name in ("good", "outside", "endless", "leaking")]
    done = _run(tmp_path, *names, "--seconds", 0.2, "--json", "found.json")
    good, outside, endless, leaking = json.loads((tmp_path / "found.json").read_text())["results"]
    assert (done.returncode, good["verdict"]) == (1, "rounding"), done
    for found, told in (
        (outside, "a call with x of shape (52, 100) ends the process by signal 11 (SIGSEGV)"),
        (endless, "a call with x of shape (52, 5) does not end, and does not return to Python"),
        (leaking, "memory leak: every call keeps about as much memory as it returns"),
    ):
        assert (found["verdict"], found["cause"]) == ("bug", told)
    assert endless["reproducer"]  # which ended alike
    place: dict[str, Any] = {"cwd": tmp_path, "env": {**os.environ, "PYTHONPATH": "."}}
    assert python("-c", outside["reproducer"], **place).returncode < 0
    ran = python("-c", leaking["reproducer"], **place)
    pages = [int(word) for word in ran.stdout.split()[::2]]
    # Eight times fifty outputs of 1 MiB; all but the first fifty are seen to come on top.
    assert (pages[-1] - pages[0]) * resource.getpagesize() > 300 << 20


ENDS = """
import os, sys
import numpy as np
{}
def rms(x, eps):
    {}
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(eps))
def leaves(x): sys.exit(0)
def ends(x): os._exit(0)
"""
OUTSIDE = "code of {} or of a definition ends the process"
FILES = {
    "exit": ("os._exit(0)", "", f"{OUTSIDE} with exit code 0;"),
    "kill": ("os.kill(os.getpid(), 40)", "", f"{OUTSIDE} by signal 40 (real-time);"),
    "interrupt": ("raise KeyboardInterrupt", "", f"{OUTSIDE} by KeyboardInterrupt();"),
    "isfinite": ("np.isfinite = np.ones_like", "", "{} replaces numpy.isfinite, which judges outputs"),
    "any": ("", "import builtins; builtins.any = all", "{} replaces builtins.any, which judges outputs"),
    "greater": (
        "import fractions",
        "fractions.Fraction.__gt__ = lambda *_: False",
        "{} replaces fractions.Fraction.__gt__,",
    ),
    "passes": (
        "from lngeom.check import Finding",
        "Finding.passes = lambda *_, **__: True",
        "Finding.passes, which judges",
    ),
    "new": ("from lngeom.check import Finding", "Finding.__bool__ = lambda _: True", "Finding.__bool__, which judges"),
    "front": ("import lngeom", "lngeom.project = abs", "replaces lngeom.project"),
    "hides": ("import lngeom", "lngeom.rounding.family.any = lambda _: False", "replaces lngeom.rounding.family.any"),
    "call": ("", "os._exit(0)", "a call with x of shape (3, 8) ends the process with exit code 0 (bug)"),
    "interrupted": ("", "raise KeyboardInterrupt", "a call with x of shape (3, 8) ends the process by Keyboard"),
}


@pytest.mark.skipif(sys.platform != "linux", reason="needs the processes of Linux")
def test_a_kernel_does_not_end_a_program_that_has_pytorch(tmp_path: Path) -> None:
    assert torch.__name__ in sys.modules  # so that it is not forked
    (tmp_path / "kernels.py").write_text("import os\ndef leaving(x):\n    os._exit(0)\n")
    leave = os._exit
    refused(said("check", f"{tmp_path / 'kernels.py'}:leaving", "--d", 8), "ends the process .*; mend|write a function")
    assert os._exit is leave


def test_a_file_decides_neither_the_verdict_nor_the_exit_code(tmp_path: Path) -> None:
    for name, (first, inside, _) in FILES.items():
        (tmp_path / f"{name}.py").write_text(ENDS.format(first, inside))
    done = _run(tmp_path, *(f"{name}.py:rms" for name in FILES), "--d", 8)
    assert done.returncode == 2, done
    table = dict(line.split(maxsplit=2)[1:] for line in done.stdout.splitlines() if line.startswith("FAIL"))
    for name, (*_, told) in FILES.items():
        assert told.format(f"{name}.py:rms") in table[f"{name}.py:rms"]
    assert done.stderr.count("\n") == 1


def test_an_error_about_one_kernel_leaves_the_verdicts_on_the_others(monkeypatch, capsys) -> None:
    judge = wing.check_spec

    def broken(target: str, **options: Any) -> Any:
        return judge(target, **options) if "rms" in target else getattr(target, "odd")  # noqa: B009

    monkeypatch.setattr(wing, "check_spec", broken)
    assert main(["check", "lngeom:layer_norm", "lngeom:rms_norm", "--eps", "1e-5", "--d", "4"]) == 2
    told = capsys.readouterr()
    assert re.search(r"FAIL +lngeom:layer_norm +not checked: .* judged: AttributeError: .*odd", told.out)
    assert re.search("pass +lngeom:rms_norm", told.out)
    assert told.err.count("\n") == 1


DEAF = """import signal; signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
for n in {*range(1, 65)} - {9, 19, 32, 33}: signal.signal(n, signal.SIG_IGN)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs the processes of Linux")
@pytest.mark.parametrize(
    ("first", "inside"), [(DEAF, "while True: pass"), ("", "os.kill(os.getpid(), 19)")], ids=["deaf", "stopped"]
)
def test_a_kernel_that_no_signal_ends_is_killed(first: str, inside: str, tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(ENDS.format(first, inside))
    done = _run(tmp_path, "k.py:rms", "--d", 8, "--seconds", 0.2)
    assert done.returncode == 1, done
    assert "FAIL rms: a call with x of shape (3, 8) does not end, and does not return" in done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="needs the processes of Linux")
@pytest.mark.parametrize(
    ("first", "inside", "more", "told"),
    [
        ("", "", ("--device", "nosuch"), "numpy: ValueError: --device nosuch: the check tells NumPy no device"),
        ("", "", ("--spec", "k.py:leaves"), "k.py:leaves has no value at a row of d = 8: RuntimeError: k.py"),
        ("", "", ("--spec", "k.py:ends"), f"{OUTSIDE.format('k.py:rms')} with exit code 0;"),
        ("print(1); sys.stdout.close()", "os.write(1, b'2')", ("--json",), ""),
    ],
)
def test_what_is_no_fault_of_a_kernel_is_refused_and_stdout_has_json_alone(first, inside, more, told, tmp_path) -> None:
    (tmp_path / "k.py").write_text(ENDS.format(first, inside))
    done = _run(tmp_path, "k.py:rms", "--d", 8, *more)
    assert done.returncode == 2 * bool(told), done
    assert told in done.stderr
    assert told or json.loads(done.stdout)["passed"]


FORGED = """
import os, pickle
import numpy as np
def right(x, weight, eps=1e-6): return x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(eps)) * weight
def forged(x, weight, eps=1e-6):
    import lngeom.check
    found = lngeom.check.check(right, kind="rmsnorm", eps=1e-6, d=8)
    for file in range(3, 60):
        try: os.write(file, pickle.dumps((True, ({"forged": found}, {}))))
        except OSError: pass
    os._exit(0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the check runs in its own process")
def test_a_kernel_that_writes_into_open_files_forges_no_verdict(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(FORGED)
    done = _run(tmp_path, "kernels:forged", "--d", "16")
    assert done.returncode in (1, 2), done
    assert "PASS" not in done.stdout
    assert "and writes into open files" in done.stdout + done.stderr


FORKS = """
import os
import numpy as np
first, here = [], []
def norm(x): return x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-6))
def once(x):
    with open("ran", "a") as told: told.write(f"{os.getpid()}\\n")
    if not first: first.append(os.fork())
    return norm(x) * (1 if first[0] else 2)
def always(x):
    here.append(os.getpid())
    return x * 0 if os.getpid() == here[0] and os.fork() == 0 else norm(x)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs the processes of Linux")
def test_what_a_kernel_forks_checks_nothing_and_is_noted(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(FORKS)
    done = _run(tmp_path, "kernels:once", "kernels:always", "--d", 8, "--json", "found.json")
    assert done.returncode == 0, done
    assert len(set((tmp_path / "ran").read_text().split())) == 1
    noted = json.loads((tmp_path / "found.json").read_text())["results"][1]["notes"]
    assert any("a call forks other processes" in note for note in noted)


TRACED = """
import ctypes
import numpy as np
NOISE = np.random.default_rng(0)
def norm(x): return x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-6))
def drawing(x):
    NOISE.normal(size=x.shape), np.random.randn(*x.shape)
    return norm(x)
def pointing(x):
    if type(x) is not np.ndarray: ctypes.string_at(0)
    return norm(x)
def noisy(x): return (norm(x) * (1 + 1e-3 * np.random.randn(*x.shape))).astype(x.dtype)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the check runs in its own process")
def test_a_kernel_whose_compiled_code_takes_symbols_for_arrays_is_judged_by_its_outputs(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(TRACED)
    names = "drawing", "pointing", "noisy"
    done = _run(tmp_path, *(f"kernels:{name}" for name in names), "--d", 8, "--json", "found.json")
    drawing, pointing, noisy = json.loads((tmp_path / "found.json").read_text())["results"]
    assert (drawing["verdict"], pointing["verdict"], noisy["verdict"]) == ("rounding", "rounding", "bug"), done
    assert "normal(size=x.shape)" in drawing["proof"]["text"]
    assert "its trace ends the process by signal 11 (SIGSEGV)" in pointing["proof"]["text"]
    assert "(noise, or" in noisy["cause"]
