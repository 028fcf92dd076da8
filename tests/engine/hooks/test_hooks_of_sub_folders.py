"""The repository's hooks of a run that is below the repository's top."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from bridle.engine.hooks.find_hooks import ON_RUN_START, hooks_owner
from bridle.engine.hooks.run_hooks import Hooks
from bridle.ground.home import bridle_home
from bridle.ground.trust import trust
from tests.fixtures.bridle_program import run_bridle


def put(folder: Path, witness: Path) -> None:
    path = folder / ".a5c/hooks" / ON_RUN_START / "a.sh"
    path.parent.mkdir(parents=True)
    path.write_text(f"pwd >> {witness}\n")


@pytest.fixture
def part(tmp_path: Path) -> Path:
    """A folder with runs of its own below the top of a repository that has hooks."""
    (tmp_path / "top/.git").mkdir(parents=True)
    (tmp_path / "top/part/.a5c/runs").mkdir(parents=True)
    put(tmp_path / "top", tmp_path / "witness")
    return tmp_path / "top/part"


def fire(folder: Path) -> tuple[str, str | None]:
    results = asyncio.run(Hooks(folder, os.environ).fire(ON_RUN_START, {}))
    return results.status, results.trust_warning


def test_they_run_where_the_run_is_once_their_folder_is_trusted(part: Path) -> None:
    status, warning = fire(part)
    assert status == "untrusted"
    assert f"the hooks in {part.parent}/.a5c/hooks did not run" in str(warning)
    trust(part.parent, bridle_home(os.environ))
    assert fire(part) == ("executed", None)
    assert (part.parent.parent / "witness").read_text() == f"{part}\n"


def test_hooks_nearer_to_the_run_are_its_own(part: Path) -> None:
    put(part, part / "witness")
    trust(part.parent, bridle_home(os.environ))
    assert hooks_owner(part) == part
    assert fire(part)[0] == "untrusted"


def test_without_git_no_folder_above_counts(part: Path) -> None:
    (part.parent / ".git").rmdir()
    assert hooks_owner(part) == part
    assert fire(part) == ("no-hooks-configured", None)


def test_doctor_trusts_them_from_there(part: Path) -> None:
    done = run_bridle("doctor", "--trust", cwd=part)
    assert f"trusted: {part.parent}/.a5c/hooks/{ON_RUN_START}/a.sh" in done.stdout
    assert fire(part) == ("executed", None)


def test_a_folder_of_hooks_shows_that_there_may_be_some(part: Path, tmp_path: Path) -> None:
    assert Hooks(part, {}).has_any()
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    assert not Hooks(other, {"HOME": str(tmp_path)}).has_any()
    (tmp_path / ".config/babysitter/hooks").mkdir(parents=True)
    assert Hooks(other, {"HOME": str(tmp_path)}).has_any()
    assert not Hooks(other, {}, plugin_root=tmp_path / "plugin").has_any()
    (tmp_path / "plugin/hooks").mkdir(parents=True)
    assert Hooks(other, {}, plugin_root=tmp_path / "plugin").has_any()
