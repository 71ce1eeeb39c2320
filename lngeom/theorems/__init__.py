"""A theorem is a test: one function whose asserts are proved for every dimension, and run at examples.

::

    @theorem(GUPTA, "after eq. 9", "the norm of y is √d")   # or bare: @theorem
    def test_norm(x: Vector, g: Vector):
        '''The standardized vector has norm √d.

        ‖y‖ = √d at ε = 0
        '''
        assume(varies(x), "x is not constant")
        assert norm(lg.standardize(x, eps=0)) == root(dim(x))
        wrong("norm √(d − 1)", lambda: norm(lg.standardize(x, eps=0)) == root(dim(x) - 1))

A parameter is a :data:`Vector`, a :data:`Scalar`, an :data:`Epsilon`, whose examples are never below 0, a
:data:`Basis` vector or a :data:`Mask`; what these words mean need not be assumed. The body runs on terms of the
prover, on exact numbers, on floats that know their error, and on a carrier that records what certificates state. A
comparison in it is a :class:`Statement`, and whoever asks for its truth asks the run: on terms the answer is True only
with a proof from what was assumed before, and there is no other answer. What could be true in silence is an error: a
comparison that nobody asks, an assert that is not reached, a failure that is swallowed, a loop over components; and so
is what reads otherwise than it runs: a branch, ``or``, a chain in a hypothesis.

``assume(condition, label, redundant=reason)`` declares a hypothesis. A condition
``name == term`` defines the parameter: examples compute it. ``wrong(label, lambda: statement, instead={label:
lambda: condition}, given=lambda: [(label, condition), ...], at={name: numbers})`` is a variant that must have no proof
and a counterexample, at these numbers or wherever one is found: another statement, one hypothesis replaced, or all of
them. Several asserts are proved in turn, the earlier ones being lemmas of the later.

The docstring is title, statement, and any of the paragraphs ``Last step:``, ``Cites:`` (separated by ``;``) and
``Remark:``. The id is file.function, ``standardization.norm``. Options of the decorator help the search:

- ``lemmas``, ``remainder``: for the prover, functions of its terms; ``@test_norm.proof`` gives a proof of one's own,
  of ``goal``, ``given`` (the assumed hypotheses, in order) and the parameters, chosen by name.
- ``models``: a function of d to values or strategies by name, or to one strategy of such a dict.
- ``without``: for a hypothesis the models at which the rest holds but not the claim.
- ``kind``: ``"lemma"`` for school algebra, ``"definition"`` where the claim writes out what the library defines;
  neither is counted as a theorem.
"""

from ._body import Basis, Epsilon, Mask, Scalar, Vector, assume, wrong
from ._errors import BodyError, CheckError
from ._statement import Statement
from ._theorem import Source, Theorem, theorem, theorems_of
from ._value import nonzero, varies

__all__ = [
    "Basis",
    "BodyError",
    "CheckError",
    "Epsilon",
    "Mask",
    "Scalar",
    "Source",
    "Statement",
    "Theorem",
    "Vector",
    "assume",
    "nonzero",
    "theorem",
    "theorems_of",
    "varies",
    "wrong",
]
