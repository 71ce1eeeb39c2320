import errno
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from unittest.mock import Mock

import pytest

from lngeom.cli import COMMANDS, command_parser, load, main
from lngeom.options import STDOUT, read_options
from tests.support import python, refused, said

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
IMPORTED_AS = {"markdown-it-py": "markdown_it"}
JSON = ("prove", "sweep", "ablate", "norms", "compare", "check", "claims", "doctor", "fold", "gauge")
ENOUGH = {name: ["gpt2"] for name in ("ablate", "fold", "norms", "sweep")}
ENOUGH |= {"check": ["builtins:abs"], "claims": ["riechers-paper.1"], "gauge": ["gpt2", "--shift", "1"]}
ENOUGH |= {"compare": ["a", "b"], "doctor": ["a", "b"]}
ABSENT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
"""


def read(command: str, *words: str):
    module = load(command)
    return read_options(command_parser(command, module), module.Options, words)


def test_no_words_show_the_help(capsys) -> None:
    assert main([]) == 0
    printed = capsys.readouterr().out
    groups = ("check doctor", "sweep compare norms", "fold gauge ablate", "prove verify claims")
    listed = [re.findall(r"^  ([a-z]+)  ", part, re.MULTILINE) for part in printed.split("\n\n")]
    assert [names for names in listed if names] == [group.split() for group in groups]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_of_a_help_can_be_typed(command: str) -> None:
    examples = re.findall(r"^    lngeom (.+)$", load(command).__doc__ or "", re.MULTILINE)
    assert len(examples) in (2, 3)
    for name, *words in map(shlex.split, examples):
        assert name == command
        read(name, *words)


@pytest.mark.parametrize(("typed", "meant"), [("swep", "sweep"), ("check --backwards x:y", "--backward")])
def test_a_word_that_is_nearly_known_is_suggested(typed: str, meant: str) -> None:
    done, line = said(*typed.split())
    assert (done, f"; did you mean {meant}? see lngeom" in line) == ("refused", True)


@pytest.mark.parametrize("command", JSON)
def test_json_goes_to_a_file_or_to_standard_output_and_leaves_the_arguments(command: str) -> None:
    words = ENOUGH.get(command, [])
    assert read(command, *words).json is None
    for given in (["--json"], ["--json", "-"], ["--json=-"]):
        assert read(command, *words, *given).json == STDOUT
    for given in (["--json", "rows.json"], ["--json=rows.json"]):
        assert read(command, *words, *given).json == "rows.json"
    assert read(command, *words, "--json=rows").json == "rows"
    for given in ("--json=absent/rows", "--json=/"):  # told before any work
        with pytest.raises(SystemExit):
            read(command, *words, given)
    if command in ("prove", "check"):  # a file of any name
        assert read(command, *words, "--json", "rows").json == "rows"
    else:
        assert read(command, "--json", *(words or ["a"])) == read(command, *(words or ["a"]), "--json")


@pytest.mark.parametrize("flag", ["-q", "--quiet"])
def test_a_quiet_command_leaves_its_exit_code_and_its_json(flag: str, capsys) -> None:
    assert main(["claims", "riechers-paper.1", flag]) == 0
    assert capsys.readouterr().out == ""
    assert main(["claims", "riechers-paper.1", flag, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)
    assert main(["compare", "nowhere", flag]) == 2
    assert capsys.readouterr().err


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash to complete in")
def test_a_shell_completes_commands_and_options() -> None:
    script = python("-m", "lngeom", "--completion", "bash")
    for words in ("lngeom gau", "lngeom gauge --rot"):
        asked = f"COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _shtab_lngeom; echo ${{COMPREPLY[@]}}"
        done = subprocess.run(["bash", "-c", f"{script.stdout}\n{asked}"], capture_output=True, text=True)
        assert done.stdout.split() == [{"gau": "gauge", "--rot": "--rotate"}[words.split()[-1]]], done.stderr


FULL = [
    ImportError("libtorch_cpu.so: failed to map segment from shared object"),
    OSError(errno.ENOMEM, "Cannot allocate memory"),
    ExceptionGroup("of Hypothesis", [ValueError(), RuntimeError("std::bad_alloc")]),
]


@pytest.mark.parametrize("error", FULL)
def test_full_memory_is_one_line(error: Exception, monkeypatch) -> None:
    monkeypatch.setattr("lngeom.cli.load", Mock(side_effect=error))
    refused(said("claims"), "^lngeom claims: out of memory; ")


CLOSED = "standard output is closed: redirect it"
LOST = {"claims gupta.42 >&-": CLOSED, "claims gupta.42 -q >&-": "", "--help >&-": CLOSED}
LOST["claims gupta.42 >/dev/full"] = "free space"


@pytest.mark.parametrize("line", LOST)
def test_what_is_lost_on_standard_output_is_one_line(line: str) -> None:
    if "/dev/full" in line and not os.path.exists("/dev/full"):
        pytest.skip("this system has no device that is always full")
    done = subprocess.run(["sh", "-c", f"{sys.executable} -m lngeom {line}"], stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (2 * bool(LOST[line]), bool(LOST[line])), done.stderr
    assert LOST[line] in done.stderr


@pytest.mark.parametrize("name", ["argparse", "numpy", "rich"])
def test_ctrl_c_while_modules_are_loaded_is_one_line(name: str) -> None:
    interrupts = re.sub("raise .*", "raise KeyboardInterrupt", ABSENT.format([name]))
    start = "import runpy; runpy.run_module('lngeom', run_name='__main__', alter_sys=True)"
    done = python("-c", interrupts + start, "claims", "gupta")
    assert done.returncode == 130, done.stderr
    assert re.fullmatch("\nlngeom.*: interrupted\n", done.stderr)


@pytest.mark.parametrize(("words", "code"), [(["claims", "gupta.42"], 0), (["claims", "nosuch.1"], 2)])
def test_a_reader_that_leaves_early_changes_no_exit_code(words: list[str], code: int) -> None:
    read, write = os.pipe()
    os.close(read)
    for other in (write, subprocess.PIPE):
        command = [sys.executable, "-m", "lngeom", *words]
        done = subprocess.run(command, stdout=write, stderr=other, text=True, check=False)
        assert (done.returncode, (done.stderr or "").count("\n")) == (code, code // 2 if done.stderr is not None else 0)
    os.close(write)


def test_what_a_program_printed_before_it_called_a_command_comes_first() -> None:
    code = "print('before'); from lngeom.cli import main; main(['claims', 'gupta.42'])"
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = python("-c", code, check=True, env=buffered)
    assert done.stdout.startswith("before\ngupta.42")


def test_python_without_docstrings_is_told() -> None:
    done = python("-OO", "-m", "lngeom", "fold", "x")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.startswith("lngeom fold: python -OO drops docstrings")


def test_a_current_folder_that_is_gone_is_one_line(tmp_path) -> None:
    words = f"mkdir gone && cd gone && rmdir ../gone && exec {sys.executable} -m lngeom sweep"
    done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.startswith("lngeom sweep: the current folder is gone; ")


@pytest.mark.parametrize("extra", sorted({command.extra for command in COMMANDS.values()}))
def test_a_missing_extra_is_one_line(extra: str, tmp_path) -> None:
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    needed = (re.split(r"[><=]", each)[0] for each in project["optional-dependencies"][extra])
    absent = [IMPORTED_AS.get(name, name) for name in needed]
    commands = [[name, *ENOUGH.get(name, [])] for name, command in COMMANDS.items() if command.extra == extra]
    code = ABSENT.format(absent) + f"from lngeom.cli import main; print(*map(main, {commands}))"
    done = python("-c", code, cwd=tmp_path)
    assert done.stdout.split() == ["2"] * len(commands), done.stderr
    for (name, *_), line in zip(commands, done.stderr.splitlines(), strict=True):
        assert re.match(rf"lngeom {name}: needs the package '\w+'.*; run: pip install \S+", line), line


def test_a_project_with_packages_of_our_names_has_all_commands_and_the_fixture(tmp_path) -> None:
    root = "np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)"
    files = {
        "empirical/__init__.py": "",
        "empirical/norms.py": f"import numpy as np\ndef rms(x, weight):\n    return x / {root} * weight\n"
        "def gemma(x, weight):\n    return rms(x, 1 + weight)\n",
        "proofs/__init__.py": "raise ImportError('the project does not want it loaded')",
        "test_mine.py": "import sys\nfrom empirical.norms import rms\nassert 'torch' not in sys.modules\n"
        "def test_right(check_norm): check_norm(rms, kind='rmsnorm', eps=1e-6, d=8, proved=True)\n"
        "def test_wrong(check_norm): check_norm('empirical.norms:gemma', eps=1e-6, d=8)\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    tests = python("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py", cwd=tmp_path)
    assert "1 failed, 1 passed" in tests.stdout, tests.stdout
    assert "FAIL: gain used as 1 + gain (as Gemma) (variant)" in tests.stdout
    proved = python("-m", "lngeom", "prove", "projection.idempotent", "--jobs", "1", cwd=tmp_path)
    assert proved.returncode == 0, proved.stderr
    words = "-m lngeom check empirical.norms:rms --eps 1e-6 --d 8 --proved"
    check = python(*words.split(), cwd=tmp_path)
    assert "PASS rms: proved for every d" in check.stdout, check.stdout + check.stderr
    assert {path.name for path in tmp_path.iterdir()} - {"__pycache__"} == {name.split("/")[0] for name in files}


def test_a_kernel_of_numpy_is_checked_without_pytorch(tmp_path) -> None:
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    names = {part: {re.split(r"[><=]", each)[0] for each in project[part]} for part in ("check", "empirical")}
    absent = [IMPORTED_AS.get(name, name) for name in names["empirical"] - names["check"]]
    (tmp_path / "mine.py").write_text(
        "import numpy as np\n"
        "def rms_norm(x, weight):\n"
        "    return x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-6)) * weight\n"
    )
    code = ABSENT.format(absent) + "from lngeom.cli import main; sys.exit(main())"
    done = python("-c", code, "check", "mine:rms_norm", "--eps", "1e-6", "--d", "8", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
