import pytest

from lngeom.check._tracing.triton import stand_in


@pytest.fixture(autouse=True)
def no_kernels_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stand_in, "has_kernels", [False])  # what other tests of this process trace has none
