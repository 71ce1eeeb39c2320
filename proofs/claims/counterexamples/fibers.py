"""What norm layers forget: whether it can be learned back, and what a count of numbers says about that."""

import itertools

import lngeom as lg
from lngeom.carriers import Enclosure
from lngeom.kernel import ones, root

from .._case import WorkedExample, counterexample, decide


@counterexample
def counting_statistics(case: WorkedExample) -> None:
    """Few statistics and nothing recovered, many statistics and everything recovered: the count decides
    nothing.
    """
    x, y = case.vector("x", 0, 0, 2, 2), case.vector("x′ = x + 5·1", 5, 5, 7, 7)
    case.given("two vectors: no more statistics, 4, than parameters 2d = 8", 4, "≤", 8)
    case.given("LN(x′) = LN(x)", lg.layer_norm(y, eps=0), "=", lg.layer_norm(x, eps=0))
    case.claimed("both can be recovered from equal outputs: x′ = x", y, "=", x)
    orders = [Enclosure(list(row)) for row in sorted(set(itertools.permutations((0, 0, 2, 2))))]
    count = case.find("statistics of the 6 orders of (0, 0, 2, 2)", 2 * len(orders))
    case.given("more statistics than parameters", count, ">", 8)
    mean, variance = lg.moments(x)
    gain, bias = case.find("α = σ1", ones(x) * root(variance)), case.find("β = μ1", ones(x) * mean)
    missed = sum(decide(lg.layer_norm(v, gain, bias, eps=0), "≠", v) is not False for v in orders)
    case.claimed("they cannot all be recovered by one α and β: vectors missed", missed, ">", 0)


@counterexample
def batch_statistics(case: WorkedExample) -> None:
    """With the statistics of the batch itself, batch normalization forgets shift and scale of each column."""
    column = case.vector("a column of the batch", 1, 3)
    other = case.find("2 column + 10", 2 * column + 10)
    first = case.find("BN(column)", lg.norms.batch_norm(column, eps=0))
    second = case.find("BN(2 column + 10)", lg.norms.batch_norm(other, eps=0))
    case.true("the outputs are equal", first, "=", second)
    case.claimed("the statistics are the same for all vectors", lg.moments(column)[0], "=", lg.moments(other)[0])
    case.claimed("one α and β recover both inputs from equal outputs", column, "=", other)


@counterexample
def batch_statistics_with_eps(case: WorkedExample) -> None:
    """With ε > 0, α = √Var no longer undoes the division: it must be √(Var + ε)."""
    x = case.vector("x", 5, 3)
    mean, variance = case.vector("E", 1, 1), case.vector("Var", 1, 1)
    eps = case.scalar("ε", 3)
    fixed = {"mean": mean, "variance": variance, "eps": eps}
    back = lg.norms.batch_norm(x, root(variance), mean, **fixed)
    case.claimed("α = √Var, β = E gives x back", case.find("α = √Var", back), "=", x)
    case.true("α = √(Var + ε) does", lg.norms.batch_norm(x, root(variance + eps), mean, **fixed), "=", x)
    column, other = case.vector("column", 1, 3), case.vector("2 column + 10", 12, 16)
    case.true("batch statistics", lg.norms.batch_norm(column, eps=0), "=", lg.norms.batch_norm(other, eps=0))
    case.claimed("with batch statistics one α and β recover both", column, "=", other)


@counterexample
def other_readers(case: WorkedExample) -> None:
    """What a batch norm computes for one vector depends on the other vectors of its batch."""
    alone = case.vector("values of one feature in a batch", 1, 3)
    joined = case.vector("the same, another neighbour", 1, 5)
    case.find("BN of the first batch", lg.norms.batch_norm(alone, eps=1))
    case.find("BN of the second batch", lg.norms.batch_norm(joined, eps=1))
    case.claimed(
        "the first value is treated alike",
        lg.norms.batch_norm(alone, eps=1)[0],
        "=",
        lg.norms.batch_norm(joined, eps=1)[0],
    )
