"""What the user changed while no driver ran becomes a part of the baseline."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bridle.loop.protection import baseline
from tests.loop.fixtures.repositories import make_repository


def test_a_file_that_must_not_exist_may_be_added_by_the_user(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", {"a.txt": "1\n"})
    assert {"bridle.toml", ".ralph/check"} <= set(here.start().protected.absent)
    here.write({"bridle.toml": "tries = 2\n"})
    tip = here.git("rev-parse", "HEAD").strip()
    adopted = asyncio.run(
        baseline.adopt(here.context, ["bridle.toml"], ["bridle.toml"], tip, added=(), before=tip, with_new_marks=True)
    )
    assert "bridle.toml" in adopted.protected.files
    assert "bridle.toml" not in adopted.protected.absent
    assert ".ralph/check" in adopted.protected.absent


def test_a_file_that_the_user_has_added_to_git_is_not_left_alone_any_more(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", {"a.txt": "1\n"}, untracked={"mine.txt": "1\n", "notes.txt": "2\n"})
    assert here.start().untracked == ("mine.txt", "notes.txt")
    here.git("add", "mine.txt")
    tip = here.git("rev-parse", "HEAD").strip()
    adopted = asyncio.run(
        baseline.adopt(here.context, ["mine.txt"], [], tip, added=["mine.txt"], before=tip, with_new_marks=True)
    )
    assert adopted.untracked == ("notes.txt",)
    assert here.git("ls-tree", "--name-only", adopted.work).split() == ["a.txt", "mine.txt"]


def test_a_file_that_an_agent_has_made_is_not_protected_after_an_edit_of_the_user(tmp_path: Path) -> None:
    checks = ("sh made.sh", "sh base.sh", "sh mine.sh")
    here = make_repository(tmp_path / "r", {"base.sh": "exit 0\n"}, guard=checks)
    assert "base.sh" in here.start().protected.files
    here.write({"made.sh": "exit 1\n"})
    here.git("add", "made.sh")
    before = here.git("write-tree").strip()
    here.write(dict.fromkeys(("made.sh", "base.sh", "mine.sh"), "exit 0 # user\n"))
    tip = here.git("rev-parse", "HEAD").strip()
    changed = ["base.sh", "made.sh", "mine.sh"]
    adopted = asyncio.run(
        baseline.adopt(here.context, changed, ["mine.sh"], tip, added=(), before=before, with_new_marks=True)
    )
    assert [name for name in changed if name in adopted.protected.files] == ["base.sh", "mine.sh"]
    assert set(adopted.kept) == {"base.sh", "mine.sh"}
