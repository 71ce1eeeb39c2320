"""The two norms as chains of steps, and a block of a decoder, with what was measured at each place."""

from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lngeom.empirical.pages import BLUE, GREEN, INK, ORANGE, PURPLE, QUIET

from ._runs import NAME, ROWS, entering

LAYER = 15
"""The middle of 30 blocks, counted from 0."""

DIVIDE = {3.5: (r"divide by $\sqrt{\mathrm{mean\ square} + \varepsilon}$", PURPLE), 5.2: ("gain, bias", ORANGE)}
LAYER_NORM = {0.0: ("LayerNorm: $x$", INK), 1.6: ("subtract the mean", GREEN), **DIVIDE}
BLOCK = {0.7: (r"norm$_1$", PURPLE), 1.9: ("attention", BLUE), 2.9: ("+", INK)}
BLOCK |= {4.3: (r"norm$_2$", PURPLE), 5.4: ("MLP", BLUE), 6.4: ("+", INK)}
STATES = (
    (-0.5, "$h^{l-1}$", LAYER, "pre_attn", "input"),
    (1.25, r"$f^{\,l}$", LAYER, "pre_attn", "output"),
    (3.25, "$h^{l-1} + a^l$", LAYER, "pre_mlp", "input"),
    (4.85, r"$g^{\,l}$", LAYER, "pre_mlp", "output"),
    (7.1, "$h^l$", LAYER + 1, "pre_attn", "input"),
)
"""States by their place in the picture, and by layer, role of the norm and side in the run."""


def _chain(axes: Axes, y: float, boxes: dict[float, tuple[str, str]], start: float) -> None:
    """Boxes on a line, with arrows between them."""
    axes.plot([start, 7.4], [y, y], color=QUIET, linewidth=1.3, zorder=1)
    for x, end in pairwise([start, *boxes, 7.4]):
        tip = {"arrowstyle": "-|>", "color": QUIET}
        axes.annotate("", (0.45 * x + 0.55 * end, y), (x, y), arrowprops=tip, zorder=1)
    for x, (word, color) in boxes.items():
        frame = {"boxstyle": "round,pad=0.45", "facecolor": "white", "edgecolor": color, "linewidth": 1.4}
        axes.text(x, y, word, color=color, ha="center", va="center", bbox=frame, zorder=2)


def block() -> Figure:
    """The forms of figures 2 and 5 of Gupta et al., arXiv:2409.12951, with numbers of a measured model."""
    figure = Figure(figsize=(12.5, 4.9), layout="constrained")
    above, below = figure.subplots(2, 1)
    _chain(above, 1.0, LAYER_NORM, 0.0)
    _chain(above, 0.0, {0.0: ("RMSNorm: $x$", INK), **DIVIDE}, 0.0)
    apart = [row["distance_mean"] for row in entering()]
    words = f"before the gain {min(apart):.3f} to {max(apart):.3f} $\\sqrt{{d}}$ apart,\nmeans at {len(apart)} norms"
    above.text(4.5, 0.5, words, ha="center", va="center", color=QUIET, size=10)
    _chain(below, 0.0, BLOCK, -0.9)
    for start, end in ((-0.05, 2.9), (3.75, 6.4)):
        below.plot([start, start, end, end], [0.0, 0.85, 0.85, 0.2], color=QUIET, linewidth=1.3, zorder=0)
    for x, name, *place in STATES:
        row = next(row for row in ROWS if [row["layer"], row["role"], row["side"], row["bucket"]] == [*place, "rest"])
        numbers = f"{row['angle_mean_deg']:.1f}° ± {row['angle_std_deg']:.1f}°\nlength {row['norm_mean']:.3g}"
        below.text(x, 0.15, name, ha="center", va="bottom", size=12)
        below.text(x, -0.3, numbers, ha="center", va="top", size=10, color=QUIET)
    for axes, title, low in ((above, "Two norms", -0.5), (below, f"Block {LAYER + 1} of {NAME}", -1.0)):
        axes.set(xlim=(-0.9, 7.6), ylim=(low, 1.4), title=title)
        axes.axis("off")
    return figure
