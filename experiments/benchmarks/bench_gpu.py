"""The seven known models on a GPU, at full depth with random weights, in one call of at most eight minutes.

    make bench-gpu
    PYTHONPATH=. python experiments/benchmarks/bench_gpu.py --device cpu --dtype float32 --blocks 1 --seconds 1

A plain Python with PyTorch and transformers is enough, and no network is needed; the second line tries it out on a CPU.
First the GPU's numbers are compared with those of `float64` on the CPU, and it is counted how often the host waits for
the GPU because of the hooks. Then each model passes the same tokens bare, measured, and with ``output_hidden_states``
and the same numbers computed of these, in turn. Beside the time that measuring adds to a norm stand its two floors: one
read of what enters and what leaves, and the products with the directions. At last `lngeom sweep all --random-weights`.
"""

import argparse
import gc
import json
import math
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
from bench_sweep import batches, forward, load, seconds  # pyright: ignore[reportMissingImports]
from harness import parser, ratio, table  # pyright: ignore[reportMissingImports]

from lngeom.cli import main as lngeom
from lngeom.empirical.models import KNOWN_MODELS, LoadedModel
from lngeom.empirical.observe import Observer, Sketches, random_directions, sketch
from tests.empirical.observe.sketches import excess

MILLION = 1_000_000


def agreement(device: torch.device) -> dict[str, float]:
    """Largest error of the numbers of this device over its bound, against `float64` on the CPU."""
    errors: dict[str, float] = {}
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        generator = torch.Generator().manual_seed(0)
        x = torch.randn(2000, 768, generator=generator) + 0.5
        z = x * torch.randn(768, generator=generator)
        x, z, directions = (each.to(dtype) for each in (x, z, torch.from_numpy(random_directions(768, 64, 0)).T))
        unit = torch.nn.functional.normalize(directions.double(), dim=0)
        exact = sketch(x.double(), z.double(), unit)
        for compiled in (False, True) if device.type == "cuda" else (False,):
            kept = Sketches.empty(1, len(x), directions.to(device))[0]
            sketch(*(each.to(device) for each in (x, z, directions)), compiled=compiled, out=kept)
            here = Sketches(768, kept.numbers.cpu(), kept.projections.cpu())
            name = f"{str(dtype).removeprefix('torch.')}, {'compiled' if compiled else 'plain'}"
            errors[name] = excess((here.before, here.after, here.inner), exact)
    return errors


def waits(work: Callable[[], object], device: torch.device) -> int:
    """How often the host waited for the GPU."""
    if device.type != "cuda":
        return 0
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            work()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return sum("synchronizing" in str(each.message) for each in caught)


def floors(loaded: LoadedModel, tokens: int, directions: int) -> dict[str, list[float]]:
    """Milliseconds, least, median and most of 20 rounds: one read of either side, and the products of either."""
    d, kind = loaded.config.hidden_size, {"device": loaded.device, "dtype": getattr(torch, loaded.dtype)}
    x, z, columns = (torch.randn(*shape, **kind) for shape in ((tokens, d), (tokens, d), (d, directions)))
    works = {"read": lambda: (x.sum(), z.sum()), "products": lambda: (x @ columns, z @ columns)}
    return {name: spread([seconds(loaded, work) for _ in range(20)]) for name, work in works.items()}


def spread(times: list[float]) -> list[float]:
    """Least, median and most, in milliseconds."""
    return [1e3 * end(times) for end in (min, statistics.median, max)]


def stored(loaded: LoadedModel, ids: torch.Tensor, columns: torch.Tensor) -> list[torch.Tensor]:
    """All hidden states at once, and of each what a user would compute: angle, energies, norm."""
    rows = []
    for state in loaded.model(input_ids=ids, use_cache=False, output_hidden_states=True).hidden_states:
        x = state.flatten(0, -2).float()
        norm = x.norm(dim=-1)
        cosine = x.sum(-1) / (norm * math.sqrt(x.shape[1]))
        energies = ((x @ columns) / norm[:, None]).square().mean(0)
        rows.append(torch.cat([torch.stack([torch.acos(cosine).mean(), norm.mean()]), energies]))
    return rows


