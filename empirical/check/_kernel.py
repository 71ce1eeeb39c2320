"""A norm kernel of any framework as one function of float64 arrays, found from ``module:name``."""

import importlib
import inspect
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy

from lngeom.errors import InputError

from ._frameworks import FRAMEWORKS, Framework, likely_frameworks

_ROLES = {
    "gain": {"gain", "weight", "weights", "w", "gamma", "g", "scale", "gains", "wt"},
    "bias": {"bias", "b", "beta", "offset", "shift", "biases"},
    "eps": {"eps", "epsilon", "variance_epsilon", "e", "layer_norm_eps", "norm_eps", "rms_norm_eps"},
    "shape": {"normalized_shape"},
    "d": {"d", "dim", "hidden_size", "hidden_dim", "n", "features", "num_features", "size", "embed_dim", "d_model",
          "width", "ndim", "num_channels", "normalized_dim", "dims", "hidden", "channels"},
    "axis": {"axis", "axes"},
}  # fmt: skip
_EPS_NAMES = ("eps", "epsilon", "variance_epsilon")


def _role(name: str) -> str | None:
    plain = name.lower().strip("_")
    return next((role for role, names in _ROLES.items() if plain in names), None)


class Kernel:
    """A norm to be checked: ``run(x, gain, bias)`` with float64 arrays, rounded to `dtype` on the way in.

    `fixed` is the only dimension that it takes, if it is fixed; `roles` what it is given besides x.
    """

    def __init__(
        self, target: Any, name: str, dtype: str, *, eps: float | None = None, d: int | None = None,
        device: str | None = None,
    ) -> None:  # fmt: skip
        self.name, self.dtype, self.device, self.given_eps = name, dtype, device, eps
        self.target, self.fixed = target, None
        self.factory = False
        self.roles: dict[str, str] = {}
        self.own_eps: float | None = None
        self.framework: Framework = FRAMEWORKS["numpy"]
        self._made: dict[int, Callable[..., Any]] = {}
        self._parameters: dict[int, tuple[numpy.ndarray | None, numpy.ndarray | None]] = {}
        self._leaves: dict[int, dict[str, Any]] = {}
        self._settle(d)

    # ------------------------------------------------------------------------------------- inference

    def _settle(self, d: int | None) -> None:
        """Find the framework, the roles of the parameters and the dimension by trying."""
        if not callable(self.target):
            msg = f"{self.name} is a {type(self.target).__name__}: a norm is a function, a module or a factory of one"
            raise InputError(msg)
        parameters = _parameters(self.target)
        first = next(iter(parameters), None)
        self.factory = isinstance(self.target, type) or first is None or _role(first) in ("d", "shape", "eps")
        reasons = []
        for name in likely_frameworks(self.target):
            self.framework = FRAMEWORKS[name]
            for factory in dict.fromkeys((self.factory, not self.factory)):
                self.factory = factory
                for size in [d] if d else dict.fromkeys((self._own_size() or 64, 64, 128, 16, 4)):
                    self._made.clear()
                    self._parameters.clear()
                    try:
                        x = numpy.linspace(-1.0, 2.0, 3 * size).reshape(3, size).round(3)
                        gain, bias = self.parameters(size)
                        got = self.run(x, gain, bias)
                    except InputError:
                        raise
                    except Exception as error:  # whatever the framework raises at arrays of another
                        text = " ".join(str(error).split())[:90]
                        reasons.append(f"{name}: {type(error).__name__}: {text}")
                        continue
                    if got.shape == x.shape:
                        self.fixed = size if self._is_fixed(size) else None
                        return
                    reasons.append(f"{name}: output of shape {got.shape} for input of shape {x.shape}")
        reason = reasons[0] if reasons else "no framework"
        msg = f"{self.name} cannot be called with an array x of shape (n, d), nor as a factory with d: {reason}"
        raise InputError(msg)

    def _own_size(self) -> int | None:
        values = [*_named_parameters(self.target)] if not isinstance(self.target, type) else []
        values += [("gain", self.target.gain)] if getattr(self.target, "gain", None) is not None else []
        return next((int(v.shape[-1]) for _, v in values if len(v.shape) == 1), None)

    def _is_fixed(self, size: int) -> bool:
        if not self.factory:
            return self._own_size() == size
        return not any(_role(name) in ("d", "shape") for name in _parameters(self.target)) and any(
            p is not None for p in self._parameters.get(size, ())
        )

    @property
    def eps(self) -> float | None:
        """ε: given, or the default of the parameter, or the attribute of the module."""
        return self.given_eps if self.given_eps is not None else self.own_eps

    # ------------------------------------------------------------------------------------------ calls

    def parameters(self, d: int) -> tuple[numpy.ndarray | None, numpy.ndarray | None]:
        """Gain and bias for dimension d: none is 0, 1 or symmetric, all are numbers of every format."""
        self._function(d)
        rng = numpy.random.default_rng(d)
        signs = numpy.where(rng.random(d) < 0.3, -1, 1)
        gain = signs * rng.integers(72, 250, d) / 128  # at most 8 bits, and 1 + gain is not a number of bfloat16
        bias = rng.integers(-120, 121, d) / 128
        made = self._parameters.get(d)
        if made is not None:
            return made
        return gain if "gain" in self.roles else None, bias if "bias" in self.roles else None

    def array(self, values: numpy.ndarray) -> Any:
        """`values` as an array of the framework in the dtype and on the device of the check."""
        return self.framework.make(values, self.dtype, self.device)

    def call(self, x: Any, given: Sequence[Any], d: int) -> Any:
        """The kernel on arrays of its framework; `given` are gain and bias."""
        function = self._function(d)
        values: dict[str, Any] = {
            "gain": given[0],
            "bias": given[1],
            "eps": self.eps,
            "shape": (d,),
            "d": d,
            "axis": -1,
        }
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        for role, how in self.roles.items():
            if how.startswith("="):
                keywords[how[1:]] = values[role]
            else:
                positional.append(values[role])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with numpy.errstate(all="ignore"):
                got = function(x, *positional, **keywords)
        return got[0] if isinstance(got, tuple | list) else got

    def run(
        self, x: numpy.ndarray, gain: numpy.ndarray | None = None, bias: numpy.ndarray | None = None
    ) -> numpy.ndarray:
        """Output at `x` as float64."""
        arrays = [None if v is None or self.holds(x.shape[-1]) else self.array(v) for v in (gain, bias)]
        return self.framework.read(self.call(self.array(x), arrays, x.shape[-1]))

    def arrays(self, d: int) -> list[Any]:
        """Gain and bias as arrays of the framework, None where the kernel has none or holds its own."""
        return [None if p is None or self.holds(d) else self.array(p) for p in self.parameters(d)]

    def holds(self, d: int) -> bool:
        """Whether gain and bias are the module's own."""
        return d in self._parameters

    def leaves(self, d: int) -> dict[str, Any]:
        """The module's own gain and bias as tensors of PyTorch, by which it can be differentiated."""
        self._function(d)
        return self._leaves.get(d, {})

    def _function(self, d: int) -> Callable[..., Any]:
        if d not in self._made:
            self._made[d] = self._prepared(self._build(d) if self.factory else self.target, d)
        return self._made[d]

    def _build(self, d: int) -> Any:
        parameters = _parameters(self.target)
        keywords: dict[str, Any] = {}
        for name, parameter in parameters.items():
            role = _role(name)
            if role in ("d", "shape"):
                keywords[name] = d
            elif role == "eps":
                if self.given_eps is not None:
                    keywords[name] = self.given_eps
                elif parameter.default is inspect.Parameter.empty:
                    keywords[name] = 1e-5
            elif name in ("elementwise_affine", "affine") and parameter.default is inspect.Parameter.empty:
                keywords[name] = True
        required = [n for n, p in parameters.items() if p.default is inspect.Parameter.empty and n not in keywords]
        if len(required) == 1 and not any(_role(n) in ("d", "shape") for n in keywords):
            keywords[required[0]] = d
        return self.target(**keywords)

    def _prepared(self, function: Any, d: int) -> Callable[..., Any]:
        """A module with drawn parameters, bound to its variables; and the roles of what the function takes."""
        if hasattr(function, "init") and hasattr(function, "apply") and hasattr(function, "bind"):  # flax.linen
            function = _bound_flax(function, self.array(numpy.ones((1, d))))
        if hasattr(function, "eval") and hasattr(function, "named_parameters"):
            torch = importlib.import_module("torch")
            function = function.to(dtype=getattr(torch, self.dtype), device=self.device or "cpu").eval()
        if hasattr(function, "built") and not function.built:  # keras
            function(self.array(numpy.ones((1, d))))
        named = _named_parameters(function)
        if named or hasattr(function, "named_parameters"):
            self._parameters[d] = self._draw(named, d)
        if not named and not hasattr(function, "named_parameters"):
            # An object that keeps arrays of shape (d,), or an ONNX file that states them.
            stated = {
                _role(k): v
                for k, v in getattr(function, "__dict__", {}).items()
                if tuple(getattr(v, "shape", ())) == (d,)
            }
            if stated and not isinstance(function, FunctionType):
                read = {role: self.framework.read(value) for role, value in stated.items() if role}
                self._parameters[d] = read.get("gain"), read.get("bias")
        for name in _EPS_NAMES:
            value = getattr(function, name, None)
            if isinstance(value, float) and self.own_eps is None:
                self.own_eps = value
        if not hasattr(function, "named_parameters") and not named:
            self._assign(function)
        return function

    def _draw(self, named: list[tuple[str, Any]], d: int) -> Any:
        rng = numpy.random.default_rng(d)
        found: dict[str, numpy.ndarray] = {}
        for name, parameter in named:
            if tuple(parameter.shape) != (d,):
                continue
            role = "bias" if "bias" in name or "beta" in name else "gain"
            drawn = rng.integers(72, 250, d) / 128 if role == "gain" else rng.integers(-120, 121, d) / 128
            if hasattr(parameter, "detach"):
                parameter.data.copy_(self.array(drawn))
                self._leaves.setdefault(d, {})[role] = parameter
            elif hasattr(parameter, "assign"):
                parameter.assign(drawn)
            else:
                drawn = FRAMEWORKS["jax"].read(parameter)
            found[role] = drawn
        return found.get("gain"), found.get("bias")

    def _assign(self, function: Any) -> None:
        """Roles of the parameters after x: by name, or gain, bias, eps in this order."""
        parameters = list(_parameters(function).items())[1:]
        roles: dict[str, str] = {}
        spare = ["gain", "bias", "eps"]
        keyword = False
        for name, parameter in parameters:
            required = parameter.default is inspect.Parameter.empty
            role = _role(name)
            if role is None and required:
                role = next((r for r in spare if r not in roles), None)
            if role is None or role in roles or (role in ("axis", "d", "shape") and not required):
                keyword = keyword or role is None
                continue
            if role == "eps" and not required:
                self.own_eps = parameter.default if isinstance(parameter.default, float) else self.own_eps
                if self.given_eps is None:
                    keyword = True
                    continue
            if role == "eps" and self.eps is None:
                self.own_eps = 1e-5
            keyword = keyword or parameter.kind is inspect.Parameter.KEYWORD_ONLY
            roles[role] = f"={name}" if keyword or not required else name
            keyword = keyword or not required
        self.roles = roles


