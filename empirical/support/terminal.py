"""Progress of long work: a bar on a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta

from rich.console import Console

from lngeom.options import printable

_SECONDS_BETWEEN_LINES = 10.0

Advance = Callable[[int], None]


def say(console: Console, line: str) -> None:
    """Print a line as it is, however long, whatever is in it."""
    console.print(printable(line), markup=False, highlight=False, soft_wrap=True)


@contextmanager
def _bar(console: Console, title: str, total: int, done: int) -> Iterator[Advance]:
    from rich.progress import Progress

    with Progress(console=console) as progress:
        task = progress.add_task(title, total=total, completed=done)
        yield lambda tokens: progress.update(task, advance=tokens)


@contextmanager
def _lines(console: Console, title: str, total: int, done: int) -> Iterator[Advance]:
    started = last = time.perf_counter()
    counted = 0

    def advance(tokens: int) -> None:
        nonlocal counted, last
        counted += tokens
        now = time.perf_counter()
        finished = done + counted >= total
        if not finished and now - last < _SECONDS_BETWEEN_LINES:
            return
        last = now
        rate = counted / (now - started)
        left = (total - done - counted) / rate
        time_of = timedelta(seconds=round(now - started if finished else left))
        ending = f"took {time_of}" if finished else f"{time_of} left"
        say(console, f"{title}: {done + counted:,}/{total:,} tokens, {rate:,.0f} tokens/s, {ending}")

    yield advance


def progress(console: Console, title: str, total: int, done: int = 0) -> AbstractContextManager[Advance]:
    """Show how many of ``total`` tokens are done; yields a function to be called with the tokens just finished."""
    return (_bar if console.is_terminal else _lines)(console, title, total, done)
