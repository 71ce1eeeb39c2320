"""The attacks, area by area; each attempt returns what was wrong, or nothing."""

import errno
import json
import random
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import GPT2Config

import lngeom as lg
from empirical.check import check
from empirical.folding import fold
from empirical.models import NormSite, find_model, load_model
from empirical.observe import Observer
from empirical.runs import RunDirectory
from lngeom.projection import mean_vector
from lngeom.rounding import error_bound

from .scene import STAGES, Scene, damage, hindered, in_child, read_only, refused_or, said, short_files
from .texts import SOUND, SUFFIXES, read_corpus, read_line, write_line

Attack = Callable[[Scene, random.Random], str]
AREAS: dict[str, tuple[Attack, float]] = {}
"""Each with the share of the attempts that it gets: those that run commands several times take longer."""


def _area(name: str, share: float = 1.0) -> Callable[[Attack], Attack]:
    return lambda attack: AREAS.setdefault(name, (attack, share))[0]


def _damage_one(folders: list[Path], generator: random.Random) -> str:
    found = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    kept = (path for path in found if not path.name.startswith(".") and path.suffix not in (".svg", ".html"))
    return damage(generator.choice(sorted(kept)), generator)


@_area("a stopped sweep, a file damaged")
def stopped_sweep(scene: Scene, generator: random.Random) -> str:
    """A sweep that was stopped, one of its files damaged, and resumed."""
    with scene.copy("stopped") as (run,):
        what = _damage_one([run], generator)
        return scene.judged("sweep", scene.run("sweep", run), run, what)


@_area("a finished sweep, a file damaged")
def finished_sweep(scene: Scene, generator: random.Random) -> str:
    """A finished sweep, one of its files damaged, and merged with another."""
    with scene.copy("finished") as (run,):
        what, merged = _damage_one([run], generator), run.parent / "merged"
        done, _ = said("merge", run, scene.base / "beside", "--output", merged)
        return scene.judged("merge", done, merged, what)


@_area("a stopped training, a file damaged")
def stopped_training(scene: Scene, generator: random.Random) -> str:
    """A training that was stopped, a file of it or of its tokens damaged, and resumed."""
    with scene.copy("trained", "trained-data") as folders:
        what = _damage_one(folders, generator)
        return scene.judged("train", scene.run("train", folders[0]), folders[0], what)


@_area("a model, a file damaged")
def model_files(scene: Scene, generator: random.Random) -> str:
    """A model directory, one of its files damaged: refused, or loaded; its fingerprint says what was."""
    with scene.copy("model") as (model,):
        what = damage(generator.choice([model / "config.json", model / "model.safetensors"]), generator)
        return refused_or(what, lambda: load_model(find_model(str(model)), device="cpu"))


@_area("corpora of random bytes, and damaged")
def corpora(scene: Scene, generator: random.Random) -> str:
    """A file of random bytes, or a sound one damaged, under each suffix that is known."""
    suffix, sound = generator.choice(list(SOUND)), generator.random() < 0.7
    path = scene.base / f"attacked{suffix}"
    path.write_bytes(SOUND[suffix] if sound else generator.randbytes(generator.randrange(200)))
    what = damage(path, generator) if sound else f"random bytes as {suffix}"
    return refused_or(f"{what}: {path.read_bytes()[:80]!r}", lambda: read_corpus(path))


@_area("texts on one line", 0.001)
def long_lines(scene: Scene, generator: random.Random) -> str:
    """A text on one line, in each form: read as it was written, in less than 1.5 GB."""
    for suffix in SUFFIXES:
        path = scene.base / f"line{suffix}"
        written = write_line(path, scene.longest, generator)
        found, *peak = in_child(lambda path=path: read_line(path), seconds=3600).split(" ")
        path.unlink()
        if found != written or float(*peak) > 1500:
            return f"{scene.longest} bytes of {suffix}: {found}, not {written}, {peak} MB"
    return ""


@contextmanager
def _begun(scene: Scene, stage: str) -> Iterator[Path]:
    """A directory for a stage to write to."""
    with tempfile.TemporaryDirectory(dir=scene.base) as folder:
        if STAGES[stage].within:
            with scene.copy(STAGES[stage].within) as (run,):
                yield run
        else:
            yield Path(folder, "out")


