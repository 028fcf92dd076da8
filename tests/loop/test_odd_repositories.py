"""`bridle run` in places that are not as they should be, and what agents make of them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures import sandbox
from tests.fixtures.bridle_program import BRIDLE
from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.loop_commands import (
    MAKES_FILE,
    ONE_TASK,
    TWO_TASKS,
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
    done = here.execute([str(BRIDLE), "run", "a goal"], tmp_path / "bare.git")
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
    assert there.bridle("undo", "--yes").returncode == 0
    assert there.git("branch", "--show-current") == "feature"
    here.git("checkout", "-q", "--detach")
    run_plan(here, 0)
    assert_replays(here)
    assert here.bridle("undo", "--yes").returncode == 0
    assert (here.git("branch", "--show-current"), here.git("rev-parse", "HEAD")) == ("", here.git("rev-parse", "main"))


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


@pytest.mark.without_sandbox("changes what the sandbox protects")
def test_an_agent_that_destroys_the_repository_ends_the_run_and_no_other_is_started(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, "import shutil; shutil.rmtree('.git')")
    done = here.bridle("run", "PLAN.md", "--json")
    assert receipt_of(done, 1)["tasks"][0]["title"] == "One"
    assert "the agent deleted .git in" in done.stderr
    again = here.bridle("resume")
    assert again.returncode == 1
    assert "repository" in again.stderr
    assert len(here.calls()) == 1


@pytest.mark.without_sandbox("changes what the sandbox protects")
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


def _add_submodule(here: Project, *, is_nested: bool = False) -> None:
    """Add the submodule `sub` with the file `a`; it may have one of its own, `inner`."""
    commit = "git config user.email a && git config user.name a && git add -A && git commit -q -m a"
    add = "git -c protocol.file.allow=always submodule add -q"
    inner = f'&& git init -q ../inner && (cd ../inner && touch b && {commit}) && {add} "$(realpath ../inner)" inner'
    shell(
        here,
        f"git init -q ../lib && cd ../lib && touch a {inner if is_nested else ''} && {commit} && cd ../repository"
        f' && {add} "$(realpath ../lib)" sub'
        " && git -c protocol.file.allow=always submodule update -q --init --recursive"
        " && git commit -q -m sub && rm -rf ../lib ../inner",
    )


@pytest.mark.parametrize("options", [("--worktree",), ("--parallel", "2")])
def test_submodules_are_filled_in_worktrees_from_those_of_the_user(tmp_path: Path, options: tuple[str, ...]) -> None:
    looks = "open('seen', 'w').write(str([*os.listdir('sub'), *os.listdir('sub/inner')]))\n"
    here = make_project(tmp_path, ONE_TASK.replace("test -f one", "test -f one -a -f sub/a"), looks + MAKES_FILE)
    _add_submodule(here, is_nested=True)
    document = run_plan(here, 0, *options)
    seen = here.git("show", f"{document['branch']}:seen")
    assert ("'a'" in seen, "'b'" in seen) == (True, True)
    assert here.git("rev-parse", f"{document['branch']}:sub") == here.git("rev-parse", "main:sub")
    assert "reported" not in document["tasks"][0] or document["tasks"][0]["reported"] == []
    assert here.git("submodule", "status", "--recursive").count("\n") == 1
    assert_replays(here)


def test_a_submodule_that_the_user_has_not_checked_out_stays_empty_in_a_worktree(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, f"open('seen', 'w').write(str(os.listdir('sub')))\n{MAKES_FILE}")
    _add_submodule(here)
    here.git("submodule", "deinit", "-q", "-f", "sub")
    document = run_plan(here, 0, "--worktree")
    assert here.git("show", f"{document['branch']}:seen") == "[]"


@pytest.mark.without_sandbox("the agent commits in the submodule, whose git folder is read-only there")
def test_a_commit_in_a_submodule_of_a_worktree_is_kept_and_reaches_the_next_worker(tmp_path: Path) -> None:
    plan = "# Two\n\n## One\nCheck: `test -f sub/new`\n\n## Two\nNeeds: One\nCheck: `test -f sub/new -a -f two`\n"
    agent = (
        "import subprocess\n"
        "if task == 'One':\n"
        "    subprocess.run('cd sub && touch new && git add new && git -c user.name=a -c user.email=a commit -qm new',"
        " shell=True, check=True)\n"
        "else:\n    open('two', 'w').close()\n"
    )
    here = make_project(tmp_path, plan, agent)
    _add_submodule(here)
    document = run_plan(here, 0, "--parallel", "2", "--sandbox", "off")
    assert verdicts(document) == {"One": "done", "Two": "done"}
    moved = here.git("rev-parse", f"{document['branch']}:sub")
    assert moved != here.git("rev-parse", "main:sub")
    assert here.git("-C", "sub", "show", "--name-only", "--format=", moved) == "new"
    assert moved in here.git("-C", "sub", "for-each-ref", "refs/bridle")


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
    done = here.execute([*lead, str(BRIDLE), "run", "PLAN.md", "--json"])
    (task,) = receipt_of(done, 0)["tasks"]
    assert (task["verdict"], task["undone"]) == ("done", ["check.sh"])
    assert here.git("show", "--name-only", "--format=", "HEAD") == "one"
    assert mine.stat().st_mode & 0o777 == 0


# The rows of docs/repositories.md: the first task fails and is rolled back, the second one is committed.
FAILS_THEN_DONE = "# T\n\n## One\nCheck: `test -f never`\n\n## Two\nCheck: `test -f two`\n"
SPOILS = "open(task.lower(), 'w').close()\n"


def run_both(here: Project, *options: str, **environment: str) -> dict[str, Any]:
    done = here.bridle("run", "PLAN.md", "--json", "--tries", "1", *options, **environment)
    document = receipt_of(done, 1)
    assert verdicts(document) == {"One": "failed", "Two": "done"}
    return document


def committed(here: Project, commit: str = "HEAD") -> list[str]:
    return here.git("show", "--name-only", "--format=", commit).split()


def commit_all(here: Project) -> None:
    here.git("add", "-A")
    here.git("commit", "-q", "-m", "more")


def test_a_submodule_keeps_its_own_changes_and_loses_the_commits_of_a_failed_task(tmp_path: Path) -> None:
    commit = "import subprocess\nif task == 'One': subprocess.run('cd sub && echo agent > b && git add b"
    commit += " && git -c user.name=a -c user.email=a commit -q -m agent', shell=True)\n"
    here = make_project(tmp_path, FAILS_THEN_DONE, SPOILS + commit)
    shell(
        here,
        "git init -q ../lib && cd ../lib && git config user.email a && git config user.name a && touch a && git add -A"
        " && git commit -q -m a && cd ../repository && git -c protocol.file.allow=always submodule add -q ../lib sub"
        " && git commit -q -m sub && git config submodule.recurse true && echo mine > sub/a",
    )
    run_both(here, "--allow-dirty")
    assert committed(here) == ["two"]
    assert (here.folder / "sub/a").read_text() == "mine\n"


def test_large_files_are_committed_as_pointers_and_restored_whole(tmp_path: Path) -> None:
    agent = SPOILS + "open('big.bin', 'w').write('agent' if task == 'One' else 'new')\n"
    here = make_project(tmp_path, FAILS_THEN_DONE, agent, **{".gitattributes": "*.bin filter=pointers -text\n"})
    here.git("config", "filter.pointers.clean", "sed 's/^/pointer to /'")
    here.git("config", "filter.pointers.smudge", "sed 's/^pointer to //'")
    here.git("config", "filter.pointers.required", "true")
    (here.folder / "big.bin").write_text("whole")
    commit_all(here)
    (here.folder / "mine.bin").write_text("untracked")
    document = run_both(here)
    assert here.git("show", "HEAD:big.bin") == "pointer to new"
    one = document["tasks"][0]
    assert one["verdict"] == "failed"
    (undone,) = here.git("for-each-ref", "--format=%(refname)", "refs/bridle/snapshots/*undone*").split()
    assert here.git("show", f"{undone}:big.bin") == "agent"
    assert here.git("show", f"{undone}:mine.bin") == "untracked"


def test_a_sparse_checkout_stays_sparse_and_work_outside_of_it_is_committed(tmp_path: Path) -> None:
    agent = SPOILS + "os.makedirs('out', exist_ok=True); open('out/new', 'w').write(task)\n"
    here = make_project(tmp_path, FAILS_THEN_DONE, agent, **{"in/x": "x", "out/y": "y"})
    here.git("sparse-checkout", "set", "in")
    run_both(here)
    assert committed(here) == ["out/new", "two"]
    assert not (here.folder / "out/y").exists()
    assert here.git("show", "HEAD:out/y") == "y"


@pytest.mark.parametrize("attributes", ["* text=auto\n", "*.txt text eol=crlf\n", "*.txt ident\n"])
def test_line_ends_are_committed_as_git_converts_them_and_restored_byte_for_byte(
    tmp_path: Path, attributes: str
) -> None:
    agent = SPOILS + "if task == 'One':\n    open('a.txt', 'w').write('bad'); os.remove('mine.txt')\n"
    agent += "else:\n    open('new.txt', 'w', newline='').write('x\\r\\n')\n"
    here = make_project(tmp_path, FAILS_THEN_DONE, agent, **{".gitattributes": attributes})
    odd = b"$Id: x $\r\nb\nc\r\n"
    (here.folder / "a.txt").write_bytes(odd)
    commit_all(here)
    (here.folder / "mine.txt").write_bytes(odd)
    run_both(here)
    assert (here.folder / "a.txt").read_bytes() == odd
    assert (here.folder / "mine.txt").read_bytes() == odd
    assert committed(here) == ["new.txt", "two"]
    shown = subprocess.run(["git", "show", "HEAD:new.txt"], cwd=here.folder, capture_output=True, check=True).stdout
    assert shown == (b"x\n" if "text" in attributes.split() or "auto" in attributes else b"x\r\n")


def test_a_file_that_a_filter_cannot_convert_is_no_end_of_the_run(tmp_path: Path) -> None:
    agent = SPOILS + "open('a.bin', 'w').write(task)\n"
    here = make_project(tmp_path, FAILS_THEN_DONE, agent, **{".gitattributes": "*.bin filter=broken\n"})
    here.git("config", "filter.broken.clean", "false")
    here.git("config", "filter.broken.required", "true")
    document = run_both(here)
    assert committed(here) == ["two"]
    reported = {one["path"]: one["what"] for one in document["tasks"][1]["reported"]}
    assert "git cannot add it" in reported["a.bin"]


CLONE = "cd ..; mv repository origin; git -C origin config uploadpack.allowFilter true; git clone -q"
KINDS = {
    "sha256": "rm -rf .git; git init -q -b main --object-format=sha256; git add -A; git commit -q -m a",
    "shallow": f"git commit -q --allow-empty -m 2; {CLONE} --depth 1 file://$PWD/origin repository",
    "partial": f"{CLONE} --filter=blob:none file://$PWD/origin repository",
    "borrowed objects": f"{CLONE} --shared origin repository",
    "separate git folder": "cd ..; git init -q --separate-git-dir=$PWD/git repository",
    "linked git folder": "mv .git ../git; ln -s ../git .git",
    "worktree of a bare one": f"{CLONE} --bare origin bare; git -C bare worktree add -q -b a/b-\u00fc ../repository",
    "symbolic branch": "git symbolic-ref refs/heads/other refs/heads/main; git symbolic-ref HEAD refs/heads/other",
}


@pytest.mark.parametrize("kind", KINDS)
def test_other_kinds_of_repositories_are_like_any(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.setenv(name, "a")
    here = make_project(tmp_path, FAILS_THEN_DONE, SPOILS)
    shell(here, KINDS[kind])
    run_both(here)
    assert committed(here) == ["two"]
    assert here.git("fsck", "--strict", "--no-dangling", "--no-progress") == ""
    assert_replays(here)


def test_modes_and_links_that_git_is_set_to_ignore_are_not_restored(tmp_path: Path) -> None:
    agent = SPOILS + "if task == 'One':\n    os.chmod('run', 0o644)\n    os.remove('link')\n"
    here = make_project(tmp_path, FAILS_THEN_DONE, agent, run="#!/bin/sh\n", to="to")
    (here.folder / "run").chmod(0o755)
    (here.folder / "link").symlink_to("to")
    commit_all(here)
    here.git("config", "core.fileMode", "false")
    here.git("config", "core.symlinks", "false")
    run_both(here)
    assert committed(here) == ["two"]
    assert (here.folder / "run").stat().st_mode & 0o777 == 0o644
    assert not (here.folder / "link").is_symlink()
    assert (here.folder / "link").read_text() == "to"


def test_nested_repositories_are_named_and_left_alone(tmp_path: Path) -> None:
    nested = "import subprocess\nsubprocess.run('for n in $(seq 20); do git init -q nested/$n; done; git init -q with"
    nested += " && cd with && git -c user.name=a -c user.email=a commit -q --allow-empty -m a', shell=True)\n"
    here = make_project(tmp_path, "# T\n\n## Two\nCheck: `test -f two`\n", SPOILS + nested)
    (task,) = run_plan(here, 0)["tasks"]
    assert committed(here) == ["two", "with"]
    reported = {one["path"]: one["what"] for one in task["reported"]}
    assert "nested git repository" in reported["with"]
    assert "git cannot add it" in reported["nested/1"]
    assert (here.folder / "nested/20/.git").exists()


def make_nested(here: Project, name: str) -> None:
    """Make a nested repository of the user, with a commit that no other one has in the same second."""
    commit = f"git -c user.name=a -c user.email=a commit -q -m {name}"
    shell(here, f"git init -q {name} && cd {name} && echo 1 > file && git add file && {commit}")


def test_a_nested_repository_of_the_user_is_in_no_commit(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE)
    make_nested(here, "mine")
    here.git("init", "-q", "empty")
    run_plan(here, 3, "--max-iterations", "1")
    assert committed(here) == ["one"]
    make_nested(here, "later")
    done = here.bridle("resume", "--max-iterations", "9", "--json")
    assert "you added later: left alone" in done.stderr
    assert "reported" not in receipt_of(done, 0)["tasks"][1]
    assert committed(here) == ["two"]
    assert here.git("status", "--porcelain").splitlines() == ["?? empty/", "?? later/", "?? mine/"]
    assert_replays(here)


def test_a_submodule_that_the_user_moved_is_in_no_commit(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE)
    make_nested(here, "sub")
    (here.folder / ".gitmodules").write_text('[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n')
    here.git("add", ".gitmodules", "sub")
    here.git("commit", "-q", "-m", "a submodule")
    shell(here, "cd sub && git -c user.name=a -c user.email=a commit -q --allow-empty -m moved && echo 2 > file")
    here.git("add", "sub")
    before = here.git("status", "--porcelain")
    for command, code in (("run", 3), ("resume", 0)):
        limit = "1" if command == "run" else "9"
        words = ("PLAN.md", "--allow-dirty") if command == "run" else ()
        receipt_of(here.bridle(command, *words, "--json", "--max-iterations", limit), code)
        assert committed(here) == ["one" if command == "run" else "two"]
        assert here.git("status", "--porcelain") == before
    assert_replays(here)


def test_a_large_untracked_file_is_kept_and_not_committed(tmp_path: Path) -> None:
    here = make_project(tmp_path, FAILS_THEN_DONE, SPOILS + "if task == 'One': os.remove('large')\n")
    (here.folder / "large").write_bytes(os.urandom(1024) * 8 * 1024)
    before = (here.folder / "large").read_bytes()
    run_both(here)
    assert (here.folder / "large").read_bytes() == before
    assert committed(here) == ["two"]


def test_a_worktree_on_a_disk_that_is_not_mounted_is_not_forgotten(tmp_path: Path) -> None:
    here = make_project(tmp_path, FAILS_THEN_DONE, SPOILS)
    here.git("worktree", "add", "-q", "-b", "mine", str(tmp_path / "disk/tree"))
    (tmp_path / "disk").rename(tmp_path / "unmounted")
    run_both(here, "--worktree")
    assert "disk/tree" in here.git("worktree", "list")


@pytest.mark.parametrize("mark", ["--skip-worktree", "--assume-unchanged"])
def test_marked_files_are_restored_with_their_marks(tmp_path: Path, mark: str) -> None:
    agent = SPOILS + "if task == 'One': open('local.cfg', 'w').write('bad')\n"
    here = make_project(tmp_path, FAILS_THEN_DONE, agent, **{"local.cfg": "shared\n"})
    here.git("update-index", mark, "local.cfg")
    (here.folder / "local.cfg").write_text("mine\n")
    marks = here.git("ls-files", "-v", "local.cfg")
    run_both(here)
    assert (here.folder / "local.cfg").read_text() == "mine\n"
    assert here.git("ls-files", "-v", "local.cfg") == marks


def test_what_the_agents_own_ignore_rules_hid_is_in_no_later_commit(tmp_path: Path) -> None:
    agent = SPOILS + "if task == 'One':\n    open('.gitignore', 'w').write('hidden/\\n')\n"
    agent += "    os.mkdir('hidden'); open('hidden/x', 'w').write('work')\n"
    here = make_project(tmp_path, FAILS_THEN_DONE, agent)
    run_both(here)
    assert committed(here) == ["two"]
    assert not (here.folder / "hidden").exists()
    (undone,) = here.git("for-each-ref", "--format=%(refname)", "refs/bridle/snapshots/*undone*").split()
    assert here.git("show", f"{undone}:hidden/x") == "work"


@pytest.mark.parametrize("how", ["a link into the repository", "a link to elsewhere", "a linked .a5c", "a variable"])
def test_runs_that_are_elsewhere_are_no_work(tmp_path: Path, how: str) -> None:
    here = make_project(tmp_path, FAILS_THEN_DONE, SPOILS)
    place = tmp_path / "elsewhere" if "elsewhere" in how or how == "a linked .a5c" else here.folder / "var [1]/runs"
    place.mkdir(parents=True)
    if how == "a linked .a5c":
        (here.folder / ".a5c").symlink_to(place)
    elif how != "a variable":
        (here.folder / ".a5c").mkdir()
        (here.folder / ".a5c/runs").symlink_to(place)
    variables = {"BABYSITTER_RUNS_DIR": str(place)} if how == "a variable" else {}
    done = here.bridle("run", "PLAN.md", "--json", "--tries", "1", **variables)
    assert verdicts(receipt_of(done, 1)) == {"One": "failed", "Two": "done"}
    assert "running the checks again without" not in done.stderr  # the driver writes to its run all the time
    assert committed(here) == ["two"]
    assert here.git("status", "--porcelain") == ""


def test_objects_that_the_run_needs_survive_a_garbage_collection_between_its_steps(tmp_path: Path) -> None:
    # In the sandbox `git gc` fails, since it cannot replace packed-refs.
    gc = "git repack -q -a -d && git prune --expire=now" if sandbox.is_on() else "git gc -q --prune=now"
    collect = f"git reflog expire --expire=now --all && {gc}"
    plan = f"# T\n\n## One\nCheck: `{collect} && test -f never`\n\n## Two\nCheck: `{collect} && test -f two`\n"
    agent = SPOILS + "open('a.txt', 'w', newline='').write(task + '\\r\\n')\n"
    agent += f"import subprocess; subprocess.run({collect!r}, shell=True, check=True)\n"
    here = make_project(tmp_path, plan, agent, **{".gitattributes": "* text=auto\n", "a.txt": "a\n"})
    (here.folder / "mine.txt").write_bytes(b"x\r\n")
    run_both(here)
    assert committed(here) == ["a.txt", "two"]
    assert here.git("fsck", "--no-dangling") == ""
    assert_replays(here)
