"""Agents side by side: each in a working copy of its own, their work joined, conflicts told, nothing left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.fixtures.driven_runs import new_driven_run, refs, worktrees
from tests.engine.fixtures.two_agents import two
from tests.run.fixtures.agent_runs import logs_of
from tests.workspace.fixtures.repositories import git, read_tree, write


def test_two_agents_work_apart_and_both_their_changes_are_there(tmp_path: Path) -> None:
    driven = two(
        tmp_path,
        "$ echo one > new-1.txt; echo 1 >> a.txt; cat draft.txt > seen.txt # first",
        "$ echo two > new-2.txt; rm sub/b.txt # second",
    )
    write(driven.folder, {"draft.txt": "not committed\n"})
    head, branches = git(driven.folder, "rev-parse", "HEAD"), git(driven.folder, "branch", "-a")
    assert driven.drive().status == "completed"
    assert driven.output() == ["done as told", "done as told"]
    now = read_tree(driven.folder)
    assert {name: now[name][1] for name in ("new-1.txt", "new-2.txt", "a.txt", "seen.txt")} == {
        "new-1.txt": b"one\n",
        "new-2.txt": b"two\n",
        "a.txt": b"one\n1\n",
        "seen.txt": b"not committed\n",
    }
    assert "sub/b.txt" not in now
    folders = {start["cwd"] for start in driven.agent.starts}
    assert len(folders) == 2
    assert str(driven.folder) not in folders
    assert (git(driven.folder, "rev-parse", "HEAD"), git(driven.folder, "branch", "-a")) == (head, branches)
    assert driven.result("first")["metadata"]["workspace"] == {"changed": True}


def test_nothing_is_left_behind_but_the_logs(tmp_path: Path) -> None:
    driven = two(tmp_path, "$ echo one > one # first", "$ true # second")
    assert driven.drive().status == "completed"
    assert worktrees(driven.folder) == []
    assert refs(driven.folder) == []
    assert [path.name for path in (driven.folder / ".ralph/worktrees").iterdir()] == [".gitignore"]
    assert git(driven.folder, "status", "--porcelain") == "?? one\n"
    assert list((driven.folder / ".git").glob("bridle-*.index*")) == []
    assert len(logs_of(driven.folder)) == 2
    assert Path(driven.result("second")["metadata"]["log"]).exists()
    assert not list(driven.run.glob("tasks/*/delivered.json"))
    assert driven.result("second")["metadata"]["workspace"] == {"changed": False}


def test_a_conflict_is_an_error_that_names_the_files_and_the_branch_with_the_work(tmp_path: Path) -> None:
    driven = two(tmp_path, "$ echo mine > a.txt; echo fine > x.txt # first", "$ echo yours > a.txt # second")
    assert driven.drive().status == "completed"
    results = driven.output()
    (told,) = [one for one in results if one != "done as told"]
    name, data = told
    assert name == "WorkspaceConflict"
    assert data["conflicts"] == ["a.txt"]
    assert data["value"] == "done as told"
    winner, loser = ("mine\n", "yours\n") if results[0] == "done as told" else ("yours\n", "mine\n")
    assert (driven.folder / "a.txt").read_text() == winner
    branch = data["workspace"]["branch"]
    assert git(driven.folder, "show", f"{branch}:a.txt") == loser
    assert git(driven.folder, "rev-parse", f"{branch}^") == git(driven.folder, "rev-parse", "HEAD")
    assert refs(driven.folder) == [f"refs/heads/{branch}"]
    assert worktrees(driven.folder) == []


def test_an_agents_own_commits_are_kept_on_a_branch(tmp_path: Path) -> None:
    commit = "git add -A && git -c user.name=a -c user.email=a@a commit -q -m 'my own'"
    driven = two(tmp_path, f"$ echo one > one; {commit}; echo more > more # first", "$ true # second")
    assert driven.drive().status == "completed"
    assert {"one", "more"} <= set(read_tree(driven.folder))
    branch = driven.result("first")["metadata"]["workspace"]["branch"]
    assert "my own" in git(driven.folder, "log", "--format=%s", branch)
    assert git(driven.folder, "show", f"{branch}:more") == "more\n"


def test_what_a_failed_agent_changed_is_not_joined_and_not_lost(tmp_path: Path) -> None:
    driven = two(tmp_path, "$ echo half > half.txt; exit 1 # first", "$ echo two > two # second")
    assert driven.drive().status == "completed"
    (name, data), other = driven.output()
    assert (name, other) == ("AgentFailed", "done as told")
    assert "half.txt" not in read_tree(driven.folder)
    assert git(driven.folder, "show", f"{data['workspace']['branch']}:half.txt") == "half\n"


def test_an_unfinished_merge_fails_the_effect_of_its_agent_and_its_work_is_kept(tmp_path: Path) -> None:
    driven = two(
        tmp_path, "$ git -c user.name=a -c user.email=a merge -q other; true # first", "$ echo two > two # second"
    )
    for branch, text in (("other", "theirs"), ("main", "ours")):
        git(driven.folder, "checkout", "-q", *(["-b", branch] if branch == "other" else [branch]))
        write(driven.folder, {"a.txt": text})
        git(driven.folder, "commit", "-q", "-a", "-m", text)
    assert driven.drive().status == "completed"
    (name, data), other = driven.output()
    assert (name, other) == ("AgentFailed", "done as told")
    assert "are in conflict: a.txt" in driven.result("first")["error"]["message"]
    assert "<<<<<<<" in git(driven.folder, "show", f"{data['workspace']['branch']}:a.txt")
    assert (driven.folder / "a.txt").read_text() == "ours"
    assert (driven.folder / "two").exists()


def test_any_number_of_nested_repositories_in_the_work_arrives(tmp_path: Path) -> None:
    nested = "for n in $(seq 20); do git init -q n$n; done; echo one > one # first"
    driven = two(tmp_path, f"$ {nested}", "$ echo two > two # second")
    assert driven.drive().status == "completed"
    assert driven.output() == ["done as told", "done as told"]
    assert (driven.folder / "one").exists()
    assert len(list(driven.folder.glob("n*/.git/HEAD"))) == 20


def test_what_a_cancelled_agent_left_is_removed_while_the_run_goes_on(tmp_path: Path) -> None:
    driven = new_driven_run(
        tmp_path,
        """
        async def process(inputs, ctx):
            slow = ctx.task(agent, {"prompt": f"$ touch {inputs}; while true; do sleep 1; done"})
            quick = ctx.task(agent, {"prompt": f"$ until [ -e {inputs} ]; do sleep 0.05; done"})
            await asyncio.wait({slow, quick}, return_when=asyncio.FIRST_COMPLETED)
            slow.cancel()
            return (await ctx.task(shell, {"command": "git worktree list; git for-each-ref refs/bridle"}))["stdout"]
        """,
        inputs=str(tmp_path / "bin/started"),
    )
    assert driven.drive().status == "completed"
    assert len(driven.output().splitlines()) == 1


def test_what_an_agent_that_a_killed_driver_had_cancelled_left_is_removed_at_the_end(tmp_path: Path) -> None:
    driven = new_driven_run(
        tmp_path,
        """
        async def process(inputs, ctx):
            slow = asyncio.ensure_future(ctx.task(agent, {"prompt": "slow"}, label="slow"))
            await ctx.task(shell, {"command": "true"})
            slow.cancel()
            return 1
        """,
    )
    assert driven.bridle("run:iterate", "r1").returncode == 0
    stem = driven.effect("slow").lower()
    git(driven.folder, "worktree", "add", "-q", "--detach", f".ralph/worktrees/{stem}-1")
    git(driven.folder, "update-ref", f"refs/bridle/snapshots/{stem}-1-base", "HEAD")
    assert driven.drive().status == "completed"
    assert (worktrees(driven.folder), refs(driven.folder)) == ([], [])


@pytest.mark.parametrize("how", ["no git", "no commit", "one at a time"])
def test_where_no_copy_can_be_made_or_is_needed_agents_take_turns(tmp_path: Path, how: str) -> None:
    driven = two(
        tmp_path,
        "$ mkdir busy && sleep 0.3 && rmdir busy && echo 1 >> list # first",
        "$ mkdir busy && sleep 0.3 && rmdir busy && echo 2 >> list # second",
        has_git=False,
    )
    if how != "no git":
        git(driven.folder, "init", "-q")
    if how == "one at a time":
        git(driven.folder, "commit", "-q", "--allow-empty", "-m", "first")
    assert driven.drive(concurrency=1 if how == "one at a time" else 4).status == "completed"
    assert driven.output() == ["done as told", "done as told"]
    assert sorted((driven.folder / "list").read_text().split()) == ["1", "2"]
    assert {start["cwd"] for start in driven.agent.starts} == {str(driven.folder)}


def test_an_agent_in_the_repository_is_not_disturbed_by_a_join(tmp_path: Path) -> None:
    waits = f"until [ -e {tmp_path}/bin/second ]; do sleep 0.02; done"
    # The first is alone when it begins and works in the repository; the second comes while it is at work.
    driven = new_driven_run(
        tmp_path,
        """
        async def process(inputs, ctx):
            async def second():
                await ctx.task(shell, {"command": inputs["begun"]})
                return await ctx.task(agent, {"prompt": inputs["second"]}, label="second")
            first = ctx.task(agent, {"prompt": inputs["first"]}, label="first")
            return await asyncio.gather(first, second())
        """,
        inputs={
            "begun": f"until [ -e {tmp_path}/bin/begun ]; do sleep 0.02; done",
            "first": f"$ touch {tmp_path}/bin/begun; {waits}; sleep 0.5; ls > seen",
            "second": f"$ echo 2 > two.txt; touch {tmp_path}/bin/second",
        },
    )
    assert driven.drive().status == "completed"
    assert "two.txt" not in (driven.folder / "seen").read_text().split()
    assert (driven.folder / "two.txt").read_text() == "2\n"


def test_a_repository_below_the_top_of_its_working_copy_stays_where_it_is(tmp_path: Path) -> None:
    driven = two(tmp_path, "$ echo one > one # first", "$ echo two > ../two # second")
    # The same run, moved into a package of a larger repository.
    top = driven.folder
    package = top / "packages" / "x"
    package.mkdir(parents=True)
    (top / ".a5c").rename(package / ".a5c")
    driven.folder, driven.run = package, package / ".a5c/runs/r1"
    assert driven.drive().status == "completed"
    assert (package / "one").read_text() == "one\n"
    assert (top / "packages" / "two").read_text() == "two\n"
    assert {Path(start["cwd"]).name for start in driven.agent.starts} == {"x"}
