import json
import os
import re
import sys

import pytest

from lngeom.cli import main
from tests.support import python, refused, said

KEYS = {"id", "title", "source", "hypotheses", "status", "proof_ms", "mutants_refuted", "last_step", "cites"}


def test_table_and_evidence(tmp_path, capsys) -> None:
    file = tmp_path / "theorems.json"
    ids = ["projection.idempotent", "angles.null_law"]
    assert main(["prove", *ids, "--jobs", "1", "--json", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "theorems for every d: 1, not counting 1 lemma of school algebra and 0 definitions" in printed
    assert "of all: 1 proved, 1 up to cited fact; 3 wrong variants refuted" in printed
    assert printed.splitlines()[0].split() == ["theorem", "statement", "source", "status", "ms", "refuted"]
    evidence = json.loads(file.read_text(encoding="utf-8"))["theorems"]
    assert [record["id"] for record in evidence] == ids
    assert all(set(record) >= KEYS for record in evidence)
    assert [record["kind"] for record in evidence] == ["lemma", "theorem"]
    assert [record["status"] for record in evidence] == ["proved", "up to cited fact"]
    assert evidence[1]["mutants_refuted"] == 1
    assert evidence[1]["cites"] == ["law of one coordinate on the sphere"]


def test_page_of_a_theorem(capsys) -> None:
    assert main(["prove", "epsilon.interior"]) == 0
    printed = capsys.readouterr().out
    for part in ("‖y_ε‖² < d", "Riechers", "ε > 0", "without it false at: d = ", "Certificate", "Wrong variants"):
        assert part in printed
    assert "[assume]" in printed.partition("Certificate")[2]


def test_a_failing_theorem_fails_the_command(tmp_path, capsys) -> None:
    file, stated = tmp_path / "theorems.json", tmp_path / "own.py"
    stated.write_text(
        "from lngeom.theorems import Vector, theorem\n\n@theorem\ndef test_one(x: Vector):\n    assert x * x == x\n",
        encoding="utf-8",
    )
    assert main(["prove", str(stated), "--json", str(file)]) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("FAULT: own.one, line 5: false at d = 1: x = (-1); there 1 = -1 is false")
    assert "which is what is proved" not in printed
    assert printed.endswith("nothing is proved, so there is nothing to replay in Coq\n")
    (record,) = json.loads(file.read_text(encoding="utf-8"))["theorems"]
    assert record["status"] == "refuted"
    assert record["faults"]


def test_of_several_what_is_false_stands_first_and_once_and_does_not_count(tmp_path, capfd) -> None:
    stated, head = tmp_path / "two.py", "@theorem\ndef test_{}(x: Vector):\n    assert {}\n\n"
    said = {"two": "x + x == 2 * x", "three": "x**6 - x + 1 > 0"}
    stated.write_text(f"{HEAD}assert x * x == x\n\n{''.join(head.format(*pair) for pair in said.items())}")
    assert main(["prove", str(stated), "-v", "--certificates", str(tmp_path)]) == 1
    printed, told = capfd.readouterr()
    assert told.splitlines() == ["two.one: refuted", "two.two: proved", "two.three: undecided"]
    assert "of all: 1 proved, 1 refuted, 1 undecided; " in printed
    assert printed.startswith(
        "FAULT: two.one, line 4: false at d = 1: x = (-1); there 1 = -1 is false\n  as normal forms: "
    )
    assert printed.count("false at") == printed.count("theorems for every d: 1, ") == 1
    assert (tmp_path / "two.two.json").exists()


SAME = "@theorem\ndef test_{}(x: Vector):\n    assert {} == {}\n\n"
GIVEN = "@test_odd.proof\ndef _(goal):\n    return goal\n\n"


def test_an_error_of_one_theorem_leaves_the_others(tmp_path, capfd) -> None:
    """Stated twice, proved by no proof, and one theorem under two names."""
    stated = tmp_path / "own_errors.py"
    parts = [SAME.format(name, *2 * "x") for name in ("twice", "twice", "good")] + [SAME.format("odd", "x", "x + 1")]
    stated.write_text(f"{HEAD}assert x == x\n\n{''.join(parts)}{GIVEN}test_other = test_good\n")
    assert main(["prove", str(stated), "--jobs", "1"]) == 2
    told = capfd.readouterr().err
    assert told.count("own_errors.good: proved") == told.count("own_errors.one: proved") == 1
    assert f"{stated}:10: test_twice is stated twice, in line 7 too" in told
    assert f"{stated}:18: the proof returns" in told


@pytest.mark.parametrize("replaced", ["lngeom.layer_norm", "lngeom.theorems.Theorem.prove", "numpy.var"])
def test_a_file_that_replaces_a_function_is_refused(replaced: str, tmp_path) -> None:
    stated = tmp_path / f"own_{replaced.replace('.', '_')}.py"
    stated.write_text(f"import lngeom.theorems, numpy\n{replaced} = lambda *_, **__: 0\n{HEAD}assert x == x\n")
    refused(said("prove", stated), rf"{stated} replaces .*{replaced.rpartition('.')[2]}: ")


@pytest.mark.parametrize("replaced", ["layer_norm", "norms.scale", "folding.center_writer"])
def test_a_function_that_is_not_loaded_yet_is_not_replaced_either(replaced: str, tmp_path) -> None:
    stated = tmp_path / "own_early.py"
    stated.write_text(f"import lngeom\nlngeom.{replaced} = lambda *_, **__: 0\n{HEAD}assert x == x\n")
    ended = python("-m", "lngeom", "prove", stated)
    assert ended.returncode == 2, ended.stdout
    assert f"own_early.py replaces lngeom.{replaced}: " in ended.stderr


@pytest.mark.parametrize(("id", "hint"), [("projection.what", "projection.idempotent"), ("what.ever", "chapters are")])
def test_an_unknown_theorem_is_bad_input(id: str, hint: str) -> None:
    refused(said("prove", id), f"'{id}' is not a theorem.*{hint}")


HEAD = "from lngeom.theorems import Vector, theorem\n@theorem\ndef test_one(x: Vector):\n    "
ENDS = "the code ends the process with exit code 0; take that out of it, then run it again"
OWN = """
from lngeom.prover import dim, norm, root
from lngeom.theorems import Scalar, Vector, assume, theorem, varies, wrong

def my_norm(x):
    c = x - x.mean(-1, keepdims=True)
    return c / root((c * c).mean(-1, keepdims=True))

@theorem
def test_radius(x: Vector):
    "\\x1b[31m all norms are equal"
    assume(varies(x), "x is not constant")
    assert norm(my_norm(x)) == root(dim(x))
    wrong("radius √(d − 1)", lambda: norm(my_norm(x)) == root(dim(x) - 1))
"""


@pytest.mark.parametrize("command", ["prove", "verify"])
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("import sys\nsys.exit(0)", "2: SystemExit: 0"),
        ("class Own(BaseException): ...\nraise Own('a\\nb')", "2: Own: a b"),
        ("\nx = (", "2: SyntaxError: '(' was never closed"),
        (HEAD + "assert x == nothing", "4: NameError: name 'nothing' is not defined"),
    ],
)
def test_an_error_of_one_s_own_file_is_told_with_its_line(text: str, line: str, command: str, tmp_path) -> None:
    file = tmp_path / "own_raises.py"
    file.write_text(text, encoding="utf-8")
    refused(said(command, file), re.escape(f"{file}:{line}"))


