"""The options of a check."""

import math
from dataclasses import dataclass

from lngeom.errors import InputError
from lngeom.rounding import FORMATS


@dataclass(frozen=True)
class CheckOptions:
    """Options of :func:`check`.

    Attributes:
        kind: ``layernorm`` or ``rmsnorm``; by default as the target computes it, or as its name says.
        eps: By default the module's own, the default of the parameter, or the measured value.
        dtype: ``float64``, ``float32``, ``bfloat16`` or ``float16``.
        d: By default the dimension of the module; a kernel that takes any is tried at many.
        axis: Along which the kernel normalizes arrays of four, three or two axes; by default the last one, of rows.
        device: By default the framework's.
        backward: Check the derivatives of a PyTorch or JAX kernel as well.
        name: What to call it in messages.
        seconds: Processor time that one call may take.
        spec: Which definition is meant: ``torch``, ``llama``, ``gemma``, ``onnx``, a function ``FILE.py:NAME``, or what
            another kernel computes; by default PyTorch's.
        contiguous: Leave out x, gain and bias that are not contiguous, where all callers pass contiguous arrays.
        refuse: Notes that are not accepted, by their kind or by words: a correct norm with such a note is a variant.
            For example "kept in bfloat16" (the root, for the backward pass) or "refuses no rows".
        require: ``batch-invariant``, ``deterministic``: a norm whose bits are not known to be so is a variant.
    """

    kind: str | None = None
    eps: float | None = None
    dtype: str = "float32"
    d: int | None = None
    axis: int | None = None
    device: str | None = None
    backward: bool = False
    name: str | None = None
    seconds: float = 60.0
    spec: str | None = None
    contiguous: bool = False
    refuse: tuple[str, ...] = ()
    require: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.dtype not in FORMATS:
            raise InputError(f"dtype is {self.dtype!r}: the formats are {', '.join(FORMATS)}")
        if self.d is not None and self.d < 1:
            raise InputError(f"d is {self.d}: rows have at least one component")
        if self.axis is not None and not -4 <= self.axis < 4:
            raise InputError(f"axis is {self.axis}: arrays of four, three and two axes are tried; give one of -4 to 3")
        if self.eps is not None and not 0 <= self.eps < math.inf:
            raise InputError(f"eps is {self.eps}: ε is a finite number that is not negative")
        if not 0 < self.seconds < math.inf:
            raise InputError(f"seconds is {self.seconds}: the processor time of one call must be above 0")
        if not all(map(str.strip, self.refuse)):
            raise InputError(f"refuse is {self.refuse}: a text is empty, and every note contains it")
        if unknown := [name for name in self.require if name not in ("batch-invariant", "deterministic")]:
            raise InputError(f"require is {unknown[0]!r}: batch-invariant and deterministic can be required")
        if self.kind not in (None, "layernorm", "rmsnorm"):
            raise InputError(f"kind is {self.kind!r}: the norms are layernorm and rmsnorm")
