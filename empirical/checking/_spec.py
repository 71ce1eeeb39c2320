"""What a SPEC of the command line names: one kernel, the norm of an ONNX file, or every norm of a model."""

from __future__ import annotations

from typing import Any

from lngeom import InputError

from ._check import check
from ._finding import Finding


def check_spec(spec: str, **options: Any) -> dict[str, Finding]:
    """Findings by name; see :func:`check` for the options.

    Examples
    --------
    >>> from empirical.checking import check_spec
    >>> found = check_spec("lngeom:layer_norm", eps=1e-5, d=4)
    >>> {name: finding.verdict for name, finding in found.items()}
    {'lngeom:layer_norm': 'rounding'}
    """
    if ":" in spec:
        return {spec: check(spec, **options)}
    msg = f"{spec!r} is no SPEC: give module:name"
    raise InputError(msg)
