"""Settings of every test run: Hypothesis profiles, and no network."""

import gc
import os
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings

# Model hubs are never needed: what is tested runs on local files.
os.environ.setdefault("HF_HUB_OFFLINE", "1")

# What Hypothesis keeps about failures is no part of the tree.
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(Path(tempfile.gettempdir()) / "lngeom-hypothesis"))

settings.register_profile("dev", max_examples=25, deadline=None)
settings.register_profile(
    "ci", max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", max_examples=1000, deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


def pytest_collection_finish() -> None:
    """What was imported stays: a search for garbage, with which models are loaded and trained, need not visit it."""
    gc.collect()
    gc.freeze()
