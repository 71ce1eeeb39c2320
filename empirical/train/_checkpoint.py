"""Networks in Hugging Face's form, and the one state from which a training resumes exactly."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from safetensors.torch import save_file
from transformers import PreTrainedModel

from ..support import RunError, read_sealed, sha256_of, sync, write_folder, write_sealed


def save_network(model: PreTrainedModel, tokenizer: Path | None, folder: Path) -> None:
    """Save the network and its tokenizer as ``AutoModel`` and ``AutoTokenizer`` load them, all at once."""

    def fill(draft: Path) -> None:
        model.config.save_pretrained(draft)
        # "pt" is what transformers looks for in a file of PyTorch tensors.
        save_file(model.state_dict(), draft / "model.safetensors", metadata={"format": "pt"})
        if tokenizer is not None:
            shutil.copytree(tokenizer, draft, dirs_exist_ok=True)

    write_folder(folder, fill)


def step_of(state: Path) -> int:
    """After which step the Trainer saved this state."""
    return int(state.name.rpartition("-")[2])


def last_state(folder: Path) -> Path | None:
    """The latest state that is whole, or None; one that a killed process left half written is nobody's word."""
    whole = (path.parent for path in folder.glob("checkpoint-*/state.json"))
    return max(whole, key=step_of, default=None)


def vouch(folder: Path, step: int, tables: Iterable[Path]) -> None:
    """Seal the state that was saved after `step`: the hashes of its files and of the tables so far. Remove older ones.

    Everything is on the disk before the seal is, so that a state with a seal can be gone on from.
    """
    current = folder / f"checkpoint-{step}"
    files = [path for path in (*current.iterdir(), *tables) if path.name != "state.json"]
    for path in files:
        sync(path)
    write_sealed(current / "state.json", {"step": step, "hashes": {path.name: sha256_of(path) for path in files}})
    for other in folder.glob("checkpoint-*"):
        if other != current:
            shutil.rmtree(other)


def check_hashes(state: Path, tables: Iterable[Path]) -> None:
    """Compare a state and the tables up to it with the hashes that it was sealed with.

    Raises:
        RunError: If one of them was changed since, or the state is not whole.
    """
    try:
        about = read_sealed(state / "state.json")
        seen = {path.name: sha256_of(path) for path in (*state.iterdir(), *tables) if path.name != "state.json"}
    except OSError as error:
        msg = f"the state in {state} is not whole ({error.strerror}): remove that folder and start again"
        raise RunError(msg) from None
    if about["step"] != step_of(state):
        msg = f"the state in {state} is that of step {about['step']}: give the folder its name back, or start again"
        raise RunError(msg)
    for name, digest in about["hashes"].items():
        if seen.get(name) != digest:
            msg = f"{name} of the state in {state} has changed (by its SHA-256): start again in another directory"
            raise RunError(msg)
