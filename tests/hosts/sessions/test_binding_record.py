"""Where the run of a session is looked for: an agent may be in any folder by now."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.errors import RunNotFound, UsageError
from bridle.hosts.sessions.binding_record import find_session_run


def a_run(folder: Path, runs: str = ".a5c/runs") -> Path:
    run = folder / runs / "r"
    run.mkdir(parents=True)
    (run / "run.json").write_text("{}", encoding="utf-8")
    return run


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hook itself is started in a folder that has nothing to do with it."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")


@pytest.mark.parametrize("place", [".", "src", "src/very/deep", "not/there"])
def test_it_is_in_the_folder_of_the_session_or_above_it(place: str, tmp_path: Path) -> None:
    run = a_run(tmp_path / "project")
    assert Path(find_session_run("r", None, str(tmp_path / "project" / place), {})) == run


@pytest.mark.parametrize("cwd", [None, "/", "/nowhere", "/a\0b", "\ud800"])
def test_it_is_in_the_project_where_the_session_has_left_it(cwd: str | None, tmp_path: Path) -> None:
    run = a_run(tmp_path / "project")
    assert Path(find_session_run("r", None, cwd, {"CLAUDE_PROJECT_DIR": str(tmp_path / "project" / "src")})) == run


def test_it_is_in_the_folder_of_the_hook_where_nothing_else_is_known(tmp_path: Path) -> None:
    run = a_run(tmp_path / "elsewhere")
    assert Path(find_session_run("r", None, None, {})) == run


def test_the_nearest_one_is_meant(tmp_path: Path) -> None:
    a_run(tmp_path)
    near = a_run(tmp_path / "project")
    assert Path(find_session_run("r", None, str(tmp_path / "project" / "src"), {})) == near


@pytest.mark.parametrize("is_flag", [True, False])
def test_a_folder_that_is_named_is_the_only_one(is_flag: bool, tmp_path: Path) -> None:
    a_run(tmp_path / "project")
    named = tmp_path / "named"
    flag, environ = (str(named), {}) if is_flag else (None, {"BABYSITTER_RUNS_DIR": str(named)})
    with pytest.raises(RunNotFound, match=str(named)):
        find_session_run("r", flag, str(tmp_path / "project"), environ)
    run = a_run(named, ".")
    assert Path(find_session_run("r", flag, str(tmp_path / "project"), environ)) == run


def test_a_flag_goes_before_the_environment(tmp_path: Path) -> None:
    run, other = a_run(tmp_path / "flag", "."), a_run(tmp_path / "variable", ".")
    assert Path(find_session_run("r", str(run.parent), None, {"BABYSITTER_RUNS_DIR": str(other.parent)})) == run


def test_a_folder_of_runs_that_was_named_twice_is_one(tmp_path: Path) -> None:
    run = a_run(tmp_path / "project")
    doubled = tmp_path / "project" / ".a5c/runs/.a5c/runs"
    assert Path(find_session_run("r", str(doubled), None, {})) == run


def test_a_folder_without_its_first_document_is_no_run(tmp_path: Path) -> None:
    (tmp_path / ".a5c/runs/r").mkdir(parents=True)
    with pytest.raises(RunNotFound, match="the run r of this session"):
        find_session_run("r", None, str(tmp_path), {})


@pytest.mark.parametrize("run_id", ["../r", "a/b", "", "..", "/etc"])
def test_an_id_that_leads_elsewhere_is_refused(run_id: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the run id"):
        find_session_run(run_id, None, str(tmp_path), {})
