"""A run that was created below the repository's top: every command finds it there, and those of the folders above."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bridle.cli.user_interface.terminal import chosen_run, shown_run
from bridle.errors import RunNotFound
from tests.cli.fixtures.machine_commands import PROCESS, bridle, create


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a run at its top, and a newer one of a process in a folder below."""
    (tmp_path / ".git").mkdir()
    part = tmp_path / "part"
    (part / "deeper").mkdir(parents=True)
    for folder, run in ((tmp_path, "of-the-top"), (part, "of-the-part")):
        (folder / "process.py").write_text(PROCESS, encoding="utf-8")
        assert create(folder, "--run-id", run).code == 0
    return tmp_path


@pytest.mark.parametrize("place", ["part", "part/deeper"])
def test_users_and_programs_find_both_runs(repository: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here = repository / place
    monkeypatch.chdir(here)
    part, top = repository / "part/.a5c/runs/of-the-part", repository / ".a5c/runs/of-the-top"
    assert (chosen_run("of-the-p", None), chosen_run("of-the-t", None)) == (part, top)
    assert chosen_run("last", None) == part
    assert (shown_run(part), shown_run(top)) == ("of-the-part", "of-the-top")
    for run in (part, top):
        assert json.loads(bridle("run:status", run.name, "--json", cwd=here).stdout)["state"] == "created"
    with pytest.raises(RunNotFound, match=r"no run 'x' in .*part/\.a5c/runs or .*/\.a5c/runs"):
        chosen_run("x", None)


def test_the_commands_for_users_work_where_the_run_was_created(repository: Path) -> None:
    here = repository / "part"
    for command in ("audit", "replay"):
        done = bridle(command, "of-the-part", cwd=here)
        assert (done.code, done.stderr) == (0, "")
    assert bridle("answer", cwd=here).stdout == "of-the-part: no open questions\n"


def test_a_folder_that_is_named_is_the_only_one(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository / "part")
    assert bridle("run:status", "of-the-top", "--runs-dir", ".a5c/runs", "--json", cwd=repository / "part").code == 1
    with pytest.raises(RunNotFound):
        chosen_run("of-the-top", ".a5c/runs")
    monkeypatch.setenv("BABYSITTER_RUNS_DIR", ".a5c/runs")
    with pytest.raises(RunNotFound):
        chosen_run("of-the-top", None)


def test_of_two_runs_with_one_id_the_nearer_one_is_meant(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nearer = Path(create(repository / "part", "--run-id", "of-the-top").document["runDir"])
    monkeypatch.chdir(repository / "part")
    assert chosen_run("of-the-top", None) == nearer
    assert shown_run(repository / ".a5c/runs/of-the-top") == str(repository / ".a5c/runs/of-the-top")


def test_runs_with_one_id_in_several_folders_go_on(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Each is the user's: in a folder of the repository, and in another repository."""
    other = tmp_path_factory.mktemp("other")
    (other / ".git").mkdir()
    (other / "process.py").write_text(PROCESS, encoding="utf-8")
    folders = (repository, repository / "part", other)
    for folder in folders:
        assert create(folder, "--run-id", "same").code == 0
    for folder in folders:
        done = bridle("run:iterate", "same", "--json", cwd=folder)
        assert done.code == 0, done.stderr
