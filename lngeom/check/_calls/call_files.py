"""Calls as folders of files, for a program in any language: its inputs, and the outputs that it writes."""

import hashlib
import inspect
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

import lngeom
from lngeom.errors import InputError
from lngeom.files import Json, write_json
from lngeom.rounding import Definition, Sample, rounded

from .._tracing.frameworks import Framework
from .._tracing.roles import role
from .options import CheckOptions

_MANIFEST = "manifest.json"
_USUAL = {"rmsnorm": "f(x, gain, eps)", "layernorm": "f(x, gain, bias, eps)"}
_STORED = {"float64": "<f8", "float32": "<f4", "float16": "<f2", "bfloat16": "<u2"}
"""Types of the files; bfloat16 is stored as the upper 16 bits of float32."""
FILES = Framework("files", lambda values, dtype, device: rounded(np.asarray(values), dtype).astype(np.float64))

Answer = Callable[..., np.ndarray]


class Unwritten(LookupError):
    """A call that has no folder."""


class Filed:
    """A kernel whose calls are folders of files: inputs, ``x.npy`` and the parameters, and ``y.npy``.

    Attributes:
        answer: The definition, which answers while inputs are written; None when outputs are read.
        calls: The folder of each call, by the digests of its inputs.
    """

    def __init__(self, folder: Path, form: str, asked: CheckOptions, calls: dict[str, str], answer: Answer | None):
        self.folder, self.form, self.asked, self.calls, self.answer = folder, form, asked, calls, answer
        self.__name__, names = _call(form)
        self.__signature__ = inspect.Signature([inspect.Parameter(n, inspect.Parameter.POSITIONAL_ONLY) for n in names])
        self.roles = [str(role(name)) for name in names[1:]]

    @classmethod
    def write(cls, folder: Path, form: str, asked: CheckOptions) -> Self:
        """The exact definition as a kernel that writes the inputs of every call to a new folder.

        Raises:
            InputError: The folder is not empty, or kind or ε is not given.
        """
        if asked.kind is None or asked.eps is None:
            raise InputError("inputs are written for a known definition: give --kind and --eps")
        if folder.exists() and any(folder.iterdir()):
            raise InputError(f"{folder} is not empty: name a new folder")
        centered, dtype = asked.kind == "layernorm", asked.dtype

        def answer(x: np.ndarray, gain: Any = None, bias: Any = None, eps: Any = asked.eps, **_: Any) -> np.ndarray:
            with np.errstate(all="ignore"):
                exact = Definition(centered, gain, bias, float(eps)).output(Sample(x))
                return rounded(np.asarray(exact), dtype).astype(np.float64)

        return cls(folder, form or _USUAL[asked.kind], asked, {}, answer)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The kernel whose outputs are in a folder that :meth:`write` made.

        Raises:
            InputError: It is no such folder, or another version wrote it.
        """
        try:
            record = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
            asked = CheckOptions(**record["options"])
            if (record["schema"], record["stored"]) != (1, _STORED[asked.dtype]):
                raise ValueError(f"schema or type of numbers of {_MANIFEST} is another")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{folder} holds no inputs: write them with --write-inputs ({error})") from error
        if (wrote := record["version"]) != lngeom.__version__:
            raise InputError(f"{folder} was written by lngeom {wrote}: write the inputs again, and run your program")
        kernel = cls(folder, record["call"], asked, record["calls"], None)
        for key, number in record["calls"].items():
            kernel._examine(folder / number, key)
        return kernel

    def _examine(self, call: Path, key: str) -> None:
        """Refuse missing, misshapen or changed files before anything is judged."""
        for part in key.split():
            path = call / f"{part.partition('=')[0]}.npy"
            if _key({path.stem: self._load(path)}) != part:
                raise InputError(f"{path} is not what was written: write the inputs again, and run your program")
        x, derived = self._load(call / "x.npy"), (call / "cotangent.npy").exists()
        for name in self._gradients if derived else ("y",):
            self._load(_file(call, name), x.shape if name in ("x", "y") else x.shape[1:])

    _gradients = property(lambda self: ["x", *(name for name in self.roles if name != "eps")])

    def finish(self) -> int:
        """Write the manifest: the last file, without which the folder is not read; returns the number of calls."""
        options: Json = {n: getattr(self.asked, n) for n in ("kind", "eps", "dtype", "d", "backward", "contiguous")}
        record = {"schema": 1, "version": lngeom.__version__, "call": self.form, "stored": _STORED[self.asked.dtype]}
        write_json(self.folder / _MANIFEST, {**record, "options": options, "calls": self.calls})
        return len(self.calls)

    def __call__(self, x: np.ndarray, *values: object) -> np.ndarray:
        """Outputs of rows of shape (..., d), float64."""
        return self._answered(x, dict(zip(self.roles, values, strict=True)), ("y",))["y"] if x.size else x

    def derivatives(self, x: np.ndarray, given: dict[str, Any], cotangent: np.ndarray) -> dict[str, np.ndarray]:
        """The cotangent of outputs times their derivatives, by role."""
        return self._answered(x, {"eps": self.asked.eps, **given, "cotangent": cotangent}, self._gradients)

    def place(self, row: Sequence[object]) -> tuple[str, int]:
        """The file of outputs and the row in it for an input; an empty name if there is none."""
        for number in self.calls.values():
            x = self._load(self.folder / number / "x.npy")
            at = np.flatnonzero((x == np.asarray(row)).all(-1)) if x.shape[-1] == len(row) else np.zeros(0)
            if at.size and (self.folder / number / "y.npy").exists():
                return str(self.folder / number / "y.npy"), int(at[0])
        return "", 0

    def _answered(self, x: np.ndarray, given: dict[str, Any], names: Any) -> dict[str, np.ndarray]:
        rows = x.reshape(-1, x.shape[-1])
        arrays = {"x": rows} | {name: given[name] for name in (*self.roles, "cotangent") if given.get(name) is not None}
        arrays |= {"cotangent": np.reshape(arrays["cotangent"], rows.shape)} if "cotangent" in arrays else {}
        key = _key(arrays)
        shapes = {name: rows.shape if name in ("x", "y") else rows.shape[1:] for name in names}
        if self.answer is not None:
            if key not in self.calls:
                folder = self.folder / f"{len(self.calls):04d}"
                folder.mkdir(parents=True)
                for name, value in arrays.items():
                    kind, values = "<f8" if name == "eps" else _STORED[self.asked.dtype], np.asarray(value)
                    stored = values.astype("<f4").view("<u4") >> 16 if kind == "<u2" else values
                    np.save(folder / f"{name}.npy", stored.astype(kind))
                self.calls[key] = folder.name
            found = {name: self.answer(**arrays) if name == "y" else np.zeros(shapes[name]) for name in names}
        elif key in self.calls:
            folder = self.folder / self.calls[key]
            found = {name: self._load(_file(folder, name), shapes[name]) for name in names}
        else:
            raise Unwritten("no file has these rows")
        return {name: value.reshape(x.shape) if name in ("x", "y") else value for name, value in found.items()}

    def _load(self, path: Path, shape: tuple[int, ...] | None = None) -> np.ndarray:
        """Numbers of a file, float64."""
        try:
            values = np.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            msg = f"{path} cannot be read ({error}): your program writes it for every folder, {len(self.calls)} of them"
            raise InputError(msg) from error
        kind = np.dtype("<f8" if path.name == "eps.npy" else _STORED[self.asked.dtype])
        if values.dtype != kind or (shape is not None and values.shape != shape):
            raise InputError(f"{path} holds {values.dtype} of shape {values.shape}: {kind} of shape {shape} is asked")
        return ((values.astype("<u4") << 16).view("<f4") if kind == "<u2" else values).astype(np.float64)


def _key(arrays: dict[str, Any]) -> str:
    """Each input with the digest of its shape and numbers."""
    arrays = {name: np.asarray(values, np.float64) for name, values in sorted(arrays.items())}
    data = ((name, str(values.shape).encode() + values.tobytes()) for name, values in arrays.items())
    return " ".join(f"{name}={hashlib.sha256(content).hexdigest()[:32]}" for name, content in data)


def _file(call: Path, name: str) -> Path:
    return call / ("y.npy" if name == "y" else f"d{name}.npy")


def _call(form: str) -> tuple[str, list[str]]:
    """Name and parameters of ``f(x, gain, eps)``."""
    found = re.fullmatch(r"\s*(\w+)\s*\(([\w\s,]*)\)\s*", form)
    names = [name.strip() for name in found[2].split(",")] if found else []
    if found is None or [role(name) for name in names[1:] if role(name) not in ("gain", "bias", "eps")] or not names[0]:
        raise InputError(f"{form!r} is not a call: write what your program takes, as f(x, gain) or f(x, gain, eps)")
    return found[1], names
