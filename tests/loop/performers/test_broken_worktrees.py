"""An agent or a check that breaks the worktree of its task costs that task a try; the other workers go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.loop.fixtures.fake_agent import make_project
from tests.loop.fixtures.loop_commands import assert_replays, run_plan, verdicts

# Each is executed once, in the worktree.
BREAKS = {
    "Folder": "rm -rf $(git rev-parse --git-dir)",
    "Shared": "echo nowhere >$(git rev-parse --git-dir)/commondir",
    "File": 'here=$PWD; cd ..; rm -rf "$here"; echo file >"$here"',
    "Gone": 'here=$PWD; cd ..; rm -rf "$here"',
    "Head": "rm $(git rev-parse --git-dir)/HEAD; echo garbage >$(git rev-parse --git-dir)/index",
}
PLAN = "# Break\n\n" + "\n".join(f"## {name}\nCheck: `sh check.sh {name.lower()}`\n" for name in BREAKS)
AGENT_BREAKS = f"""
breaks, mark = {BREAKS!r}, calls + "-" + task
if not os.path.exists(mark):
    open(mark, "w").close()
    os.system(breaks[task])
else:
    open(task.lower(), "w").close()
"""
CHECK_BREAKS = "\n".join(
    ["test -f $1 || exit 1", 'mark="$BRIDLE_REPOSITORY/../beside/broken-$1"', "test -e $mark && exit 0", "touch $mark"]
    + [f"if test $1 = {name.lower()}; then {command}; fi" for name, command in BREAKS.items()]
)


@pytest.mark.parametrize("who", ["agent", "check"])
def test_a_broken_worktree_costs_its_task_a_try(tmp_path: Path, who: str) -> None:
    agent = AGENT_BREAKS if who == "agent" else "open(task.lower(), 'w').close()"
    check = "test -f $1\n" if who == "agent" else f"{CHECK_BREAKS}\nexit 1\n"
    here = make_project(tmp_path, PLAN, agent, **{"check.sh": check})
    document = run_plan(here, 0, "--parallel", "2")
    assert verdicts(document) == dict.fromkeys(BREAKS, "done")
    assert {task["iterations"] for task in document["tasks"]} == {2}
    tracked = here.git("ls-tree", "-r", "--name-only", document["branch"]).split()
    assert set(tracked) == {"PLAN.md", "check.sh", *map(str.lower, BREAKS)}
    assert_replays(here)
