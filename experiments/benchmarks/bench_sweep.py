"""The cost of measuring: time of a forward pass with the observer over the bare one, in one run.

    python experiments/benchmarks/bench_sweep.py                       # SmolLM2-135M on this machine's CPU
    python experiments/benchmarks/bench_sweep.py --cpu-time            # CPU seconds of one thread, for a busy machine
    python experiments/benchmarks/bench_sweep.py --all --blocks 2      # seven models at true width, random weights
    python experiments/benchmarks/bench_sweep.py --count               # kernels of a pass too, by PyTorch's profiler

Bare and observed batches alternate, so that both see the machine in the same state; the ratio is the median over pairs.
The process keeps the memory it frees, as ``lngeom sweep`` does: by default glibc faults large blocks in over and over,
in one pass more and in the next one less.
"""

import argparse
import gc
import itertools
import time
from collections.abc import Callable
from functools import partial

import torch
from harness import Row, finish, parser, ratio, seconds  # pyright: ignore[reportMissingImports]

from lngeom.empirical.models import KNOWN_MODELS, LoadedModel, bundled_model, find_model, load_config, load_model
from lngeom.empirical.observe import Observer


def batches(loaded: LoadedModel, batch: int, length: int) -> torch.Tensor:
    ids = torch.randint(0, loaded.config.vocab_size, (batch, length), generator=torch.Generator().manual_seed(0))
    return ids.to(loaded.device)


def forward(loaded: LoadedModel, ids: torch.Tensor) -> None:
    keep = {} if loaded.topology == "post" else {"use_cache": False}
    loaded.model(input_ids=ids, **keep)


def null(ids: torch.Tensor, every: int) -> torch.Tensor:
    """One token in so many, which a sweep projects on the random directions."""
    rows, columns = (torch.arange(size, device=ids.device) for size in ids.shape)
    return columns % every == rows[:, None] % every


def launched(loaded: LoadedModel, work: Callable[[], object]) -> dict[str, float]:
    """Kernels of a pass, and the milliseconds in which they ran; on a CPU its operators."""
    with torch.profiler.profile() as profile:
        seconds(work)
    events = [each for each in profile.events() or () if each.device_type.name.lower() == loaded.device.type]
    return {"kernels": len(events), "milliseconds": sum(event.time_range.elapsed_us() for event in events) / 1e3}


def overhead(loaded: LoadedModel, batch: int, directions: int, every: int, options: argparse.Namespace) -> Row:
    """Ratio of observed to bare time."""
    clock = time.process_time if options.cpu_time else time.perf_counter
    ids = batches(loaded, batch, options.sequence_length)
    passed, bare, observed = partial(forward, loaded, ids), [], []
    with torch.inference_mode():
        forward(loaded, ids)
        watching = Observer(loaded.model, loaded.sites, directions=directions)
        watching.null(null(ids, every))
        with watching:
            for _ in range(2):  # what waits for more layers is reduced by the second pass
                forward(loaded, ids)
        begun = time.perf_counter()
        while len(bare) < 3 or time.perf_counter() - begun < options.seconds:
            bare.append(seconds(passed, clock))
            with watching:
                observed.append(seconds(passed, clock))
        counts = {}
        if options.count:
            counts["bare"] = launched(loaded, passed)
            with watching:
                counts["observed"] = launched(loaded, passed)
            print(counts, flush=True)
    name, d = loaded.source.name, loaded.config.hidden_size
    work = f"{name}, d = {d}, {batch} × {options.sequence_length} tokens, K = {directions} on 1 in {every}"
    return {"work": work, "peer": "bare pass", **ratio(observed, bare), "model": name, **counts}


def load(model: str, options: argparse.Namespace) -> LoadedModel:
    source = find_model(model)
    random = source.known is not None or options.blocks > 0
    config = load_config(source, random_weights=random)
    if options.blocks > 0:
        config.num_hidden_layers = options.blocks
    if random:
        config.quantization_config = None
        vars(config).pop("quantization_config")
    loaded = load_model(source, dtype=options.dtype, device=options.device, random_weights=random, config=config)
    for site in loaded.sites if random else ():
        # Trained gains are not 1, where each output is nearly parallel to its input and measured in float64.
        torch.nn.init.uniform_(loaded.model.get_parameter(f"{site.path}.weight"), 0.5, 1.5)
    return loaded


def main() -> None:
    made = parser(
        __doc__, device="cpu", dtype="auto", batch_size=[8], sequence_length=512, directions=[64], null_every=[8],
        seconds=30.0, model=str(bundled_model()), all=False, blocks=0, cpu_time=False, count=False,
    )  # fmt: skip
    options = made.parse_args()
    if options.cpu_time:
        torch.set_num_threads(1)  # those that wait for work take time too
    rows = list[Row]()
    for name in KNOWN_MODELS if options.all else (options.model,):
        loaded = load(name, options)
        for case in itertools.product(options.batch_size, options.directions, options.null_every):
            rows.append(overhead(loaded, *case, options))
        del loaded
        gc.collect()
    finish(options.json, rows)


if __name__ == "__main__":
    main()
