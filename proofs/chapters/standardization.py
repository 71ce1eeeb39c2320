"""Standardization: LayerNorm before gain and bias projects onto a sphere of radius √d in the hyperplane 1^⊥."""

from random import Random
from typing import Any

import lngeom as lg
from lngeom import kernel as sy

from .._records import read
from .._shared import coordinate, mean, standard, variance
from ..checks import draw_vector


def sample_standardized(x: Any) -> Any:
    """(x − μ1)/s with the sample variance, divisor d − 1."""
    return (x - mean(x)) / sy.root(variance(x) * sy.dim(x) / (sy.dim(x) - 1))


def coordinate_model(random: Random, d: int) -> dict[str, Any]:
    """A vector and a coordinate vector."""
    return {"x": draw_vector(random, d), "e": coordinate(random, d)}


def standard_model(random: Random, d: int) -> dict[str, Any]:
    """A vector of mean 0 and variance 1."""
    return {"x": standard(random, d)}


def _samuelson(goal: sy.Formula, given: list[sy.Proved], x: Any, e: Any) -> sy.Proved:
    not_constant, zero_or_one, one, dimension = given
    y, d = lg.standardize(x, eps=0), sy.dim(x)
    t = sy.dot(e, y)
    # ‖(d − 1)y − t(de − 1)‖² = d(d − 1)(d − 1 − t²), because ‖y‖² = d, 1·y = 0, ‖e‖² = 1·e = 1.
    squares = sy.total(sy.square((d - 1) * y - t * (d * e - sy.ones(x))))
    factor = d * (d - 1)
    spread = sy.prove(sy.equal((d - 1 - t * t) * factor, squares.conclusion.term), not_constant, zero_or_one, one)
    product = sy.transport((d - 1 - t * t) * factor, spread, squares)
    inverse = sy.prove(sy.greater(1 / factor), dimension)
    whole = sy.multiply(product, inverse)
    above = sy.prove(sy.greater(factor), dimension)
    same = sy.prove(sy.equal(goal.term, whole.conclusion.term), above, dimension, not_constant)
    return sy.transport(goal.term, same, whole)


def moved(x: Any) -> Any:
    """X − μ1, spelled out."""
    return x - sy.dot(sy.ones(x), x) / sy.dim(x) * sy.ones(x)


THEOREMS = read(__name__)
