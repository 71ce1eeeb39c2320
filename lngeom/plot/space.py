"""Three-dimensional space as it is drawn here: the all-ones vector points up, the hyperplane 1^⊥ is the floor."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..colors import INK, QUIET
from ..ellipsoid import to_numpy
from ..errors import InputError

Floats = NDArray[np.float64]

ONE: Floats = np.ones(3)
ZERO: Floats = np.zeros(3)
FREE: dict[str, Any] = {"clip_on": False, "in_layout": False}
"""Artists that reach over the edge of their panel do not change the layout."""
_FRAME: Floats = np.array([[1.0, -1.0, 0.0], [1.0, 1.0, -2.0], [1.0, 1.0, 1.0]]) / np.sqrt([[2.0], [6.0], [3.0]])
"""Two orthogonal unit vectors of the hyperplane 1^⊥, and that of 1."""


def numbers(name: str, value: Any, shape: tuple[int, ...] | None = None) -> Floats:
    """An array of any library for a picture: of that shape, and finite."""
    array = to_numpy(value) if hasattr(value, "shape") else np.asarray(value, dtype=float)
    if shape not in (None, array.shape):
        raise InputError(f"{name} has shape {array.shape}: the picture is of vectors of shape {shape}")
    if not np.isfinite(array).all():
        raise InputError(f"{name} holds a NaN or an infinity: it has no place in a picture")
    return array


def new_axes(**projection: str) -> Any:
    """The axis of a new figure of pyplot, which notebooks show."""
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError:
        raise ModuleNotFoundError("pictures need Matplotlib; run: pip install matplotlib", name="matplotlib") from None
    return pyplot.figure().add_subplot(**projection)


def turned(x: ArrayLike) -> Floats:
    """Points, shape (..., 3), in the frame of the drawing, whose third axis is along 1."""
    return np.asarray(x, dtype=float) @ _FRAME.T


def around(n: int = 241) -> Floats:
    """Unit vectors of n directions around the hyperplane 1^⊥, the first and last the same; shape (n, 3)."""
    turn = np.linspace(0.0, 2.0 * np.pi, n)[:, None]
    return np.cos(turn) * _FRAME[0] + np.sin(turn) * _FRAME[1]


def facing(x: ArrayLike) -> tuple[float, float]:
    """Elevation and azimuth, in degrees, of an onlooker in the direction x from the center."""
    # Near the vertical the azimuth is arbitrary; without the noise it is the same on every machine.
    across, along, up = np.round(turned(x), 6) + 0.0
    return float(np.degrees(np.arctan2(up, np.hypot(across, along)))), float(np.degrees(np.arctan2(along, across)))


class Scene:
    """A three-dimensional axis, on which vectors, points and curves of ℝ³ are drawn.

    Args:
        axes: Of Matplotlib, with the projection "3d"; None makes one.
        reach: Half the side of the cube that is shown.
        center: vector. Its center; default 0.
        view: Elevation and azimuth of the onlooker, in degrees.
        zoom: Magnification; what does not fit into the panel is drawn over its edge.
    """

    def __init__(
        self, axes: Any, reach: float, *, zoom: float, center: ArrayLike = ZERO, view: Any = (20, -65)
    ) -> None:
        self.axes = axes = new_axes(projection="3d") if axes is None else axes
        if not hasattr(axes, "set_zlim"):
            raise InputError('ax is flat: three components are drawn on an axis with projection="3d"')
        self.reach = reach
        axes.set_proj_type("ortho")
        axes.view_init(*view)
        axes.set_axis_off()
        axes.set_box_aspect((1, 1, 1), zoom=zoom)
        for limits, value in zip((axes.set_xlim, axes.set_ylim, axes.set_zlim), turned(center), strict=True):
            limits(value - reach, value + reach)

    def coordinates(self, length: float | Floats) -> None:
        """The three coordinate axes, of one length or of one each."""
        for k, end in enumerate(length * np.eye(3), start=1):
            self.curve([ZERO, end], QUIET, linewidth=1.0)
            self.text(1.12 * end, f"$x_{k}$", QUIET, size=10)

    def arrow(self, start: ArrayLike, end: ArrayLike, color: str, label: str = "", *, linewidth: float = 2.4) -> None:
        """Vector from `start` to `end`, and a label beyond its end."""
        step = np.subtract(end, start)
        length = float(np.linalg.norm(step)) or 1.0
        # The head is at most an eighth of the reach long.
        style = {"linewidth": linewidth, "arrow_length_ratio": min(0.4, self.reach / 8 / length), "capstyle": "round"}
        self.axes.quiver(*turned(start), *turned(step), color=color, **style, **FREE)
        if label:
            self.text(np.add(end, 0.13 * self.reach * step / length), label, color, size=13)

    def curve(self, x: ArrayLike, color: str, **style: Any) -> None:
        """Line through points, shape (n, 3)."""
        self.axes.plot(*turned(x).T, color=color, **{"linewidth": 1.8, **FREE, **style})

    def points(self, x: ArrayLike, color: str | Floats, **style: Any) -> Any:
        """Points, shape (n, 3)."""
        options = {"s": 9, "depthshade": False, "linewidths": 0, **FREE, **style}
        return self.axes.scatter(*turned(x).T, c=color, **options)

    def sheet(self, x: ArrayLike, color: str, *, alpha: float = 0.13) -> None:
        """Translucent polygon with corners `x`, shape (n, 3)."""
        from mpl_toolkits.mplot3d.art3d import Poly3DCollection

        sheet = Poly3DCollection([turned(x)], facecolor=color, edgecolor="none", alpha=alpha, **FREE)
        self.axes.add_collection3d(sheet)

    def text(self, at: ArrayLike, words: str, color: str = INK, **style: Any) -> None:
        """Words at a point, on a ground that hides the lines behind them."""
        ground = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.75}
        place = {"ha": "center", "va": "center", "zorder": 50, "in_layout": False, "bbox": ground}
        self.axes.text(*turned(at), words, color=color, **{**place, "size": 11, **style})

    def floor(self) -> None:
        """The hyperplane 1^⊥, as a disc around 0."""
        self.sheet(1.2 * self.reach * around(), QUIET, alpha=0.12)
