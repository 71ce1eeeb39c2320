"""``python -m lngeom COMMAND ...``: the command line, for launchers that start modules (``torchrun -m lngeom``)."""

import sys
from contextlib import suppress
from pathlib import Path

# ``python -m`` looks for packages in the current directory first, which may have modules of the same names, or be gone.
with suppress(FileNotFoundError):
    if Path(sys.path[0]).resolve() == Path.cwd() != Path(__file__).resolve().parents[1]:
        del sys.path[0]

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
