"""Attack: an agent or a check writes `.git/shallow`, so that a commit has no parents and `git gc` deletes its history.

With the sandbox: impossible; the file does not leave the sandbox.
Without: removed, or what it was before.
Reported: in the receipt, by name, without the sandbox.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.run.isolation.sandbox_rules import OFF
from tests.attacks.fixtures.agent_at_work import attack
from tests.attacks.fixtures.sandboxed import git, make_target
from tests.loop.fixtures.repositories import make_repository

CUT = "git rev-parse HEAD > .git/shallow"
GRAFT = "mkdir -p .git/info; git rev-parse HEAD > .git/info/grafts"
ALTERNATE = "mkdir -p .git/objects/info; echo /tmp > .git/objects/info/alternates"
HIDE = "mkdir -p .git/info; echo nothing > .git/info/sparse-checkout"
FILES = {
    CUT: ".git/shallow",
    GRAFT: ".git/info/grafts",
    ALTERNATE: ".git/objects/info/alternates",
    HIDE: ".git/info/sparse-checkout",
}


@pytest.mark.parametrize("script", FILES)
def test_after_an_agent(tmp_path: Path, sandbox: str, script: str) -> None:
    target = make_target(tmp_path, sandbox)
    git(target.work, "commit", "-q", "--allow-empty", "-m", "second")
    if sandbox != OFF:
        target.attack(script)
        assert (target.work / FILES[script]).exists() == (script == ALTERNATE)
    assert (FILES[script] in attack(target.work, script if sandbox == OFF else "true")) == (sandbox == OFF)
    assert (target.work / FILES[script]).exists() == (sandbox != OFF and script == ALTERNATE)
    (target.work / FILES[script]).unlink(missing_ok=True)
    assert git(target.work, "log", "--format=%s").split() == ["second", "first"]


def test_after_a_check(tmp_path: Path, sandbox: str) -> None:
    here = make_repository(tmp_path / "r", {"a": "1\n", "app.sh": "true\n"}, checks=("sh app.sh",), sandbox=sandbox)
    here.git("commit", "-q", "--allow-empty", "-m", "second")
    here.start()
    here.write({"app.sh": "\n".join(FILES)})
    reported = {report["path"] for report in here.check("sh app.sh").get("reported", [])}
    assert not [name for name in FILES.values() if (here.folder / name).exists()]
    assert reported >= ({*FILES.values()} if sandbox == OFF else {FILES[ALTERNATE]})
    assert here.git("log", "--format=%s").split() == ["second", "first"]


def test_the_shallow_clone_of_the_user_stays_one(tmp_path: Path, sandbox: str) -> None:
    target = make_target(tmp_path, sandbox)
    git(target.work, "commit", "-q", "--allow-empty", "-m", "second")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{target.work}", "clone")
    clone = tmp_path / "clone"
    before = (clone / ".git/shallow").read_bytes()
    if sandbox != OFF:
        target.attack("echo x > .git/shallow; rm -f .git/shallow", work=clone)
    else:
        assert ".git/shallow" in attack(clone, "rm .git/shallow")
    assert (clone / ".git/shallow").read_bytes() == before


def test_rules_of_another_worktree_are_restored(tmp_path: Path) -> None:
    work = make_target(tmp_path).work
    git(work, "worktree", "add", "-q", str(tmp_path / "other-work"), "other")
    name = ".git/worktrees/other-work/info/sparse-checkout"
    assert name in attack(work, f"mkdir -p $(dirname {name}); echo nothing > {name}")
    assert not (work / name).exists()