def _resumed(scene: Scene, stage: str, first: str, output: Path, what: str) -> str:
    """The faults of a first start that was hindered, and of the same command again."""
    if first not in ("done", "refused", "killed"):
        return f"{stage} {what}: {first}"
    again = scene.run(stage, output)
    if again == "refused" and stage in ("fold", "merge"):  # which take a new directory only: the first start was done
        again = "done" if output.exists() else again
    wrong = scene.judged(stage, again, output, f"{what}, then again")
    return wrong or (f"{stage} {what}, then again: refused" if again == "refused" else "")


@_area("kill -9, then again")
def kills(scene: Scene, generator: random.Random) -> str:
    """kill -9 at a random moment, twice, and the same command again."""
    stage, moments = generator.choice(list(STAGES)), [generator.randrange(1, 40) for _ in range(2)]

    def dying(moment: int, output: Path) -> str:
        with hindered(output.parent, moment, 0):
            return scene.run(stage, output)

    with _begun(scene, stage) as output:
        ended = [in_child(lambda moment=moment: dying(moment, output)) for moment in moments][-1]
        # A second start of what takes a new directory only is refused if the first came to its end before its moment.
        return _resumed(scene, stage, "killed" if ended == "refused" else ended, output, f"{moments}")


@_area("disk full, then again", 0.3)
def full_disk(scene: Scene, generator: random.Random) -> str:
    """A disk without space for a file, or with space for its first bytes only, and then space again."""
    stage, moment, short = generator.choice(list(STAGES)), generator.randrange(1, 40), generator.random() < 0.5
    size, until = int(2 ** generator.uniform(4, 15)), moment + generator.choice([1, 10**9])
    with _begun(scene, stage) as output:
        with short_files(size) if short else hindered(output.parent, moment, errno.ENOSPC, until):
            first = scene.run(stage, output)
        return _resumed(scene, stage, first, output, f"{size} bytes a file" if short else f"full at change {moment}")


@_area("disk read-only, then again", 0.3)
def read_only_disk(scene: Scene, generator: random.Random) -> str:
    """A disk that becomes read-only; a finished run is shown from one."""
    stage, moment = generator.choice([*STAGES, "shown"]), generator.randrange(1, 40)
    if stage == "shown":
        with scene.copy("finished") as (run,), read_only(run):
            shown, _ = said("sweep", scene.model, "--corpus", scene.base / "ids.npy", "--output", run)
            return "" if scene.run("sweep", run) == "done" and shown == "refused" else f"not shown: {shown}"
    with _begun(scene, stage) as output:
        with hindered(output.parent, moment, errno.EROFS):
            first = scene.run(stage, output)
        return _resumed(scene, stage, first, output, f"read-only from change {moment}")


@_area("memory full, then again", 0.3)
def full_memory(scene: Scene, generator: random.Random) -> str:
    """A process that gets so many more bytes of memory and no more, and then memory again."""
    stage, more = generator.choice(list(STAGES)), int(2 ** generator.uniform(12, 27))

    def starved() -> str:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + more
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        return scene.run(stage, output)

    with _begun(scene, stage) as output:
        return _resumed(scene, stage, in_child(starved), output, f"{more} bytes of memory")


@_area("merges of overlapping and disjoint runs", 0.3)
def merges(scene: Scene, generator: random.Random) -> str:
    """Runs on parts of a text merged in any order and nesting: refused if a token would count twice."""
    kinds = generator.choices(
        ["aligned", "shifted", "reordered", "longer"], [6, 2, 2, 1], k=generator.choice([2, 2, 3])
    )
    spans = [(kind, 160 * generator.randrange(6) + 13 * (kind == "shifted")) for kind in kinds]
    paths = [_part(scene, *span) for span in spans]
    twice = any(abs(a[1] - b[1]) < 128 for n, a in enumerate(spans) for b in spans[:n])
    right = "refused" if twice or 0 < kinds.count("longer") < len(kinds) else "done"
    with tempfile.TemporaryDirectory(dir=scene.base) as folder:
        done, target = "done", Path(folder, "merged")
        if len(paths) == 3 and generator.random() < 0.5:
            done, _ = said("merge", *paths[:2], "--output", Path(folder, "nested"))
            paths = [Path(folder, "nested"), paths[2]]
        if done == "done":
            done, _ = said("merge", *paths, "--output", target)
        if done == right == "done" and RunDirectory(target).manifest()["tokens_measured"] != 128 * len(kinds):
            return f"{spans}: other tokens"
        return "" if done == right else f"{spans}: {done}, not {right}"


