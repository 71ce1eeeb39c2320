"""What wrappers of kernels ask and compute on the host."""

import re
from pathlib import Path

import pytest
import torch

from lngeom.check import check
from lngeom.check._calls.triton_hook import without_gpu
from lngeom.check._proving.path import strictest
from lngeom.check._proving.proof import Proof
from lngeom.check._proving.verdict import prove_target
from lngeom.cli import main
from tests.kernels.called import WRONG

from .test_triton import loaded

ROWS = "    rows = x.reshape(-1, x.shape[-1])\n"
LAUNCH = "_rms[(rows.shape[0],)](y, rows, weight, rows.stride(0), y.stride(0), rows.shape[1], eps)"
BLOCK = "BLOCK = triton.next_power_of_2(N)"
PLAIN = "x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight"
SIZES = {
    "text that is not read": ("rms_norm", ROWS, ROWS + "    N = x.shape[-1]\n    name = 'rms_' + str(N) + f'_{N}'\n"),
    "an error over several lines": ("rms_norm", ROWS, ROWS + "    if x.shape[-1] > 65536:\n        raise ValueError(\n"
                                    "            f'{x.shape[-1]} is more than 65536'\n        )\n"),
    "a block of at least 128 lanes": ("layer_norm", BLOCK, "BLOCK = max(triton.next_power_of_2(N), 128)"),
    "bits": ("layer_norm", BLOCK, "BLOCK = 1 << (N - 1).bit_length()"),
    "an exponent": ("layer_norm", BLOCK, "BLOCK = 2 ** (N - 1).bit_length()"),
    "rows rounded up": ("rms_norm", LAUNCH, LAUNCH.replace("(rows.shape[0],)", "((rows.shape[0] + 1 - 1) // 1,)")),
    "rows rounded up by a number": ("in_two_layer_norm", "triton.cdiv(N, 128)", "(N + 127) // 128"),
    "rows rounded up by a negation": ("in_two_layer_norm", "triton.cdiv(N, 128)", "-(-N // 128)"),
    "the ceiling of a number over a size": ("layer_norm", "min(max(BLOCK // 256, 1), 8)",
                                            "math.ceil(4 / min(max(BLOCK // 256, 1), 8))"),
    "hints and asserts": ("rms_norm", "    wide = x", "    tl.assume(x_row >= 0)\n"
                          "    tl.static_assert(BLOCK >= 1)\n    wide = x"),
    "a wrapped kernel": ("rms_norm", LAUNCH, LAUNCH.replace("_rms[", "torch.library.wrap_triton(_rms)[")),
    "an order of memory": ("rms_norm", ROWS, f"    if not x.is_contiguous():\n        return {PLAIN}\n{ROWS}"),
    "an exception that is not raised": ("rms_norm", ROWS, "    try:\n        rows = x.reshape(-1, x.shape[-1])\n"
                                        "    except Exception:\n        rows = None\n"),
    "the GPU": ("rms_norm", ROWS, "    assert x.is_cuda and x.device.type == 'cuda' and weight.device == x.device\n"
                "    weight = weight.to(x.device)\n"
                "    if torch.cuda.get_device_properties(torch.cuda.current_device()).major < 8:\n"
                "        return x\n    if torch.cuda.get_device_capability()[0] < 8:\n        return x\n" + ROWS),
}  # fmt: skip


def proof_of(folder: Path, name: str, *changes: tuple[str, str], backward: bool = False) -> Proof:
    return prove_target(loaded(folder, name, *changes), name, "torch", backward=backward)


@pytest.mark.parametrize("what", SIZES)
def test_what_a_wrapper_computes_of_sizes_is_followed(what: str, tmp_path: Path) -> None:
    name, old, new = SIZES[what]
    proof = proof_of(tmp_path, name, (old, new))
    assert proof.status == "proved", str(proof)
    assert any("which it rejects" in text for text in proof.unexamined) == ("raise" in new or name == "layer_norm")
    assert any("catches an exception" in text for text in proof.unexamined) == ("except" in new)


def test_text_that_is_read_is_refused(tmp_path: Path) -> None:
    change = f"{ROWS}    text = str(x.shape[-1])\n    rows = rows if text else x\n"
    assert "d is used as text (kernels_" in proof_of(tmp_path, "rms_norm", (ROWS, change)).text
    change = f"{ROWS}    try:\n        n = int(x.shape[-1])\n    except TypeError:\n        n = 1\n"
    assert proof_of(tmp_path, "rms_norm", (ROWS, change)).status == "not traced"


def test_what_the_gpu_is_asked_is_told_and_runs(tmp_path: Path) -> None:
    name, *change = SIZES["the GPU"]
    found = check(loaded(tmp_path, name, (change[0], change[1])), kind="rmsnorm", d=8)
    assert str(found).startswith("PASS: proved for every d ≥ 1; forward pass only"), str(found)
    assert found.proof is not None
    assert {"the GPU's major = 9", "current_device = 0"} <= {*found.proof.given}
    assert "asks for is_cuda, and is told True" in found.proof.notes


