"""The pytest plugin under the name that installations of before know it by."""

from lngeom.pytest_plugin import (
    check_norm as check_norm,
    pytest_configure as pytest_configure,
    pytest_pycollect_makeitem as pytest_pycollect_makeitem,
)
