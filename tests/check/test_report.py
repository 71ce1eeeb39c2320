from pathlib import Path
from typing import Any

import pytest

from lngeom.cli import main
from lngeom.commands import reports

from .conftest import recorded

KERNELS = """
import numpy as np
def right(x, weight): return x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-6)) * weight
def gemma(x, weight): return right(x, 1 + weight)
"""
ASKED = ["--kind", "rmsnorm", "--eps", "1e-6", "--d", "8"]
RIGHT, GEMMA, NONE = "some_kernels.py:right", "some_kernels.py:gemma", "some_kernels.py:none"


RUNS: list[tuple[list[str], int, list[str]]] = [
    ([RIGHT, GEMMA], 1, [f"pass  {RIGHT}  proved for every d ≥ 1; forward", f"FAIL  {GEMMA}  gain used as 1 + gain",
                         "1 of 2 pass"]),
    ([RIGHT, NONE], 2, [f"FAIL  {NONE}   not checked: ", "1 of 2 pass"]),
    ([], 2, ["no kernel is named"]),
]  # fmt: skip
"""Kernels, the exit code, and what is told."""


@pytest.mark.usefixtures("some_kernels")
@pytest.mark.parametrize("run", RUNS)
def test_kernels_are_judged_together(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    targets, code, told = run
    files = ["--json", "found.json", "--github"]
    assert main(["check", *targets, *ASKED, *files]) == code
    printed = "".join(capsys.readouterr())
    assert [text for text in told if text not in printed] == []
    if not Path("found.json").exists():
        assert code == 2
        return
    record = recorded()
    assert record["passed"] == (code == 0)
    assert list(record.get("errors", {})) == [target for target in targets if target == NONE]
    failing = [each["name"] for each in record["results"] if not each["passed"]] + list(record.get("errors", {}))
    assert len(failing) == (code > 0)
    title = "::error file=some_kernels.py,title=lngeom check {}::"
    assert [name for name in failing if title.format(name.replace(":", "%3A")) not in printed] == []


def test_names_command_neither_a_terminal_nor_a_workflow() -> None:
    outcomes = [reports.Outcome("a\x1b]0;\x07,b::.py:f", None, "no\x1b\ufffe\n%", False)]
    assert (
        reports.annotations(outcomes) == "::error title=lngeom check a?]0;?%2Cb%3A%3A.py%3Af::not checked: no??%0A%25"
    )


@pytest.mark.usefixtures("some_kernels")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([RIGHT, "--json", "some_kernels.py"], "some_kernels.py would be written over"),
        (["some_kernels:right", "--reproducer", "some_kernels.py"], "some_kernels.py would be written over"),
        ([RIGHT, "--certificate", "a.x", "--json", "a.x"], "a.x would be written over"),
        ([RIGHT, "--eps", "nan"], "eps is nan"),
        ([RIGHT, "--spec", "gemma", "--kind", "layernorm"], "spec gemma and kind layernorm exclude each other"),
        ([RIGHT, "--spec", RIGHT, "--kind", "layernorm"], f"{RIGHT} and kind layernorm exclude each other"),
        ([RIGHT, "--spec", "qwen"], "'qwen' is neither one of torch, llama, gemma, onnx nor FILE.py:NAME"),
    ],
)
def test_wrong_words_are_no_fault_of_the_kernel(words, told, capsys) -> None:
    assert main(["check", *words, "--d", "8"]) == 2
    assert told in capsys.readouterr().err
    assert Path("some_kernels.py").read_text() == KERNELS
