"""Code on JAX is traced from its jaxpr, with sizes that have no value."""

from typing import Any

import pytest

from empirical.proving import prove_target

jax = pytest.importorskip("jax", reason="runs where JAX is installed")
jnp = jax.numpy


def layer(x: Any, scale: Any, bias: Any, eps: float = 1e-5) -> Any:
    return (x - jnp.mean(x, -1, keepdims=True)) / jnp.sqrt(jnp.var(x, -1, keepdims=True) + eps) * scale + bias


def rms(x: Any, scale: Any, eps: float = 1e-6) -> Any:
    return x * jax.lax.rsqrt(jnp.mean(x**2, axis=-1, keepdims=True) + eps) * scale


def standard(x: Any, eps: float = 1e-5) -> Any:
    return jax.nn.standardize(x, epsilon=eps)


def summed(x: Any, scale: Any, eps: float = 1e-6) -> Any:
    return x * jax.lax.rsqrt(jnp.sum(x**2, axis=-1, keepdims=True) + eps) * scale


def batch(x: Any, scale: Any, eps: float = 1e-6) -> Any:
    return x * jax.lax.rsqrt(jnp.mean(x**2, axis=0, keepdims=True) + eps) * scale


@pytest.mark.parametrize(
    ("kernel", "status"),
    [(layer, "proved"), (rms, "proved"), (standard, "proved"), (summed, "refuted"), (batch, "not traced")],
)
def test_a_kernel_is_what_it_is(kernel: Any, status: str) -> None:
    assert prove_target(kernel, kernel.__name__, "jax").status == status


@pytest.mark.parametrize("name", ["LayerNormalization", "RMSNormalization"])
def test_a_layer_of_keras_is_traced_on_its_backend(name: str) -> None:
    keras = pytest.importorskip("keras", reason="runs where Keras is installed")
    verdict = prove_target(getattr(keras.layers, name)(), name, "keras")
    assert verdict.status == ("proved" if keras.backend.backend() in ("torch", "jax") else "not traced")
