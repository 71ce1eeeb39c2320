"""The options of an ablation."""

from dataclasses import dataclass

from lngeom.options import argument, folder, option, seed


@dataclass(frozen=True)
class Ablation:
    """Options of an ablation; None stands for a default. No `site_tokens` leave single norms as they are."""

    model: str | None = argument("MODEL", "as for lngeom sweep (default: bundled SmolLM2-135M-Instruct)", default=None)
    corpus: str | None = option(
        None,
        "as for lngeom sweep, but not 'random'; or a folder of .npz passages, with inputs by name and labels",
        metavar="TEXT",
    )
    tokens: int = option(16_384, "tokens to predict")
    site_tokens: int = option(4_096, "tokens to predict with one norm changed")
    sequence_length: int = option(512, "longest sequence")
    per_document: int = option(2, "at most so many sequences from one document, the independent unit of the intervals")
    batch_tokens: int = option(1_024, "tokens per forward pass")
    shard_tokens: int = option(2_048, "tokens between two saves of the run")
    directions: int = option(3, "number of random unit vectors; u_norm removes one, not the mean", metavar="K")
    seed: int = option(0, "seed of the random unit vectors", type=seed)
    revision: str | None = option(None, "branch, tag or commit of the model on the hub")
    dtype: str = option("auto", "default: float32 on the CPU, else the checkpoint's")
    device: str = option("auto", "cpu, cuda, cuda:1, ... (default: a GPU if there is one)")
    allow_pickle: bool = option(False, "load pickled weights, which can run code")
    output: str | None = option(None, "run directory (default: runs/ablate-NAME)", metavar="DIR", type=folder)