def _part(scene: Scene, kind: str, begin: int) -> Path:
    """A finished run on 128 tokens of the text from some place on."""
    name = f"{kind}{begin}"
    if not (scene.base / name).exists():
        rows = scene.ids[begin : begin + 128].reshape(-1, 32)
        rows = rows[::-1] if kind == "reordered" else rows
        scene.measured(rows.reshape(-1), name, "--sequence-length", 16 if kind == "longer" else 32)
    return scene.base / name


@_area("masks in every form")
def masks(_: Scene, generator: random.Random) -> str:
    """A mask in any form: the tokens that are text are counted and no others, or the form is refused."""
    x = torch.randn(2, 5, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(generator.randrange(1 << 30)))
    text = torch.tensor([[generator.random() < 0.6 for _ in range(5)] for _ in range(2)])
    low = generator.choice([-1e9, -1e4, float("-inf"), torch.finfo(torch.float32).min])
    added = torch.zeros(2, 5).masked_fill(~text, low)
    usual = [text, text.int(), text.double(), text.tolist(), text.numpy(), added, added.half(), added[:, None, None]]
    odd = ["text", [[1, 0], [1]], text[0], text.int() + 2, added * float("nan"), text.int() - 3, 1 - 2e9 * ~text]
    odd += [[[None] * 5] * 2, 1j * x[..., 0]]
    site = NormSite("0", None, "final", "layernorm", 1e-5, 4)
    layer, known = nn.Sequential(nn.LayerNorm(4, dtype=torch.float64)), generator.random() < 0.5
    given: Any = generator.choice(usual if known else odd)
    counted = -1

    def observe() -> None:
        nonlocal counted
        with Observer(layer, [site], directions=2) as observer, torch.no_grad():
            observer.mask(given)
            layer(x)
        counted = int(observer.states["0", "input"].tokens.sum())

    wrong = refused_or(f"mask {given!r}", observe)
    return wrong or ("" if counted == (int(text.sum()) if known else -1) else f"mask {given!r}: {counted} tokens")


_X = np.array([[1.0, 7.0, -2.5, 3.0], [4.0, 4.0, 4.0, 5.0]])
_ODD: list[Any] = [
    None, "x", 3, 2.5, True, {}, [], [[]], [[1.0], [2.0, 3.0]], object(), 1j * _X, _X > 0, _X.astype(object),
    _X.astype(str), _X.astype("M8[s]"), _X[:, :0], _X[:0], np.float64(2.0), np.array(2.0), _X.view(np.matrix),
    np.ma.masked_array(_X, _X < 0), np.zeros(4, [("a", float)]), torch.tensor(_X).to_sparse(), _X * np.nan,
    torch.tensor(_X, device="meta"), torch.tensor(_X).to(torch.complex64), torch.tensor(_X).tolist(), (1.0, 2.0),
    -1.0, float("nan"), float("inf"),
    10**400, b"x",
]  # fmt: skip
_PLAIN: list[Any] = [*map(_X.astype, ("f8", "f4", "f2", "i8")), torch.tensor(_X), torch.tensor(_X).bfloat16()]


@_area("anything given to the core's functions", 2.0)
def core(_: Scene, generator: random.Random) -> str:
    """The core's functions on anything: refused, or what NumPy finds in float64 where it can."""
    functions = (lg.layer_norm, lg.rms_norm, lg.project, lg.moments, lg.angles.angle_to_uniform, mean_vector)
    function, x = generator.choice(functions), generator.choice(_ODD if generator.random() < 0.5 else _PLAIN)
    given: dict[str, Any] = {}
    if function in (lg.layer_norm, lg.rms_norm):
        given["eps"] = generator.choice([*_ODD, *[1e-5] * len(_ODD)])
        given |= {n: generator.choice(_ODD) for n in ("gain", "bias", "placement") if generator.random() < 0.15}

    def computed() -> str:
        found: Any = function(x, **given)
        if len(given) != 1 or not isinstance(x, np.ndarray):
            return ""
        wide, centered = x.astype(float), function is lg.layer_norm
        wide = wide - centered * wide.mean(-1, keepdims=True)
        with np.errstate(all="ignore"):
            right = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + given["eps"])
        bound = error_bound(x.astype(found.dtype), eps=given["eps"], centered=centered)
        close = bool((np.abs(found - right) <= 2 * bound).all())  # each of the two is right to it
        return "" if close else f"{found}, not {right}"

    return refused_or(f"{function.__name__}({x!r}, {given})", computed)


