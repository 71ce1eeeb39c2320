"""The command line from its first moment on, ``lngeom COMMAND ...`` and ``python -m lngeom COMMAND ...``."""

import sys


def main() -> int:
    """The exit code of the command line; Ctrl-C says one line, also while modules are loaded."""
    try:
        from contextlib import suppress
        from pathlib import Path

        # ``python -m`` looks in the current directory first, which may have modules of the same names, or be gone.
        with suppress(FileNotFoundError):
            if Path(sys.path[0]).resolve() == Path.cwd() != Path(__file__).resolve().parents[1]:
                del sys.path[0]
        from .cli import main as run

        return run()
    except KeyboardInterrupt:
        print("\nlngeom: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
