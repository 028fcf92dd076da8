"""Attack: an agent hides a change of `.git` behind many others, or replaces whole folders of git by other things.

Names that sort before a hook, branches that sort before the user's own: what Bridle restores has no limit, only what
it prints. A file, a named pipe, a socket or a link in place of `hooks`, `info`, `refs` or `logs` is removed, and what
was in the folder is restored.

With the sandbox: the same; refs and logs of git are writable in it, hooks and settings are not.
Without: restored before git runs again.
Reported: in the receipt; the first ones by name, and how many more.
"""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from bridle.loop.effects import PrepareArgs
from bridle.loop.performers import after_agent, branch
from bridle.loop.performers import protect as protect_performer
from bridle.loop.performers.after_agent import LeftByAgent
from bridle.workspace import snapshot
from tests.loop.fixtures.repositories import Repository, make_repository

MANY = 250
HOOK = "#!/bin/sh\nexit 0\n"


def attack(here: Repository, script: str) -> LeftByAgent:
    """Let an agent run a script without a sandbox; return what Bridle does after it."""
    asyncio.run(branch.prepare(PrepareArgs(), here.context))
    before = asyncio.run(snapshot.take(here.context.git, name="before"))
    with after_agent.agent_at_work(here.context) as baseline:
        state_before = after_agent.read_before(here.context, baseline)
        subprocess.run(["/bin/sh", "-ec", script], cwd=here.folder, check=True, timeout=60)
        return asyncio.run(after_agent.restore(here.context, before, baseline, state_before))


def make(tmp_path: Path) -> Repository:
    here = make_repository(tmp_path / "r", {"a.txt": "1\n"})
    for number in range(20):
        (here.folder / f".git/refs/heads/mine-{number:02}").write_bytes(
            (here.folder / ".git/refs/heads/main").read_bytes()
        )
    (here.folder / ".git/hooks/pre-push").write_text(HOOK)
    return here


def state(here: Repository) -> dict[str, object]:
    """Return what git obeys, the refs of the user and what the reflog has."""
    place = here.folder / ".git"
    names = ("hooks/pre-push", "hooks/pre-commit", "info/exclude", "info/attributes", "config")
    files = {name: (place / name).read_bytes() if (place / name).is_file() else None for name in names}
    refs = here.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/mine-*", "refs/heads/main")
    return {**files, "refs": refs, "logs": here.git("reflog", "--format=%H", "main")}


def test_a_hook_after_many_others_is_removed(tmp_path: Path) -> None:
    here = make(tmp_path)
    before = state(here)
    script = f"""
    for i in $(seq {MANY}); do echo x > .git/hooks/aaa-$i; done
    echo 'touch owned' > .git/hooks/pre-commit; echo evil > .git/hooks/pre-push
    mkdir -p .a5c/hooks/on-task; for i in $(seq {MANY}); do echo x > .a5c/hooks/on-task/$i.sh; done
    """
    left = attack(here, script)
    assert left.fault is None
    assert state(here) == before
    assert [path.name for path in (here.folder / ".git/hooks").iterdir() if path.suffix != ".sample"] == ["pre-push"]
    assert [path for path in (here.folder / ".a5c/hooks").rglob("*") if path.is_file()] == []
    assert len(left.changes) < MANY
    assert any("more" in report.what for report in left.changes)


def test_all_deleted_branches_are_restored_and_named_before_new_ones(tmp_path: Path) -> None:
    here = make(tmp_path)
    before = state(here)
    script = f"""
    for i in $(seq {MANY}); do echo "create refs/heads/a-$i HEAD"; done | git update-ref --stdin
    git branch | grep mine- | xargs git branch -q -D
    """
    left = attack(here, script)
    assert left.fault is None
    assert state(here) == before
    assert left.changes[0].path.startswith("mine-")
    assert len(left.changes) < MANY


def test_branches_are_restored_although_the_commit_of_one_is_lost(tmp_path: Path) -> None:
    here = make(tmp_path)
    lost = here.git("commit-tree", "main^{tree}", "-m", "lost").strip()
    before = state(here)
    here.git("branch", "mine-lost", lost)
    script = f"git branch | grep mine- | xargs git branch -q -D; rm -f .git/objects/{lost[:2]}/{lost[2:]}"
    left = attack(here, script)
    assert state(here) == before
    assert [report.what for report in left.changes if "failed" in report.what] != []


COMMANDS = {
    "file": "echo x > {0}",
    "pipe": "mkfifo {0}",
    "link to nothing": "ln -s /nonexistent {0}",
    "link to a file": "ln -s /etc/hostname {0}",
    "link to a folder": "ln -s /dev {0}",
    "socket": "python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' {0}",
    "closed folder": "mkdir {0}; chmod 0 {0}",
    "nothing": "true {0}",
}


@pytest.mark.parametrize("kind", COMMANDS)
def test_folders_that_were_replaced_are_restored(tmp_path: Path, kind: str) -> None:
    here = make(tmp_path)
    (here.folder / ".git/info/attributes").write_text("*.x -text\n")
    before = state(here)
    names = ("hooks", "info", "logs", "refs", "objects/info", "branches", "worktrees", "modules")
    left = attack(here, "\n".join(f"rm -rf .git/{name}; {COMMANDS[kind].format(f'.git/{name}')}" for name in names))
    assert left.fault is None
    assert state(here) == before
    here.git("worktree", "add", "-q", "--detach", str(tmp_path / "new"))


@pytest.mark.parametrize("kind", ["file", "pipe", "link to nothing"])
def test_folders_of_refs_that_were_replaced_are_restored(tmp_path: Path, kind: str) -> None:
    here = make(tmp_path)
    before = state(here)
    names = ("refs/heads", "refs/tags", "refs/bridle", "logs/refs", "logs/refs/heads")
    left = attack(
        here, "\n".join(f"rm -rf .git/{name}; {COMMANDS[kind].format(f'.git/{name}')}" for name in reversed(names))
    )
    assert left.fault is None
    assert state(here) == before


def test_every_file_in_conflict_is_looked_at(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", {f"{number:02}.txt": "1\n" for number in range(30)})
    script = """
    set -- -c user.name=x -c user.email=x@x -c commit.gpgsign=false
    for i in *.txt; do echo mine > $i; done; git "$@" commit -qam mine; git checkout -q HEAD~1 -b x
    for i in *.txt; do echo theirs > $i; done; git "$@" commit -qam theirs; git checkout -q -
    git "$@" merge -q x || true
    """
    left = attack(here, script)
    assert len(left.conflicts) == 30
    assert len(after_agent.unresolved(here.context, left.conflicts)) == 30


def test_every_file_that_no_commit_contains_is_taken_away_from_the_checks(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", {"a.txt": "1\n"}, checks=("true",))
    here.start()
    for number in range(30):
        here.git("init", "-q", f"nested/{number:02}")
        here.write({f"nested/{number:02}/x": "x\n"})
    here.write({"a.txt": "2\n"})
    assert len(here.protect()["outside"]) >= 30


def test_tests_beyond_the_limit_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    test = "def test_it():\n    assert True\n"
    here = make_repository(tmp_path / "r", {f"test_{name}.py": test for name in "ab"}, checks=("true",))
    here.start()
    here.write({"test_0.py": test, "test_a.py": "", "test_b.py": ""})
    monkeypatch.setattr(protect_performer, "TEST_FILES", 1)
    reported = {report["path"]: report["what"] for report in here.protect()["reported"]}
    assert "emptied" in reported["test_a.py"]
    assert reported["."] == "1 more files with tests were changed, and not compared"
