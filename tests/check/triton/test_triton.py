import functools
import itertools
import pickle
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from lngeom.check import check
from lngeom.check._calls.target import resolve
from lngeom.check._calls.triton_hook import without_gpu
from lngeom.check._proving import backward, verdict
from lngeom.check._proving.proof import Proof
from lngeom.check._proving.survey import Survey
from lngeom.check._proving.verdict import prove_target
from lngeom.check._tracing.triton.whole import PROGRAM, Space, Whole, least, quotient, symbol, whole
from lngeom.checker import recheck
from lngeom.cli import main
from lngeom.errors import InputError

SOURCE = Path(__file__).with_name("kernels.py")
RIGHT = {
    **dict.fromkeys(
        [f"{how}rms_norm" for how in ("", "headed_", "seated_", "windowed_")], "weight∘RMSNorm(x; ε = eps)"
    ),
    **{f"{how}layer_norm": "weight∘LayerNorm(x; ε = eps) + bias" for how in ("", "blocked_", "tiled_", "in_two_")},
    "residual_rms_norm": "weight∘RMSNorm(x + residual; ε = eps)",
    **dict.fromkeys(["in_tiles_rms_norm", "atomic_rms_norm"], "weight∘RMSNorm(x; ε = eps)"),
    "pulled_layer_norm": "weight∘LayerNorm(x; ε = eps) + bias",
}
FIRST = {"pulled_layer_norm": "_pull", "in_tiles_rms_norm": "_pull_tiles", "atomic_rms_norm": "_pull_row"}
"""Those with a backward pass, and the first kernel that is theirs."""
_NUMBERS = itertools.count()


def loaded(folder: Path, name: str, *changes: tuple[str, str]) -> Callable[..., Any]:
    text = SOURCE.read_text(encoding="utf-8")
    first = text.index(f"def {FIRST[name]}(") if name in FIRST else text.index(f"def {name}(")
    start = text.rindex("\n\n\n@triton", 0, first)
    end = (text + "\n\n\n").index("\n\n\n", text.index(f"def {name}("))
    head, body, rest = text[:start], text[start:end], text[end:]
    for old, new in changes:
        assert old in body, (name, old)
        body = body.replace(old, new)
    path = folder / f"kernels_{next(_NUMBERS)}.py"
    path.write_text("\n\n\n".join(needed(head.split("\n\n\n"), body, rest.split("\n\n\n"))) + "\n", encoding="utf-8")
    return resolve(f"{path}:{name}")


def needed(before: list[str], body: str, after: list[str]) -> list[str]:
    """The imports, a body of code, and what it names of the parts around it, in their order."""
    parts = [*before, body.strip("\n"), *filter(None, after)]
    named = {part: re.findall(r"^(?:def|class) (\w+)", part, re.MULTILINE) for part in parts}
    kept, more = set[str](), {parts[0], parts[len(before)]}
    while more:
        kept |= more
        words = set(re.findall(r"\w+", " ".join(more)))
        more = {part for part in parts if words & {*named[part]}} - kept
    return [part for part in parts if part in kept]


def proof_of(target: Callable[..., Any], name: str) -> Proof:
    return prove_target(target, name, "torch", kind="rmsnorm" if "rms" in name else "layernorm", backward=True)


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_kernel_is_proved(name: str, tmp_path: Path) -> None:
    proof = proof_of(loaded(tmp_path, name), name)
    assert proof.status == "proved", str(proof)
    assert proof.text == f"{name} computes {RIGHT[name]}"
    assert not any("one after the other" in text for text in proof.unexamined), "rows may lie apart"
    assert proof.certificates
    assert all(recheck(data) for data in proof.certificates)
    assert any("races" in text for text in proof.unexamined)
    assert pickle.loads(pickle.dumps(proof)) == proof, "it is sent from the process of the check"
    own = name in FIRST
    assert {(each.status, each.text) for each in proof.derivatives} == {
        ("proved", "") if own else ("not traced", "it has no backward pass")
    }


