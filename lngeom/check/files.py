"""Outputs of a program in any language, judged like those of a kernel that is called."""

from pathlib import Path
from typing import Any

from ._calls.form import call_form
from ._calls.options import CheckOptions
from ._calls.recorded import Filed
from ._diagnosis.gradients import gradient_trials
from ._trials.claimed import claimed
from ._trials.inputs import inputs
from ._trials.trials import tried
from ._verdict.finding import Finding
from .stages import check


def write_inputs(folder: Path, form: str = "", **options: Any) -> int:
    """Write what a program is to be called with, a folder for each call; returns how many.

    `form` is the call, for example ``f(x, gain, eps)``; by default everything that the kind has. Options are those of
    :func:`check`, of which kind and ε must be given.

    Raises:
        InputError: They are not, `form` is no call, or the folder is not empty.
    """
    asked = CheckOptions(**options)
    filed = Filed.write(folder, form, asked)
    rows = inputs(claimed(call_form(filed, asked)))
    tried(rows)
    if asked.backward:
        list(gradient_trials(rows))
    return filed.finish()


def check_outputs(folder: Path, refuse: tuple[str, ...] = ()) -> Finding:
    """The finding on a program that has written its outputs, ``y.npy``, beside each ``x.npy`` of a folder.

    Raises:
        InputError: The folder is none of :func:`write_inputs`, or a file of outputs is missing or of another shape.
    """
    filed = Filed.read(folder)
    return check(filed, **vars(filed.asked)).refusing(refuse)
