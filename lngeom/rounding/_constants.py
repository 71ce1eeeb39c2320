"""How many roundings each step of a correct kernel may make: the constants of every bound of the forward pass.

``proofs/rounding/Constants.v`` states the same numbers for the theorems in Coq, which prove that they are enough.
"""

SQUARE = 8  # of the mean square beside its sum: the deviations twice, their squares, the division
SCALE = 8  # of 1/√(v + ε): ε and the addition half a u each, root and reciprocal together six
COMPONENT = 5  # of a component: subtraction, scale, gain, a rounded scale times gain, and the last addition
FIRST_INPUT = 3  # of x, where it is multiplied before the mean is subtracted
FIRST_MEAN = 4  # of the mean, there
FOLDED_BIAS = 2  # of the bias in x(gp) + (b − m(gp)); one elsewhere
INCREMENT = 4  # of (m_b − m_a) n_b/n and second-order terms
REVERSED = 3  # of the same where the larger part is merged into the smaller
WEIGHTED = 3  # of n_a m_a/n and n_b m_b/n
MERGED_STEPS = 4  # roundings of a term on each level of merging
GUARD_TERMS, GUARD_REST = 2, 8  # (2d + 8)u < 1/2: below that the counts above leave digits
