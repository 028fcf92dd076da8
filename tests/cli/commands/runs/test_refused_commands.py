"""A command that is refused to continue a run has recorded nothing: no limits, no retry, no end of the pause."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bridle.cli.main import run as bridle
from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.loop_commands import MAKES_FILE, TWO_TASKS, run_folder, run_plan

RESUME = ("resume", "--max-iterations", "9", "--json")


def damage(here: Project) -> None:
    (here.folder / ".git/packed-refs").write_text("garbage\n")


def begin_merge(here: Project) -> None:
    (here.folder / ".git/MERGE_HEAD").write_text(here.git("rev-parse", "HEAD") + "\n")


def misspell_setting(here: Project) -> None:
    (here.folder / "bridle.toml").write_text("max_cots = 3\n")


def put_file_in_the_way(here: Project) -> None:
    here.git("checkout", "-q", "main")
    (here.folder / "one").write_text("of the user\n")


def repair(here: Project) -> None:
    for name in (".git/packed-refs", ".git/MERGE_HEAD", "bridle.toml"):
        (here.folder / name).unlink(missing_ok=True)
    if here.git("branch", "--show-current") == "main":
        (here.folder / "one").unlink()
        here.git("checkout", "-q", "-")


REFUSALS: list[tuple[Callable[[Project], None], tuple[str, ...], str]] = [
    (lambda _: None, ("resume", "--max-iterations", "0"), "--max-iterations"),
    (lambda _: None, (*RESUME, "--sandbox", "seatbelt"), "seatbelt"),
    (misspell_setting, RESUME, "max_cots"),
    (begin_merge, RESUME, "a merge is in progress"),
    (begin_merge, ("retry", "Two", "--resume"), "a merge is in progress"),
    (damage, RESUME, "packed-refs is damaged: git cannot read it"),
    (put_file_in_the_way, RESUME, "untracked files (one)"),
]


def test_a_refused_command_leaves_the_journal_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE)
    run_plan(here, 3, "--max-iterations", "1")
    monkeypatch.chdir(here.folder)
    monkeypatch.setenv("BRIDLE_CLAUDE", here.environment()["BRIDLE_CLAUDE"])
    run = run_folder(here)

    def journal() -> dict[str, bytes]:
        files = [run / "bridle.chain", *(run / "journal").rglob("*"), *(run / "tasks").rglob("*")]
        return {str(path): path.read_bytes() for path in files if path.is_file()}

    before = journal()
    for spoil, command, message in REFUSALS:
        spoil(here)
        code = bridle(list(command))
        printed = capsys.readouterr()
        assert (code, message in printed.err, printed.out) == (2, True, ""), (command, printed)
        assert journal() == before, command
        repair(here)
    assert bridle(list(RESUME)) == 0
    assert len(here.calls()) == 2