@pytest.mark.skipif(sys.platform != "linux", reason="needs the processes of Linux")
@pytest.mark.parametrize(
    ("command", "text", "said"),
    [
        ("prove", "os._exit(0)", ENDS),
        ("verify", HEAD + "os._exit(0)", ENDS),
        ("prove", OWN + HEAD + "os._exit(0)", "a theorem ended its process, or memory was full; run it with --jobs 1"),
    ],
)
def test_a_file_does_not_decide_the_exit_code(command: str, text: str, said: str, tmp_path) -> None:
    (tmp_path / "own.py").write_text(f"import os\n{text}", encoding="utf-8")
    done = python("-m", "lngeom", command, "own.py", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"lngeom {command}: own.py: {said}\n")


FALSE = """
@theorem
def test_scaled(x: Vector, a: Scalar):
    assume(a != 0)
    assume(varies(x), "x is not constant", redundant="both sides are 0")
    assert my_norm(a * x) == my_norm(x)

@theorem
def test_open(x: Vector):
    assert x**6 - x + 1 > 0
"""


@pytest.mark.parametrize("name", ["own_norms", "json"])  # also of a module of Python's
def test_theorems_of_a_file_are_proved_and_written(name: str, tmp_path, capsys) -> None:
    (tmp_path / f"{name}.py").write_text(OWN, encoding="utf-8")
    assert main(["prove", str(tmp_path / f"{name}.py"), "--certificates", str(tmp_path / "written")]) == 0
    printed = capsys.readouterr().out
    assert f"{name}.radius: ?[31m all norms" in printed
    assert "radius √(d − 1)\n      false at d = 2: x = (" in printed
    assert [file.name for file in (tmp_path / "written").iterdir()] == [f"{name}.radius.json"]
    assert sys.modules["json"] is json
    (tmp_path / "empty.py").write_text("", encoding="utf-8")
    (tmp_path / "own-norms.py").write_text(OWN, encoding="utf-8")
    wrong = {"empty": "states no theorem", "nowhere": "is not there", "own-norms": "own-norms.radius names a cert"}
    for file, message in ((f"{name}.py", line) for name, line in wrong.items()):
        refused(said("prove", tmp_path / file), message)


def test_pytest_runs_the_theorems_of_a_file(tmp_path) -> None:
    """A stranger's folder: a true theorem, a false one, and one that is not decided."""
    (tmp_path / "test_own.py").write_text(OWN + FALSE, encoding="utf-8")
    own = {key: value for key, value in os.environ.items() if key != "HYPOTHESIS_STORAGE_DIRECTORY"}
    done = python("-m", "pytest", "-p", "no:cacheprovider", cwd=tmp_path, env=own)
    assert "3 failed, 7 passed" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "__pycache__") == ["test_own.py"]
    printed = done.stdout[done.stdout.index("test_scaled [proof]") :]
    for part in (
        ">   assert my_norm(a * x) == my_norm(x)",
        "E   false at d = 2: x = (0, 1), a = -1\nE   there (1, -1) = (-1, 1) is false\n",
        "test_scaled [examples]",
        "E    +  where (",
        " = my_norm((-1 * (",
        "test_open [proof]",
        "E   no proof found; it holds at ",
    ):
        assert part in printed
        printed = printed[printed.index(part) :]
