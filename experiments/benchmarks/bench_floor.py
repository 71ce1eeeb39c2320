"""The parts of measuring a norm layer by themselves, each as a share of the bare forward pass's time per norm.

    python experiments/benchmarks/bench_floor.py [--batch-size 4 --rounds 7] [--cpu-time]

SmolLM2 and vectors of its shape. Nothing can be below two of the rows: reading what enters and what leaves once, at the
bandwidth that a sum over them reaches, and the 4dK operations for each token that is projected, which are the products
with K directions.
"""

import statistics
import time
from typing import Any

import torch
from bench_sweep import batches, forward, null  # pyright: ignore[reportMissingImports]
from harness import finish, in_turn, parser, ratio, seconds  # pyright: ignore[reportMissingImports]

from empirical.models import bundled_model, find_model, load_model
from empirical.observe import SIDES, Sketches, features, random_directions, reduce, sketch
from empirical.support import keep_freed_memory

TOGETHER = 16


def main() -> None:
    options = parser(
        __doc__, batch_size=4, sequence_length=512, directions=64, null_every=8, rounds=7, cpu_time=False
    ).parse_args()
    keep_freed_memory()
    clock = time.process_time if options.cpu_time else time.perf_counter
    if options.cpu_time:
        torch.set_num_threads(1)
    loaded = load_model(find_model(str(bundled_model())), dtype="auto", device="cpu")
    ids, d = batches(loaded, options.batch_size, options.sequence_length), loaded.config.hidden_size
    x, z = (torch.randn(ids.numel(), d) for _ in range(2))
    columns = torch.from_numpy(random_directions(d, options.directions, 0)).float().T.contiguous()
    first = torch.zeros(ids.shape, dtype=torch.bool)
    first[:, 0] = True
    buckets = torch.stack([first, ~first])

    projected = null(ids, options.null_every)
    rows = torch.nonzero(projected.flatten())[:, 0]
    states = dict.fromkeys(SIDES)

    def reduced(compiled: bool) -> None:
        values = features(kept, kind="rmsnorm", eps=loaded.sites[0].eps, compiled=compiled)
        for side, vectors, entering in zip(SIDES, (kept.before, kept.after), (None, kept.before), strict=True):
            states[side] = reduce(side, vectors, values[side], buckets, entering, onto=states[side])

    work: dict[str, tuple[Any, int]] = {
        "bare": (lambda: forward(loaded, ids), len(loaded.sites)),
        "read": (lambda: (x.sum(), z.sum()), 1),
        "products": (lambda: (x[rows] @ columns, z[rows] @ columns), 1),
        "sketch": (lambda: sketch(x, z, columns, out=kept[0]), 1),
        "sketch, compiled": (lambda: sketch(x, z, columns, compiled=True, out=kept[0]), 1),
        "reduced": (lambda: reduced(False), TOGETHER),
        "reduced, compiled": (lambda: reduced(True), TOGETHER),
    }
    with torch.inference_mode():
        kept = Sketches.empty(TOGETHER, len(x), columns, null=rows)
        for layer in range(TOGETHER):
            sketch(x, z, columns, out=kept[layer])
        actions = {name: action for name, (action, _) in work.items()}
        taken = in_turn(actions, options.rounds, lambda action: seconds(action, clock))
    times = {name: [each / work[name][1] for each in taken[name]] for name in work}
    parts = {"floor: one read of either side": times["read"], "floor: products with the directions": times["products"]}
    for name, suffix in (("plain", ""), ("compiled", ", compiled")):
        both = zip(times[f"sketch{suffix}"], times["products"], strict=True)
        parts[f"means, variances and x·z, {name}"] = [sketched - products for sketched, products in both]
        parts[f"angles, sums and histograms, {name}"] = times[f"reduced{suffix}"]
    peer, count = "bare pass, per norm", ids.numel() * d
    results = [{"work": name, "peer": peer, **ratio(part, times["bare"])} for name, part in parts.items()]
    bandwidth = 2 * 4 * count / statistics.median(times["read"]) / 1e9
    speed = 4 * d * len(rows) * options.directions / statistics.median(times["products"]) / 1e9
    ran = f"The two floors ran at {bandwidth:.0f} GB/s and {speed:.0f} Gflop/s, with {torch.get_num_threads()} threads."
    finish(options.json, results, [ran])


if __name__ == "__main__":
    main()
