"""The check itself: a kernel goes through eight stages, each in a file of its own, to its verdict."""

from typing import Any

from ._finding import Finding
from ._form import call_form
from ._gradient import differentiated
from ._inputs import inputs
from ._judge import judged
from ._limits import Endless
from ._name import named
from ._options import CheckOptions
from ._proof import claimed
from ._trials import tried
from ._verdict import nothing_computed, verdict


def check(target: object, **options: Any) -> Finding:
    """Compare a norm with its exact definition on adversarial inputs, and name what it computes.

    Args:
        target: ``f(x)``, ``f(x, gain)``, ``f(x, gain, bias)``, ``f(x, gain, bias, eps)`` on arrays of shape (..., d) of
            NumPy, PyTorch, JAX, Keras or TensorFlow, found by trying; a module, its class, or a factory ``f(d)``; or
            ``"module:name"``. Parameters are recognised by their usual names, else by this order.
        **options: See :class:`CheckOptions`.

    Raises:
        InputError: It cannot be called, or `kind` or `eps` cannot be inferred.

    >>> from empirical.check import check
    >>> import lngeom as lg
    >>> check(lambda x, gain: lg.rms_norm(x, gain, eps=1e-6), kind="rmsnorm", eps=1e-6, d=8).verdict
    'rounding'
    """
    asked = CheckOptions(**options)
    try:
        claim = claimed(call_form(target, asked))
        outputs = judged(tried(inputs(claim)))
        return verdict(differentiated(named(outputs))).refusing(asked.refuse)
    except Endless as error:
        return nothing_computed(asked, str(error))
