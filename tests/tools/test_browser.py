"""The browser of the tests is found, and a missing one ends the run with the line that installs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tools.browser import find_browser

ROOT = Path(__file__).parents[2]
# A version is printed within seconds; a hang is a failure.
LIMIT_SECONDS = 120


def step(path: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tools.browser"]
    environment = {"PATH": path}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LIMIT_SECONDS)


@pytest.mark.real
def test_the_browser_is_installed() -> None:
    program = find_browser()
    assert program is not None
    done = step(f"{Path(program).parent}:/usr/bin:/bin")
    assert (done.returncode, done.stdout[:9]) == (0, "browser: ")


def test_a_missing_browser_fails_the_run_and_names_the_package(tmp_path: Path) -> None:
    done = step(str(tmp_path))
    assert done.returncode == 1
    assert done.stderr == "browser: chromium is missing. On Debian: apt-get install chromium\n"
