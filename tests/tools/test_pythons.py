from __future__ import annotations

import subprocess
import sys

import pytest

from tools import pythons


def test_the_python_of_the_tests_is_found_and_each_is_of_its_version() -> None:
    found = pythons.find_pythons()
    assert f"3.{sys.version_info[1]}" in found
    for name, python in found.items():
        code = "import sys; print('.'.join(map(str, sys.version_info[:2])))"
        assert subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == name


def test_a_command_that_fails_is_a_failure() -> None:
    with pytest.raises(subprocess.CalledProcessError):
        pythons.run(sys.executable, "-c", "raise SystemExit(3)")
    assert pythons.run(sys.executable, "-c", "print('x')") == "x\n"
