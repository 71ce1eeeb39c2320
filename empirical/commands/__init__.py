"""The commands of ``lngeom`` that need models: each a module with ``add_arguments`` and ``run``."""