def _bound_flax(module: Any, x: Any) -> Callable[[Any], Any]:
    jax = importlib.import_module("jax")
    variables = module.init(jax.random.PRNGKey(0), x)
    return lambda values: module.apply(variables, values)


def _parameters(target: Any) -> dict[str, inspect.Parameter]:
    try:
        found = inspect.signature(target).parameters
    except (TypeError, ValueError):
        return {"x": inspect.Parameter("x", inspect.Parameter.POSITIONAL_ONLY)}
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {name: parameter for name, parameter in found.items() if parameter.kind not in kinds}


def _named_parameters(function: Any) -> list[tuple[str, Any]]:
    if isinstance(function, type):
        return []
    if hasattr(function, "named_parameters"):
        return [(name, p) for name, p in function.named_parameters()]
    return [(v.name, v) for v in getattr(function, "weights", [])] if hasattr(function, "get_config") else []


def resolve(spec: str) -> Any:
    """The object that ``module:name`` names, importable from the current directory."""
    module_name, _, name = spec.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    if module_name.endswith(".py"):
        path = Path(module_name)
        sys.path.insert(0, str(path.parent.resolve()))
        module_name = path.stem
    try:
        value: Any = importlib.import_module(module_name)
    except Exception as error:
        msg = f"{spec}: the module {module_name!r} cannot be imported from here: {type(error).__name__}: {error}"
        raise InputError(msg) from error
    for part in name.split("."):
        if not hasattr(value, part):
            known = (
                [n for n in vars(value) if callable(getattr(value, n)) and not n.startswith("_")]
                if hasattr(value, "__dict__")
                else []
            )
            msg = f"{spec}: {module_name} has no {part!r}; it has {', '.join(known[:12]) or 'nothing callable'}"
            raise InputError(msg)
        value = getattr(value, part)
    return value
