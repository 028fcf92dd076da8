"""A run is found by its folder, its id, a prefix of its id, or `last`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bridle.errors import RunNotFound, UsageError
from bridle.journal.stores.create import NewRun, create_run
from bridle.journal.stores.find_run import choose_run, collapse, run_folder, runs_folder
from tests.journal.fixtures.entry_steps import MOMENT, ids


def create(runs: Path, run_id: str) -> Path:
    new = NewRun(run_id=run_id, process_id="demo", entry=runs.parent / "p.py")
    return create_run(runs, new, proof="0" * 32, ulid=ids(1)[0], created_at=MOMENT)


def test_runs_are_where_the_flag_or_the_variable_says_else_below_this_folder(tmp_path: Path) -> None:
    assert runs_folder("/somewhere", {"BABYSITTER_RUNS_DIR": "/else"}) == Path("/somewhere")
    assert runs_folder(None, {"BABYSITTER_RUNS_DIR": "/else"}) == Path("/else")
    assert runs_folder(None, {}) == Path.cwd() / ".a5c" / "runs"


def test_a_run_is_found_by_path_id_and_by_paths_that_agents_garble(tmp_path: Path) -> None:
    runs = tmp_path / ".a5c" / "runs"
    run = create(runs, "r1")
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        for argument in (str(run), "r1", ".a5c/runs/r1", "./.a5c/runs/r1", f"{run}/", f"{runs}/.a5c/runs/r1"):
            assert run_folder(argument, runs_folder(None, {})) == run
        os.chdir(runs)
        assert run_folder("r1", tmp_path / "elsewhere") == run
        assert run_folder(".a5c/runs/r1", runs_folder(None, {})) == run
        assert run_folder("missing", runs) == runs / "missing"
    finally:
        os.chdir(before)
    with pytest.raises(UsageError):
        run_folder("", runs)


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("/p/.a5c/runs/.a5c/runs/x", "/p/.a5c/runs/x"),
        ("/p/.a5c/runs/.a5c/runs/.a5c/runs/x", "/p/.a5c/runs/x"),
        ("/p/.a5c/.a5c/runs/x", "/p/.a5c/runs/x"),
        ("/p/.a5c/runs/x", "/p/.a5c/runs/x"),
        ("/p/my.a5c/runs/.a5c/runs", "/p/my.a5c/runs/.a5c/runs"),
    ],
)
def test_doubled_folders_are_taken_for_one(path: str, meant: str) -> None:
    assert collapse(path) == meant


def test_a_user_may_give_the_beginning_of_an_id_or_say_last(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    with pytest.raises(RunNotFound, match="no runs in"):
        choose_run("last", runs)
    older, newer, last = create(runs, "alpha-1"), create(runs, "alpha-2"), create(runs, "beta")
    for age, run in enumerate((last, newer, older)):
        os.utime(run / "run.json", ns=(10**18 - age * 10**9,) * 2)
    assert choose_run("last", runs) == last
    assert choose_run("b", runs) == last
    assert choose_run("alpha-1", runs) == older
    with pytest.raises(RunNotFound, match="could be any of 2 runs: alpha-1, alpha-2"):
        choose_run("alpha", runs)
    with pytest.raises(RunNotFound, match="no run 'gamma'"):
        choose_run("gamma", runs)


def test_a_folder_without_a_run_and_a_hidden_one_are_not_runs(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    create(runs, "alpha")
    create(runs, "real")
    (runs / "real").rename(runs / ".creating-beta")
    (runs / "beta").mkdir()
    assert choose_run("last", runs) == runs / "alpha"
    with pytest.raises(RunNotFound, match="no run 'beta'"):
        choose_run("beta", runs)
