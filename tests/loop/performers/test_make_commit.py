"""Git's own hooks are one more check before a commit, unless an agent wrote them."""

from __future__ import annotations

import re
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from bridle.engine.drive.driver_lock import LOCK_FILE
from bridle.ground.lock import FileLock
from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.loop_commands import (
    MAKES_FILE,
    ONE_TASK,
    assert_replays,
    receipt_of,
    run_folder,
    run_plan,
    trailers,
    verdicts,
)
from tests.run.fixtures.fake_agent import wait_until

# Refuses until the agent's second iteration; sees the work staged; changes a file.
PRE_COMMIT = (
    "#!/bin/sh\necho changed > base\ngit diff --cached --name-only\ngrep -q second one || { echo no second; exit 1; }\n"
)
# Drops every line but the first, and adds one.
COMMIT_MSG = '#!/bin/sh\nsed -n "1s/^/ABC-1 /p" "$1" > .msg && { cat .msg; echo; echo body; } > "$1"; rm .msg\n'
AGENT = "open('one', 'a').write('first\\n' if number == 1 else 'second\\n')"


def add_hook(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def project(tmp_path: Path, agent: str, **files: str) -> Project:
    return make_project(tmp_path, ONE_TASK, agent, **{"base": "base\n", **files})


def test_a_hook_that_fails_is_in_the_next_prompt_and_its_changes_are_reverted(tmp_path: Path) -> None:
    here = project(tmp_path, AGENT)
    add_hook(here.folder / ".git/hooks", "pre-commit", PRE_COMMIT)
    add_hook(here.folder / ".git/hooks", "commit-msg", COMMIT_MSG)
    document = run_plan(here, 0)
    assert document["tasks"][0]["iterations"] == 2
    prompt = here.calls()[1]["prompt"]
    assert "the git hook pre-commit failed, exit code 1\none\nno second" in prompt
    assert here.git("diff", "--name-only", "main", "HEAD") == "one"
    assert here.git("log", "-1", "--format=%s") == "ABC-1 One"
    assert "body" in here.git("log", "-1", "--format=%b")
    assert trailers(here, "HEAD")["Bridle-Run"] == document["run"]
    assert here.git("status", "--porcelain") == ""
    assert_replays(here)


STAGING_HOOKS = {
    "formats": ("[ -e one ] || exit 0; echo formatted > one; git add one", "one"),
    "stages a new file": ("echo new > new; git add new", "new"),
    "stages a name only": ("touch new; git add -N new; rm new", "new"),
    "removes a file": ("git rm -q --cached base", "base"),
    "removes the index": ("rm .git/index", "base"),
    "stages files of the user": ("git add mine", "mine"),
    "marks a file": ("git update-index --assume-unchanged base", "base"),
    "leaves a lock": ("git rm -q --cached base; touch .git/index.lock", "base"),
}


@pytest.mark.parametrize("name", STAGING_HOOKS)
def test_what_a_hook_stages_is_in_no_commit(tmp_path: Path, name: str) -> None:
    hook, changed = STAGING_HOOKS[name]
    here = project(tmp_path, "open('one', 'w').write('written\\n')")
    (here.folder / "mine").write_text("mine\n")
    add_hook(here.folder / ".git/hooks", "pre-commit", f"#!/bin/sh\n{hook}\n")
    done = here.bridle("run", "PLAN.md", "--json")
    (task,) = receipt_of(done, 0)["tasks"]
    assert here.git("diff", "--name-status", "main", "HEAD") == "A\tone"
    assert here.git("show", "HEAD:one") == "written"
    assert here.git("status", "--porcelain") == "?? mine"
    assert here.git("ls-files", "-v", "base") == "H base"
    assert f"a git hook changed {changed}; the change was reverted" in done.stderr
    assert changed in [report["path"] for report in task["reported"]]
    assert_replays(here)


def kill_in_hook(here: Project) -> None:
    """Run the plan until a hook kills the driver, and wait until the hook has ended too."""
    here.kill_when_asked()
    assert here.bridle("run", "PLAN.md", "--json").returncode == -signal.SIGKILL
    wait_until(lambda: FileLock.holder_of(run_folder(here) / LOCK_FILE) is None)


KILLING = {
    "stages files of the user": ("git add mine", "mine"),
    "removes a file": ("git rm -q --cached base", "base"),
    "removes the index": ("rm .git/index", "base"),
    "formats": ("echo formatted > base; git add base", "base"),
}


@pytest.mark.without_sandbox("changes what the sandbox protects")
@pytest.mark.parametrize("is_during_work", [True, False])
@pytest.mark.parametrize("name", KILLING)
def test_what_a_hook_had_staged_when_everything_was_killed_is_reverted(
    tmp_path: Path, name: str, is_during_work: bool
) -> None:
    command, changed = KILLING[name]
    here = project(tmp_path, "open('one', 'w').write('written\\n')")
    here = replace(here, has_baseline=not is_during_work)
    (here.folder / "mine").write_text("mine\n")
    dies = (
        f"test -f {tmp_path}/beside/once || {{ touch {tmp_path}/beside/once; : > {tmp_path}/beside/kill; sleep 60; }}"
    )
    once = f"test -f {tmp_path}/beside/once || {{ {command}; }}"
    add_hook(here.folder / ".git/hooks", "pre-commit", f"#!/bin/sh\n{once}\n{dies}\n")
    before = here.git("ls-files", "--stage")
    kill_in_hook(here)
    assert here.git("ls-files", "--stage") != before
    (here.folder / "notes").write_text("of the user, so that changes are adopted\n")
    done = here.bridle("resume", "--json")
    assert verdicts(receipt_of(done, 0)) == {"One": "done"}
    said = " ".join(done.stderr.split())
    (names,) = re.findall(r"a git hook was interrupted; what was staged since \((.*?)\) is reverted", said)
    assert changed in names.split(", ")
    assert here.git("diff", "--name-status", "main", "HEAD") == "A\tone"
    assert here.git("status", "--porcelain") == "?? mine\n?? notes"
    assert (here.folder / "mine").read_text() == "mine\n"
    (ref,) = re.findall(r"kept as (refs/bridle/\S+\^2)", said)
    assert changed in here.git("diff", "--name-only", "--no-renames", "main", ref).split()
    assert_replays(here)


def test_a_commit_of_the_user_on_top_of_what_a_killed_hook_had_staged_stays(tmp_path: Path) -> None:
    here = project(tmp_path, "open('one', 'w').write('written\\n')", other="other\n")
    (here.folder / "mine").write_text("mine\n")
    once = f"test -f {tmp_path}/beside/once"
    dies = f"{once} || {{ git add mine; touch {tmp_path}/beside/once; : > {tmp_path}/beside/kill; sleep 60; }}"
    add_hook(here.folder / ".git/hooks", "pre-commit", f"#!/bin/sh\n{dies}\n")
    kill_in_hook(here)
    (here.folder / "other").write_text("user\n")
    here.git("commit", "-q", "-m", "user", "other")
    (here.folder / "later").write_text("user\n")
    users = here.git("rev-parse", "HEAD")
    assert verdicts(receipt_of(here.bridle("resume", "--json"), 0)) == {"One": "done"}
    assert here.git("rev-parse", "HEAD^") == users
    assert here.git("diff", "--name-status", users, "HEAD") == "A\tone"
    assert here.git("show", "HEAD:other") == "user"
    assert here.git("status", "--porcelain") == "?? later\n?? mine"


@pytest.mark.parametrize("options", [("--worktree",), ("--parallel", "2")])
def test_what_a_hook_stages_is_in_no_commit_of_a_worktree(tmp_path: Path, options: tuple[str, ...]) -> None:
    here = project(tmp_path, "open('one', 'w').write('written\\n')")
    add_hook(here.folder / ".git/hooks", "pre-commit", "#!/bin/sh\ngit rm -q --cached base\n")
    done = here.bridle("run", "PLAN.md", "--json", *options)
    document = receipt_of(done, 0)
    assert here.git("diff", "--name-status", "main", f"{document['branch']}") == "A\tone"
    assert "a git hook changed base; the change was reverted" in done.stderr


def test_what_a_hook_that_fails_has_staged_is_named_in_the_next_prompt(tmp_path: Path) -> None:
    here = project(tmp_path, AGENT)
    add_hook(here.folder / ".git/hooks", "pre-commit", f"{PRE_COMMIT.replace('base', 'base; git add base', 1)}")
    run_plan(here, 0)
    prompt = here.calls()[1]["prompt"]
    assert "The hook changed or staged these files itself, which was reverted: base" in prompt
    assert here.git("diff", "--name-only", "main", "HEAD") == "one"


def test_what_the_user_staged_is_as_before_after_a_hook_ran_before_any_work(tmp_path: Path) -> None:
    here = replace(project(tmp_path, "sys.exit(3)"), has_baseline=True)
    (here.folder / "mine").write_text("mine\n")
    add_hook(here.folder / ".git/hooks", "pre-commit", "#!/bin/sh\ngit add -A\n")
    here.bridle("run", "--tries", "1")
    assert here.git("status", "--porcelain") == "?? mine"


@pytest.mark.parametrize("name", ["pre-commit", "commit-msg"])
def test_a_hook_that_fails_is_in_the_receipt_as_a_failed_check(tmp_path: Path, name: str) -> None:
    here = project(tmp_path, MAKES_FILE)
    add_hook(here.folder / ".git/hooks", name, "#!/bin/sh\necho starting\necho error: no ticket\nexit 7\n")
    document = run_plan(here, 1, "--tries", "1")
    *passed, hook = document["tasks"][0]["checks"]
    assert [check["exit_code"] for check in passed] == [0]
    assert (hook["command"], hook["exit_code"]) == (f"git hook {name}", 7)
    assert "error: no ticket" in (here.folder / hook["log"]).read_text()
    shown = here.bridle("receipt").stdout
    assert f"✗ git hook {name}  (exit code 7)\n" in shown
    assert f"error: no ticket\n        whole output: {hook['log']}\n" in shown
    assert_replays(here)


def test_hooks_can_be_skipped(tmp_path: Path) -> None:
    here = project(tmp_path, MAKES_FILE, **{"bridle.toml": 'git_hooks = "skip"\n'})
    add_hook(here.folder / ".git/hooks", "pre-commit", "#!/bin/sh\nexit 1\n")
    assert verdicts(run_plan(here, 0)) == {"One": "done"}


def test_a_hook_that_an_agent_wrote_or_changed_never_runs(tmp_path: Path) -> None:
    evil = "#!/bin/sh\ntouch evil\n"
    agent = f"""{MAKES_FILE}
for name in ('pre-commit', 'commit-msg'):
    open('hooks/' + name, 'w').write({evil!r})
    os.chmod('hooks/' + name, 0o755)
"""
    here = project(tmp_path, agent)
    add_hook(here.folder / "hooks", "pre-commit", f"#!/bin/sh\ntouch {here.agent_folder}/ran\n")
    here.git("add", "-A")
    here.git("commit", "-q", "-m", "hooks")
    here.git("config", "core.hooksPath", "hooks")
    done = here.bridle("run", "PLAN.md")
    assert done.returncode == 0, done.stderr
    assert "did not run" not in done.stderr
    assert (here.agent_folder / "ran").exists()  # the user's own, which was restored
    assert "ran" in here.git("show", "HEAD:hooks/pre-commit")
    assert not (here.folder / "evil").exists()
    assert "evil" not in here.git("ls-tree", "-r", "--name-only", "HEAD")


def test_hooks_elsewhere_are_not_those_of_the_repository(tmp_path: Path) -> None:
    here = project(tmp_path, MAKES_FILE)
    add_hook(tmp_path / "everywhere", "pre-commit", "#!/bin/sh\nexit 1\n")
    here.git("config", "core.hooksPath", str(tmp_path / "everywhere"))
    assert verdicts(run_plan(here, 0)) == {"One": "done"}


def test_a_hook_that_fails_before_any_work_is_named_at_the_start(tmp_path: Path) -> None:
    here = replace(project(tmp_path, MAKES_FILE), has_baseline=True)
    add_hook(here.folder / ".git/hooks", "pre-commit", "#!/bin/sh\necho no linter here\nexit 3\n")
    done = here.bridle("run", "--tries", "1")
    start, _, _ = done.stderr.partition("iteration 1 (")
    assert "the git hook pre-commit failed, exit code 3" in start
    assert "no linter here" in start
    assert 'git_hooks = "skip"' in start


def test_commits_without_the_users_identity_or_signature_are_named_at_the_start(tmp_path: Path) -> None:
    here = project(tmp_path, MAKES_FILE)
    here.git("config", "commit.gpgsign", "true")
    here.git("config", "--unset", "user.email")
    start, _, _ = here.bridle("run", HOME=str(tmp_path), GIT_CONFIG_GLOBAL="/dev/null").stderr.partition(
        "iteration 1 ("
    )
    assert "<bridle@localhost>; for yours: git config" in start
    assert "commits of this run are not signed" in start
