"""The functions of arrays: how each is called, and how wide its result is."""

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch

import lngeom as lg
from lngeom import angles, derivatives, epsilon, fibers, folding, norms, projection
from lngeom.ellipsoid import dead_direction

FORMULAS = ("norms", "projection", "angles", "epsilon", "fibers", "derivatives", "ellipsoid", "folding")
MODULES = {name: importlib.import_module(f"lngeom.{name}") for name in (*FORMULAS, "rounding", "errors")}
OFFERED = {name: getattr(module, name) for module in MODULES.values() for name in module.__all__}
# What the rounding engine shares with `lngeom.check`, which documents it there.
ENGINE = {"Arithmetic", "Case", "Definition", "Gradients", "Sample", "certainly_outside", "diagnose"}
EXPORTED = sorted(name for name, value in OFFERED.items() if inspect.isfunction(value) and name not in ENGINE)


@dataclass(frozen=True)
class Function:
    """``call(arrays, eps)`` of the arrays that :func:`data` draws; with `wide` no result is narrower than float32."""

    call: Callable[..., Any]
    wide: bool = False


FUNCTIONS = {
    "project": Function(lambda a, eps: lg.project(a["x"])),
    "mean_vector": Function(lambda a, eps: projection.mean_vector(a["x"])),
    "mean": Function(lambda a, eps: lg.moments(a["x"])[0], wide=True),
    "variance": Function(lambda a, eps: lg.moments(a["x"])[1], wide=True),
    "condition_number": Function(lambda a, eps: projection.condition_number(a["x"]), wide=True),
    "angle_to_uniform": Function(lambda a, eps: angles.angle_to_uniform(a["x"]), wide=True),
    "angle_from_moments": Function(lambda a, eps: angles.angle_from_moments(a["bias"], a["variance"]), wide=True),
    "standardize": Function(lambda a, eps, **place: lg.standardize(a["x"], eps=eps, **place)),
    "layer_norm": Function(lambda a, eps, **place: lg.layer_norm(a["x"], a["gain"], a["bias"], eps=eps, **place)),
    "rms_norm": Function(lambda a, eps, **place: lg.rms_norm(a["x"], a["gain"], a["bias"], eps=eps, **place)),
    "scale": Function(lambda a, eps, **place: norms.scale(a["variance"], eps=eps, **place), wide=True),
    "layer_rms_distance": Function(lambda a, eps: norms.layer_rms_distance(a["x"], eps=eps), wide=True),
    "layer_rms_distance_from_moments": Function(
        lambda a, eps: norms.layer_rms_distance_from_moments(a["bias"], a["variance"], eps=eps), wide=True
    ),
    "relative_radius": Function(lambda a, eps, **place: epsilon.relative_radius(a["x"], eps=eps, **place), wide=True),
    "relative_radius_from_mean_square": Function(
        lambda a, eps, **place: epsilon.relative_radius_from_mean_square(a["variance"], eps=eps, **place), wide=True
    ),
    "jacobian": Function(lambda a, eps, **place: lg.jacobian(a["x"], a["gain"], eps=eps, **place)),
    "jacobian_rms": Function(lambda a, eps, **place: lg.jacobian(a["x"], a["gain"], eps=eps, centered=False, **place)),
    "jacobian_product": Function(
        lambda a, eps, **place: derivatives.jacobian_product(a["x"], a["t"], a["gain"], eps=eps, **place)
    ),
    "jacobian_transpose_product": Function(
        lambda a, eps, **place: derivatives.jacobian_transpose_product(a["x"], a["t"], a["gain"], eps=eps, **place)
    ),
    "jacobian_singular_values": Function(
        lambda a, eps, **place: derivatives.jacobian_singular_values(a["x"], eps=eps, **place)
    ),
    "jacobian_singular_values_rms": Function(
        lambda a, eps, **place: derivatives.jacobian_singular_values(a["x"], eps=eps, centered=False, **place)
    ),
    "invert": Function(lambda a, eps, **place: fibers.invert(a["y"], eps=eps, **place)),
    "center_writer": Function(lambda a, eps: folding.center_writer(a["weight"], layout="conv1d")[0]),
    "fold_affine_weight": Function(lambda a, eps: folding.fold_affine(a["weight"], gain=a["gain"])[0]),
    "fold_affine_bias": Function(lambda a, eps: folding.fold_affine(a["weight"], norm_bias=a["bias"])[1]),
    "dead_direction": Function(lambda a, eps: dead_direction(a["gain"])),
}
FUNCTIONS |= {
    "project_direction": Function(lambda a, eps: lg.project(a["x"], a["gain"])),
    "jacobian_product_rms": Function(
        lambda a, eps, **place: derivatives.jacobian_product(
            a["x"], a["t"], a["gain"], eps=eps, centered=False, **place
        )
    ),
    "centered_inner_product": Function(
        lambda a, eps: projection.centered_inner_product(a["bias"], a["variance"], a["gain"], 5), wide=True
    ),
    "ellipsoid_radius": Function(lambda a, eps: lg.Ellipsoid(a["gain"]).relative_radius(a["x"]), wide=True),
    "ellipsoid_offset": Function(lambda a, eps: lg.Ellipsoid(a["gain"]).offset(a["x"]), wide=True),
}
FUNCTIONS |= {
    f"{name} outside": replace(function, call=partial(function.call, placement="outside"))
    for name, function in FUNCTIONS.items()
    if "place" in inspect.signature(function.call).parameters
}


def data(d: int, n: int) -> dict[str, np.ndarray]:
    """Inputs with at most eight significant bits, so that every precision holds them exactly."""
    rng = np.random.default_rng(0)
    draw = {
        "x": rng.normal(0.5, 1.0, (n, d)),
        "t": rng.normal(size=(n, d)),
        "gain": rng.normal(1.0, 0.5, d),
        "bias": rng.normal(size=d),
        "variance": rng.uniform(0.5, 2.0, d),
        "weight": rng.normal(size=(7, d)),
    }
    rounded = {name: np.asarray(torch.tensor(value).bfloat16().double()) for name, value in draw.items()}
    # A vector of the ball of radius √d that is orthogonal to 1 without rounding.
    half = rounded["x"][:, : d // 2] / 4
    rounded["y"] = np.concatenate([half, -half], axis=-1)
    return rounded
