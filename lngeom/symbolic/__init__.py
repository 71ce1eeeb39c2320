"""A proof kernel for statements about all vectors of every dimension, on which the functions of lngeom run.

``prove(equal(lg.project(lg.project(x)), lg.project(x)))`` proves Π² = Π for every d and every x, about the very
function that users call. What a proof rests on is in one file, ``_kernel.py``; its docstring has the argument.
"""

from __future__ import annotations

from ._dual import derivative as derivative
from ._kernel import (
    ONE as ONE,
    Formula as Formula,
    ProofError as ProofError,
    S as S,
    Term as Term,
    Theorem as Theorem,
    add as add,
    assume as assume,
    cancel as cancel,
    combine as combine,
    congruence as congruence,
    constant as constant,
    cut as cut,
    d as d,
    definite as definite,
    dimension as dimension,
    instantiate as instantiate,
    inv as inv,
    inverse as inverse,
    inverse_sign as inverse_sign,
    inverse_total as inverse_total,
    multiply as multiply,
    root_nonnegative as root_nonnegative,
    root_of_square as root_of_square,
    root_positive as root_positive,
    scalar as scalar,
    sqrt as sqrt,
    square as square,
    square_of_root as square_of_root,
    strengthen as strengthen,
    substitute as substitute,
    term as term,
    total as total,
    transport as transport,
    vector as vector,
    weaken as weaken,
)
from ._meaning import evaluate as evaluate, holds as holds
from ._prover import prove as prove
from ._text import certificate as certificate, formula as formula, sequent as sequent, text as text
from ._vocabulary import (
    at_least as at_least,
    dim as dim,
    dot as dot,
    equal as equal,
    greater as greater,
    norm as norm,
    ones as ones,
    root as root,
    square_norm as square_norm,
    summed as summed,
    trace as trace,
    unequal as unequal,
)
from ._word_search import prove_zero as prove_zero
from ._words import (
    Identity as Identity,
    Matrix as Matrix,
    assume_zero as assume_zero,
    combine_words as combine_words,
    cut_words as cut_words,
    identity as identity,
    letter as letter,
    replace_letters as replace_letters,
    transpose as transpose,
)
