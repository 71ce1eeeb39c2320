import functools

import pytest
import torch

from lngeom.check import Finding
from lngeom.check._proving.verdict import prove_target
from tests.kernels.called import LEFT, RIGHT, WRONG, by_products, cast_to_gain
from tests.kernels.rows import EPS, Row, expected


@functools.cache
def found(name: str) -> Finding:
    return expected(WRONG, name, d=16)


@pytest.mark.parametrize("name", WRONG)
def test_a_norm_that_is_wrong_as_it_may_be_called_fails(name: str) -> None:
    assert not found(name).passes()


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_backward_pass_is_proved_for_all_of_these_ways(name: str) -> None:
    assert prove_target(RIGHT[name], name, "torch", backward=True).passes()


@pytest.mark.parametrize("name", LEFT)
def test_a_proof_names_the_calls_that_it_does_not_cover(name: str) -> None:
    kernel, words = LEFT[name]
    proof = found(name).proof if name in WRONG else prove_target(kernel, name, "torch", backward=True)
    assert proof is not None
    assert words in "\n".join(proof.told(verbose=False))
    assert proof.passes() == (name in ("outputs", "rules", "tangents"))


def test_what_makes_a_norm_may_name_its_size_as_it_likes() -> None:
    made = Row(lambda head_size: torch.nn.RMSNorm(head_size, EPS), options={"d": 16}).finding("made")
    assert made.passes(proved=True)
    assert "shape (an array,)" in prove_target(lambda x: torch.ones(x), "ones", "torch").text


def test_what_is_narrow_where_only_the_caller_asks_for_it_is_right_and_noted() -> None:
    findings = [Row(kernel).finding("narrow") for kernel in (cast_to_gain, by_products)]
    assert all(finding.passes() for finding in findings)
    assert "rows of float32 are right to float16 alone" in "\n".join(findings[0].notes)
    assert "under torch.autocast its products of matrices are computed in" in "\n".join(findings[1].notes)
