"""What a GPU has to measure, part by part, each at most seven minutes: ``make bench-gpu BENCH="--only sweep norms"``.

    sweep   the seven models at full depth, random weights, a million tokens each, with comparison.html
    norms   PyTorch's LayerNorm and RMSNorm, eager and compiled, forward and with the gradient
    fold    whole networks before and after their fold, eager and compiled
    hooks   time of measuring over the bare pass, one token in eight and every token projected; kernels of both
    train   the training study with the blocks of Pythia 70M

All goes to runs/gpu as it is measured. A part that was stopped goes on by the same command: finished models of `sweep`
and finished runs of `train` are kept. What stands after ``--`` is added to the command of each part, as in
``--only norms -- --device cpu --widths 768 --compile``.
"""

import argparse
import importlib
import importlib.util
import os
import runpy
import signal
import sys
from pathlib import Path

HERE = Path(__file__).parent
PARTS = {
    "sweep": "lngeom sweep all --random-weights --dtype bfloat16 --tokens 1e6 --output runs/gpu/sweep",
    "norms": "bench_norms.py --device cuda --rounds 15 --compile 768 1024 2048 4096 8192 --kernels runs/gpu/norms.csv",
    "fold": "bench_fold.py --device cuda --csv runs/gpu/fold.csv",
    "hooks": "bench_sweep.py --all --device cuda --dtype bfloat16 --batch-size 64 --null-every 1 8 --seconds 10 --count"
    " --json runs/gpu/hooks.json",
    "train": "experiments.training.study --config 70m --output runs/gpu/70m",
}
SECONDS = 420


def run(command: list[str]) -> None:
    """A script or a module in this process, which is stopped when its time is over."""
    sys.argv = command
    script = HERE / command[0]
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(f"stopped after {SECONDS} seconds"))
    signal.alarm(SECONDS)
    try:
        if script.exists():
            runpy.run_path(str(script), run_name="__main__")
        else:
            runpy.run_module(command[0], run_name="__main__", alter_sys=True)
    finally:
        signal.alarm(0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    options, failed = parser.parse_args(words[:end]), []
    if importlib.util.find_spec("array_api_compat") is None:  # on a GPU machine SciPy carries the same package
        sys.modules["array_api_compat"] = importlib.import_module("scipy._lib.array_api_compat")
    Path("runs/gpu").mkdir(parents=True, exist_ok=True)
    for name in options.only:
        command = PARTS[name].split() + words[end + 1 :]
        print(f"== {name}: {' '.join(command)}", flush=True)
        if (child := os.fork()) == 0:  # a part leaves neither memory nor threads to the next
            run(command)
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            failed.append(name)
    print("written to runs/gpu" + (f"; failed: {', '.join(failed)}" if failed else ""))
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
