"""Three-dimensional space as it is drawn here: the uniform vector points up, the hyperplane 1^⊥ is the floor."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import FigureBase
from mpl_toolkits.mplot3d.art3d import Poly3DCollection
from numpy.typing import ArrayLike, NDArray

import lngeom as lg
from lngeom.empirical.pages import INK, QUIET

Floats = NDArray[np.float64]

ONE: Floats = lg.projection.uniform(3)
ZERO: Floats = np.zeros(3)
FREE: dict[str, Any] = {"clip_on": False, "in_layout": False}
"""Artists that reach over the edge of their panel do not change the layout."""
FLOOR: Floats = np.array([[1.0, -1.0, 0.0], [1.0, 1.0, -2.0]])
"""Two orthogonal vectors of the hyperplane 1^⊥."""
_FRAME: Floats = np.stack([row / np.linalg.norm(row) for row in (*FLOOR, ONE)])


def turned(x: ArrayLike) -> Floats:
    """Points, shape (..., 3), in the frame of the drawing, whose third axis is along 1."""
    return np.asarray(x, dtype=float) @ _FRAME.T


def at_angles(angle: ArrayLike) -> Floats:
    """Unit vectors of the hyperplane 1^⊥ at angles in radians; shape (..., 3)."""
    turn = np.asarray(angle, dtype=float)[..., None]
    return np.cos(turn) * _FRAME[0] + np.sin(turn) * _FRAME[1]


def around(n: int = 241) -> Floats:
    """Unit vectors of n directions around the hyperplane 1^⊥, the first and last the same; shape (n, 3)."""
    return at_angles(np.linspace(0.0, 2.0 * np.pi, n))


def plane(x: ArrayLike) -> Floats:
    """The projection to the hyperplane 1^⊥ in two coordinates; shape (..., 2)."""
    return turned(x)[..., :2]


def ring(axes: Axes) -> None:
    """The circle of radius √3 in a flat panel, on which outputs lie at ε = 0."""
    axes.plot(*np.sqrt(3) * plane(around(361)).T, color=QUIET, linewidth=1.0)


def flat_arrow(axes: Axes, start: ArrayLike, end: ArrayLike, color: str, width: float) -> None:
    """Vector from `start` to `end` in a flat panel."""
    style = {"arrowstyle": "-|>", "mutation_scale": 16, "shrinkA": 0, "shrinkB": 0, "color": color, "linewidth": width}
    tip, tail = (np.asarray(point, dtype=float).tolist() for point in (end, start))
    axes.annotate("", tip, tail, arrowprops=style)


def components(x: Floats) -> str:
    """A vector in words."""
    return f"({', '.join(f'{value:g}' for value in x)})".replace("-", "−")


class Scene:
    """A three-dimensional panel, in which vectors, points and curves of ℝ³ are drawn.

    Args:
        figure: Receives the panel.
        place: Rows and columns of panels, and which of them this is.
        reach: Half the side of the cube that is shown.
        center: vector. Its center; default 0.
        elevation, azimuth: Where the onlooker stands, in degrees.
        zoom: Magnification; what does not fit into the panel is drawn over its edge.
    """

    def __init__(
        self,
        figure: FigureBase,
        place: tuple[int, int, int],
        reach: float,
        *,
        center: ArrayLike = ZERO,
        elevation: float = 20.0,
        azimuth: float = -65.0,
        zoom: float = 1.35,
    ) -> None:
        self.axes: Any = figure.add_subplot(*place, projection="3d")
        axes = self.axes
        axes.set_proj_type("ortho")
        axes.view_init(elev=elevation, azim=azimuth)
        axes.set_axis_off()
        axes.set_box_aspect((1, 1, 1), zoom=zoom)
        for limits, value in zip((axes.set_xlim, axes.set_ylim, axes.set_zlim), turned(center), strict=True):
            limits(value - reach, value + reach)

    def coordinates(self, length: float = 1.5) -> None:
        """The three coordinate axes."""
        for k, end in enumerate(length * np.eye(3), start=1):
            self.segment(ZERO, end, QUIET, linewidth=1.0)
            self.text(1.12 * end, f"$x_{k}$", QUIET, size=9)

    def arrow(
        self,
        start: ArrayLike,
        end: ArrayLike,
        color: str,
        label: str = "",
        *,
        beside: ArrayLike = ZERO,
        linewidth: float = 2.4,
    ) -> None:
        """Vector from `start` to `end`, and a label so far beside its end."""
        begin, step = turned(start), turned(np.subtract(end, start))
        # The head is at most 0.2 units of the space long.
        ratio = min(0.4, 0.2 / float(np.linalg.norm(step)))
        style = {"linewidth": linewidth, "arrow_length_ratio": ratio, "capstyle": "round", **FREE}
        self.axes.quiver(*begin, *step, color=color, **style)
        if label:
            self.text(end, label, color, shift=beside, size=13)

    def segment(self, start: ArrayLike, end: ArrayLike, color: str, **style) -> None:
        """Straight line between two points."""
        self.curve(np.stack([np.asarray(start), np.asarray(end)]), color, **style)

    def curve(self, x: ArrayLike, color: str, **style) -> None:
        """Line through points, shape (n, 3)."""
        self.axes.plot(*turned(x).T, color=color, **{"linewidth": 1.8, **FREE, **style})

    def points(self, x: ArrayLike, color: str | Floats, **style) -> PathCollection:
        """Points, shape (n, 3)."""
        options = {"s": 9, "depthshade": False, "linewidths": 0, **FREE, **style}
        return self.axes.scatter(*turned(x).T, c=color, **options)

    def sheet(self, x: ArrayLike, color: str, *, alpha: float = 0.13) -> None:
        """Translucent polygon with corners `x`, shape (n, 3)."""
        sheet = Poly3DCollection([turned(x)], facecolor=color, edgecolor="none", alpha=alpha, **FREE)
        self.axes.add_collection3d(sheet)

    def text(self, at: ArrayLike, words: str, color: str = INK, *, shift: ArrayLike = ZERO, **style) -> None:
        """Words at a point, or beside it."""
        options = {"ha": "center", "va": "center", "size": 11, "in_layout": False, **style}
        self.axes.text(*turned(np.add(at, shift)), words, color=color, **options)

    def floor(self) -> None:
        """The hyperplane 1^⊥, as a disc around 0."""
        self.sheet(1.95 * around(), QUIET, alpha=0.12)

    def right_angle(self, corner: ArrayLike, first: ArrayLike, second: ArrayLike) -> None:
        """The mark of a right angle between two directions at a corner."""
        c = np.asarray(corner, dtype=float)
        a, b = (0.14 * np.asarray(v, dtype=float) / np.linalg.norm(v) for v in (first, second))
        self.curve(np.stack([c + a, c + a + b, c + b]), INK, linewidth=0.9)
