"""What the user changes while no driver runs stays as the user left it: commits, edits, new files, mended checks."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from bridle.engine.drive.driver_lock import LOCK_FILE
from bridle.ground.lock import FileLock
from bridle.journal.stores.file_store import FileStore
from bridle.loop import user_messages
from tests.fixtures import sandbox
from tests.loop.fixtures.fake_agent import LIMIT_SECONDS, Project, make_project
from tests.loop.fixtures.loop_commands import (
    MAKES_FILE,
    TWO_TASKS,
    assert_replays,
    in_background,
    receipt_of,
    run_folder,
    run_plan,
    verdicts,
)
from tests.run.fixtures.fake_agent import wait_until

ONE = "# One\n\n## One\nCheck: `sh test.sh`\n"


def commit(here: Project, name: str, text: str) -> str:
    """Commit a file as the user; return the commit."""
    (here.folder / name).write_text(text)
    here.git("add", name)
    here.git("commit", "-q", "-m", f"user: {name}")
    return here.git("rev-parse", "HEAD")


def has_ended(here: Project) -> bool:
    """Whether the last driver and all its agents have ended."""
    return FileLock.holder_of(run_folder(here) / LOCK_FILE) is None


def resume(here: Project, code: int, *words: str) -> tuple[dict[str, object], str]:
    done = here.bridle("resume", "--json", *words)
    return receipt_of(done, code), done.stderr


def test_what_the_user_did_survives_a_task_that_fails_later(tmp_path: Path) -> None:
    agent = "[open(name, 'a').write('agent\\n') for name in ('work', 'app', 'other')]"
    here = make_project(tmp_path, ONE, agent, app="app\n", **{"test.sh": "exit 1\n", "other": "other\n"})
    run_plan(here, 3, "--max-iterations", "1", "--tries", "2")
    (here.folder / "app").write_text("user\n" + (here.folder / "app").read_text())
    commit(here, "other", "user\n" + (here.folder / "other").read_text())
    mine = commit(here, "mine", "committed\n")
    (here.folder / "notes").write_text("new\n")
    document, said = resume(here, 1, "--max-iterations", "9")
    assert verdicts(document) == {"One": "failed"}
    assert here.git("rev-parse", "HEAD") == mine
    assert (here.folder / "app").read_text() == "user\napp\n"
    assert (here.folder / "other").read_text() == "user\nother\nagent\n", "as it was committed"
    assert (here.folder / "notes").read_text() == "new\n"
    assert not (here.folder / "work").exists()
    assert here.git("status", "--porcelain").splitlines() == ["M app", "?? notes"]
    assert "2 new commits, on which the run continues" in said
    assert "you changed app: this is checked and committed with the next task" in said
    assert "you added notes: left alone" in said
    assert any("2 new commits" in line for line in document["found"])  # type: ignore[attr-defined]
    assert "refs/bridle/snapshots/" in document["tasks"][0]["reason"]  # type: ignore[index]
    assert_replays(here)


def test_a_mended_check_decides_from_then_on(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE, "open('one', 'w').close()", **{"test.sh": "test -f wrong\n"})
    run_plan(here, 1, "--tries", "1")
    (here.folder / "test.sh").write_text("test -f one\n")
    document = receipt_of(here.bridle("retry", "One", "--resume", "--json"), 0)
    assert verdicts(document) == {"One": "done"}
    assert (here.folder / "test.sh").read_text() == "test -f one\n"
    assert "undone" not in document["tasks"][0]
    assert here.git("show", "--format=", "--name-only", "HEAD").split() == ["one", "test.sh"]
    assert_replays(here)


def test_an_unfinished_file_that_the_user_edited_and_a_check_names_stays_part_of_the_task(tmp_path: Path) -> None:
    plan = "# One\n\n## One\nCheck: `grep -q ok one`\n"
    here = make_project(tmp_path, plan, "open('one', 'a').write('half\\n' if number == 1 else 'ok\\n')")
    run_plan(here, 3, "--max-iterations", "1")
    (here.folder / "one").write_text("half\nuser\n")
    document, said = resume(here, 0, "--max-iterations", "2")
    assert verdicts(document) == {"One": "done"}
    assert "you changed one: this is checked and committed with the next task" in said
    assert "protected as they are now" not in said
    assert here.git("show", "HEAD:one") == "half\nuser\nok"
    assert_replays(here)


def test_an_untracked_file_that_the_task_must_write_is_named_at_the_first_failure(tmp_path: Path) -> None:
    plan = "# One\n\n## One\nCheck: `sh one`\n"
    here = make_project(tmp_path, plan, "open('one', 'w').write('exit 0\\n')")
    (here.folder / "one").write_text("exit 1\n")
    (task,) = run_plan(here, 3, "--max-iterations", "1")["tasks"]
    assert "changes of one were reverted" in task["reason"]
    assert "move it away or delete it, then run: bridle retry" in task["reason"]
    assert "reported" not in task, "it is as the user left it"
    assert (here.folder / "one").read_text() == "exit 1\n"
    (here.folder / "one").unlink()
    document, _ = resume(here, 0, "--max-iterations", "2")
    assert verdicts(document) == {"One": "done"}
    assert here.git("show", "HEAD:one") == "exit 0"
    assert_replays(here)


def test_commits_that_are_squashed_are_named_and_kept(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE, "os.system('git commit -q --allow-empty -m mine'); open('one', 'w').close()")
    (here.folder / "test.sh").write_text("test -f one\n")
    done = here.bridle("run", "PLAN.md")
    assert done.returncode == 0, done.stderr
    (folded,) = json.loads(here.bridle("status", "--json").stdout)["tasks"][0]["folded"]
    assert f"git log -1 {folded[:12]}" in done.stdout
    assert here.git("for-each-ref", "--contains", folded)
    assert here.git("log", "-1", "--format=%s", folded) == "mine"


def test_commits_and_merges_of_the_user_stay_commits(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE)
    branch = run_plan(here, 3, "--max-iterations", "1")["branch"]
    here.git("checkout", "-q", "main")
    commit(here, "from-main", "main\n")
    here.git("checkout", "-q", branch)
    here.git("merge", "-q", "--no-edit", "main")
    merge = here.git("rev-parse", "HEAD")
    document, _ = resume(here, 0, "--max-iterations", "9")
    assert verdicts(document) == {"One": "done", "Two": "done"}
    assert "folded" not in document["tasks"][1]  # type: ignore[index]
    assert here.git("rev-parse", "HEAD^") == merge
    assert here.git("show", "--format=", "--name-only", "HEAD") == "two"
    assert_replays(here)


@pytest.mark.parametrize("how", ["rebased", "amended", "squashed", "dropped"])
def test_a_rewritten_branch_is_adopted(tmp_path: Path, how: str) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE)
    first = run_plan(here, 3, "--max-iterations", "1")
    if how == "rebased":
        here.git("checkout", "-q", "main")
        commit(here, "from-main", "main\n")
        here.git("rebase", "-q", "main", first["branch"])
    elif how == "amended":
        here.git("commit", "-q", "--amend", "--no-edit", "--date=2001-01-01T00:00:00Z")
    elif how == "squashed":
        here.git("reset", "-q", "--soft", "HEAD~1")
        commit(here, "more", "more\n")
        here.git("rm", "-q", "more")
        here.git("commit", "-q", "--amend", "-m", "all of it")
    else:
        here.git("reset", "-q", "--hard", "HEAD~1")
    tip = here.git("rev-parse", "HEAD")
    document, said = resume(here, 0, "--max-iterations", "9")
    assert verdicts(document) == {"One": "done", "Two": "done"}
    assert "was rewritten" in said
    commits = here.git("rev-list", "--reverse", f"{'main' if how != 'dropped' else tip}..HEAD").split()
    assert sorted(document["commits"]) == sorted(commits)  # type: ignore[call-overload]
    assert here.git("rev-parse", "HEAD~2" if how == "dropped" else "HEAD~1") == tip
    assert len(here.calls()) == (3 if how == "dropped" else 2)
    assert_replays(here)


def test_an_unfinished_merge_of_the_user_is_refused_by_name(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, "open(task.lower(), 'w').write('agent')")
    branch = run_plan(here, 3, "--max-iterations", "1")["branch"]
    here.git("checkout", "-q", "main")
    commit(here, "one", "main\n")
    here.git("checkout", "-q", branch)
    with pytest.raises(subprocess.CalledProcessError):
        here.git("merge", "-q", "main")
    done = here.bridle("resume", "--max-iterations", "9")
    assert done.returncode == 2, done.stderr
    assert f"a merge is in progress in {here.folder}" in done.stderr
    (here.folder / "one").write_text("both\n")
    here.git("commit", "-qam", "merged")
    document, _ = resume(here, 0, "--max-iterations", "9")
    assert (here.folder / "one").read_text() == "both\n"
    assert verdicts(document) == {"One": "done", "Two": "done"}


def test_a_rebase_of_the_user_is_refused_before_anything_is_checked_out(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE)
    run_plan(here, 3, "--max-iterations", "1")
    here.git("-c", "sequence.editor=sed -i 1s/pick/edit/", "rebase", "-q", "-i", "main")
    mine = commit(here, "mine", "mine\n")
    done = here.bridle("resume", "--max-iterations", "9")
    assert done.returncode == 2, done.stderr
    assert f"a rebase is in progress in {here.folder}" in done.stderr
    assert here.git("rev-parse", "HEAD") == mine
    here.git("rebase", "--continue")
    document, _ = resume(here, 0, "--max-iterations", "9")
    assert verdicts(document) == {"One": "done", "Two": "done"}
    assert (here.folder / "mine").read_text() == "mine\n"


def test_unfinished_work_that_the_user_stashed_is_named_and_stays_in_the_stash(tmp_path: Path) -> None:
    agent = "[open(name, 'a').write('agent\\n') for name in ('work', 'app')]"
    here = make_project(tmp_path, ONE, agent, app="app\n", other="other\n", **{"test.sh": "exit 1\n"})
    run_plan(here, 3, "--max-iterations", "1", "--tries", "2")
    here.git("stash", "push", "-q", "-u")
    commit(here, "other", "mine\n")
    document, said = resume(here, 1, "--max-iterations", "9")
    (line,) = [line for line in document["found"] if "stashed" in line]  # type: ignore[attr-defined]
    assert line == "you reverted, removed or stashed app, work: as in the last commit"
    assert line in said
    stashed = here.git("stash", "show", "-p", "-u")
    assert "+agent" in stashed
    assert "b/work" in stashed
    assert_replays(here)


def test_a_commit_of_the_user_that_is_on_no_branch_is_kept_under_a_ref(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE)
    run_plan(here, 3, "--max-iterations", "1")
    here.git("checkout", "-q", "--detach")
    mine = commit(here, "mine", "mine\n")
    document, said = resume(here, 0, "--max-iterations", "9")
    assert verdicts(document) == {"One": "done", "Two": "done"}
    (ref,) = here.git("for-each-ref", "--format=%(refname)", "--contains", mine).splitlines()
    assert f"is kept as {ref}" in said


KILLED = """
if number == 1:
    open("half", "w").write("agent\\n")
    open("test.sh", "w").write("exit 0\\n")
    os.system("git add half && git commit -q -m agent")
    open(os.path.join(os.path.dirname(calls), "working"), "w").close()
    time.sleep(600)
