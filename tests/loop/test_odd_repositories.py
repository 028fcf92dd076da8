"""`bridle run` in places that are not as they should be, and what agents make of them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.fixtures.bridle_program import BRIDLE
from tests.loop.fixtures.fake_agent import LIMIT_SECONDS, Project, make_project
from tests.loop.fixtures.loop_commands import (
    MAKES_FILE,
    ONE_TASK,
    assert_refused,
    assert_replays,
    receipt_of,
    run_plan,
    verdicts,
)

MERGE = (
    "git checkout -q -b other; git commit -q --allow-empty -m x; git checkout -q main;"
    " git commit -q --allow-empty -m y; git merge --no-commit --no-ff other"
)


def shell(here: Project, command: str) -> None:
    environment = os.environ | {"GIT_EDITOR": "true", "GIT_SEQUENCE_EDITOR": "true"}
    subprocess.run(command, shell=True, cwd=here.folder, env=environment, capture_output=True, timeout=60, check=False)  # noqa: S602  # a line of the test's own


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("git commit -q --allow-empty -m two; git rebase -i HEAD~1 --exec false", "rebase"),
        (MERGE, "merge"),
    ],
)
def test_what_is_under_way_is_not_torn_apart(tmp_path: Path, command: str, word: str) -> None:
    here = make_project(tmp_path, ONE_TASK, MAKES_FILE)
    shell(here, command)
    before = here.git("status", "--porcelain=v2", "--branch")
    assert f"a {word} is in progress" in assert_refused(here, 2)
    assert here.git("status", "--porcelain=v2", "--branch") == before


def test_a_repository_without_files_and_one_without_a_commit_are_refused_in_words(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, MAKES_FILE)
    here.git("clone", "-q", "--bare", ".", "../bare.git")
    done = subprocess.run(
        [str(BRIDLE), "run", "a goal"],
        cwd=tmp_path / "bare.git",
        env=here.environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert done.returncode == 2
    assert "is a bare repository" in done.stderr
    shell(here, "rm -rf .git; git init -q")
    assert "has no commit yet" in assert_refused(here, 2)


def test_a_run_begins_in_a_worktree_and_on_no_branch(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, MAKES_FILE)
    here.git("worktree", "add", "-q", "-b", "feature", "../beside/tree")
    there = Project(tmp_path / "beside/tree", here.agent_folder)
    document = run_plan(there, 0)
    assert there.git("branch", "--show-current") == document["branch"]
    assert here.git("branch", "--show-current") == "main"
    assert document["undo"].startswith("git checkout feature")
    here.git("checkout", "-q", "--detach")
    document = run_plan(here, 0)
    assert document["undo"].startswith(f"git checkout {here.git('rev-parse', 'main')}")
    assert_replays(here)


@pytest.mark.parametrize("lock", [".git/index.lock", ".git/HEAD.lock", ".git/packed-refs.lock", ".git/config.lock"])
def test_a_lock_that_an_agents_git_left_is_removed(tmp_path: Path, lock: str) -> None:
    here = make_project(tmp_path, ONE_TASK, f"open({lock!r}, 'w').close()\n{MAKES_FILE}")
    assert verdicts(run_plan(here, 0)) == {"One": "done"}
    assert not (here.folder / lock).exists()


def test_names_that_are_no_text_reach_the_receipt_and_the_commit(tmp_path: Path) -> None:
    agent = r"""
    open(b"\xff\xfe bad\nname", "w").close()
    os.remove(b"test_\xff.py")
    os.remove(b"mine\xff")
    open("one", "w").close()
    """
    here = make_project(tmp_path, ONE_TASK, agent)
    top = os.fsencode(here.folder)
    Path(os.fsdecode(top + b"/test_\xff.py")).write_text("def test_a():\n    assert 1\n")
    here.git("add", "-A")
    here.git("commit", "-q", "-m", "test")
    Path(os.fsdecode(top + b"/mine\xff")).write_text("x")
    (task,) = run_plan(here, 0)["tasks"]
    assert task["verdict"] == "done"
    assert os.path.exists(top + b"/mine\xff")
    shown = here.git("show", "--name-status", "--format=", "--no-renames", "HEAD").splitlines()
    assert shown == ["A\tone", 'D\t"test_\\377.py"', 'A\t"\\377\\376 bad\\nname"']
    assert_replays(here)


def test_an_agent_that_destroys_the_repository_ends_the_run_and_no_other_is_started(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, "import shutil; shutil.rmtree('.git')")
    done = here.bridle("run", "PLAN.md")
    assert done.returncode == 1
    assert "the agent deleted .git in" in done.stderr
    again = here.bridle("resume")
    assert again.returncode == 1
    assert "repository" in again.stderr
    assert len(here.calls()) == 1


@pytest.mark.parametrize("deed", ["open('.ralph', 'w').close()", "os.symlink('/tmp', '.ralph')", "os.mkdir('.ralph')"])
def test_bridles_own_folder_is_made_anew(tmp_path: Path, deed: str) -> None:
    here = make_project(tmp_path, ONE_TASK, f"import shutil; shutil.rmtree('.ralph'); {deed}\n{MAKES_FILE}")
    assert verdicts(run_plan(here, 0)) == {"One": "done"}
    assert (here.folder / ".ralph").is_dir()
    assert not (here.folder / ".ralph").is_symlink()


def test_files_of_a_submodule_that_no_commit_holds_are_reported(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, f"open('sub/a', 'w').write('changed')\n{MAKES_FILE}")
    shell(
        here,
        "git init -q ../lib && cd ../lib && git config user.email a && git config user.name a && touch a && git add -A"
        " && git commit -q -m a && cd ../repository && git -c protocol.file.allow=always submodule add -q ../lib sub"
        " && git commit -q -m sub",
    )
    (task,) = run_plan(here, 0)["tasks"]
    assert "no commit contains it" in {one["path"]: one["what"] for one in task["reported"]}["sub"]


def test_line_endings_that_git_converts_are_not_a_change(tmp_path: Path) -> None:
    agent = "open('a.txt', 'w', newline='').write('x\\r\\ny\\r\\n')\n" + MAKES_FILE
    here = make_project(
        tmp_path, ONE_TASK, agent, **{"a.txt": "x\n", "b.txt": "b\n", ".gitattributes": "*.txt text eol=crlf\n"}
    )
    shell(here, "git config core.autocrlf true; rm a.txt b.txt; git checkout -q a.txt b.txt")
    run_plan(here, 0)
    assert here.git("show", "--name-only", "--format=", "HEAD").split() == ["a.txt", "one"]
    assert here.git("status", "--porcelain") == ""
    assert_replays(here)


# What lets root read everything; without it root is like everybody else.
_BLIND = "-dac_override,-dac_read_search"


@pytest.mark.skipif(os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root reads everything")
def test_files_that_may_not_be_read_are_left_alone_and_protected_ones_put_back(tmp_path: Path) -> None:
    plan = "# One\n\n## One\nCheck: `sh check.sh`\n"
    agent = """
    for name in ("one", "other"): open(name, "w").close()
    for name in ("check.sh", "other", "tracked"): os.chmod(name, 0)
    """
    here = make_project(tmp_path, plan, agent, **{"check.sh": "test -f one\n", "tracked": "x\n"})
    mine = here.folder / "mine"
    mine.write_text("mine")
    mine.chmod(0)
    lead = ["setpriv", f"--bounding-set={_BLIND}", f"--inh-caps={_BLIND}"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*lead, str(BRIDLE), "run", "PLAN.md", "--json"],
        cwd=here.folder,
        env=here.environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    (task,) = receipt_of(done, 0)["tasks"]
    assert (task["verdict"], task["undone"]) == ("done", ["check.sh"])
    assert here.git("show", "--name-only", "--format=", "HEAD") == "one"
    assert mine.stat().st_mode & 0o777 == 0
