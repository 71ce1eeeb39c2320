"""Pages on a terminal, or as plain text where there is none."""

from rich.console import Console, RenderableType


def as_text(page: RenderableType, width: int) -> str:
    """A page as plain text, in lines of at most `width` columns."""
    console = Console(width=width, color_system=None, force_terminal=False)
    with console.capture() as capture:
        console.print(page)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def show(page: RenderableType, *, widest: int | None = None, piped: int | None = None) -> None:
    """Print a page as wide as the terminal, but at most `widest`; `piped` columns wide where there is none."""
    console = Console()
    if console.is_terminal:
        console.print(page, width=widest and min(console.width, widest))
    else:
        print(as_text(page, piped or min(console.width, widest or console.width)))
