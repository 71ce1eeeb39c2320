"""What a run leaves behind: networks in Hugging Face's form, and the one state from which it resumes exactly."""

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import PreTrainedModel

from ..support import RunError, read_sealed, sha256_of, write_folder, write_sealed


def save_network(model: PreTrainedModel, tokenizer: Path | None, folder: Path) -> None:
    """Save the network and its tokenizer as ``AutoModel`` and ``AutoTokenizer`` load them, all at once."""

    def fill(draft: Path) -> None:
        model.config.save_pretrained(draft)
        # "pt" is what transformers looks for in a file of PyTorch tensors.
        save_file(model.state_dict(), draft / "model.safetensors", metadata={"format": "pt"})
        if tokenizer is not None:
            shutil.copytree(tokenizer, draft, dirs_exist_ok=True)

    write_folder(folder, fill)


def _generators() -> dict[str, Tensor]:
    states = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        states |= {f"cuda.{i}": state for i, state in enumerate(torch.cuda.get_rng_state_all())}
    return states


def _restore_generators(states: dict[str, Tensor]) -> None:
    torch.set_rng_state(states.pop("cpu"))
    for name, state in states.items():
        torch.cuda.set_rng_state(state, int(name.partition(".")[2]))


def save_state(
    folder: Path, step: int, model: nn.Module, optimizer: torch.optim.Optimizer, tables: Iterable[Path] = ()
) -> None:
    """Save the state after `step` steps under `folder`, then remove older ones.

    It holds the parameters, the optimizer's moments, the random generators and the step, which is also the
    position in the text, and the hashes of all that and of the tables up to that step. All tensors are safetensors:
    nothing is unpickled when a run goes on.
    """
    current = folder / f"step-{step:08d}"

    def fill(draft: Path) -> None:
        save_file({name: p.detach().contiguous() for name, p in model.named_parameters()}, draft / "model.safetensors")
        moments = {
            f"{index}.{name}": value.contiguous()
            for index, values in optimizer.state_dict()["state"].items()
            for name, value in values.items()
            if value is not None
        }
        save_file(moments, draft / "optimizer.safetensors")
        save_file(_generators(), draft / "generators.safetensors")
        hashes = {path.name: sha256_of(path) for path in (*draft.iterdir(), *tables)}
        write_sealed(draft / "state.json", {"step": step, "hashes": hashes})

    write_folder(current, fill)
    for other in _states(folder):
        if other != current:
            shutil.rmtree(other)


def _states(folder: Path) -> list[Path]:
    return sorted(folder.glob("step-*")) if folder.is_dir() else []


def load_state(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> int | None:
    """Restore the latest state under `folder`; returns its step, or None if there is none."""
    states = _states(folder)
    if not states:
        return None
    latest = states[-1]
    about = check_hashes(latest, latest.glob("*.safetensors"))
    try:
        parameters = load_file(latest / "model.safetensors")
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(parameters.pop(name))
        moments: dict[int, dict[str, Tensor]] = {}
        for name, value in load_file(latest / "optimizer.safetensors").items():
            index, _, key = name.partition(".")
            moments.setdefault(int(index), {})[key] = value
        optimizer.load_state_dict({"state": moments, "param_groups": optimizer.state_dict()["param_groups"]})
        _restore_generators(load_file(latest / "generators.safetensors"))
    except (OSError, KeyError, RuntimeError, ValueError, SafetensorError) as error:
        msg = f"the state in {latest} cannot be restored ({error}): remove that folder and start again"
        raise RunError(msg) from error
    return about["step"]


def check_hashes(state: Path, files: Iterable[Path]) -> dict[str, Any]:
    """Compare files with the hashes in a state; returns what its ``state.json`` says.

    Raises:
        RunError: If one of them was changed since, or the state is not whole.
    """
    try:
        about = read_sealed(state / "state.json")
        seen = {path.name: sha256_of(path) for path in files}
    except OSError as error:
        msg = f"the state in {state} is not whole ({error.strerror}): remove that folder and start again"
        raise RunError(msg) from None
    for name, digest in seen.items():
        if about["hashes"].get(name) != digest:
            msg = f"{name} of the state in {state} has changed (by its SHA-256): start again in another directory"
            raise RunError(msg)
    if state.name != f"step-{about['step']:08d}":
        msg = f"the state in {state} is that of step {about['step']}: give the folder its name back, or start again"
        raise RunError(msg)
    return about
