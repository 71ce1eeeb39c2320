"""Colours of Okabe and Ito, distinguishable with every kind of colour vision."""

INK, QUIET, FAINT = "#222222", "#8A8A8A", "#e3e3e3"
BLUE, GREEN, ORANGE, VERMILION, PURPLE = "#0072B2", "#009E73", "#E69F00", "#D55E00", "#CC79A7"

UNIFORM, RANDOM_A, RANDOM_B, NULL = BLUE, ORANGE, GREEN, "#6b6b6b"
"""The direction 1, two random directions, and values by chance or in the literature."""
