"""``python -m empirical sweep ...``: the commands of ``lngeom``, for launchers that start modules (``torchrun -m``)."""

from __future__ import annotations

import sys

from lngeom.cli import main

sys.exit(main())
