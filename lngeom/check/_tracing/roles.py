"""Roles of a kernel's parameters, by their usual names; the one place that lists them."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from lngeom.errors import InputError

_NAMES = {
    "gain": ("gain", "weight", "weights", "w", "gamma", "g", "scale", "gains", "wt"),
    "bias": ("bias", "b", "beta", "offset", "shift", "biases"),
    "eps": ("eps", "epsilon", "variance_epsilon", "e", "layer_norm_eps", "norm_eps", "rms_norm_eps"),
    "shape": ("normalized_shape",),
    "d": ("d", "dim", "hidden_size", "hidden_dim", "n", "features", "num_features", "size", "embed_dim", "d_model",
          "width", "ndim", "num_channels", "normalized_dim", "dims", "hidden", "channels"),
    "axis": ("axis", "axes"),
}  # fmt: skip
_BY_PLACE = ("gain", "bias", "eps")
RESIDUALS = ("residual", "resid", "res", "skip")
GATES = ("gate", "z")
REQUIRED = inspect.Parameter.empty


def role(name: str) -> str | None:
    """The role of a parameter by its name: ``gain``, ``bias``, ``eps``, ``shape``, ``d``, ``axis`` or unknown."""
    plain = name.lower().strip("_")
    return next((role for role, names in _NAMES.items() if plain in names), None)


def by_roles(function: Callable[..., Any]) -> Callable[..., Any]:
    """A stated definition f(x, ...) as a function of x, gain (None is 1), bias (None is 0) and ε."""
    names = list(parameters(function))[1:]
    if odd := next((name for name in names if role(name) not in _BY_PLACE), None):
        raise InputError(f"the stated definition has a parameter {odd!r}: name its parameters x, gain, bias and eps")

    def stated(x: Any, gain: Any = None, bias: Any = None, *, eps: Any = 0.0) -> Any:
        values = {"gain": 1 if gain is None else gain, "bias": 0 if bias is None else bias, "eps": eps}
        return function(x, **{name: values[str(role(name))] for name in names})

    return stated


def is_size(name: str | None) -> bool:
    """Whether a parameter of this name takes the dimension."""
    return name is not None and role(name) in ("d", "shape")


def is_switch(name: str) -> bool:
    """Whether a constructor's parameter of this name says if there are gain and bias."""
    return name in ("elementwise_affine", "affine", "bias", "use_bias")


def parameters(target: Callable[..., object]) -> dict[str, inspect.Parameter]:
    """The named parameters of a function; of one without a signature a single x."""
    overload: Any = target
    if hasattr(type(target), "overloads"):  # an operator of torch.ops
        overload = getattr(target, overload.overloads()[0])
    try:
        if overload is not target:
            raise ValueError("its schema says what it takes")
        signature = inspect.signature(target).parameters
    except (TypeError, ValueError):
        schema = getattr(target, "schema", None) or getattr(overload, "_schema", None)
        if schema is None:
            return {"x": inspect.Parameter("x", inspect.Parameter.POSITIONAL_ONLY)}
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD  # a function of TorchScript, or an operator of torch.ops
        defaults = {one.name: one.default_value if one.has_default_value() else REQUIRED for one in schema.arguments}
        signature = {name: inspect.Parameter(name, kind, default=value) for name, value in defaults.items()}
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {name: parameter for name, parameter in signature.items() if parameter.kind not in variadic}


def stated_eps(module: object) -> float | None:
    """The ε that an object keeps as an attribute, a number or an array of one."""
    kept: list[Any] = [getattr(module, name, None) for name in _NAMES["eps"]]
    values = (float(f"{value.item():.7g}") if getattr(value, "shape", None) == () else value for value in kept)
    return next((value for value in values if isinstance(value, float)), None)


def given_roles(
    function: Callable[..., object], eps: float | None, known: Mapping[str, str]
) -> tuple[dict[str, str | None], float | None]:
    """How a function takes what follows x, and its own ε.

    As its name says, else as `known`, else gain, bias and ε in this order. A default for ε stays unless an `eps` is
    given.

    Returns:
        Each role with the keyword that it is given by, None by place; the default of ε, or 1e-5 where one is required
        and `eps` is None.
    """
    roles: dict[str, str | None] = {}
    own, by_keyword = None, False
    for name, parameter in list(parameters(function).items())[1:]:
        required = parameter.default is REQUIRED
        purpose = role(name) or known.get(name)
        if purpose is None and required:
            # What comes after eps is neither gain nor bias.
            free = _BY_PLACE[1 + max((_BY_PLACE.index(r) for r in roles if r in _BY_PLACE), default=-1) :]
            purpose = next(iter(free), None)
        if purpose == "eps":
            default = 1e-5 if required and eps is None else parameter.default
            own = default if isinstance(default, float) else own
        optional = purpose in ("axis", "d", "shape") or (purpose == "eps" and eps is None)
        is_setting = purpose in ("gain", "bias") and isinstance(parameter.default, int | float)
        if purpose is None or purpose in roles or is_setting or (optional and not required):
            by_keyword = True
            continue
        by_keyword = by_keyword or not required or parameter.kind is inspect.Parameter.KEYWORD_ONLY
        roles[purpose] = name if by_keyword else None
    return roles, own
