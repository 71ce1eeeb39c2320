"""What norm layers forget: whether it can be learned back, and what a count of numbers says about that."""

import itertools

import lngeom as lg
from lngeom.carriers import Enclosure
from lngeom.prover import ones, root

from ..case import WorkedExample, counterexample, decide


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
