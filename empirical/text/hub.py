"""Texts of a data set on the Hugging Face hub, streamed."""

import os
from collections.abc import Iterator

from ..support import CorpusError

SCHEME = "hf:"


def _parts(spec: str) -> tuple[str, str | None, str]:
    """Split ``hf:NAME[:CONFIG[:SPLIT]]``."""
    name, *rest = spec.removeprefix(SCHEME).split(":")
    if not name or len(rest) > 2:
        raise CorpusError(f"corpus {spec!r}: expected hf:NAME, hf:NAME:CONFIG or hf:NAME:CONFIG:SPLIT")
    return name, (rest[0] if rest and rest[0] else None), rest[1] if len(rest) == 2 else "train"


def streamed(spec: str) -> Iterator[str]:
    """Yield the texts of ``hf:NAME[:CONFIG[:SPLIT]]`` in the order of the data set (default split ``train``)."""
    name, config, split = _parts(spec)
    try:
        import datasets
        from datasets.exceptions import DatasetsError
    except ModuleNotFoundError:
        raise CorpusError(f"corpus {spec!r}: needs the package 'datasets'; run: pip install 'datasets>=3'") from None
    offline = os.environ.get("HF_HUB_OFFLINE", "0") not in ("", "0")
    try:
        stream = datasets.load_dataset(name, config, split=split, streaming=True)
        features = list(stream.features or {})
        if features and "text" not in features:
            msg = f"corpus {spec!r}: has the columns {features} and not 'text'; choose a data set with a text column"
            raise CorpusError(msg)
        for record in stream:
            yield record["text"]
    except (OSError, ValueError, DatasetsError) as error:
        if isinstance(error, CorpusError):
            raise
        reason = str(error).strip().partition("\n")[0]
        advice = "HF_HUB_OFFLINE is set: unset it" if offline else "check its name on huggingface.co and the network"
        msg = f"corpus {spec!r}: cannot be streamed ({type(error).__name__}: {reason}); {advice}, or give a local file"
        raise CorpusError(msg) from None
