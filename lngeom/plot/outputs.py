"""The ellipsoid that the outputs of a norm fill, in space or in the plane of its two longest axes."""

from typing import Any

import numpy as np

from ..carriers import Array
from ..colors import BLUE, GREEN, VERMILION
from ..ellipsoid import Ellipsoid
from ..errors import InputError
from .space import ONE, Scene, around, facing, new_axes, numbers


def ellipsoid(
    gain: Array, bias: Array | None = None, outputs: Array | None = None, *, centered: bool = True, ax: Any = None
) -> Any:
    """Draw {b + g ∘ y : 1ᵀy = 0, ‖y‖ ≤ √d}, its two longest principal axes, and `outputs` of the layer inside.

    For LayerNorm with d = 3 the picture is in space, if `ax` is not flat. In all other cases it is the projection to
    the plane of the two longest axes, in coordinates u·(z − b) along them: the ellipse with these semi-axes. Outputs
    are coloured by their relative radius r = ‖(z − b)/g‖/√d: 0 at the center b, 1 on the surface.

    `gain` and `bias` have shape (d,) with at least two semi-axes, `outputs` shape (n, d). Returns the axis. Raises
    InputError for other shapes, numbers that are not finite, and an axis in space unless it is LayerNorm with d = 3.

    >>> import numpy as np, lngeom as lg
    >>> gain = np.linspace(0.5, 2.0, 64)
    >>> z = lg.layer_norm(np.random.default_rng(0).normal(size=(9, 64)), gain, eps=1e-5)
    >>> ax = lg.plot.ellipsoid(gain, outputs=z)
    >>> round(float(ax.lines[0].get_xdata().max()), 3) == round(float(lg.principal_axes(gain).semi_axes[0]), 3)
    True
    """
    gain = numbers("gain", gain)
    body = Ellipsoid(gain, None if bias is None else numbers("bias", bias, gain.shape), centered=centered)
    if body.dimension < 2:
        raise InputError(f"the outputs have dimension {body.dimension}: a picture needs two semi-axes that are not 0")
    lengths, ends = body.semi_axes[:2], [body.axes.direction(i) for i in (0, 1)]
    points = None if outputs is None else np.atleast_2d(numbers("outputs", outputs))
    if points is not None and points.shape[1:] != (body.d,):
        raise InputError(f"outputs has shape {points.shape}: the gain has {body.d} components; pass rows (n, {body.d})")
    style = {"vmin": 0.0, "vmax": 1.0, "s": 12}
    rim, names = r"surface, $r = 1$", ("longest axis", "second axis")
    in_space = body.d == 3 and centered
    if hasattr(ax, "set_zlim") or (ax is None and in_space):
        if not in_space:
            raise InputError(f"ax is in space: for d = {body.d}, centered {centered}, the picture is flat")
        # Seen from halfway between 1 and the normal of the ellipse, at most 45° from each: the ellipse is never seen
        # from its edge, and no coordinate axis points at the onlooker. In the picture these reach beyond the ellipse.
        view = np.cross(*ends)
        view = view * np.copysign(1.0, view.sum()) / np.linalg.norm(view) + ONE / np.sqrt(3.0)
        reach, center = 1.15 * float(lengths[0]), body.center / 2.0
        scene = Scene(ax, 1.15 * reach + float(np.linalg.norm(center)), center=center, view=facing(view), zoom=1.6)
        scene.coordinates(reach / np.sqrt(1.0 - view**2 / (view @ view)))
        surface = body.center + np.sqrt(3.0) * gain * around()
        scene.sheet(surface, BLUE, alpha=0.12)
        scene.curve(surface, BLUE, linewidth=1.6, label=rim)
        for length, end, color, name in zip(lengths, ends, (VERMILION, GREEN), names, strict=True):
            scene.curve([body.center - length * end, body.center + length * end], color, linewidth=2.2, label=name)
        if points is not None:
            scene.points(points, body.relative_radius(points), **style)
        axes = scene.axes
    else:
        axes = new_axes() if ax is None else ax
        turn = np.linspace(0.0, 2.0 * np.pi, 241)
        axes.plot(lengths[0] * np.cos(turn), lengths[1] * np.sin(turn), color=BLUE, label=rim)
        axes.plot([-lengths[0], lengths[0]], [0.0, 0.0], color=VERMILION, linewidth=1.0, label=names[0])
        axes.plot([0.0, 0.0], [-lengths[1], lengths[1]], color=GREEN, linewidth=1.0, label=names[1])
        if points is not None:
            at = (points - body.center) @ np.stack(ends, -1)
            axes.scatter(*at.T, c=body.relative_radius(points), linewidths=0, **style)
        axes.set(aspect="equal", xlabel=f"along the {names[0]}", ylabel=f"along the {names[1]}")
    if ax is None:
        axes.figure.legend(loc="upper center", ncols=3)
        if points is not None:
            axes.figure.colorbar(axes.collections[-1], label="relative radius $r$")
    return axes
