"""A virtual environment that only holds Bridle does not come first for agents and checks; any other one stays."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from bridle.ground.user_environment import only_holds_bridle, user_environment


def make_venv(folder: Path, **packages: str) -> Path:
    """Create a virtual environment with these packages, each with what it requires; return its prefix."""
    venv.EnvBuilder(symlinks=True).create(folder)
    (site,) = folder.glob("lib/python*/site-packages")
    for name, requires in packages.items():
        info = site / f"{name}-1.0.dist-info"
        info.mkdir()
        lines = [f"Requires-Dist: {other}" for other in requires.split()]
        (info / "METADATA").write_text(
            "\n".join(["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.0", *lines, ""])
        )
    return folder


OF_BRIDLE = {"bridle_cli": "click>=8 rich", "click": "", "rich": "Pygments>2", "pygments": "", "pip": ""}


def test_an_environment_that_only_holds_bridle_is_last_on_path_and_not_active(tmp_path: Path) -> None:
    prefix = make_venv(tmp_path / "venv", **OF_BRIDLE)
    variables = {"PATH": f"{prefix}/bin:/usr/bin:/bin", "VIRTUAL_ENV": str(prefix), "VIRTUAL_ENV_PROMPT": "x", "A": "b"}
    assert user_environment(variables, str(prefix)) == {"PATH": f"/usr/bin:/bin:{prefix}/bin", "A": "b"}


def test_its_programs_are_moved_also_where_it_is_not_activated(tmp_path: Path) -> None:
    prefix = make_venv(tmp_path / "venv", **OF_BRIDLE)
    (tmp_path / "link").symlink_to(prefix / "bin")
    variables = {"PATH": f"{tmp_path}/link:/usr/bin", "VIRTUAL_ENV": "/of/the/project"}
    moved = user_environment(variables, str(prefix))
    assert moved == {"PATH": f"/usr/bin:{tmp_path}/link", "VIRTUAL_ENV": "/of/the/project"}


@pytest.mark.parametrize(
    "packages",
    [{**OF_BRIDLE, "pytest": ""}, {**OF_BRIDLE, "app": "bridle-cli"}, {"pytest": ""}, {}],
    ids=["a test runner", "a project that requires it", "no Bridle", "empty"],
)
def test_an_environment_of_a_project_stays_first(tmp_path: Path, packages: dict[str, str]) -> None:
    prefix = make_venv(tmp_path / "venv", **packages)
    variables = {"PATH": f"{prefix}/bin:/usr/bin", "VIRTUAL_ENV": str(prefix)}
    assert user_environment(variables, str(prefix)) == variables


def test_the_environment_of_these_tests_holds_more() -> None:
    assert not only_holds_bridle(sys.prefix)


def test_a_check_finds_the_python_of_the_user(tmp_path: Path) -> None:
    prefix = make_venv(tmp_path / "venv", **OF_BRIDLE)
    (site,) = prefix.glob("lib/python*/site-packages")
    (site / "bridle.pth").write_text("\n".join(path for path in sys.path if os.path.isdir(path)) + "\n")
    code = "from bridle.ground.user_environment import user_environment as u; import os; print(u(os.environ)['PATH'])"
    variables = {**os.environ, "PATH": f"{prefix}/bin:/usr/bin:/bin", "VIRTUAL_ENV": str(prefix)}
    python = prefix / "bin" / "python"
    done = subprocess.run([python, "-c", code], env=variables, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == f"/usr/bin:/bin:{prefix}/bin"