def test_tensors_that_are_made_on_the_gpu_that_is_told_are_made(tmp_path: Path) -> None:
    made = f"    torch.eye(2, device=x.device), x.new_ones(2, device=x.device)\n{ROWS}"
    found = check(loaded(tmp_path, "rms_norm", (ROWS, made)), kind="rmsnorm", d=8)
    assert found.verdict == "rounding", str(found)


def test_callers_may_promise_contiguous_arrays(tmp_path: Path) -> None:
    kernel = loaded(tmp_path, "rms_norm", ("rows if rows.stride(-1) == 1 else rows.contiguous()", "rows"))
    found, only = check(kernel, d=8), check(kernel, d=8, contiguous=True)
    assert found.tells("strides ignored"), str(found)
    assert "if your callers pass contiguous arrays only, --contiguous leaves the others out" in str(found)
    assert str(only).partition("\n")[0] == "PASS: proved for every d ≥ 1; forward pass only; contiguous arrays only"
    assert "contiguous arrays only" in only.notes
    row = WRONG["contiguous"]
    assert "--contiguous" in row.finding("packed", d=16).notes[0]
    assert row.finding("packed", d=16, contiguous=True).passes()


def test_a_number_of_python_has_32_bits_in_a_kernel_whatever_the_default_is(tmp_path: Path) -> None:
    norm, x, weight = loaded(tmp_path, "rms_norm"), torch.linspace(-1e-3, 1e-3, 32).view(4, 8), torch.ones(8)
    default = torch.get_default_dtype()
    with without_gpu():
        usual = norm(x, weight)
        torch.set_default_dtype(torch.bfloat16)
        try:
            assert torch.equal(norm(x, weight), usual)
        finally:
            torch.set_default_dtype(default)


def test_sizes_that_a_kernel_rejects_limit_no_proof(tmp_path: Path) -> None:
    limit = "BLOCK = min(65536 // x.element_size(), next_power(N))\n        assert N <= BLOCK, N\n"
    changes = ("_scales[", f"{limit}        _scales["), ("N, eps, BLOCK=next_power(N)", "N, eps, BLOCK=BLOCK")
    found = check(loaded(tmp_path, "in_tiles_rms_norm", *changes), kind="rmsnorm", d=8, backward=True)
    assert str(found).startswith("PASS: proved for every d ≥ 1 that it takes; forward and backward"), str(found)
    assert found.passes(proved=True)
    assert found.proof is not None
    assert not found.proof.own_paths  # in other formats other sizes are rejected


def test_a_backward_pass_that_is_not_read_leaves_the_forward_verdict(tmp_path: Path) -> None:
    locked = "tl.atomic_cas(DW, 0, 1)\n    tl.atomic_add(DW"
    kernel = loaded(tmp_path, "atomic_rms_norm", ("tl.atomic_add(DW", locked))
    told = str(check(kernel, kind="rmsnorm", d=8, backward=True))
    assert told.startswith("PASS: proved for every d ≥ 1; forward pass only"), told
    assert re.search(
        "d/dweight not proved: .*atomic_cas.*\n(.*\n)*.*derivatives were not examined: .*atomic_cas", told
    ), told


def test_outside_a_check_pytorch_is_its_own(tmp_path: Path) -> None:
    with without_gpu(False):
        loaded(tmp_path, "rms_norm")
        assert not torch.ones(1).is_cuda


def test_a_path_for_many_rows_on_a_gpu_alone_is_followed(tmp_path: Path) -> None:
    small = f"    if not (x.is_cuda and x.numel() // x.shape[-1] >= 256):\n        return {PLAIN}\n{ROWS}"
    kernel = loaded(tmp_path, "rms_norm", (ROWS, small))
    found = check(kernel, kind="rmsnorm", d=8, require=("batch-invariant",))
    assert (found.verdict, found.named and found.named.kind) == ("variant", "bits differ"), str(found)
    assert "in every batch: not: where B·L >= 256 it launches other kernels" in str(found)
    guarded = f"{ROWS}    if x.shape[-1] > 65536:\n        raise ValueError(f'{{x.shape[-1]}} is too many')\n"
    proof = proof_of(tmp_path, "rms_norm", (ROWS, small.replace(ROWS, guarded)))
    assert proof.orders[0].batch == "where B·L >= 256 it launches other kernels"
    wrong = loaded(tmp_path, "rms_norm", (ROWS, small), ("(wide * scale)", "(wide * scale * scale)"))
    found = check(wrong, kind="rmsnorm", d=8)
    assert found.proof is not None
    assert any(text == "where B·L >= 256 (it computes something else)" for text in found.proof.unexamined)
    opaque = loaded(tmp_path, "rms_norm", (ROWS, small), ("wide * wide,", "tl.cumsum(wide * wide, 0),"))
    found = check(opaque, kind="rmsnorm", d=8, require=("batch-invariant",))
    assert found.verdict == "variant", str(found)


