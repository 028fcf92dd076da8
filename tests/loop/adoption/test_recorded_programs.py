"""What the user changes before a driver that has nothing to do is in the journal: the next driver believes it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.loop.fixtures.fake_agent import make_project
from tests.loop.fixtures.loop_commands import MAKES_FILE, assert_replays, receipt_of, run_plan, verdicts

PLAN = "# Two\n\n## One\nCheck: `sh test.sh`\n\n## Two\nCheck: `test -f two`\n"


def test_changes_that_a_driver_with_nothing_to_do_adopts_do_not_end_the_run(tmp_path: Path) -> None:
    """Its records were written again, and no result followed."""
    files = {"test.sh": "false\n", "Makefile": "all:\n", ".gitignore": ".envrc\n*.o\n"}
    here = make_project(tmp_path, PLAN, MAKES_FILE, **files)
    run_plan(here, 1, "--tries", "1")
    for number in range(2):
        for name in ("test.sh", "Makefile", ".envrc", f"new{number}.o"):
            with (here.folder / name).open("a") as file:
                file.write(f"# user {number}\n")
        receipt_of(here.bridle("resume", "--json"), 1)
        assert_replays(here)
    (here.folder / "test.sh").write_text("test -f one\n")
    assert here.bridle("retry", "One").returncode == 0
    assert verdicts(receipt_of(here.bridle("resume", "--json"), 0)) == {"One": "done", "Two": "done"}
    assert (here.folder / ".envrc").read_text() == "# user 0\n# user 1\n"
    assert_replays(here)


def test_the_adopted_baseline_survives_a_garbage_collection(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, MAKES_FILE, **{"test.sh": "false\n"})
    (here.folder / "mine").write_text("untracked\n")
    run_plan(here, 1, "--tries", "1")
    with (here.folder / "test.sh").open("a") as file:
        file.write("# user\n")
    receipt_of(here.bridle("resume", "--json"), 1)
    (origin,) = (here.folder / ".a5c/runs").glob("[!.]*/bridle-origin-1.json")
    here.git("gc", "-q", "--prune=now")
    assert here.git("cat-file", "-t", json.loads(origin.read_text())["work"]) == "tree"
