"""Attack: an agent or a check lets the run's branch name the user's branch, so that Bridle's own commits move that one.

A ref whose file is `ref: refs/heads/main` is a symbolic one: git writes through it. The run's branch must hold an id.

With the sandbox: impossible; the file does not leave the sandbox.
Without: the branch is what it was before, and its commits move no other.
Reported: in the receipt, by name, without the sandbox.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bridle.loop.control import clean_runs
from bridle.run.isolation.sandbox_rules import OFF
from bridle.workspace import snapshot
from tests.loop.fixtures.loop_commands import run_plan, verdicts
from tests.loop.fixtures.repositories import make_repository
from tests.loop.fixtures.sandboxed_project import make_sandboxed_project

PLAN = "# P\n\n## One\nCheck: `test -f one`\n\n## Two\nCheck: `sh two`\n\n## Three\nCheck: `test -f three`\n"
ATTACK = 'echo "ref: refs/heads/main" > "$(git rev-parse --git-common-dir)/$(git symbolic-ref HEAD)"'
AGENT = f"""
import subprocess
attack = {ATTACK!r}
open(task.lower(), "w").write(attack if task == "Two" else "x")
if task == "One":
    subprocess.run(attack, shell=True, check=True)
"""


@pytest.mark.parametrize("options", [(), ("--worktree",)], ids=["own copy", "worktree"])
def test_commits_move_only_the_runs_branch(tmp_path: Path, sandbox: str, options: tuple[str, ...]) -> None:
    here = make_sandboxed_project(tmp_path, PLAN, AGENT, sandbox=sandbox)
    before = here.git("rev-parse", "main")
    receipt = run_plan(here, 0, *options)
    assert set(verdicts(receipt).values()) == {"done"}
    branch = receipt["branch"]
    assert here.git("rev-parse", "main") == before
    assert here.git("log", "--format=%s", f"main..{branch}").split() == ["Three", "Two", "One"]
    assert (here.folder / ".git/refs/heads" / branch).read_text().strip() == here.git("rev-parse", branch)
    reported = [report for task in receipt["tasks"] for report in task.get("reported", [])]
    found = [report for report in reported if branch in str(report) and "named another branch" in str(report)]
    assert (len(found) >= 2) == (sandbox == OFF)


def test_refs_of_bridle_are_replaced_and_deleted_themselves(tmp_path: Path) -> None:
    """Where a ref of Bridle's names the user's branch, that one stays."""
    here = make_repository(tmp_path / "r", {"a": "1"})
    here.git("config", "core.logAllRefUpdates", "always")  # then git writes the refs
    before = here.git("rev-parse", "main")
    taken = asyncio.run(snapshot.take(here.context.git, name="a"))
    here.git("symbolic-ref", taken.ref, "refs/heads/main")
    asyncio.run(snapshot.write_ref(here.context.git, taken.ref, taken.commit))
    assert here.git("rev-parse", "main") == before
    here.git("symbolic-ref", taken.ref, "refs/heads/main")
    asyncio.run(clean_runs._remove_refs(here.context.git, ["a"]))
    assert here.git("rev-parse", "main") == before
    assert here.git("for-each-ref", taken.ref) == ""
