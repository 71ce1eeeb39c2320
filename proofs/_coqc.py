"""Files of Coq compiled as a library, and what its programs say."""

import errno
import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from lngeom.errors import InputError
from lngeom.theorems import CheckError


@dataclass(frozen=True)
class Library:
    """The files `modules` in `sources`, in order, known to Coq under the name `name`.

    `missing` is what Coq says where the library that they need, `needs`, is not installed; `install` installs it.
    """

    name: str
    sources: Path
    modules: tuple[str, ...]
    needs: str
    missing: str
    install: str

    def run(self, folder: Path, *command: str) -> str:
        """Runs a program of Coq and returns its output.

        Raises:
            InputError: Where Coq or a library is not installed.
            CheckError: It fails.
        """
        program = shutil.which(command[0])
        if program is None:
            raise InputError(f"{command[0]} is not installed, so nothing was replayed: {self.install}")
        done = subprocess.run([program, *command[1:]], cwd=folder, capture_output=True, encoding="utf-8", check=False)
        told = f"{done.stderr}\n{done.stdout}".strip()
        if re.search(self.missing, told, re.DOTALL):
            message = f"{self.needs}, a library of Coq, is not installed, so nothing was replayed: {self.install}"
            raise InputError(message)
        if (full := os.strerror(errno.ENOSPC)) in told:
            raise OSError(errno.ENOSPC, full, str(folder))
        if done.returncode:
            raise CheckError(told or f"{' '.join(command)} ended with code {done.returncode}")
        return told

    def compile(self, folder: Path, module: str, text: str | None = None) -> str:
        """Compile a module into `folder`, from the sources or from `text`; what Coq prints."""
        text = (self.sources / f"{module}.v").read_text(encoding="utf-8") if text is None else text
        (folder / f"{module}.v").write_text(text, encoding="utf-8")
        # Without the user's own settings (-q), and without a library's warnings about itself (-w none).
        return self.run(folder, "coqc", "-q", "-w", "none", "-Q", ".", self.name, f"{module}.v")

    def build(self, folder: Path) -> None:
        """Compile the modules into `folder`, but those that are there already."""
        fresh = False
        for module in self.modules:
            text, compiled = folder / f"{module}.v", folder / f"{module}.vo"
            same = compiled.exists() and text.read_bytes() == (self.sources / text.name).read_bytes()
            fresh = fresh or not same
            if fresh:
                self.compile(folder, module)

    def hashes(self) -> dict[str, str]:
        """SHA-256 of every file of the sources."""
        files = sorted(self.sources.glob("*.v"))
        return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