open("one", "w").close()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_work_of_the_user_is_not_taken_for_that_of_an_interrupted_agent(tmp_path: Path, number: signal.Signals) -> None:
    here = make_project(tmp_path, ONE, KILLED, app="app\n", **{"test.sh": "test -f one\n"})
    with in_background(here, "run", "PLAN.md", "--json") as child:
        wait_until((here.agent_folder / "working").exists)
        child.send_signal(number)
        child.wait(LIMIT_SECONDS)
    wait_until(lambda: has_ended(here))
    (here.folder / "app").write_text("app\nuser\n")
    (here.folder / "notes").write_text("new\n")
    document, said = resume(here, 0, "--max-iterations", "9")
    assert verdicts(document) == {"One": "done"}
    assert "you changed app" in said
    assert "you added notes" in said
    assert (here.folder / "test.sh").read_text() == "test -f one\n", "the agent's change is reverted"
    assert here.git("show", "--format=", "--name-only", "HEAD").split() == ["app", "half", "one"]
    # A killed driver keeps no commit of a sandboxed agent, only the files.
    is_kept = not sandbox.is_on() or number == signal.SIGINT
    assert len(document["tasks"][0].get("folded", ())) == is_kept  # type: ignore[index]
    assert here.git("status", "--porcelain") == "?? notes"
    assert_replays(here)