_WORDS = {
    "sweep": "--tokens --sequence-length --batch-size --shard-tokens --directions --seed --dtype --device --corpus",
    "ablate": "--tokens --sequence-length --per-document --batch-tokens --directions --seed --dtype --corpus",
    "fold": "--tokens --sequence-length --dtype --corpus --gains --verify",
    "norms": "--csv --json --types",
    "doctor": "--tokens --seed MODEL",
    "merge": "FINISHED BESIDE --json",
    "report": "FINISHED MODEL",
    "compare": "FINISHED BESIDE --csv --json",
    "tolerance": "--d --dtype --ratio --eps --kind --order --accumulate --header --json",
    "check": "--d --eps --dtype --kind --allow --backward",
}
"""Commands, with the options and arguments that each is given at random."""
_VALUES = """0 1 -1 2 16 1e3 nan inf -inf 1e400 18446744073709551616 ä / . nothing MODEL IDS FINISHED float64
bfloat16 layernorm cpu cuda:9 random ./none hf: OUT/a.json"""


@_area("random command lines", 0.3)
def command_lines(scene: Scene, generator: random.Random) -> str:
    """A command with any options and values: done, failed by its verdict, or refused in one line."""
    with scene.copy("model", "finished") as (model, run):
        out = run.parent / "out"
        places = {"MODEL": model, "FINISHED": run, "BESIDE": scene.base / "beside", "IDS": scene.base / "ids.npy"}
        command = generator.choice(list(_WORDS))
        words = ["lngeom:layer_norm" if command == "check" else "MODEL" if command in list(_WORDS)[:5] else ""]
        for option in generator.choices(_WORDS[command].split(), k=generator.randrange(4)):
            words += [option, *generator.choices(_VALUES.split(), k=option[0] == "-" and generator.random() < 0.9)]
        words += ["--output", "OUT"] if command in ("sweep", "ablate", "fold", "merge") else []
        words += ["--corpus", "IDS"] if command in ("ablate", "fold") else []
        line = [str(places.get(word, word)).replace("OUT", str(out)) for word in words if word]
        told = in_child(lambda: said(command, *line)[0])
    return "" if told in ("refused", "done") or told.startswith("exit code 1: []") else f"{command} {words}: {told}"


def _reshaped(weights: dict[str, Any], generator: random.Random) -> str:
    """Change one tensor of a checkpoint; returns what was done."""
    name, kinds = generator.choice(sorted(weights)), [torch.int8, torch.bool, torch.complex64, torch.float8_e4m3fn]
    kind = generator.choice(["gone", "renamed", "longer", "another block", *kinds])
    value = weights.pop(name)
    changed = {"gone": {}, "renamed": {f"x.{name}": value}, "longer": {name: value.repeat(2, *[1] * (value.ndim - 1))},
               "another block": {name: value, f"transformer.h.7.{name}": value.clone()}}  # fmt: skip
    weights.update(changed[kind] if isinstance(kind, str) else {name: value.to(kind)})
    return f"{name}: {kind}"


@_area("models of other weights and configurations", 0.3)
def changed_models(scene: Scene, generator: random.Random) -> str:
    """One tensor or one entry of the configuration changed: refused in one line where it is another network."""
    with scene.copy("model") as (model,):
        if tensors := generator.random() < 0.7:
            weights = load_file(model / "model.safetensors")
            what = _reshaped(weights, generator)
            save_file(weights, model / "model.safetensors", {"format": "pt"})
        else:
            entries = json.loads((model / "config.json").read_text())
            name, value = generator.choice(sorted(entries)), generator.choice([0, -1, 3, 1 << 40, "x", None, [1], 1e9])
            (model / "config.json").write_text(json.dumps(entries | {name: value}))
            what = f"{name} = {value!r}"
        words = ["fold", model, "--corpus", scene.base / "ids.npy", "--tokens", 32, "--output", model.parent / "out"]
        told = in_child(lambda: said(*words)[0])
    lines = told.startswith("exit code 2: ['weights that") and told.count("lngeom fold: ") == 1
    return "" if lines or told == "refused" or (told == "done" and not tensors) else f"{what}: {told}"


