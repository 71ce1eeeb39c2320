"""The hook, the action and the example repository, run as pre-commit and GitHub run them but for the installation."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "docs" / "ci"


def read(path: Path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def hook_command() -> tuple[str, dict[str, str]]:
    (known,) = read(ROOT / ".pre-commit-hooks.yaml")
    (used,) = read(EXAMPLE / ".pre-commit-config.yaml")["repos"][0]["hooks"]
    assert used["id"] == known["id"]
    return f"{known['entry']} {shlex.join(used['args'])}", {}


def action_command() -> tuple[str, dict[str, str]]:
    action = read(ROOT / "action.yml")
    used = read(EXAMPLE / ".github" / "workflows" / "norms.yml")["jobs"]["check"]["steps"][-1]["with"]
    assert used.keys() <= action["inputs"].keys()
    given = {name: used.get(name, one.get("default")) for name, one in action["inputs"].items()}
    step = action["runs"]["steps"][-1]
    return step["run"], {name: given[value.split("inputs.")[1].split()[0]] for name, value in step["env"].items()}


@pytest.mark.parametrize("command", [hook_command, action_command])
def test_the_example_passes_and_fails_with_a_wrong_kernel(command, tmp_path: Path) -> None:
    shutil.copy(EXAMPLE / "mykernels.py", tmp_path)
    line, variables = command()
    binaries = tmp_path / "bin"
    binaries.mkdir()
    (binaries / "lngeom").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m lngeom "$@"\n', encoding="utf-8")
    (binaries / "lngeom").chmod(0o755)
    place = {**os.environ, **variables, "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(["bash", "-ec", line], cwd=tmp_path, env=place, capture_output=True, text=True)

    right = run()
    assert right.returncode == 0, right.stderr
    kernel = tmp_path / "mykernels.py"
    source = kernel.read_text(encoding="utf-8").replace("np.mean(", "2 * np.mean(")
    kernel.write_text(source, encoding="utf-8")
    wrong = run()
    assert wrong.returncode not in (0, 2), wrong.stderr
    assert "FAIL" in wrong.stdout
    assert ("::error" in wrong.stdout) == (command is action_command)
