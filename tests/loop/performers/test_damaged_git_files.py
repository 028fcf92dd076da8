"""Files of git that an agent destroys are restored for all workers; between two drivers the damaged file is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.loop.fixtures.fake_agent import make_project
from tests.loop.fixtures.loop_commands import assert_replays, run_plan, verdicts

# What the agent of each task overwrites, below the common git folder. It waits then until the next one has done the
# same: so git of the other worker meets the damage.
DAMAGED = {
    "Shared": ["packed-refs", "HEAD", "index", "refs/heads/main"],
    "Other": ["refs/heads/bridle/*", "worktrees/*/HEAD", "worktrees/*/index"],
    "Settings": ["config"],
}
PLAN = "# Damage\n\n" + "\n".join(f"## {name}\nCheck: `test -f {name.lower()}`\n" for name in DAMAGED)
AGENT = f"""
import glob
order = {list(DAMAGED)!r}
mark = calls + "-damaged-"
place = PLACE
open(task.lower(), "w").close()
for pattern in {DAMAGED!r}[task]:
    for path in glob.glob(os.path.join(place, pattern)):
        open(path, "w").write("garbage\\n")
open(mark + task, "w").close()
later = order[order.index(task) + 1 :][:1]
limit = time.monotonic() + 60
while not all(os.path.exists(mark + name) for name in later) and time.monotonic() < limit:
    time.sleep(0.01)
"""


@pytest.mark.without_sandbox("changes what the sandbox protects")
def test_git_files_that_agents_destroy_are_restored_and_the_other_workers_go_on(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, AGENT.replace("PLACE", repr(str(tmp_path / "repository/.git"))))
    here.git("tag", "start")
    here.git("pack-refs", "--all")
    before = here.git("rev-parse", "HEAD"), here.git("ls-files", "--stage"), here.git("config", "--list", "--local")
    document = run_plan(here, 0, "--parallel", "2")
    assert verdicts(document) == dict.fromkeys(DAMAGED, "done")
    assert {task["iterations"] for task in document["tasks"]} == {1}
    after = here.git("rev-parse", "HEAD"), here.git("ls-files", "--stage"), here.git("config", "--list", "--local")
    assert after == before
    assert here.git("rev-parse", "main", "start").split() == [before[0], before[0]]
    assert here.git("status", "--porcelain") == ""
    assert here.git("fsck", "--no-dangling") == ""
    assert_replays(here)
