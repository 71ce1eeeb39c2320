"""Compiled kernels that take their process down: the verdict stays, with a script that ends alike."""

import json
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("cc") is None, reason="needs Linux and a compiler of C")
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("good", "ok: within rounding"),
        ("outside", "bug: a call with x of shape (52, 100) ends the process by signal 11 (SIGSEGV)"),
        ("endless", "bug: a call with x of shape (52, 5) does not end, and does not return to Python"),
        ("leaking", "bug: memory leak: every call keeps about as much memory as it returns"),
    ],
)
def test_a_kernel_that_takes_its_process_down_gets_a_verdict(
    name: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rms.c").write_text(SOURCE)
    Path("kernels.py").write_text(KERNELS)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "rms.so", "rms.c", "-lm"], check=True)
    asked = f"check kernels:{name} --kind rmsnorm --eps 1e-6 --seconds 1".split()
    script = [] if name == "good" else ["--reproducer", "script.py"]
    done = subprocess.run([sys.executable, "-m", "lngeom", *asked, *script], capture_output=True, text=True)
    assert told in done.stdout, done
    assert done.returncode == (name != "good")
    if not script:
        return

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (2, 2) if name == "endless" else (5, 5))

    ran = subprocess.run(["env", "PYTHONPATH=.", sys.executable, "script.py"], capture_output=True, preexec_fn=limit)
    pages = [int(word) for word in ran.stdout.split()[::2]]
    # Eight times fifty outputs of 1 MiB; all but the first fifty are seen to come on top.
    assert ran.returncode < 0 if name != "leaking" else (pages[-1] - pages[0]) * resource.getpagesize() > 300 << 20


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
OUTSIDE = "code of k.py:rms or of a definition ends the process"


@pytest.mark.skipif(sys.platform != "linux", reason="needs the processes of Linux")
@pytest.mark.parametrize(
    ("first", "inside", "more", "code", "told"),
    [
        ("os._exit(0)", "", "", 2, f"{OUTSIDE} with exit code 0;"),
        ("os.kill(os.getpid(), 40)", "", "", 2, f"{OUTSIDE} by signal 40 (real-time);"),
        ("raise KeyboardInterrupt", "", "", 2, f"{OUTSIDE} by KeyboardInterrupt();"),
        ("class Own(BaseException): ...\nraise Own", "", "", 2, f"{OUTSIDE} by Own();"),
        ("np.isfinite = np.ones_like", "", "", 2, "k.py:rms replaces numpy.isfinite, which judges outputs"),
        ("", "import builtins; builtins.any = all", "", 2, "k.py:rms replaces builtins.any, which judges outputs"),
        ("", "os._exit(0)", "", 1, "bug: a call with x of shape (3, 8) ends the process with exit code 0"),
        ("", "raise KeyboardInterrupt", "", 2, "a call with x of shape (3, 8) ends the process by KeyboardInterrupt()"),
        ("", "", "--spec k.py:leaves", 2, "k.py:leaves has no value at a row of d = 8: RuntimeError: k.py:leaves ends"),
        ("", "", "--spec k.py:ends", 2, f"{OUTSIDE} with exit code 0;"),
        ("", "print(1); os.write(1, b'2')", "--json", 0, ""),
        ("sys.stdout.close()", "", "--json", 0, ""),
    ],
)
def test_a_file_decides_neither_the_exit_code_nor_what_stands_on_standard_output(
    first: str, inside: str, more: str, code: int, told: str, tmp_path: Path
) -> None:
    (tmp_path / "k.py").write_text(ENDS.format(first, inside))
    asked = f"-m lngeom check k.py:rms --kind rmsnorm --eps 1e-6 --d 8 {more}".split()
    done = subprocess.run([sys.executable, *asked], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == code, done
    assert json.loads(done.stdout)["passed"] if not told else told in (done.stdout if code == 1 else done.stderr)
    assert done.stderr.count("\n") == (code == 2) or not code, done.stderr
