"""The two shell scripts that the Makefile stands on."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"
# They start one or two programs; a hang is a failure.
LIMIT_SECONDS = 60


def run(script: str, *arguments: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(TOOLS / script), *arguments],
        env=None if path is None else {"PATH": path},
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )


def test_quietly_says_only_what_it_does_when_all_is_well() -> None:
    done = run("quietly", "building", "sh", "-c", "echo noise; echo more >&2")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "building\n")


def test_quietly_shows_everything_and_keeps_the_code_when_it_fails() -> None:
    done = run("quietly", "building", "sh", "-c", "echo noise; echo more >&2; exit 3")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("building\nnoise\nmore\nfailed (3): sh -c ")


def fake_python(folder: Path, name: str, body: str) -> Path:
    program = folder / name
    program.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    program.chmod(0o755)
    return program


def test_the_newest_python_that_works_is_chosen(tmp_path: Path) -> None:
    fake_python(tmp_path, "python3.13", "exit 127")
    chosen = fake_python(tmp_path, "python3.12", "exit 0")
    fake_python(tmp_path, "python3", "exit 0")
    done = run("find-python", path=f"{tmp_path}:/bin")
    assert (done.returncode, done.stdout) == (0, f"{chosen}\n")


@pytest.mark.parametrize("bodies", [{}, {"python3": "exit 1"}])
def test_without_a_python_that_works_the_remedy_is_named(tmp_path: Path, bodies: dict[str, str]) -> None:
    (tmp_path / "sh").symlink_to("/bin/sh")
    for name, body in bodies.items():
        fake_python(tmp_path, name, body)
    done = run("find-python", path=str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert "apt-get install python3 python3-venv" in done.stderr
