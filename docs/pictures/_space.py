"""How a vector is written."""

from lngeom.plot import Floats


def components(x: Floats) -> str:
    """A vector in words."""
    return f"({', '.join(f'{value:g}' for value in x)})".replace("-", "−")
