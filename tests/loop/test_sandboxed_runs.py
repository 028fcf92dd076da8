"""Runs of the loop in the sandbox: in place, in worktrees, in parallel, with what agents and checks cannot do there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bridle.cli.exit_codes import LIMIT_REACHED
from tests.fixtures.bridle_program import BRIDLE
from tests.loop.fixtures.loop_commands import ONE_TASK, TWO_TASKS, assert_replays, receipt_of, run_plan, verdicts
from tests.loop.fixtures.sandboxed_project import make_sandboxed_project

# Tries what the sandbox must prevent, and notes in the file of the task what it gained.
_ATTACKS = """
gained = []
def attempt(name, action):
    try:
        action()
        gained.append(name)
    except OSError:
        pass
def append(path):
    return lambda: open(path, "a").write("x")
home = os.path.expanduser("~")
attempt("home", append(home + "/.profile"))
attempt("keys", lambda: open(home + "/.ssh/id_ed25519").read())
attempt("settings", lambda: open(os.environ.get("BRIDLE_HOME", home + "/.bridle") + "/bridle.toml").read())
attempt("plan", append("PLAN.md"))
attempt("journal", lambda: os.mkdir(os.path.join(os.environ.get("BRIDLE_REPOSITORY", "."), ".a5c/runs/forged")))
attempt("hooks", append(".git/hooks/pre-commit"))
attempt("config", append(".git/config"))
try:
    append(outside)()  # in a /tmp of its own: the file outside stays as it is
except OSError:
    pass
if "A_SECRET_OF_THE_USER" in os.environ:
    gained.append("environment")
with open(task.lower(), "w") as file:
    file.write(" ".join(gained))
"""
_PLAN = """# Two

## One
Check: `test -f one && test -z "$ANTHROPIC_API_KEY" && ! cat ~/.ssh/id_ed25519 && ! touch PLAN.md`

## Two
Check: `test -f two`
"""


@pytest.mark.parametrize(
    "options", [(), ("--worktree",), ("--parallel", "2")], ids=["in-place", "worktree", "parallel"]
)
def test_agents_and_checks_of_a_run_are_in_the_sandbox(tmp_path: Path, options: tuple[str, ...]) -> None:
    outside = tmp_path / "outside"
    outside.touch()
    here = make_sandboxed_project(tmp_path, _PLAN, f"outside = {str(outside)!r}\n{_ATTACKS}")
    keys = Path(os.environ["HOME"], ".ssh")
    keys.mkdir()
    (keys / "id_ed25519").write_text("a key")
    variables = {"ANTHROPIC_API_KEY": "sk-of-the-model", "A_SECRET_OF_THE_USER": "x"}
    document = receipt_of(here.bridle("run", "PLAN.md", "--json", *options, **variables), 0)
    assert verdicts(document) == {"One": "done", "Two": "done"}
    assert document["isolation"] == "bwrap"
    assert document["isolation_scope"].startswith("hides keys, logins, ")
    assert "; leaves open the network of agents" in document["isolation_scope"]
    for title in ("one", "two"):
        assert here.git("show", f"{document['branch']}:{title}") == ""
    assert outside.read_text() == ""
    assert_replays(here)


def test_what_an_agent_leaves_running_has_ended_before_its_checks_run(tmp_path: Path) -> None:
    mark = f"daemon-of-{tmp_path.name}"
    daemon = f"""
