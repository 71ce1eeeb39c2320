"""The command of the core, ``lngeom check``: its arguments, and ``run``."""
