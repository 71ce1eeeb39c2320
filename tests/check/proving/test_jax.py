from typing import Any

import pytest

from lngeom.check._proving.verdict import prove_target

jax = pytest.importorskip("jax", reason="runs where JAX is installed")
jnp = jax.numpy


def layer(x: Any, scale: Any, bias: Any, eps: float = 1e-5) -> Any:
    return (x - jnp.mean(x, -1, keepdims=True)) / jnp.sqrt(jnp.var(x, -1, keepdims=True) + eps) * scale + bias


def rms(x: Any, scale: Any, eps: float = 1e-6) -> Any:
    return x * jax.lax.rsqrt(jnp.mean(x**2, axis=-1, keepdims=True) + eps) * scale


def summed(x: Any, scale: Any, eps: float = 1e-6) -> Any:
    return x * jax.lax.rsqrt(jnp.sum(x**2, axis=-1, keepdims=True) + eps) * scale


def batch(x: Any, scale: Any, eps: float = 1e-6) -> Any:
    return x * jax.lax.rsqrt(jnp.mean(x**2, axis=0, keepdims=True) + eps) * scale


@pytest.mark.parametrize(
    ("kernel", "status"), [(layer, "proved"), (rms, "proved"), (summed, "refuted"), (batch, "not traced")]
)
def test_a_kernel_of_jax_gets_its_status(kernel: Any, status: str) -> None:
    proof = prove_target(kernel, kernel.__name__, "jax", backward=True)
    assert proof.status == status
    assert all("are not traced (test_jax.py:" in derivative.text for derivative in proof.derivatives)


def fallback(x: Any) -> bool:
    try:
        return jax.lax.fori_loop(0, x.shape[-1], lambda k, c: c, 1) == 1
    except Exception:
        return False


QUESTIONS: dict[str, Any] = {
    "is": lambda x: x.shape[-1] == 640,
    "in a set": lambda x: x.shape[-1] in {96, 640},
    "in a table": lambda x: {640: 2}.get(x.shape[-1]) == 2,
    "of the whole shape": lambda x: x.shape[1:] == (640,),
    "as text": lambda x: f"{x.shape[-1]:>4}" == " 640",
    "of its bits": lambda x: hasattr(x.shape[-1], "bit_length"),
    "the quotient": lambda x: x.shape[-1] // 640 == 1,
    "of the rows": lambda x: x.shape[0] == 640,
    "by an error": fallback,
}


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_on_a_size_is_a_branch_or_refused(name: str, jit: bool) -> None:
    def kernel(x: Any, scale: Any, eps: float = 1e-6) -> Any:
        return (summed if QUESTIONS[name](x) else rms)(x, scale, eps)

    assert prove_target(jax.jit(kernel) if jit else kernel, name, "jax").status != "proved"


def either(x: Any, scale: Any, eps: float = 1e-6) -> Any:
    d = x.shape[-1]
    if not isinstance(d, int):
        return x
    if d in (64, 640):
        return x / jnp.sqrt(jnp.square(x).sum(-1, keepdims=True) / d + eps) * scale
    return jax.checkpoint(rms)(x, scale, eps)


def loops(x: Any, scale: Any, eps: float = 1e-6) -> Any:
    y = jax.lax.fori_loop(0, 2, lambda k, c: c * 2, rms(x, scale, eps))
    return jax.lax.scan(lambda c, _: (c / 2, None), y, None, length=2)[0]


def leaks(x: Any, scale: Any, eps: float = 1e-6) -> Any:
    return jax.lax.scan(lambda last, row: (row, rms(last + row, scale, eps)), x[0] * 0, x)[1]


def by_size(x: Any, scale: Any, eps: float = 1e-6) -> Any:
    return jax.lax.while_loop(lambda c: c[0] < x.shape[-1], lambda c: (c[0] + 1, c[1]), (0, rms(x, scale, eps)))[1]


def truncates(x: Any, scale: Any, eps: float = 1e-6) -> Any:
    half = jax.lax.div(jnp.asarray(x.shape[-1]), 2)
    return x * jax.lax.rsqrt(jnp.sum(x * x, -1, keepdims=True) / (2 * half) + eps) * scale


@pytest.mark.parametrize(
    ("kernel", "status"),
    [(either, "proved"), (loops, "proved"), (leaks, "not traced"), (by_size, "not traced"),
     (truncates, "not traced")],
)  # fmt: skip
def test_loops_run_as_often_as_they_say(kernel: Any, status: str) -> None:
    assert prove_target(kernel, kernel.__name__, "jax").status == status


def test_a_reason_names_the_line_of_the_program() -> None:
    reason = prove_target(truncates, "truncates", "jax").text
    assert "test_jax.py" in reason
    assert "half = jax.lax.div" in reason


@pytest.mark.parametrize("name", ["LayerNormalization", "RMSNormalization"])
def test_a_layer_of_keras_is_traced_on_its_backend(name: str) -> None:
    keras = pytest.importorskip("keras", reason="runs where Keras is installed")
    verdict = prove_target(getattr(keras.layers, name)(), name, "keras")
    assert verdict.status == ("proved" if keras.backend.backend() in ("torch", "jax") else "not traced")