import subprocess
code = "import time; open('alive', 'w').close(); time.sleep(600)"
subprocess.Popen([{sys.executable!r}, "-c", code, {mark!r}], env={{}}, start_new_session=True,
                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
while not os.path.exists("alive"):
    time.sleep(0.01)
open(task.lower(), "w").close()
"""
    here = make_sandboxed_project(tmp_path, ONE_TASK, daemon)
    assert verdicts(run_plan(here, 0)) == {"One": "done"}
    assert subprocess.run(["pgrep", "-f", mark], check=False, capture_output=True).stdout == b""


def test_a_run_that_began_in_a_sandbox_goes_on_in_it_and_the_receipt_names_one_that_did_not(tmp_path: Path) -> None:
    here = make_sandboxed_project(tmp_path, TWO_TASKS, "open(task.lower(), 'w').close()")
    first = run_plan(here, LIMIT_REACHED, "--max-iterations", "1")
    assert first["isolation"] == "bwrap"
    resumed = here.bridle("resume", "--json", "--max-iterations", "2", "--sandbox", "off")
    assert "bridle: sandbox: none (it is off): agents and checks can read and change whatever you can" in (
        resumed.stderr.splitlines()
    )
    assert receipt_of(resumed, 0)["isolation"] == "none: it is off (for some agents or checks)"
    assert_replays(here)


def test_an_agent_that_deletes_what_it_can_of_git_ends_the_run_and_no_other_is_started(tmp_path: Path) -> None:
    here = make_sandboxed_project(tmp_path, ONE_TASK, "import shutil; shutil.rmtree('.git', ignore_errors=True)")
    done = here.bridle("run", "PLAN.md", "--json")
    assert receipt_of(done, 1)["verdict"] != "done"
    assert f"the commits in {here.folder}/.git were deleted" in done.stderr
    again = here.bridle("resume")
    assert (again.returncode, "does not have the commits of this run any more" in again.stderr) == (1, True)
    assert len(here.calls()) == 1


# As on a machine without user namespaces: the kernel has a limit in each of them, and in this one it is 0.
WITHOUT_NAMESPACES = ("unshare", "--user", "--map-root-user", "sh", "-c")
FORBID = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$0" "$@"'


def test_a_sandbox_that_does_not_work_is_said_and_one_that_was_named_refuses_the_start(tmp_path: Path) -> None:
    here = make_sandboxed_project(tmp_path, ONE_TASK, "open('one', 'w').close()")

    def bridle(*words: str) -> subprocess.CompletedProcess[str]:
        return here.execute([*WITHOUT_NAMESPACES, FORBID, str(BRIDLE), *words])

    refused = bridle("run", "PLAN.md", "--sandbox", "bwrap")
    assert refused.returncode == 2
    reason = "bwrap: Creating new namespace failed"
    assert f"the sandbox bwrap cannot be used: {reason}" in refused.stderr
    assert "Install bubblewrap" in refused.stderr
    assert "allow user namespaces" in refused.stderr
    assert not (here.folder / ".a5c").exists()
    done = bridle("run", "PLAN.md", "--json", "--sandbox", "auto")
    assert f"bridle: sandbox: none ({reason}" in done.stderr
    assert "): agents and checks can read and change whatever you can" in done.stderr
    assert receipt_of(done, 0)["isolation"].startswith(f"none: {reason}")
    assert f"isolation: none: {reason}" in here.bridle("status").stdout
    assert "bwrap does not work, so agents and checks run without a sandbox" in bridle("doctor").stdout


def test_a_repository_cannot_weaken_the_sandbox(tmp_path: Path) -> None:
    here = make_sandboxed_project(tmp_path, ONE_TASK, "", **{"bridle.toml": '[sandbox]\nmode = "off"\n'})
    refused = here.bridle("run", "PLAN.md")
    assert refused.returncode == 2
    assert "bridle.toml:1: sandbox.mode must not be set in a repository. Set it in your own bridle.toml" in (
        refused.stderr
    )


@pytest.mark.parametrize("leaves", ["git checkout -q main", "git checkout -q --detach main"])
def test_an_agent_that_checks_out_an_older_commit_has_not_deleted_what_came_after(tmp_path: Path, leaves: str) -> None:
    agent = f"if task == 'Two': os.system({leaves!r})\nopen(task.lower(), 'w').write('x')"
    here = make_sandboxed_project(tmp_path, TWO_TASKS, agent)
    document = run_plan(here, 0)
    assert document["isolation"] == "bwrap"
    assert here.git("branch", "--show-current") == document["branch"]
    assert here.git("log", "--reverse", "--name-status", "--format=", "main..").splitlines() == ["A\tone", "A\ttwo"]
    assert_replays(here)
