"""An accusation in the language of Coq: exact numbers for the verified checker, and the theorem that it proves."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lngeom.rounding import FORMATS
from lngeom.theorems import CheckError

from ._record import COQ

_HEADER = """From Flocq Require Import Core.
From Coq Require Import Reals ZArith List.
From Rounding Require Import Components Floats Formats Accusation.
Import ListNotations.
"""
_ROWS = ("row", "gain", "bias", "returned")
_BOUNDS = ("alpha", "part", "low", "high", "least", "most", "center", "size", "root", "left", "right")


def replay(certificates: Iterable[dict[str, Any]], folder: Path) -> None:
    """Let the checker in `folder` accept accusations; what it accepts, no correct kernel returns.

    Raises:
        InputError: Where Coq or Flocq is not installed.
        CheckError: Naming the first accusation that is refused.
    """
    COQ.build(folder)
    for k, data in enumerate(certificates):
        try:
            text = _HEADER + source(data, f"accusation{k}")
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise CheckError(f"{data.get('id')} is not a certificate of an accusation: {error!r}") from error
        try:
            COQ.compile(folder, f"Accused{k}", text)
        except CheckError as error:
            raise CheckError(f"Coq refuses {data['id']}: {error}") from error


def source(data: dict[str, Any], name: str) -> str:
    """Coq text of one accusation: ``NAME_is_wrong``, by the soundness of the checker and computation.

    >>> from proofs.rounding import _accusation
    >>> _accusation._number([-3, 5])
    '(Float radix2 (-3) 5)'
    """
    accused, reasons = data["accusation"], data["reasons"]
    if accused["stored"] not in FORMATS or accused["placement"] not in ("inside", "outside"):
        raise ValueError(f"{accused['stored']}, eps {accused['placement']}: no such format or place")
    if len({len(accused[key]) for key in _ROWS}) != 1:
        raise ValueError(f"{', '.join(_ROWS)} have different lengths")
    rows = " ".join(f"{key} := [{'; '.join(map(_number, accused[key]))}];" for key in _ROWS)
    bounds = " ".join(f"{key} := {_number(reasons[key])};" for key in _BOUNDS)
    centered = "true" if accused["centered"] is True else "false"
    return f"""Definition {name} := {{| stored_as := {accused["stored"]}; centered := {centered};
  place := {accused["placement"]}; epsilon := {_number(accused["eps"])}; {rows.rstrip(";")} |}}.
Definition {name}_reasons := {{| {bounds}
  decided := {_decided(reasons["decided"])} |}}.
Theorem {name}_is_wrong (w : R) : let f := work (stored_as {name}) in
  (0 <= w)%R -> (w <= Floats.u (prec f) * Floats.om (emin f) (prec f))%R -> ~ correct {name} w.
Proof.
intros f W0 W. refine (accused_is_wrong {name} {name}_reasons w W0 W _).
vm_cast_no_check (eq_refl true).
Qed.
"""


def _number(pair: Any) -> str:
    m, e = map(int, pair)
    mantissa, exponent = (f"({k})" if k < 0 else f"{k}" for k in (m, e))
    return f"(Float radix2 {mantissa} {exponent})"


def _decided(decision: dict[str, Any]) -> str:
    if "alone" in decision:
        return f"bias_alone {int(decision['alone'])}"
    first, second = (
        f"({', '.join('None' if i is None else f'Some {int(i)}' for i in pair)})" for pair in decision["pairs"]
    )
    return f"tangents {_number(decision['middle'])} {first}%nat {second}%nat"
