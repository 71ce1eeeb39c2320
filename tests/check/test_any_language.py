import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import lngeom as lg
from lngeom.check import check_outputs, write_inputs
from lngeom.cli import main
from lngeom.errors import InputError
from tests.support import python

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "any_language.md"
PROGRAM, IN_CUDA = re.findall(r"```c(?:pp)?\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.S)
FAULTS = [
    ("", "", "rounding", None),
    ("sum / d + eps", "sum / d", "bug", "the eps that is given is ignored: 1e-06 and 6.4e-05 give the same outputs"),
    ("root * gain[i]", "root * (1 + gain[i])", "variant", "gain used as 1 + gain (as Gemma)"),
    ("i < d; i++) y", "i < d / 4 * 4; i++) y", "bug", "only at d that is not a multiple of 4"),
]


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("c")
    for name, d in (("calls", []), ("few", ["--d", "24"])):
        options = ["--kind", "rmsnorm", "--eps", "1e-6", *d]
        assert main(["check", "f(x, gain, eps)", "--write-inputs", str(folder / name), *options]) == 0
    assert f"calls: {len(list(folder.glob('calls/*/x.npy')))} folders" in GUIDE.read_text(encoding="utf-8")
    return folder


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a compiler of C called cc")
@pytest.mark.parametrize(("right", "wrong", "verdict", "cause"), FAULTS)
def test_a_program_in_c_gets_verdict_name_and_script(right, wrong, verdict, cause, calls, monkeypatch) -> None:
    monkeypatch.chdir(calls)
    Path("rms.c").write_text(PROGRAM.replace(right, wrong))
    subprocess.run(["cc", "-O2", "-o", "rms", "rms.c", "-lm"], check=True)
    folder = "calls" if "only at d" in (cause or "") else "few"  # where it shows in every dimension
    subprocess.run(["./rms", folder], check=True)
    shows = verdict == "variant"  # what no single output shows, as an eps that is ignored, has no script
    script = ["--reproducer", "script.py"] if shows else []
    assert main(["check", "--outputs", folder, "--json", "found.json", *script]) == (verdict != "rounding")
    found = json.loads(Path("found.json").read_text())["results"][0]
    assert found["verdict"] == verdict
    assert (cause or "") in (found["cause"] or "")
    if shows:
        assert "AssertionError" in python("script.py").stderr


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a compiler of C++ called g++")
@pytest.mark.parametrize(("right", "wrong", "cause"), [("", "", None), ("part[0] / d", "part[0] / (d - 1)", "d - 1")])
def test_a_kernel_in_cuda_is_judged_where_a_plain_compiler_takes_it(right, wrong, cause, calls, monkeypatch) -> None:
    monkeypatch.chdir(calls)
    Path("rms.cu").write_text(IN_CUDA.replace(right, wrong))
    subprocess.run(["g++", "-x", "c++", "-Wall", "-Werror", "-O2", "-o", "rms_cuda", "rms.cu"], check=True)
    subprocess.run(["./rms_cuda", "few"], check=True)
    assert main(["check", "--outputs", "few", "--json", "found.json"]) == bool(cause)
    found = json.loads(Path("found.json").read_text())["results"][0]
    assert (cause or "") in (found["cause"] or "")
    assert found["verdict"] == ("bug" if cause else "rounding")


def _answer(folder: Path, *, mean: bool) -> None:
    """A LayerNorm in float32, or in bfloat16 by its bits, and its derivatives, of every folder."""
    for call in folder.glob("*/x.npy"):
        given = {p.stem: np.load(p) for p in call.parent.glob("*.npy")}
        x, gain, g = (given.get(name, np.zeros(1)).astype(float) for name in ("x", "gain", "cotangent"))
        y, r = lg.layer_norm(x, eps=1e-5), 1 / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        g = g * gain
        back = r * (g - mean * g.mean(-1, keepdims=True) - y * (g * y).mean(-1, keepdims=True))
        plain = given.get("cotangent", x) * 1.0
        outputs = {"y": y * gain + given["bias"], "dx": back, "dgain": (plain * y).sum(0), "dbias": plain.sum(0)}
        for name in ("dx", "dgain", "dbias") if "cotangent" in given else ("y",):
            np.save(call.with_stem(name), outputs[name].astype("f4"))


@pytest.mark.parametrize(("mean", "cause"), [(True, None), (False, "backward pass wrong: d/dx: mean of the cotangent")])
def test_derivatives_are_read_from_files(*, mean: bool, cause: str | None, tmp_path: Path) -> None:
    write_inputs(tmp_path, "f(x, gain, bias)", kind="layernorm", eps=1e-5, d=16, backward=True)
    _answer(tmp_path, mean=mean)
    found = check_outputs(tmp_path)
    assert (found.cause or "").startswith(cause or "")
    assert found.verdict == ("bug" if cause else "rounding")


def test_a_file_of_bfloat16_has_its_bits(tmp_path: Path) -> None:
    write_inputs(tmp_path, "f(x)", kind="rmsnorm", eps=1e-6, d=8, dtype="bfloat16")
    for call in tmp_path.glob("*/x.npy"):
        x = (np.load(call).astype("u4") << 16).view("f4").astype(float)
        bits = (x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)).astype("f4").view("u4")
        np.save(call.with_stem("y"), ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("u2"))
    assert check_outputs(tmp_path).verdict == "rounding"