@pytest.mark.parametrize("is_copied_whole", [False, True])
def test_files_with_old_times_after_a_kill_are_the_users(tmp_path: Path, *, is_copied_whole: bool) -> None:
    """`mv` and `cp -p` keep times. Where the kernel's time of every file is new, they are as the agent's, and kept."""
    agent = KILLED.replace('open("one", "w").close()', 'open("test.sh", "w").write("exit 0\\n")')
    agent = agent.replace("if number == 1:", 'if number == 1:\n    open("app", "a").write("agent\\n")')
    here = make_project(tmp_path, ONE, agent, app="app\n", other="other\n", **{"test.sh": "test -f one\n"})
    for name in ("app", "notes", "test.sh"):
        (tmp_path / name).write_text(f"{name} of the user\nfalse\n")
        os.utime(tmp_path / name, (1.6e9, 1.6e9))
    with in_background(here, "run", "PLAN.md", "--json", "--tries", "1") as child:
        wait_until((here.agent_folder / "working").exists)
        os.kill(child.pid, signal.SIGKILL)
        child.wait(LIMIT_SECONDS)
    wait_until(lambda: has_ended(here))
    for name in ("app", "notes", "test.sh"):
        shutil.move(tmp_path / name, here.folder / name)
    if is_copied_whole:
        metadata = run_folder(here) / "run.json"
        metadata.chmod(metadata.stat().st_mode)
    document, said = resume(here, 1)
    found = {name: (here.folder / name).read_text() for name in ("app", "test.sh")}
    (ref,) = re.findall(r"refs/bridle/snapshots/[\w-]+", str(document["tasks"][0]["reason"]))  # type: ignore[index]
    assert ("you changed app" in said) is not is_copied_whole
    if is_copied_whole:
        assert found == {"app": "app\n", "test.sh": "test -f one\n"}
        assert here.git("show", f"{ref}:app") == "app of the user\nfalse"
    else:
        assert found == {name: f"{name} of the user\nfalse\n" for name in found}
    assert (here.folder / "notes").exists() is not is_copied_whole
    assert not (here.folder / "half").exists()
    assert verdicts(document) == {"One": "failed"}
    assert_replays(here)


