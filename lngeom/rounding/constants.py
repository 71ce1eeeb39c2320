"""How many roundings each step of a correct kernel may make: the constants of the bounds of the forward pass.

``proofs/rounding/Constants.v`` states the same numbers, and the theorems in Coq show that they are enough.
"""

SQUARE = 8  # of the mean square beside its sum: deviations, squares, a rounded 1/d
SCALE = 8  # of 1/√(v + ε): ε and the addition half a u each, root and reciprocal together six
COMPONENT = 5  # of a component: subtraction, scale, gain, a rounded product of these two, addition of the bias
FIRST_INPUT = 3  # of x, where it is multiplied before the mean is subtracted
FIRST_MEAN = 4  # of the mean, there
FOLDED_BIAS = 2  # of the bias in x(gp) + (b − m(gp)); one elsewhere
INCREMENT = 5  # 3√2 and terms of second order: of the steps (m_b − m_a)n_b/n of merged means, over √(⌈log₂ d⌉v)
MERGED_STEPS = 4  # of a term on each level of merging
GUARD_TERMS = 2  # (2d + 8)u < 1/2: below that these counts leave digits
GUARD_REST = 8
