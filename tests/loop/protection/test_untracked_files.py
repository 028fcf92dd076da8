"""Files of the person's that are in no commit: an agent that deletes them has not deleted them."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from bridle.loop.protection import untracked_files
from bridle.workspace import files_index, snapshot
from tests.loop.fixtures.fake_agent import make_project
from tests.loop.fixtures.loop_commands import MAKES_FILE
from tests.loop.fixtures.repositories import Repository, make_repository

MINE: dict[str, str | bytes] = {"notes.txt": "mine\r\n", "drafts/one.md": b"\xff\x00", "drafts/two words.md": "two"}


def worked(
    folder: Path, work: Callable[[Path], object], *, may_edit: Sequence[str] = ()
) -> tuple[Repository, dict[str, Any]]:
    """A repository in which an agent did something, and what is made of it."""
    here = make_repository(folder, {"app.py": "1"}, untracked=MINE)
    here.start()
    asyncio.run(snapshot.take(here.context.git, name="before"))
    work(here.folder)
    asyncio.run(snapshot.take(here.context.git, name="before-after"))
    return here, here.protect(snapshot="before", may_edit=may_edit)


def test_deleted_files_are_restored_byte_for_byte_and_reported(tmp_path: Path) -> None:
    def work(folder: Path) -> None:
        shutil.rmtree(folder / "drafts")
        os.remove(folder / "notes.txt")

    here, result = worked(tmp_path / "r", work)
    assert {item["path"]: item["what"] for item in result["undone"]} == dict.fromkeys(
        sorted(MINE), untracked_files.DELETED
    )
    assert (here.folder / "notes.txt").read_bytes() == b"mine\r\n"
    assert (here.folder / "drafts/one.md").read_bytes() == b"\xff\x00"
    assert (here.folder / "drafts/two words.md").read_bytes() == b"two"
    assert here.protect(snapshot="before") == result, "done again after a crash it says the same"
    assert not result["changed"]


def test_changed_files_stay_and_the_earlier_version_is_reported(tmp_path: Path) -> None:
    here, result = worked(tmp_path / "r", lambda folder: (folder / "notes.txt").write_text("the agent's"))
    assert result["undone"] == []
    [report] = result["reported"]
    assert report["path"] == "notes.txt"
    assert (here.folder / "notes.txt").read_text() == "the agent's"
    text = report["what"].split("`")[1].split()
    assert here.git(*text[1:]).splitlines() == ["mine"]


def test_a_file_that_an_agent_hides_from_git_is_in_the_next_snapshot(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", {"app.py": "1"}, untracked=MINE)
    here.start()
    git = here.context.git
    asyncio.run(snapshot.take(git, name="before"))
    here.write({".gitignore": "notes.txt\n"})
    files_index.drop(git)  # another driver has none
    taken = asyncio.run(snapshot.take(git, name="before-after"))
    assert "notes.txt" not in here.git("ls-tree", "--name-only", taken.commit).split()
    here.protect(snapshot="before")
    whole = asyncio.run(untracked_files.add_hidden(here.context, taken))
    assert here.git("show", f"{whole.ref}:notes.txt").splitlines() == ["mine"]


def test_files_that_may_be_edited_may_be_deleted(tmp_path: Path) -> None:
    here, result = worked(tmp_path / "r", lambda folder: os.remove(folder / "notes.txt"), may_edit=["notes.txt"])
    assert result["undone"] == []
    assert not (here.folder / "notes.txt").exists()


@pytest.mark.parametrize("in_the_way", ["file", "link"])
def test_a_file_that_cannot_be_restored_is_reported_with_a_command(tmp_path: Path, in_the_way: str) -> None:
    def work(folder: Path) -> None:
        shutil.rmtree(folder / "drafts")
        if in_the_way == "file":
            (folder / "drafts").write_text("a file")
        else:
            (folder / "drafts").symlink_to(tmp_path)

    here, result = worked(tmp_path / "r", work)
    reported = {item["path"]: item["what"] for item in result["reported"]}
    assert set(reported) == {"drafts/one.md", "drafts/two words.md"}
    assert "could not be restored" in reported["drafts/two words.md"]
    assert not (tmp_path / "one.md").exists(), "nothing is written through a link"
    assert here.git("show", "refs/bridle/snapshots/before:drafts/two words.md") == "two"


def test_thousands_of_deleted_files_are_reported_briefly(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", {"app.py": "1"}, untracked={f"data/{n}": str(n) for n in range(300)})
    here.start()
    asyncio.run(snapshot.take(here.context.git, name="before"))
    shutil.rmtree(here.folder / "data")
    asyncio.run(snapshot.take(here.context.git, name="before-after"))
    result = here.protect(snapshot="before")
    assert len(result["undone"]) == untracked_files.SHOWN + 1
    assert result["undone"][-1]["path"] == "280 more of your files"
    assert len(list((here.folder / "data").iterdir())) == 300


@pytest.mark.parametrize("is_deleted", [True, False])
def test_a_nested_repository_is_only_reported(tmp_path: Path, *, is_deleted: bool) -> None:
    here = make_repository(tmp_path / "r", {"app.py": "1"})
    here.git("init", "-q", "mine")
    here.git("-C", "mine", "commit", "-q", "--allow-empty", "-m", "1")
    assert here.start().untracked == ("mine",)
    asyncio.run(snapshot.take(here.context.git, name="before"))
    if is_deleted:
        shutil.rmtree(here.folder / "mine")
    else:
        here.git("-C", "mine", "commit", "-q", "--allow-empty", "-m", "2")
    asyncio.run(snapshot.take(here.context.git, name="before-after"))
    result = here.protect(snapshot="before")
    assert (result["undone"], result["changed"], result["outside"]) == ([], False, ["mine"])
    [report] = result["reported"]
    assert ("deleted" if is_deleted else "changed") in report["what"]
    assert (here.folder / "mine").exists() is not is_deleted


def test_an_untracked_file_that_defines_a_check_is_named_at_the_start_and_in_the_receipt(tmp_path: Path) -> None:
    here = make_project(tmp_path, "# T\n\n## One\nCheck: `sh tests/one.sh`\n", MAKES_FILE)
    (here.folder / "tests").mkdir()
    (here.folder / "tests/one.sh").write_text("test -f one\n")
    (here.folder / "notes.txt").write_text("mine")
    done = here.bridle("run", "--json")
    found = json.loads(done.stdout)["found"]
    line = "tests/one.sh is untracked: the checks use it, and no commit of this run contains it; commit it too:"
    assert found == [f"{line} git add tests/one.sh"]
    assert found[0] in done.stderr.partition("iteration 1 (")[0]
    assert found[0] in " ".join(here.bridle("status").stdout.split())
