"""The commands of ``lngeom`` that need models: each a module with ``Options`` and ``run``."""
