"""What a test run promises: a temporary home for each test, and a failure when real tests go missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from tests import sizes
from tests.fixtures import sandbox
from tests.sizes import VARIABLE

HERE = Path(__file__).parent
# Two workers start, run three tests and end; a hang is a failure.
LIMIT_SECONDS = 120

REAL_TESTS = """
import pytest

@pytest.mark.real
def test_one():
    pass

@pytest.mark.real
def test_two():
    {second}

def test_that_only_lives_in_the_folder():
    pass
"""


def run_project(
    folder: Path, *arguments: str, second: str = "pass", promised: int = 2, variables: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a small project that reports as this one does."""
    tests = folder / "tests"
    for name in ("real", "wire"):
        (tests / name).mkdir(parents=True)
    (tests / "fixtures").mkdir()
    for name in ("conftest.py", "sizes.py", "fixtures/sandbox.py", "fixtures/bridle_program.py"):
        shutil.copy(HERE / name, tests / name)
    shutil.copy(HERE.parent / "pyproject.toml", folder)
    (tests / "real-count.txt").write_text(f"{promised}\n", encoding="utf-8")
    (tests / "real" / "test_parts.py").write_text(REAL_TESTS.format(second=second), encoding="utf-8")
    (tests / "wire" / "test_lines.py").write_text("def test_line():\n    pass\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE} | (variables or {})
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
    )


@pytest.mark.parametrize("workers", [(), ("-n", "2", "--dist", "loadgroup")])
def test_a_full_run_reports_each_layer_and_the_real_tests(tmp_path: Path, workers: tuple[str, ...]) -> None:
    done = run_project(tmp_path, *workers)
    assert done.returncode == 0, done.stdout
    assert "sizes     test: " in done.stdout
    assert "real          3 tests" in done.stdout
    assert "wire          1 tests" in done.stdout
    assert "real      2 passed, 2 promised in tests/real-count.txt\n" in done.stdout


@pytest.mark.parametrize("workers", [(), ("-n", "2", "--dist", "loadgroup")])
def test_a_skipped_real_test_fails_a_full_run(tmp_path: Path, workers: tuple[str, ...]) -> None:
    done = run_project(tmp_path, *workers, second="pytest.skip('no such program here')")
    assert done.returncode == 1, done.stdout
    assert "real      1 passed, 2 promised in tests/real-count.txt: FAILED" in done.stdout


def test_a_removed_real_test_fails_a_full_run(tmp_path: Path) -> None:
    assert run_project(tmp_path, promised=3).returncode == 1


def test_a_new_real_test_asks_for_a_larger_promise(tmp_path: Path) -> None:
    done = run_project(tmp_path, promised=1)
    assert done.returncode == 0, done.stdout
    assert "raise the number" in done.stdout


@pytest.mark.parametrize("arguments", [("tests/wire",), ("-k", "line"), ("-m", "not real")])
def test_a_part_of_the_tests_is_not_held_to_the_promise(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = run_project(tmp_path, *arguments)
    assert done.returncode == 0, done.stdout
    assert "not compared" in done.stdout


SIZED_TESTS = """
from tests.sizes import SIZES

def test_sized():
    assert SIZES.name == "soak"
"""
PROPERTY = """
from hypothesis import given, strategies

@given(strategies.just(1))
def test_property(value):
    assert value == 1

def test_beside_it():
    raise AssertionError("this one has no size")
"""


@pytest.mark.parametrize("workers", [(), ("-n", "2", "--dist", "loadgroup")])
def test_a_soak_runs_what_has_a_size(tmp_path: Path, workers: tuple[str, ...]) -> None:
    (tmp_path / "tests/loop").mkdir(parents=True)
    (tmp_path / "tests/loop/test_sized.py").write_text(SIZED_TESTS, encoding="utf-8")
    (tmp_path / "tests/loop/test_property.py").write_text(PROPERTY, encoding="utf-8")
    done = run_project(tmp_path, *workers, variables={VARIABLE: "soak"})
    assert done.returncode == 0, done.stdout
    assert "loop          2 tests" in done.stdout
    assert "not compared" in done.stdout


SANDBOXED_TESTS = """
import os, subprocess
import pytest
from tests.fixtures.bridle_program import BRIDLE

def test_one(tmp_path):
    assert os.environ["BRIDLE_SANDBOX"] == "{mode}"
    (tmp_path / "claude").write_text("#!/bin/sh\\n")
    (tmp_path / "claude").chmod(0o755)
    variables = os.environ | {{"BRIDLE_CLAUDE": str(tmp_path / "claude")}}
    subprocess.run([BRIDLE, "ask", "hello"], cwd=tmp_path, env=variables)

@pytest.mark.without_sandbox("looks for a process")
def test_two():
    assert os.environ["BRIDLE_SANDBOX"] == "off"
"""


@pytest.mark.parametrize(("mode", "started"), [("bwrap", 1), ("off", 0)])
def test_a_run_says_how_many_tests_used_the_sandbox_and_why_others_did_not(
    tmp_path: Path, mode: str, started: int
) -> None:
    (tmp_path / "tests/loop").mkdir(parents=True)
    (tmp_path / "tests/loop/test_sandbox.py").write_text(SANDBOXED_TESTS.format(mode=mode), encoding="utf-8")
    done = run_project(tmp_path, "-n", "2", "--dist", "loadgroup", variables={sandbox.VARIABLE: mode})
    assert done.returncode == 0, done.stdout
    assert f"sandbox   {mode}: {started} tests started an agent or a check in it\n" in done.stdout
    assert ("sandbox   off for 1 that looks for a process\n" in done.stdout) == (mode == "bwrap")


def test_a_test_has_an_empty_home_of_its_own() -> None:
    home = Path.home()
    assert home == Path(os.environ["HOME"])
    assert list(home.iterdir()) == []
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "CLAUDE_CONFIG_DIR", "BRIDLE_HOME"):
        assert Path(os.environ[name]).is_relative_to(home)


def test_settings_of_the_user_who_runs_the_tests_are_gone() -> None:
    mine = {"CLAUDE_CONFIG_DIR", "BRIDLE_HOME", "BRIDLE_SANDBOX", sizes.VARIABLE}
    foreign = [name for name in os.environ if name.startswith(("ANTHROPIC_", "CLAUDE", "BRIDLE_", "GIT_"))]
    assert set(foreign) <= mine


def test_the_chosen_sizes_reach_the_property_tests() -> None:
    assert settings().max_examples == sizes.SIZES.hypothesis_examples
    assert settings().deadline is None


def test_undefined_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="names no sizes"):
        sizes.chosen("enormous")
