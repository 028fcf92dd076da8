"""Attack: an edit of the same size, in the same second, with its times put back and marked as unchanged.

The agent wants a weaker protected test, or a commit without an edit that the checks have seen. Protected files are
compared by content, and so is every file whose ctime is close to the last look.

With the sandbox: the same; the working copy is writable in it.
Without: found by content; a protected file is restored, another edit is in the commit.
Reported: on stderr and in the receipt, under `undone`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bridle.loop.protection.repairs import MAY_EDIT
from tests.loop.fixtures.repositories import Repository, make_repository

TEST = "def test_one():\n    assert 1 == 1\n"
WEAK = TEST.replace("assert 1 == 1", "assert 1 != 2")
CODE = "VALUE = 1\n"


def edit_secretly(here: Repository, name: str, text: str, *, mark: str) -> None:
    path = here.folder / name
    facts = path.stat()
    path.write_text(text)
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    if mark:  # else the index stays as Bridle wrote it
        here.git("update-index", mark, name)


@pytest.mark.parametrize("mark", ["", "--add", "--assume-unchanged", "--skip-worktree"])
def test_it_is_seen_every_time(tmp_path: Path, mark: str) -> None:
    here = make_repository(tmp_path / "r", {"test_a.py": TEST, "code.py": CODE}, checks=("pytest test_a.py",))
    here.start()
    for number in range(2, 5):
        edit_secretly(here, "test_a.py", WEAK, mark=mark)
        edit_secretly(here, "code.py", f"VALUE = {number}\n", mark=mark)
        result = here.protect(iteration=number)
        assert [(report["path"], report["what"]) for report in result["undone"]] == [
            ("test_a.py", f"it was changed, and the check `pytest test_a.py` names it; {MAY_EDIT}")
        ]
        assert here.read("test_a.py") == TEST
        assert here.git("show", f"{result['tree']}:code.py") == f"VALUE = {number}\n"
        assert here.check("true")["tree"] == result["tree"]
