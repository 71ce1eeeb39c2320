"""One test for every theorem, as in ``proofs``."""

from proofs.conftest import pytest_generate_tests as pytest_generate_tests
