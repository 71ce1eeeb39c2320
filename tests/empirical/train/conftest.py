"""What all tests of training share."""

import gc
from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Bit-identical results are promised for one number of threads; child processes here have one.

    Each training begins with a search for garbage, in which what was imported need not be visited.
    """
    torch.set_num_threads(1)
    gc.freeze()
    yield
    gc.unfreeze()