def test_kernels_may_be_defined_when_they_are_called(tmp_path, capsys, monkeypatch) -> None:
    target = loaded(tmp_path, "rms_norm")
    path = Path(target.__code__.co_filename)
    text = path.read_text(encoding="utf-8")
    head, body = text[: text.index("@triton")].replace("from triton.language.extra.libdevice import rsqrt", ""), ""
    body = text[text.index('@triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(args["n_cols"])})') :]
    body = body.replace("rsqrt(", "tl.math.rsqrt(")
    kernel, norm = body.split("\n\n\ndef rms_norm")
    built = "\n\n\ndef _built():\n    import triton\n    import triton.language as tl\n\n    "
    lazy = head.replace("import triton\nimport triton.language as tl\n", "").replace(
        "next_power = triton.next_power_of_2\n", ""
    )
    lazy += built + kernel.replace("\n", "\n    ") + "\n    return _rms\n\n\n_KEPT = []\n\n\ndef rms_norm"
    lazy += norm.replace(ROWS, "    if not _KEPT:\n        _KEPT.append(_built())\n    _rms = _KEPT[0]\n" + ROWS)
    path.with_name("lazily.py").write_text(lazy, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["check", "lazily.py:rms_norm", "--d", "8", "--proved"]) == 0, capsys.readouterr()
    assert "proved for every d ≥ 1" in capsys.readouterr().out


def test_arguments_that_are_no_arrays_need_no_gradient_and_none_has_no_cotangent(tmp_path: Path) -> None:
    saved = "ctx.save_for_backward(rows, weight, mean, rstd)\n"
    asked = (
        (saved, saved + "        kept = any(ctx.needs_input_grad)\n"),
        ("def backward(ctx, dy):", "def backward(ctx, dy, nothing):\n        assert nothing is None"),
        ("return y.view(x.shape)", "return y.view(x.shape), None"),
        ("Pulled.apply(x, weight, bias, eps)", "Pulled.apply(x, weight, bias, eps)[0]"),
    )
    proof = proof_of(tmp_path, "pulled_layer_norm", *asked, backward=True)
    assert {one.status for one in proof.derivatives} == {"proved"}, str(proof)


def test_strides_and_shapes_are_tuples(tmp_path: Path) -> None:
    launch = LAUNCH.replace("rows.stride(0), y.stride(0)", "rows.stride(), y.stride()")
    kernel = (("row * x_row", "row * x_row[0]"), ("row * y_row", "row * y_row[0]"), (LAUNCH, launch))
    assert proof_of(tmp_path, "rms_norm", *kernel).status == "proved"


def test_a_tile_may_have_one_row(tmp_path: Path) -> None:
    tuned = '@triton.autotune([triton.Config({"BT": 8}), triton.Config({"BT": 16})], key=["N"])\n', ""
    assert proof_of(tmp_path, "tiled_layer_norm", tuned, ("eps, BLOCK", "eps, BT=1, BLOCK")).status == "proved"


def test_a_configuration_that_the_program_leaves_out_is_not_run(tmp_path: Path) -> None:
    left = 'prune_configs_by={"early_config_prune": lambda configs, given, **named: configs[given["N"] > 0 :]}'
    changes = ('{"BT": 8}', '{"BT": 5}'), ('key=["N"]', f'key=["N"], {left}')
    found = check(loaded(tmp_path, "tiled_layer_norm", *changes), kind="layernorm", d=8)
    assert found.passes(), str(found)
    assert found.proof is not None
    assert "a function of the program leaves out configurations" in found.proof.text


def test_bits_of_what_fails_on_strides_alone_are_told(tmp_path: Path) -> None:
    change = "rows.stride(0), y.stride(0), rows.shape[1], eps)", "rows.shape[1], rows.shape[1], rows.shape[1], eps)"
    found = check(loaded(tmp_path, "rms_norm", change), kind="rmsnorm", d=8, require=("batch-invariant",))
    assert found.verdict == "bug"
    assert "  same bits   in every batch: proved; in every run: proved" in str(found)


def test_conditions_are_told_once(tmp_path: Path) -> None:
    assert strictest(["d > 8192", "d ≤ 99", "d > 16384", "d ≤ 7", "x"]) == ["d > 16384", "d ≤ 7", "x"]
    power = ("    BLOCK = triton", "    assert N & (N - 1) == 0\n    BLOCK = triton")
    found = check(loaded(tmp_path, "layer_norm", power), kind="layernorm")
    told = [note for note in found.notes if note.startswith("refuses")]
    assert [re.sub(":.*", "", note) for note in told if "d" in note.split()] == [
        "refuses every d tried but powers of 2"
    ]