def _norm(x: Any, gain: Any, bias: Any) -> Any:
    center = x - x.mean(-1, keepdims=True)
    return center / ((center * center).mean(-1, keepdims=True) + 1e-5) ** 0.5 * gain + bias


@_area("kernels that are wrong somewhere", 0.3)
def wrong_kernels(_: Scene, generator: random.Random) -> str:
    """A norm that at some inputs, gains or shapes is doubled, raises or exits: never within rounding."""
    wheres: dict[str, Callable[..., Any]] = {
        "zero rows": lambda x, _: (x == 0).all(-1).any(), "four axes": lambda x, _: x.ndim == 4,
        "large entries": lambda x, _: abs(x).max() > 200, "zero gain": lambda _, gain: (gain == 0).any(),
        "large gain": lambda _, gain: abs(gain).max() > 8, "many rows": lambda x, _: len(x) > 65_535 and x.ndim == 2,
        "some rows": lambda x, _: len(x) > 4000, "negative means": lambda x, _: (x.mean(-1) < -20).any(),
        "small rows": lambda x, _: (abs(x).max(-1) < 1e-5).any(),
    }  # fmt: skip

    def exits(y: Any) -> Any:
        return sys.exit(y.size)

    def fails(y: Any) -> Any:
        raise ValueError(f"{y.size} numbers")

    where, how = (
        generator.choice(sorted(wheres)),
        generator.choice([lambda y: 2 * y, lambda y: y * np.nan, exits, fails]),
    )

    def norm(x: Any, gain: Any, bias: Any) -> Any:
        y = _norm(x, gain, bias)
        return how(y) if wheres[where](x, gain) else y

    def passed() -> str:
        found = check(norm, kind="layernorm", eps=1e-5, d=generator.choice([4, 8, 24]))
        return f"{where}: {found}" if found.verdict == "rounding" and not found.notes else ""

    return refused_or(where, passed)


class _Network(nn.Module):
    """A Pre-LN network, odd in some ways: what is shared, and how the stream is written."""

    def __init__(self, odd: set[str]) -> None:
        super().__init__()
        self.config, self.odd = GPT2Config(vocab_size=9, n_positions=16, bos_token_id=0, eos_token_id=0), odd
        self.embed, self.up, self.down = nn.Embedding(9, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.first, self.last, self.head = nn.LayerNorm(8), nn.LayerNorm(8), nn.Linear(8, 9)
        self.last = self.first if "norm" in odd else self.last
        if "gain" in odd:
            self.last.weight = self.first.weight
        if "tied" in odd:
            self.head.weight = self.embed.weight
        for parameter in self.parameters():
            nn.init.normal_(parameter)

    def forward(self, input_ids: torch.Tensor) -> dict[str, torch.Tensor]:
        h = self.embed(input_ids)
        inner = self.up(self.first(h))
        h = h + self.down(torch.tanh(inner))
        if "twice" in self.odd:
            inner = self.up(self.first(h))
            h = h + self.down(torch.tanh(inner))
        if "item" in self.odd:
            h[:, 0] = inner[:, 0].exp()
        if "view" in self.odd:
            h[:, 1].mul_(inner[:, 1])
        if "long" in self.odd and h.shape[1] > 8:
            h = h + inner.exp()
        if "added in place" in self.odd:
            h += self.down(inner)
        return {"logits": self.head(self.last(h)) + ("reader" in self.odd) * self.up(h).sum(-1, keepdim=True)}


@_area("networks that are odd, folded", 0.3)
def odd_networks(_: Scene, generator: random.Random) -> str:
    """A network with a few odd things, folded with its gains or not: refused, or the same on other inputs."""
    ways = ["norm", "gain", "tied", "twice", "item", "view", "long", "added in place", "reader"]
    odd, gains = set(generator.sample(ways, generator.randrange(4))), generator.random() < 0.5
    torch.manual_seed(generator.randrange(1 << 30))
    network = _Network(odd).double().eval()

    def folded() -> str:
        made, ids = fold(network, gains=gains), torch.randint(9, (2, 16))
        with torch.no_grad():
            right, got = (each(input_ids=ids)["logits"] for each in (network, made.model))
        gap = float((right - got).abs().max() / right.abs().max())
        return f"{odd}, gains {gains}: off by {gap:.3g}" if gap > 1e-9 else ""

    return refused_or(f"{odd}, gains {gains}", folded)
