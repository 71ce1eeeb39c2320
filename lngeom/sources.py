"""The user's Python files, compiled anew: Python's own copies are as old as the time and the size of a file say."""

import re
import sys
from importlib import machinery as kinds
from pathlib import Path
from typing import NoReturn

_FOLDERS, _HERE = set[Path](), Path(__file__).parent
_INSTALLED = re.compile(r"/((site|dist)-packages|python3\.\d+)(/|$)")
"""Libraries keep their copies, in whichever folder they are installed."""


class Uncached(kinds.SourceFileLoader):
    """A file that is neither read from a compiled copy nor written to one."""

    def path_stats(self, path: object) -> NoReturn:
        """Nothing that a compiled copy could be held against."""
        raise OSError(path)


def _finder(place: str) -> kinds.FileFinder:
    own = any(Path(place).is_relative_to(folder) for folder in _FOLDERS)
    # A script is no folder: runpy runs a path that a hook takes as a package.
    if not own or not Path(place).is_dir() or _INSTALLED.search(place) or Path(place).is_relative_to(_HERE):
        raise ImportError(place)
    loaders = (
        (kinds.ExtensionFileLoader, kinds.EXTENSION_SUFFIXES),
        (Uncached, kinds.SOURCE_SUFFIXES),
        (kinds.SourcelessFileLoader, kinds.BYTECODE_SUFFIXES),
    )
    return kinds.FileFinder(place, *loaders)


def read_from_source(folder: Path) -> str:
    """Have the modules of a folder imported from their source from now on; returns the entry of ``sys.path``."""
    if (folder := folder.resolve()) not in _FOLDERS:
        _FOLDERS.add(folder)
        for place in [place for place in sys.path_importer_cache if Path(place).is_relative_to(folder)]:
            del sys.path_importer_cache[place]
    if _finder not in sys.path_hooks:
        sys.path_hooks.insert(0, _finder)
    return str(folder)
