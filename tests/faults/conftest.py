"""Fixtures that the tests of faults share with those of the measurements."""

import pytest

from experiments.attack.scene import Scene

from ..empirical.conftest import (
    model_directory as model_directory,
    token_file as token_file,
    without_pages as without_pages,
)


@pytest.fixture(scope="session")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """A model and what every command makes of it."""
    return Scene(tmp_path_factory.mktemp("scene"))
