"""The programs of Debian's packages are found, and missing ones end the run with the line that installs them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tools.debian_programs import PROGRAMS, find_program

ROOT = Path(__file__).parents[2]
# A version is printed within seconds; a hang is a failure.
LIMIT_SECONDS = 120


def step(path: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tools.debian_programs"]
    environment = {"PATH": path}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LIMIT_SECONDS)


@pytest.mark.real
def test_the_programs_are_installed() -> None:
    found = [find_program(package) for package in PROGRAMS]
    assert None not in found
    done = step(":".join(["/usr/bin", "/bin", *(str(Path(program).parent) for program in found if program)]))
    assert (done.returncode, [line.partition(":")[0] for line in done.stdout.splitlines()]) == (0, list(PROGRAMS))


def test_missing_programs_fail_the_run_and_their_packages_are_named(tmp_path: Path) -> None:
    done = step(str(tmp_path))
    assert done.returncode == 1
    names = "chromium fish groff zsh"
    assert done.stderr == f"missing for the tests: {names}. On Debian: apt-get install {names}\n"
