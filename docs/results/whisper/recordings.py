"""The recordings in speech.npz, from the source distribution of pocketsphinx 5.1.1: ``recordings.py SDIST.tar.gz``.

Five sentences of Jane Austen's Sense and Sensibility read by a volunteer of LibriVox, in the public domain, with the
transcripts that pocketsphinx has for its tests. Kept are Whisper's log spectrograms up to the end of each recording, in
float16: behind it they are constant, their least value.
"""

import hashlib
import io
import sys
import tarfile
import wave
from pathlib import Path

import numpy as np
from transformers import WhisperFeatureExtractor

SHA256 = "675778b309a22dfc9b7d37f7621976bba491d2a5f8c59696bd77fd6d07271355"
FILE = Path(__file__).with_name("speech.npz")


def main(source: Path) -> None:
    """Write the file."""
    if hashlib.sha256(source.read_bytes()).hexdigest() != SHA256:
        sys.exit(f"{source}: is not the source distribution of pocketsphinx 5.1.1")
    extract, arrays = WhisperFeatureExtractor(), dict[str, np.ndarray]()
    with tarfile.open(source) as archive:
        for name in sorted(n for n in archive.getnames() if "/librivox/" in n and n.endswith(".wav")):
            with wave.open(io.BytesIO(archive.extractfile(name).read())) as sound:  # type: ignore[union-attr]
                samples = np.frombuffer(sound.readframes(sound.getnframes()), "<i2").astype(np.float32) / 32768
            spectrogram = extract(samples, sampling_rate=16_000, return_tensors="np").input_features[0]
            text = archive.extractfile(name[:-3] + "txt").read().decode().strip()  # type: ignore[union-attr]
            arrays[text] = spectrogram[:, : len(samples) // 160 + 3].astype(np.float16)  # the window reaches further
    np.savez_compressed(FILE, **arrays)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
