"""Attacks on arguments of functions and commands: arrays, words of a command line."""

import random
from functools import cache
from typing import Any

import numpy as np
import torch

import lngeom as lg
from lngeom.projection import mean_vector
from lngeom.rounding import error_bound

from .scene import Scene, area, in_child, refused_or, said

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


@area("anything given to the core's functions", 2.0)
def core(_: Scene, generator: random.Random) -> str:
    """The core's functions on anything: refused, or what NumPy finds in float64 where it can."""
    functions = (lg.layer_norm, lg.rms_norm, lg.project, lg.moments, lg.angles.angle_to_uniform, mean_vector)
    function, x = generator.choice(functions), generator.choice(_ODD if generator.random() < 0.5 else _PLAIN)
    given: dict[str, Any] = {}
    if function in (lg.layer_norm, lg.rms_norm):
        given["eps"] = generator.choice([*_ODD, *[1e-5] * len(_ODD)])
        given |= {n: generator.choice(_ODD) for n in ("gain", "bias", "placement") if generator.random() < 0.15}

    def computed() -> str:
        output: Any = function(x, **given)
        if len(given) != 1 or not isinstance(x, np.ndarray):
            return ""
        wide, centered = x.astype(float), function is lg.layer_norm
        wide = wide - centered * wide.mean(-1, keepdims=True)
        with np.errstate(all="ignore"):
            right = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + given["eps"])
        bound = error_bound(x.astype(output.dtype), eps=given["eps"], centered=centered)
        close = bool((np.abs(output - right) <= 2 * bound).all())  # each of the two is right to it
        return "" if close else f"{output}, not {right}"

    return refused_or(f"{function.__name__}({x!r}, {given})", computed)


_WORDS = {
    "sweep": "--tokens --sequence-length --batch-size --shard-tokens --directions --seed --dtype --device --corpus",
    "ablate": "--tokens --sequence-length --per-document --batch-tokens --directions --seed --dtype --corpus",
    "fold": "--tokens --sequence-length --dtype --corpus --gains --verify",
    "norms": "--csv --json",
    "doctor": "--tokens --seed MODEL",
    "report": "FINISHED MODEL",
    "compare": "FINISHED BESIDE --csv --json",
    "tolerance": "--d --dtype --ratio --eps --kind --algorithm --json",
    "check": "--d --eps --dtype --kind --allow --backward",
}
"""Commands, with the options and arguments that each is given at random."""
_VALUES = """0 1 -1 2 16 1e3 nan inf -inf 1e400 18446744073709551616 ä / . nothing MODEL IDS FINISHED float64
bfloat16 layernorm cpu cuda:9 random ./none hf: OUT/a.json"""


@cache
def _loaded(scene: Scene) -> None:
    """Load here, once, what the commands load, and not in each process that is forked."""
    beside = scene.base / "beside"
    check, tolerance = ["check", "lngeom:layer_norm", "--d", "4", "--backward"], ["tolerance", "--d", "8"]
    doctor, norms, compare = ("doctor", scene.model, scene.model), ("norms", scene.model), ("compare", beside, beside)
    for words in (check, tolerance, doctor, norms, compare):
        said(*words)


@area("random command lines", 0.3)
def command_lines(scene: Scene, generator: random.Random) -> str:
    """A command with any options and values: done, failed by its verdict, or refused in one line."""
    _loaded(scene)
    with scene.copy("model", "finished") as (model, run):
        out = run.parent / "out"
        places = {"MODEL": model, "FINISHED": run, "BESIDE": scene.base / "beside", "IDS": scene.base / "ids.npy"}
        command = generator.choice(list(_WORDS))
        words = ["lngeom:layer_norm" if command == "check" else "MODEL" if command in list(_WORDS)[:5] else ""]
        for option in generator.choices(_WORDS[command].split(), k=generator.randrange(4)):
            words += [option, *generator.choices(_VALUES.split(), k=option[0] == "-" and generator.random() < 0.9)]
        words += ["--output", "OUT"] if command in ("sweep", "ablate", "fold") else []
        words += ["--corpus", "IDS"] if command in ("ablate", "fold") else []
        line = [str(places.get(word, word)).replace("OUT", str(out)) for word in words if word]
        told = in_child(lambda: said(command, *line)[0])
    return "" if told in ("refused", "done") or told.startswith("exit code 1: []") else f"{command} {words}: {told}"