def test_a_commit_after_a_kill_is_the_users(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE, KILLED, **{"test.sh": "test -f one\n"})
    with in_background(here, "run", "PLAN.md", "--json") as child:
        wait_until((here.agent_folder / "working").exists)
        os.kill(child.pid, signal.SIGKILL)
        child.wait(LIMIT_SECONDS)
    wait_until(lambda: has_ended(here))
    here.git("checkout", "-q", "test.sh")
    mine = commit(here, "mine", "user\n")
    document, _ = resume(here, 0, "--max-iterations", "9")
    assert here.git("rev-parse", "HEAD^") == mine
    # A killed driver keeps no commit of a sandboxed agent: its file comes with the task.
    assert here.git("show", "--format=", "--name-only", "HEAD").split() == [
        *(["half"] if sandbox.is_on() else []),
        "one",
    ]
    assert verdicts(document) == {"One": "done"}
    assert_replays(here)


@pytest.mark.without_sandbox("commits what the sandbox protects")
@pytest.mark.parametrize("command", ["git add -A && git commit -q -m agent", "git add -A"])
def test_a_file_of_the_user_that_only_a_killed_agent_added_to_git_stays_untracked(tmp_path: Path, command: str) -> None:
    agent = KILLED.replace("git add half && git commit -q -m agent", command)
    here = make_project(tmp_path, ONE, agent, app="app\n", **{"test.sh": "test -f one\n"})
    for name in ("mine", "added"):
        (here.folder / name).write_text("of the user\n")
    with in_background(here, "run", "PLAN.md", "--json") as child:
        wait_until((here.agent_folder / "working").exists)
        os.kill(child.pid, signal.SIGKILL)
        child.wait(LIMIT_SECONDS)
    wait_until(lambda: has_ended(here))
    here.git("checkout", "-q", "main", "--", "test.sh")
    is_committed = "commit" in command
    if not is_committed:
        here.git("reset", "-q", "added")
    (here.folder / "app").write_text("app\nuser\n")
    here.git("commit", "-q", "-m", "user", "app")
    (here.folder / "added").write_text("added by the user\n")
    users = here.git("rev-parse", "HEAD")
    document, said = resume(here, 0, "--max-iterations", "9")
    assert verdicts(document) == {"One": "done"}
    assert here.git("rev-parse", "HEAD^") == users
    tracked = here.git("ls-tree", "--name-only", "HEAD").split()
    assert {"app", "one"} <= {*tracked}
    assert {"mine", "added"}.isdisjoint(tracked)
    assert ("an agent had committed added, mine, which you left untracked" in " ".join(said.split())) == is_committed
    assert here.git("status", "--porcelain") == "?? added\n?? mine"
    here.git("checkout", "-q", "main")
    assert (here.folder / "mine").read_text() == "of the user\n"
    assert (here.folder / "added").read_text() == "added by the user\n"
    assert_replays(here)


