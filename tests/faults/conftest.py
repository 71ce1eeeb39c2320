"""Fixtures that the tests of faults share with those of the measurements."""

from ..empirical.conftest import (
    model_directory as model_directory,
    token_file as token_file,
    without_pages as without_pages,
)
