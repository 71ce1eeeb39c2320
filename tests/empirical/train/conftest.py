"""What all tests of training share."""

import pytest
import torch


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    """Bit-identical results are promised for one number of threads; child processes here have one."""
    torch.set_num_threads(1)