def test_changed_inputs_and_other_options_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_inputs(tmp_path, "f(x, gain, eps)", kind="rmsnorm", eps=1e-6, d=8)
    for call in tmp_path.glob("*/x.npy"):
        np.save(call.with_stem("y"), np.load(call))
    for option, value in (("kind", "layernorm"), ("eps", 1e-3), ("d", 16), ("axis", 1), ("spec", "llama")):
        words = rf"written with {option} .*, not {value}: write the inputs again"
        with pytest.raises(InputError, match=words):
            check_outputs(tmp_path, **{option: value})
        assert main(["check", "--outputs", str(tmp_path), f"--{option}", str(value)]) == 2
        assert re.search(words, capsys.readouterr().err)
    assert check_outputs(tmp_path, kind="rmsnorm", eps=1e-6, d=8).verdict == "bug"
    manifest = (tmp_path / "manifest.json").read_text()
    for wrong in (('"schema": 1', '"schema": 100'), ('"<f4"', '"<f4x"')):
        (tmp_path / "manifest.json").write_text(manifest.replace(*wrong))
        with pytest.raises(InputError, match="schema or type of numbers"):
            check_outputs(tmp_path)
    (tmp_path / "manifest.json").write_text(manifest)
    for name in ("gain", "x", "eps"):
        path = tmp_path / "0005" / f"{name}.npy"
        values = np.load(path)
        np.save(path, values * 2)
        with pytest.raises(InputError, match=rf"{name}\.npy is not what was written"):
            check_outputs(tmp_path)
        np.save(path, values)


def test_outputs_of_every_call_are_judged(tmp_path: Path) -> None:
    write_inputs(tmp_path, "f(x, eps)", kind="rmsnorm", eps=1e-6, d=16)
    calls = {call.parent: float(np.load(call.with_stem("eps"))) for call in sorted(tmp_path.glob("*/x.npy"))}
    right = {
        call: lg.rms_norm(np.load(call / "x.npy").astype(float), eps=eps).astype("f4") for call, eps in calls.items()
    }
    for wrong in (*list(calls)[:6], *(call for call, eps in calls.items() if eps != 1e-6)):
        for call, y in right.items():
            np.save(call / "y.npy", np.where((call == wrong) & (np.arange(16) == 0), np.nan, y))
        found = check_outputs(tmp_path)
        assert (found.verdict, str(found.cause)[:10]) == ("bug", "NaN or inf"), wrong


def test_bad_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="give --kind and --eps"):
        write_inputs(tmp_path, "f(x)", kind="rmsnorm")
    with pytest.raises(InputError, match="is not a call"):
        write_inputs(tmp_path, "f(x, y)", kind="rmsnorm", eps=1e-6)
    with pytest.raises(InputError, match="holds no inputs"):
        check_outputs(tmp_path)
    write_inputs(tmp_path, "f(x)", kind="rmsnorm", eps=1e-6, d=4)
    with pytest.raises(InputError, match="is not empty"):
        write_inputs(tmp_path, "f(x)", kind="rmsnorm", eps=1e-6)
    with pytest.raises(InputError, match="cannot be read"):
        check_outputs(tmp_path)
    for call in tmp_path.glob("*/x.npy"):
        np.save(call.with_stem("y"), np.load(call)[:, :2])
    with pytest.raises(InputError, match=r"of shape \(\d+, 4\) is asked"):
        check_outputs(tmp_path)
