"""The vocabulary of a theorem's body: the kinds of its parameters, hypotheses, and wrong variants."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

from ._errors import BodyError
from ._statement import Models as Models, Point, Variant, current

Vector = Annotated[Any, "vector"]
"""Any vector of R^d, of any dimension d."""

Scalar = Annotated[Any, "scalar"]
"""Any real number."""

Epsilon = Annotated[Any, "epsilon"]
"""A real number ε > 0, or ε >= 0 where the body assumes a sign of it; examples at 0 are taken where the proof is."""

Basis = Annotated[Any, "basis"]
"""A vector e of the standard basis, e∘e = e and e·1 = 1: e·x is the component of x that e picks, any one."""

Mask = Annotated[Any, "mask"]
"""A vector m of zeros and ones, m∘m = m, which may be all zeros; m.sum() is how many ones there are."""

VECTORS = ("vector", "basis", "mask")


def assume(condition: object, label: str | None = None, *, redundant: str | None = None) -> None:
    """A hypothesis, under its readable form, or the reason why the claim would hold without it.

    Where `redundant` is not given, there has to be a counterexample without it.
    """
    current("assume").assume(condition, label, redundant)


def wrong(
    label: str,
    statement: Callable[[], object] | None = None,
    *,
    instead: Mapping[str, Callable[[], object]] | None = None,
    given: Callable[[], Sequence[object]] | None = None,
    at: Point | None = None,
) -> None:
    """A wrong variant, which must have no proof and an exact counterexample.

    Args:
        label (str): What is wrong with it.
        statement (function): The wrong statement; by default the asserts of the body.
        instead (dict): For the label of a hypothesis a function of the condition that takes its place.
        given (function): All hypotheses of the variant, conditions or pairs (label, condition).
        at (dict): The counterexample to show, where the smallest teaches nothing; parameters without a value are 0.
    """
    current("wrong").wrong(Variant(label, statement, instead or {}, given, at))


def kinds_of(body: Callable[..., object]) -> dict[str, str]:
    """The kind of each parameter of a body: one of `VECTORS`, ``"scalar"`` or ``"epsilon"``."""
    kinds = {}
    for name, parameter in inspect.signature(body, eval_str=True).parameters.items():
        kind = getattr(parameter.annotation, "__metadata__", ("",))[0]
        if kind not in (*VECTORS, "scalar", "epsilon") or parameter.default is not parameter.empty:
            raise BodyError(
                f"{body.__name__}: {parameter} is not a parameter of a theorem: write {name}: Vector, Scalar, Epsilon, "
                "Basis or Mask"
            )
        kinds[name] = kind
    return kinds