def test_a_file_that_the_user_adds_to_git_after_a_kill_is_tracked(tmp_path: Path) -> None:
    agent = KILLED.replace("git add half && git commit -q -m agent", "true")
    here = make_project(tmp_path, ONE, agent, **{"test.sh": "test -f one\n"})
    (here.folder / "mine").write_text("of the user\n")
    with in_background(here, "run", "PLAN.md", "--json") as child:
        wait_until((here.agent_folder / "working").exists)
        os.kill(child.pid, signal.SIGKILL)
        child.wait(LIMIT_SECONDS)
    wait_until(lambda: has_ended(here))
    here.git("checkout", "-q", "test.sh")
    mine = commit(here, "mine", "of the user\n")
    document, _ = resume(here, 0, "--max-iterations", "9")
    assert here.git("rev-parse", "HEAD^") == mine
    assert "mine" in here.git("ls-tree", "--name-only", "HEAD").split()
    assert verdicts(document) == {"One": "done"}


@pytest.mark.without_sandbox("changes what the sandbox protects")
def test_a_commit_of_the_user_during_a_parallel_run_stays_on_its_branch(tmp_path: Path) -> None:
    """The agent of one task waits until the other has landed, and then commits where the user would."""
    agent = """
    if task == "Two":
        top = os.environ["BRIDLE_REPOSITORY"]
        copies = [entry.path for entry in os.scandir(top + "/.ralph/worktrees") if entry.is_dir()]
        own = min(copies, key=len)
        while not os.path.exists(own + "/one"): time.sleep(0.05)
        open(own + "/mine", "w").write("user")
        os.system(f"git -C {own} add mine && git -C {own} commit -qm user")
    open(task.lower(), "w").close()
    """
    plan = "# Two\n\n## One\nCheck: `test -f one`\n\n## Two\nCheck: `test -f two`\n"
    here = make_project(tmp_path, plan, agent)
    document = run_plan(here, 0, "--parallel", "2")
    assert verdicts(document) == {"One": "done", "Two": "done"}
    assert here.git("log", "--format=%s", f"main..{document['branch']}").splitlines() == ["Two", "user", "One"]
    assert here.git("show", "--format=", "--name-only", document["branch"]) == "two"
    assert_replays(here)


@pytest.mark.parametrize(
    ("words", "refusal"), [((), "another run is active"), (("--worktree",), "another driver runs")]
)
def test_a_second_driver_takes_nothing_of_a_running_agent_for_the_users(
    tmp_path: Path, words: tuple[str, ...], refusal: str
) -> None:
    agent = """
    open("half", "w").write("agent")
    beside = os.path.dirname(calls)
    open(beside + "/working", "w").close()
    while not os.path.exists(beside + "/go"): time.sleep(0.05)
    open("one", "w").close()
    """
    here = make_project(tmp_path, ONE, agent, **{"test.sh": "test -f one\n"})
    with in_background(here, "run", "PLAN.md", "--json", *words) as child:
        wait_until((here.agent_folder / "working").exists)
        second = here.bridle("resume", "--max-cost", "99")
        assert refusal in second.stderr
        assert "you added" not in second.stderr
        (here.agent_folder / "go").touch()
        assert child.stdout is not None
        document = json.loads(child.stdout.read())
    assert verdicts(document) == {"One": "done"}
    assert not document.get("found")
    assert document["limits"]["max_cost_usd"] == 20, "a refused command changes nothing"
    assert here.bridle("resume", "--max-cost", "99").returncode == 0
    notes = FileStore(run_folder(here)).state().notes
    assert not [entry for entry in notes if entry.type == user_messages.LIMITS], "nor does one for a finished run"
    committed = here.git("show", "--format=", "--name-only", document["branch"]).split()
    assert sorted(committed) == ["half", "one"]
    assert_replays(here)
