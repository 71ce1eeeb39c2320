# type: ignore
# ruff: noqa: E731, PLR0913
"""Right kernels of Triton, in the forms that are in use; each fault of the tests changes a line of one."""

import torch
import triton
import triton.language as tl
from triton.language.extra.libdevice import rsqrt

LARGEST = 65536
next_power = triton.next_power_of_2


def in_rows(x):
    rows = x.contiguous().view(-1, x.shape[-1])
    return rows, torch.empty_like(rows), *rows.shape


@triton.jit
def _layer(X, Y, W, B, Mean, stride_x, stride_y, N, eps, HAS_BIAS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(X + row * stride_x + cols, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / N
    xc = tl.where(mask, x - mean, 0.0)
    var = tl.sum(xc * xc, axis=0) / N
    y = xc * (1 / tl.sqrt(var + eps)) * tl.load(W + cols, mask=mask).to(tl.float32)
    if HAS_BIAS:
        y += tl.load(B + cols, mask=mask).to(tl.float32)
    tl.store(Mean + row, mean)
    tl.store(Y + row * stride_y + cols, y, mask=mask)


def layer_norm(x, weight, bias, eps=1e-5):
    rows, y, M, N = in_rows(x)
    mean = torch.empty((M,), dtype=torch.float32, device=x.device)
    BLOCK = triton.next_power_of_2(N)
    if BLOCK > LARGEST:
        raise RuntimeError("too wide")
    _layer[(M,)](rows, y, weight, bias, mean, rows.stride(0), y.stride(0), N, eps, bias is not None, BLOCK=BLOCK,
                 num_warps=min(max(BLOCK // 256, 1), 8))  # fmt: skip
    return y.reshape(x.shape)


@triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(args["n_cols"])})
@triton.jit
def _rms(y_ptr, x_ptr, w_ptr, x_row, y_row, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * x_row + cols, mask=cols < n_cols, other=0)
    wide = x.to(tl.float32)
    scale = rsqrt(tl.sum(wide * wide, axis=0) / n_cols + eps)
    w = tl.load(w_ptr + cols, mask=cols < n_cols, other=0)
    tl.store(y_ptr + row * y_row + cols, (wide * scale).to(y_ptr.dtype.element_ty) * w, mask=cols < n_cols)


def rms_norm(x, weight, eps=1e-6):
    rows = x.reshape(-1, x.shape[-1])
    rows = rows if rows.stride(-1) == 1 else rows.contiguous()
    y = torch.empty(rows.shape, dtype=x.dtype, device=x.device)
    _rms[(rows.shape[0],)](y, rows, weight, rows.stride(0), y.stride(0), rows.shape[1], eps)
    return y.view(x.shape)


@triton.jit
def _blocked(X, Y, W, B, stride, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    Y += row * stride
    X += row * stride
    _mean = tl.zeros([BLOCK], dtype=tl.float32)
    for off in range(0, N, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        a = tl.load(X + cols, mask=cols < N, other=0.0).to(tl.float32)
        _mean += a
    mean = tl.sum(_mean, axis=0) / N
    square = 0.0
    for off in range(0, N, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        x = tl.load(X + cols, mask=cols < N, other=0.0).to(tl.float32)
        x = tl.where(cols < N, x - mean, 0.0)
        square += tl.sum(x * x, axis=0)
    rstd = 1 / tl.sqrt(square / N + eps)
    for k in range(tl.cdiv(N, BLOCK)):
        cols = k * BLOCK + tl.arange(0, BLOCK)
        mask = cols < N
        w = tl.load(W + cols, mask=mask)
        b = tl.load(B + cols, mask=mask)
        z = tl.load(X + cols, mask=mask, other=0.0).to(tl.float32)
        tl.store(Y + cols, (z - mean) * rstd * w + b, mask=mask)


def blocked_layer_norm(x, weight, bias, eps=1e-5):
    rows, y, M, N = in_rows(x)
    _blocked[(M,)](rows, y, weight, bias, rows.stride(0), N, eps, BLOCK=128)
    return y.view(*x.shape)


@triton.autotune([triton.Config({"BT": 8}), triton.Config({"BT": 16})], key=["N"])
@triton.jit
def _tiled(X, Y, W, B, M, N, eps, BT: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BT + tl.arange(0, BT)
    cols = tl.arange(0, BLOCK)
    inside = cols < N
    mask = (rows < M)[:, None] & inside[None, :]
    at = rows[:, None] * N + cols[None, :]
    x = tl.load(X + at, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=1) / N
    xc = tl.where(inside[None, :], x - mean[:, None], 0.0)
    var = tl.sum(xc * xc, axis=1) / N
    y = xc * tl.rsqrt(var + eps)[:, None]
    w = tl.load(W + cols, mask=inside, other=0.0)
    b = tl.load(B + cols, mask=inside, other=0.0)
    tl.store(Y + at, y * w[None, :] + b[None, :], mask=mask)


def tiled_layer_norm(x, weight, bias, eps=1e-5):
    rows, y, M, N = in_rows(x)
    grid = lambda meta: (triton.cdiv(M, meta["BT"]),)
    _tiled[grid](rows, y, weight, bias, M, N, eps, BLOCK=triton.next_power_of_2(N))
    return y.view(x.shape)


@triton.jit
def _strided(X, Y, W, M, N, eps, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    w = tl.load(W + cols, mask=cols < N, other=0.0)
    for row in range(tl.program_id(0), M, tl.num_programs(0)):
        x = tl.load(X + row * N + cols, mask=cols < N, other=0.0).to(tl.float32)
        scale = tl.rsqrt(tl.sum(x * x) / N + eps)
        tl.store(Y + row * N + cols, x * scale * w, mask=cols < N)


def strided_rms_norm(x, weight, eps=1e-6):
    rows, y, M, N = in_rows(x)
    programs = torch.cuda.get_device_properties(x.device).multi_processor_count
    _strided[(programs,)](rows, y, weight, M, N, eps, BLOCK=triton.next_power_of_2(N))
    return y.view(x.shape)


@triton.jit
def _scaled(x, scale, w):
    return x * scale * w


@triton.jit
def _fused(X, R, S, Y, W, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    s = tl.load(X + row * N + cols, mask=mask, other=0.0) + tl.load(R + row * N + cols, mask=mask, other=0.0)
    tl.store(S + row * N + cols, s, mask=mask)
    wide = s.to(tl.float32)
    scale = tl.math.rsqrt(tl.sum(wide * wide, axis=0) / N + eps)
    tl.store(Y + row * N + cols, _scaled(wide, scale, tl.load(W + cols, mask=mask)), mask=mask)


def residual_rms_norm(x, residual, weight, eps=1e-6):
    (rows, y, M, N), (more, s, _, _) = in_rows(x), in_rows(residual)
    _fused[(M,)](rows, more, s, y, weight, N, eps, BLOCK=triton.next_power_of_2(N))
    return y.view(x.shape), s.view(x.shape)


@triton.jit
def _moments(X, Mean, Rstd, stride, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(X + row * stride + cols, mask=cols < N, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / N
    xc = tl.where(cols < N, x - mean, 0.0)
    tl.store(Mean + row, mean)
    tl.store(Rstd + row, tl.rsqrt(tl.sum(xc * xc, axis=0) / N + eps))


@triton.jit
def _normal(X, Y, W, B, Mean, Rstd, stride_x, stride_y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(tl.multiple_of(X + row * stride_x + cols, (16,)), mask=mask)
    y = (x - tl.load(Mean + row)) * tl.load(Rstd + row) * tl.load(W + cols, mask=mask) + tl.load(B + cols, mask=mask)
    tl.store(Y + row * stride_y + cols, y, mask=mask)


def in_two_layer_norm(x, weight, bias, eps=1e-5):
    rows = x.view(-1, x.shape[-1])
    (M, N), y = rows.shape, torch.empty_like(rows)
    mean, rstd = torch.empty(M, device=x.device), torch.empty(M, device=x.device)
    _moments[(M,)](rows, mean, rstd, rows.stride(0), N, eps, BLOCK=triton.next_power_of_2(N))
    _normal[(M, triton.cdiv(N, 128))](rows, y, weight, bias, mean, rstd, rows.stride(0), y.stride(0), N, BLOCK=128)
    return y.view(x.shape)


@triton.jit
def _headed(X, Y, W, rows, heads, xb, xh, yb, yh, N, eps, BLOCK: tl.constexpr, HOW: tl.constexpr, WIDE: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    w = tl.load(W + cols, mask=cols < N)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=2):
        b, h = row // heads, row % heads
        x = tl.load(X + b * xb + h * xh + cols, mask=cols < N, other=0.0).to(WIDE)
        scale = tl.rsqrt(tl.sum(x * x) / N + eps) if HOW == "mean" else tl.sum(x)
        tl.store(Y + b * yb + h * yh + cols, x * scale * w, mask=cols < N)


def headed_rms_norm(x, weight, eps=1e-6):
    (B, H, N), y = x.shape, torch.empty_like(x)
    rows, BLOCK = B * H, next_power(N)
    strides = *x.stride()[:2], *y.stride()[:2]
    if rows > 1000 and N <= 256:
        _seated[B, H](x, y, weight, *strides, N, eps, BLOCK=BLOCK)
    else:
        _headed[(min(rows, 64),)](x, y, weight, rows, H, *strides, N, eps, BLOCK, HOW="mean", WIDE=tl.float32)
    return y


@triton.jit
def _seated(X, Y, W, xb, xh, yb, yh, N, eps, BLOCK: tl.constexpr):
    b, h, cols = tl.program_id(0), tl.program_id(1), tl.arange(0, BLOCK)
    x = tl.load(X + b * xb + h * xh + cols, mask=cols < N, other=0.0).to(tl.float32)
    y = x * tl.rsqrt(tl.sum(x * x) / N + eps) * tl.load(W + cols, mask=cols < N)
    tl.store(Y + b * yb + h * yh + cols, y, mask=cols < N)


def seated_rms_norm(x, weight, eps=1e-6):
    (B, H, N), y = x.shape, torch.empty_like(x)
    _seated[(B, H)](x, y, weight, *x.stride()[:2], *y.stride()[:2], N, eps, BLOCK=next_power(N))
    return y
