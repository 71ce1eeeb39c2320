from collections.abc import Iterator

import pytest

from lngeom.check._calls.triton_hook import without_gpu
from lngeom.check._tracing.triton import stand_in


@pytest.fixture(autouse=True)
def as_in_a_check(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(stand_in, "has_kernels", [False])  # what other tests of this process trace has none
    with without_gpu():
        yield