_AROUND = """def around(LARGEST):
    @triton.jit
    def scaled(x, scale, w): return x * scale * w * LARGEST / 65536
    return scaled
_scaled = around(1)
@triton.jit
"""
FAULTS = SOURCE.with_name("faults.txt")
"""What each right kernel becomes: a text, and those that stand in its place, one after the other."""


def faults() -> Iterator[tuple[str, str, str]]:
    name = ""
    for line in FAULTS.read_text(encoding="utf-8").splitlines():
        name = name if line[0] == " " else line[:-1]
        for change in line.strip().split(" | ") if line[0] == " " else ():
            old, *made = change.replace("\\n", "\n").replace("AROUND", _AROUND).split(" → ")
            yield from ((name, old, new) for new in made)


@pytest.mark.parametrize(("name", "old", "new"), list(faults()))
def test_no_fault_is_proved(name: str, old: str, new: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict, "differs", lambda *_: None)  # on terms alone: nothing that is executed could tell
    monkeypatch.setattr(verdict, "counterexample", lambda *_: None)
    monkeypatch.setattr(backward, "_executed", lambda *_: "")
    monkeypatch.setattr(Survey, "world", lambda _: {})  # what a verdict is about decides none
    proof = proof_of(loaded(tmp_path, name, (old, new)), name)
    if name in FIRST and proof.derivatives:
        statuses = {each.name: each.status for each in proof.derivatives}
        assert set(statuses.values()) != {"proved"}, str(proof)
        return
    assert proof.status != "proved", str(proof)
    assert proof.text != f"{name} computes {RIGHT[name]}", str(proof)
    if proof.status == "not traced":
        assert re.search(r"\(kernels_\d+\.py:\d+: |no point was found|nothing was written", proof.text), proof.text


_PULLED = (
    ("HAS_BIAS: tl.constexpr", "HAS_BIAS: tl.constexpr, TWICE: tl.constexpr"),
    ("    db = tl.z", "    if TWICE:\n        more = tl.zeros((BLOCK,), dtype=tl.float32)\n    db = tl.z"),
    ("        db += dy\n", "        db += dy\n        if TWICE:\n            more += dy\n"),
    ("share, True,", "share, True, False,"),
    ("rows = x.view", "rows = x.contiguous().view"),
)
MEANT = [
    (
        "rms_norm",
        (("(tl.float32)\n", "(tl.float32)\n    both = wide\n    both *= wide\n"), ("(wide * wide,", "(both,")),
    ),
    ("tiled_layer_norm", (("[:, None] & inside", "[:, None] and inside"),)),
    ("pulled_layer_norm", _PULLED),
    ("layer_norm", (("device=x.device", 'device="cuda"'), ("rows, y, weight", "rows, y, weight.expand(M, N)"))),
    (
        "rms_norm",
        (
            (
                "    rows = x.re",
                "    if torch.is_grad_enabled() and x.requires_grad:\n        raise TypeError\n    rows = x.re",
            ),
        ),
    ),
    (
        "rms_norm",
        (
            ("1e-6):", "1e-6, out=None):"),
            ("dtype.el", "type.el"),
            ("return y", "assert y.data_ptr() == y.view(x.shape).data_ptr()\n    return y"),
        ),
    ),
    (
        "headed_rms_norm",
        (
            ("(B, H, N), y = x.shape", "x = x.contiguous()\n    (B, H, N), y = x.shape"),
            ("min(rows, 64)", "min(rows, 8 * (64 // min(triton.cdiv(BLOCK, 2048), 4)))"),
        ),
    ),
]


