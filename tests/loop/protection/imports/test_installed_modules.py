"""The names of installed modules are found without starting Python."""

from __future__ import annotations

import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from bridle.loop.protection.imports.installed_modules import installed_names


def test_the_modules_of_all_plugins_are_known(tmp_path: Path) -> None:
    plugins = {point.module.partition(".")[0] for point in entry_points(group="pytest11")}
    names = installed_names(tmp_path, (sys.executable,), {})
    assert plugins <= names
    assert not {"tests", "src"} & names


@pytest.mark.parametrize("place", ["active", "home/.local", "work/.venv", "work/.tox/py312", "linked"])
def test_modules_are_found_in_every_place_that_a_check_imports_from(tmp_path: Path, place: str) -> None:
    """An active environment, the user's own packages, environments of the working copy, and that of a script."""
    packages = tmp_path / place / "lib/python3.12/site-packages"
    for name in ("mine/__init__.py", "tests/__init__.py", "single.py", "fast.cpython-312-x86_64-linux-gnu.so"):
        (packages / name).parent.mkdir(parents=True, exist_ok=True)
        (packages / name).write_text("")
    (tmp_path / "linked/bin").mkdir(parents=True, exist_ok=True)
    (tmp_path / "linked/bin/python").write_text("")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/runner").write_text(f"#!{tmp_path}/linked/bin/python -I\n")
    (tmp_path / "bin/runner").chmod(0o755)
    (tmp_path / "work").mkdir(exist_ok=True)
    variables = {"HOME": str(tmp_path / "home"), "VIRTUAL_ENV": str(tmp_path / "active"), "PATH": str(tmp_path / "bin")}
    assert installed_names(tmp_path / "work", ("runner",), variables) == {"mine", "single", "fast"}