def measured(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """One model: how much longer its passes take, and beside what floors."""
    loaded = load(name, options)
    ids, d = batches(loaded, options.batch_size, options.sequence_length), loaded.config.hidden_size
    columns = torch.from_numpy(random_directions(d, options.directions, 0)).T.to(loaded.device, torch.float32)
    watching = Observer(loaded.model, loaded.sites, directions=options.directions)

    def observed() -> None:
        with watching:
            forward(loaded, ids)

    works = {
        "bare": lambda: forward(loaded, ids),
        "observed": observed,
        "output_hidden_states": lambda: stored(loaded, ids, columns),
    }
    with torch.inference_mode():
        for work in works.values():
            work()
        extra = waits(observed, loaded.device) - waits(works["bare"], loaded.device)
        times: dict[str, list[float]] = {name: [] for name in works}
        begun = time.perf_counter()
        while len(times["bare"]) < 3 or time.perf_counter() - begun < options.seconds:
            for which, work in works.items():
                times[which].append(seconds(loaded, work))
        least = floors(loaded, ids.numel(), options.directions)
    seen = statistics.median(times["observed"])
    added = [one - other for one, other in zip(times["observed"], times["bare"], strict=True)]
    record = {
        "model": name,
        "d": d,
        "norms": len(loaded.sites),
        "batch": list(ids.shape),
        "directions": options.directions,
        "rounds": len(times["bare"]),
        **ratio(times["observed"], times["bare"]),
        "output_hidden_states": ratio(times["output_hidden_states"], times["bare"]),
        "milliseconds_a_norm": [each / len(loaded.sites) for each in spread(added)],
        "read_milliseconds": least["read"],
        "products_milliseconds": least["products"],
        "waits": extra,
        "tokens_per_second": ids.numel() / seen,
        "seconds_a_million": [MILLION * each / ids.numel() / 1e3 for each in spread(times["observed"])],
    }
    if loaded.device.type == "cuda":
        record["peak_gigabytes"] = torch.cuda.max_memory_allocated() / 1e9
        torch.cuda.reset_peak_memory_stats()
    return record


def told(value: Any) -> str:
    """A number, or the least, the median and the most of some."""
    several = [value[name] for name in ("low", "ratio", "high")] if isinstance(value, dict) else value
    if isinstance(several, list):
        return "{1:.4g} ({0:.4g} to {2:.4g})".format(*several)
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def main() -> int:
    made = parser(
        __doc__, device="cuda", dtype="bfloat16", batch_size=64, sequence_length=512, directions=64, blocks=0,
        seconds=15.0, minutes=8.0, sweep="runs/gpu",
    )  # fmt: skip
    made.add_argument("--models", nargs="+", choices=KNOWN_MODELS, help="default: all seven")
    options = made.parse_args()
    end = time.monotonic() + 60 * options.minutes
    device = torch.device(options.device)
    errors = agreement(device)
    print(table(["numbers", "error / bound"], ((name, f"{value:.3f}") for name, value in errors.items())))
    records: list[dict[str, Any]] = []
    left_out: list[str] = []
    for name in options.models or KNOWN_MODELS:
        if time.monotonic() > end - 60:
            left_out.append(name)
            continue
        records.append(measured(name, options))
        print(" ".join(f"{key}={value}" for key, value in records[-1].items()), flush=True)
        gc.collect()
        if device.type == "cuda":
            torch.cuda.empty_cache()
    header = ("model", "time / bare", "low", "high", "output_hidden_states", "ms a norm", "read", "products", "waits")
    names = ("model", "ratio", "low", "high", "output_hidden_states", "milliseconds_a_norm", "read_milliseconds",
             "products_milliseconds", "waits")  # fmt: skip
    print(table(header, ([told(row[name]) for name in names] for row in records)))
    total = sum(row["seconds_a_million"][1] for row in records)
    print(f"{len(records)} × 1 M tokens: {total / 60:.1f} minutes" + (f"; left out: {left_out}" if left_out else ""))
    if options.json:
        found = {"error_over_bound": errors, "results": records}
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    wrong = not all(value <= 1 for value in errors.values())
    if not options.blocks:
        words = ["sweep", "all", "--random-weights", "--device", options.device, "--dtype", options.dtype]
        wrong |= lngeom([*words, "--tokens", "16384", "--output", options.sweep]) == 2
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