@pytest.mark.parametrize(("name", "changes"), MEANT)
def test_names_and_masks_are_what_triton_makes_of_them(name: str, changes: Any, tmp_path: Path) -> None:
    with without_gpu(False):
        kernel, asked = loaded(tmp_path, name, *changes), {"d": 8, "backward": name in FIRST}
        found = check(kernel, kind="rmsnorm" if "rms" in name else "layernorm", **asked)
        assert not hasattr(torch.empty, "__wrapped__")  # PyTorch is as it was
    assert found.passes(proved=True), str(found)


WITHOUT_OTHER = [
    ("layer_norm", "mask=mask, other=0.0)", "mask=mask)"),
    ("in_tiles_rms_norm", "mask=there, other=0.0", "mask=there"),
    ("in_tiles_rms_norm", "(X + at, mask=mask, other=0.0", "(X + at, mask=mask"),
    ("atomic_rms_norm", "mask=mask, other=0.0)\n    wdy", "mask=mask)\n    wdy"),
]


@pytest.mark.parametrize(("name", "old", "new"), WITHOUT_OTHER)
def test_a_sum_over_lanes_that_nothing_fills_is_proved_on_a_condition(name, old, new, tmp_path) -> None:
    kernel = loaded(tmp_path, name, (old, new))
    proof = proof_of(kernel, name)
    assert (proof.status, proof.conditions) == ("proved", ("lanes beyond the mask read 0",)), str(proof)
    alone = replace(proof, derivatives=tuple(one for one in proof.derivatives if name in FIRST))
    assert alone.passes(("mask read 0",))
    assert not alone.passes()
    assert "if lanes beyond the mask read 0" in proof.words["for"]


