"""The call form of a target: its framework, and how it maps rows to rows."""

from collections.abc import Iterator
from dataclasses import replace
from textwrap import shorten
from typing import Any

import numpy as np

from lngeom.errors import InputError

from .._tracing.factories import is_factory
from .._tracing.frameworks import FRAMEWORKS, likely_frameworks
from .._tracing.roles import parameters, role
from .._tracing.triton import BeyondEnd
from .arguments import adapted
from .binding import own_size
from .call_files import FILES, Filed
from .fused import Fused, as_norm
from .kernel import SIZES, Form, Kernel
from .options import CheckOptions
from .target import resolve
from .triton_hook import launches


def call_form(given: object, asked: CheckOptions) -> Kernel:
    """The first framework, reading and dimension in which the target maps rows to rows, found by trying.

    Raises:
        InputError: There is none.
    """
    name = asked.name
    if isinstance(given, Filed):
        return Kernel(Form(given, given, FILES, False, asked.d or SIZES[0]), replace(asked, name=given.__name__))
    if isinstance(given, str):
        name, given = name or given, resolve(given)
    asked = replace(asked, name=name or getattr(given, "__name__", type(given).__name__))
    ways = [(whole := adapted(given, in_place=copies), as_norm(whole)) for copies in (False, True)]
    target = ways[0][1]
    if not callable(target):
        raise InputError(f"{asked.name} is a {type(target).__name__}: a norm is a function, a module or their factory")
    reasons, before, faults = [], launches(), list[BeyondEnd]()
    several = [[0], [3], [4]]  # the last axis of any number of them, or of so many
    several = several if asked.axis is None else [[axes for axes in (4, 3, 2) if -axes <= asked.axis < axes]]
    for form in (replace(form, axes=n) for axes in several for form in _readings(ways, asked) for n in axes):
        kernel, framework = Kernel(form, asked), form.framework.name
        x = np.linspace(-1.0, 2.0, 3 * form.size).reshape(3, form.size).round(3)
        try:
            output = kernel.run(x)
        except InputError:  # its message tells the user what to change
            raise
        except Exception as error:  # whatever the framework raises at arrays of another
            faults += [error] if isinstance(error, BeyondEnd) else []
            reasons.append(f"{framework}: {type(error).__name__}: {shorten(str(error), 120, placeholder=' ...')}")
            continue
        if output.shape == x.shape:
            _check_purposes(kernel, x)
            return Kernel(replace(form, interpreted=launches() > before), asked)
        reasons.append(f"{framework}: output of shape {output.shape} for input of shape {x.shape}")
    reason = reasons[0] if reasons else "no framework"
    msg = f"{asked.name} cannot be called with an array x of shape (n, d), nor as a factory with d: {reason}"
    advice = "write a function f(x, gain, bias) around it that takes rows and gives rows, and check that"
    advice = f"give --device cpu, or {advice}" if asked.device not in (None, "cpu") else advice
    raise (*faults, InputError(f"{msg}; {advice}"))[0]


def _readings(ways: list[tuple[Any, Any]], asked: CheckOptions) -> Iterator[Form]:
    """Possible call forms, the likely ones first, of what was given and of the same with a copy of x."""
    (given, target), copying = ways
    factory = is_factory(target)
    for name in likely_frameworks(target):
        for reading in (factory, not factory):
            for size in [asked.d] if asked.d else dict.fromkeys((own_size(target) or SIZES[0], *SIZES)):
                yield Form(given, target, FRAMEWORKS[name], reading, size)
        if not factory and not isinstance(target, Fused):  # it may work in place and return nothing
            yield Form(*copying, FRAMEWORKS[name], False, asked.d or SIZES[0])


def _check_purposes(kernel: Kernel, x: np.ndarray) -> None:
    """Refuse a parameter taken for gain or bias by its place that does not change the output."""
    arrays = kernel.arrays(kernel.form.size)
    taken = set(kernel.at(kernel.form.size).roles)
    named = {role(name): name for name in list(parameters(kernel.form.target))[1:]}
    for purpose in arrays.keys() & taken - named.keys():
        others = arrays | {purpose: kernel.array(np.full(kernel.form.size, 3.0))}
        read = kernel.framework.read
        if np.array_equal(read(kernel.call(kernel.array(x), arrays)), read(kernel.call(kernel.array(x), others))):
            which = ", ".join(n for n in list(parameters(kernel.form.target))[1:] if role(n) is None)
            raise InputError(f"{kernel.name} has a parameter of unknown purpose ({which}): check a function without it")
