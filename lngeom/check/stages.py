"""The check itself: a kernel goes through eight stages, each in a file of its own, to its verdict."""

from typing import Any

from ._calls.form import call_form
from ._calls.limits import Endless
from ._calls.options import CheckOptions
from ._diagnosis.gradients import differentiated
from ._diagnosis.judge import judged
from ._diagnosis.names import named
from ._trials.claimed import claimed
from ._trials.inputs import inputs
from ._trials.trials import tried
from ._verdict.finding import Finding
from ._verdict.verdict import nothing_computed, verdict


def check(target: object, **options: Any) -> Finding:
    """Compare a norm with its exact definition on adversarial inputs, and name what it computes.

    Args:
        target: ``f(x)``, ``f(x, gain)``, ``f(x, gain, bias)``, ``f(x, gain, bias, eps)`` on arrays of shape (..., d) of
            NumPy, PyTorch, JAX, Keras or TensorFlow, found by trying; a module, its class, or a factory ``f(d)``; or
            ``"module:name"``. Parameters are recognised by their usual names, else by this order.
        **options: See :class:`CheckOptions`.

    Raises:
        InputError: It cannot be called, or `kind` or `eps` cannot be inferred.

    >>> from lngeom.check import check
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