ROWS = {  # way: row, first and step of its turns, programs
    "program": ("program0", None, lambda m, e, g: m),
    "tile": ("program0·E + lane", None, lambda m, e, g: -(-m // e)),
    "stride": ("program0 + turn·G", ("program0", "M", "G"), lambda m, e, g: g),
    "strides of tiles": ("program0·E + turn·E·G + lane", ("program0·E", "M", "E·G"), lambda m, e, g: g),
    "every": ("turn", ("", "M", "1"), lambda m, e, g: g),
    "every tile": ("turn·E + lane", ("", "M", "E"), lambda m, e, g: g),
    "share": ("program0·S + turn", ("program0·S", "least", "1"), lambda m, e, g: g),
}


def polynomial(text: str) -> Whole:
    terms = (symbol(*term.split("·")) if term not in ("1", "") else whole(int(term or 0)) for term in text.split(" + "))
    return functools.reduce(Whole.plus, terms)


def number(value: Whole, names: dict[str, int]) -> int:
    return sum(n * int(np.prod([names[name] for name in monomial])) for monomial, n in value.terms)


@pytest.mark.parametrize("way", ROWS)
def test_each_row_is_counted_once(way: str) -> None:
    """Each accepted way to number rows, counted out; and none of its neighbours is accepted."""
    text, bounds, programs = ROWS[way]
    row, M, G, E = polynomial(text), symbol("M"), symbol("G"), symbol("E")
    grid = {"program": M, "tile": quotient(M, E)}.get(way, G)
    share = quotient(M, G)
    row = row if way != "share" else PROGRAM.times(share).plus(symbol("turn"))
    start, stop, step = map(polynomial, bounds or ("", "M", "1"))
    if way == "share":
        start, stop = PROGRAM.times(share), least(PROGRAM.times(share).plus(share), M)
    space = Space(grid, {"lane": E}, {"turn": (start, stop, step)})
    assert space.covers_rows(row, M)
    assert space.covers_rows(row.plus(whole(1)), M) is None
    if "every" not in way:  # there, all have all
        assert Space(grid.plus(whole(1)), {"lane": E}, space.loops).covers_rows(row, M) is None
    if bounds:
        for changed in (
            (start.plus(whole(1)), stop, step),
            (start, stop.plus(whole(1)), step),
            (start, stop, step.times(E)),
        ):
            assert Space(grid, {"lane": E}, {"turn": changed}).covers_rows(row, M) is None
    assert space.covers_rows(row, symbol("N")) is None
    for m, e, g in itertools.product(range(1, 10), range(1, 5), range(1, 5)):
        names, seen = {"M": m, "E": e, "G": g, "S": -(-m // g)}, []
        for program in range(programs(m, e, g)):
            first, by = (
                number(polynomial(one), names | {"program0": program}) for one in (bounds or ("", "", "1"))[::2]
            )
            last = min(first + names["S"], m) if way == "share" else m
            turns = range(len(range(first, last, by))) if bounds else [0]
            places = (
                {"program0": program, "turn": t, "lane": k} | names
                for t in turns
                for k in range(("lane" in text and e) or 1)
            )
            own = [at for place in places if (at := number(polynomial(text), place)) < m]
            assert "every" not in way or sorted(own) == list(range(m))
            seen = own if "every" in way else seen + own
        assert sorted(seen) == list(range(m))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ((", other=0)\n    wide", ")\n    wide"), "normalized value cast to bfloat16"),
        (("* w,", "* (w + 1),"), "gain used as 1 + gain, rounded to bfloat16 (as Nemotron) (variant)\n"),
        (("w_ptr + cols, mask=cols < n_cols", "w_ptr + cols"), "reads beyond the end of w_ptr at d = 3 (kernels_"),
        (("* w, mask=cols < n_cols", "* w"), "writes beyond the end of y_ptr at d = 3 (kernels_"),
        (("row * y_row", "row * x_row"), "writes beyond the end of y_ptr at the first components of a wider array ("),
    ],
)
def test_a_kernel_is_checked(change: tuple[str, str], told: str, tmp_path: Path, capsys: Any) -> None:
    code = loaded(tmp_path, "rms_norm", change).__code__
    words = ["--kind", "rmsnorm", "--dtype", "bfloat16", *["--d", "8"] * ("beyond" not in told), "--verbose"]
    ended = main(["check", f"{code.co_filename}:rms_norm", *words])
    shown = capsys.readouterr().out
    assert told in shown, shown
    assert ended == 1
    assert ("(bug)\n" in shown) == ("beyond" in told)
    assert "interpreted: order and rounding of sums are not the GPU's, and a load without" in shown


_FIRST = ("row = tl.program_id(0).to(tl.int64)", "first = tl.program_id(0)\n    row = first.to(tl.int64)")


@pytest.mark.parametrize(
    ("change", "text", "named"),
    [
        (("row * y_row", "row * x_row"), "rows of an input do not lie one after the other", True),  # as without gaps
        (("row * x_row", "row * x_row"), "computed in 32 bits", False),
        (("row * x_row", "(first * x_row).to(tl.int64)"), "computed in 32 bits", True),
        (("wide * wide", "(wide * wide).to(tl.float16)"), "a cast to float16, which no array has", True),
    ],
)
def test_strides_and_integer_widths_that_are_not_examined_are_listed(change, text, named, tmp_path) -> None:
    proof = proof_of(loaded(tmp_path, "rms_norm", _FIRST, change), "rms_norm")
    assert proof.status == "proved", str(proof)
    assert any(text in each for each in proof.unexamined) == named


def test_sizes_that_are_not_followed_are_named(tmp_path: Path) -> None:
    change = "next_power_of_2(N)", "next_power_of_2(N) if N <= 4096 else 4096"
    proof = proof_of(loaded(tmp_path, "layer_norm", change), "layer_norm")
    assert (proof.status, proof.dimensions) == ("proved", "d ≤ 4096")
    assert any("d > 4096 (4096 lanes need not reach" in text for text in proof.unexamined)
    text = SOURCE.read_text(encoding="utf-8").replace("BLOCK > LARGEST", "BLOCK > LARGEST and N > 9")
    (tmp_path / "kernels_of_sizes.py").write_text(text, encoding="utf-8")
    proof = proof_of(resolve(f"{tmp_path}/kernels_of_sizes.py:layer_norm"), "layer_norm")
    assert proof.dimensions == "every d ≥ 1 that it takes"
    text = text.replace("raise RuntimeError", "return y.cumsum(-1)\n        raise RuntimeError")
    (tmp_path / "kernels_of_others.py").write_text(text, encoding="utf-8")
    proof = proof_of(resolve(f"{tmp_path}/kernels_of_others.py:layer_norm"), "layer_norm")
    assert proof.dimensions == "every d ≥ 1 but for sizes that are not examined"


_OWN = (
    ("_scales[(M,)](rows, y,", "y = torch.empty_like(x)\n        _scales[(M,)](rows, y,"),
    ("return y.view(x.shape)", "return y"),
    ("return InTiles.apply(x, weight, eps)", "return InTiles.apply(x, weight, eps).mul_(1)"),
)


@pytest.mark.parametrize(
    ("name", "changes", "told"),
    [
        ("pulled_layer_norm", [("Pulled.apply(x", "Pulled.apply(x.detach()")], "autograd gives no derivative by x"),
        ("in_tiles_rms_norm", _OWN, "computed beside a function"),
        ("pulled_layer_norm", [("M / programs), dy", "M / programs) if M < 64 else 1, dy")], "proved, where 64 > B·L"),
        (
            "pulled_layer_norm",
            [("for row in", "for k in range(2):\n      for row in")],
            "dw lives longer than the loop",
        ),
        ("pulled_layer_norm", [("mean, rstd, x.str", "mean, mean, x.str")], "as it runs is not the one|d = "),
    ],
)
def test_what_is_wrong_around_a_backward_pass_is_told(name: str, changes: Any, told: str, tmp_path: Path) -> None:
    proof = proof_of(loaded(tmp_path, name, *changes), name)
    assert re.search(told, proof.gradients, re.IGNORECASE), str(proof)
    assert not proof.passes(("",))


_FEW = ("multi_processor_count\n", "multi_processor_count\n        programs = max(1, min(programs, M))\n")
_GROUPS = (
    ("torch.zeros(N", "torch.zeros((4, N)"),
    ("DW + cols, dy", "DW + row % 4 * N + cols, dy"),
    ("dy.shape), dw", "dy.shape), dw.sum(0)"),
)


_ONES = [
    ("(DY + at, mask=mask, other=0.0", "(DY + at, mask=mask, other=1.0"),
    ("mask=there, other=0.0", "mask=there, other=1.0"),
    ("(X + at, mask=mask, other=0.0", "(X + at, mask=mask, other=1.0"),
]


@pytest.mark.parametrize(
    ("name", "changes", "right"),
    [
        ("pulled_layer_norm", [_FEW], True),
        ("pulled_layer_norm", [_FEW, ("math.ceil(M / programs)", "M // programs")], False),
        ("atomic_rms_norm", _GROUPS, True),
        ("atomic_rms_norm", [*_GROUPS, ("row % 4", "row % 5")], False),
        ("atomic_rms_norm", [*_GROUPS, ("row % 4", "row // 4")], False),
        ("in_tiles_rms_norm", _ONES[:2], True),  # beyond the last row 0 times 1
        ("in_tiles_rms_norm", _ONES, False),
    ],
)
def test_sums_by_few_programs_in_groups_and_beyond_the_last_row(name, changes, right, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(backward, "_executed", lambda *_: "")  # on terms alone
    proof = proof_of(loaded(tmp_path, name, *changes), name)
    usual = [each.status == "proved" and not each.text.startswith("where") for each in proof.derivatives]
    assert (usual != [] and all(usual)) == right, str(proof)  # what follows "not" is rare, as one program


@pytest.mark.parametrize(("test", "status"), [
    ("row >= M", "proved"), ("row > M", "not traced"), ("row >= M - 1", "not traced"), ("M <= row", "proved"),
    ("N < 1", "proved"), ("row < M", "not traced"),
])  # fmt: skip
def test_a_program_may_end_early_where_it_has_no_row(test: str, status: str, tmp_path: Path) -> None:
    changes = ("Mean, stride_x", "Mean, M, stride_x"), ("bias, mean, rows", "bias, mean, M, rows")
    change = "    cols = tl.arange(0, BLOCK)\n", f"    if {test}:\n        return\n    cols = tl.arange(0, BLOCK)\n"
    proof = proof_of(loaded(tmp_path, "layer_norm", *changes, change), "layer_norm")
    assert proof.status == status, str(proof)


def test_a_block_of_d_lanes_is_one_where_d_is_a_power_of_two(tmp_path: Path) -> None:
    changes = ('triton.next_power_of_2(args["n_cols"])', 'args["n_cols"]'), ("* w, mask=cols < n_cols", "* w")
    proof = proof_of(loaded(tmp_path, "rms_norm", *changes), "rms_norm")
    assert (proof.status, proof.dimensions) == ("proved", "every d ≥ 1 that is a power of 2"), str(proof)
    assert "where d is no power of 2, which Triton refuses as the length of a block" in proof.unexamined


@pytest.mark.parametrize(("use", "told"), [
    ("tl.flip(x)", "flip is not among the functions of Triton that are read"),
    ("tl.sum(x[None, :], axis=0, reduction_ordering=0)", "unexpected keyword argument .reduction_ordering."),
])  # fmt: skip
def test_what_is_not_known_of_triton_is_no_bug(use: str, told: str, tmp_path: Path) -> None:
    change = "wide = x.to(tl.float32)", f"wide = {use}.to(tl.float32)"
    code = loaded(tmp_path, "rms_norm", change).__code__
    with pytest.raises(InputError, match=told):
        check(f"{code.co_filename}:rms_norm", d=8)
    code = loaded(tmp_path, "rms_norm", (change[0], f"{change[0]}\n    if n_cols == 17:\n        {change[1]}")).__code__
    finding = check(f"{code.co_filename}:rms_norm")
    assert finding.verdict == "rounding"
    assert any(re.search(told, note) and "d = 17 not examined" in note for note in map(str, finding.notes)), (
        finding.notes
    )


@pytest.mark.parametrize(("lanes", "status"), [("BLOCK - n_cols", "proved"), ("BLOCK", "refuted")])
def test_lanes_beyond_the_row_count_in_a_sum(lanes: str, status: str, tmp_path: Path) -> None:
    changes = (("cols < n_cols, other=0)\n    wide", "cols < n_cols, other=2)\n    wide"),
               ("tl.sum(wide * wide, axis=0)", f"(tl.sum(wide * wide, axis=0) - 4 * ({lanes}))"))  # fmt: skip
    proof = proof_of(loaded(tmp_path, "rms_norm", *changes), "rms_norm")
    assert proof.status == status, str(proof)


@pytest.mark.parametrize(("asked", "left"), [("> 1", "<= 1"), (">= 1", "< 1"), ("!= 0", "= 0")])
def test_the_few_rows_that_a_program_leaves_out_are_named(asked: str, left: str, tmp_path: Path) -> None:
    change = ("    _rms[(rows", f"    if rows.shape[0] {asked}:\n        _rms[(rows")
    assert f"  except      where B·L {left} (" in str(proof_of(loaded(tmp_path, "rms_norm", change), "rms_norm"))


@pytest.mark.parametrize("asks", ["x.stride(-1) == 1", "x.is_contiguous()"])
def test_plain_code_is_not_told_of_memory(asks: str) -> None:
    code = eval(f"lambda x, weight: x * weight if {asks} else x")
    assert "is not among the operations that are traced" in prove_target(code, "code", "torch").text


def test_empty_memory_is_no_zeros() -> None:
    def norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.rms_norm(x, x.shape[-1:], weight, 1e-6) + 0 * torch.empty_like(x)

    assert "nothing was written into" in prove_target(norm, "norm", "torch").text
