"""The formula that a norm's code computes in exact arithmetic, for every dimension: proved, certified, and executed."""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from ._proof import NEVER as NEVER, Proof, write_certificates as write_certificates
    from ._verdict import prove, prove_target
else:
    __getattr__ = lazy(__name__, __file__)
