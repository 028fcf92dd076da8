"""A plan that the user corrects is noticed, and taken with `--replan` for what is not done."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.loop_commands import MAKES_FILE, TWO_TASKS, assert_replays, receipt_of, run_plan, verdicts

WRONG = "# P\n\n## One\nCheck: `test -f one`\n\n## Two\nCheck: `test -f tow`\n\n## Three\nCheck: `test -f nowhere`\n"
RIGHT = "# P\n\n## Two\nCheck: `test -f two`\n\n## Four\nNeeds: Two\nCheck: `test -f four`\n\n## One\nCheck: `false`\n"


def status(here: Project) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(here.bridle("status", "--json").stdout)
    return document


def test_a_changed_plan_is_named_by_status_retry_and_resume_and_not_used(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, "if task == 'One': " + MAKES_FILE, **{"bridle.toml": "tries = 1\n"})
    run = run_plan(here, 1)["run"]
    assert "plan_changes" not in status(here)
    (here.folder / "PLAN.md").write_text(TWO_TASKS.replace("test -f two", "true").replace("## One", "## [x] One"))
    (here.folder / "bridle.toml").write_text("tries = 1\nprotect = ['x']\n")
    assert status(here)["plan_changes"] == [
        "PLAN.md has changed: other checks: 'Two'",
        "bridle.toml has changed: protect",
    ]
    retried = here.bridle("retry", "Two", "--resume")
    assert retried.returncode == 1
    for said in (retried.stderr, here.bridle("resume").stderr, here.bridle("retry", "Two").stderr):
        assert "PLAN.md has changed: other checks: 'Two'" in said
        assert f"bridle resume {run} --replan" in said
    (here.folder / "PLAN.md").unlink()
    assert "PLAN.md does not exist any more" in here.bridle("status").stdout
    assert_replays(here)


def test_a_plan_that_the_run_ticked_whole_has_not_changed(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE)
    run_plan(here, 0, "--tick")
    assert (here.folder / "PLAN.md").read_text().count("## [x]") == 2
    assert "plan_changes" not in status(here)
    (here.folder / "PLAN.md").write_text((here.folder / "PLAN.md").read_text().replace("test -f two", "true"))
    assert "has changed, and cannot be read" in status(here)["plan_changes"][0]


@pytest.mark.parametrize("options", [(), ("--parallel", "2")])
def test_a_new_plan_is_taken_for_what_is_not_done(tmp_path: Path, options: tuple[str, ...]) -> None:
    here = make_project(tmp_path, WRONG, MAKES_FILE)
    first = run_plan(here, 1, "--tries", "1", *options)
    assert verdicts(first) == {"One": "done", "Two": "failed", "Three": "failed"}
    (here.folder / "PLAN.md").write_text(RIGHT)
    done = here.bridle("resume", "--replan", "--json")
    second = receipt_of(done, 0)
    assert "done, and stays so: 'One'" in done.stderr
    assert "the run keeps the plan" not in done.stderr + "".join(second["found"])
    assert verdicts(second) == {"Two": "done", "Four": "done", "One": "done"}
    assert second["tasks"][2]["commit"] == first["commits"][0]
    assert [call["task"] for call in here.calls()][-2:] == ["Two", "Four"]
    assert "a new plan replaces that of the run (1 new, 1 dropped)" in second["found"]
    assert "plan_changes" not in status(here)
    assert_replays(here)


def test_a_task_is_dropped_in_the_middle_of_its_work_which_is_kept(tmp_path: Path) -> None:
    here = make_project(tmp_path, WRONG, MAKES_FILE)
    run_plan(here, 3, "--max-iterations", "2")
    assert (here.folder / "two").exists()
    (here.folder / "PLAN.md").write_text("# P\n\n## Four\nCheck: `test -f four`\n")
    document = receipt_of(here.bridle("resume", "--replan", "--json", "--max-iterations", "9"), 0)
    assert verdicts(document) == {"One": "done", "Four": "done"}
    assert here.git("diff", "--name-only", "main", "HEAD").split() == ["four", "one"]
    (kept,) = [line.rpartition(" ")[2] for line in document["found"] if "'Two' is not in the new plan" in line]
    assert "two" in here.git("ls-tree", "--name-only", kept).split()
    assert_replays(here)


def test_new_checks_protect_their_files(tmp_path: Path) -> None:
    agent = MAKES_FILE + "\nif number > 1: open('check.sh', 'w').write('true')"
    here = make_project(tmp_path, TWO_TASKS.replace("test -f two", "false"), agent, **{"check.sh": "test -f two\n"})
    run_plan(here, 3, "--max-iterations", "1")
    (here.folder / "PLAN.md").write_text(TWO_TASKS.replace("test -f two", "sh check.sh"))
    document = receipt_of(here.bridle("resume", "--replan", "--json", "--max-iterations", "9"), 0)
    assert document["tasks"][1]["undone"] == ["check.sh"]
    assert here.git("show", "HEAD:check.sh") == "test -f two"
    assert_replays(here)


def test_what_cannot_be_taken_is_refused(tmp_path: Path) -> None:
    asks = "answer |= {'question': 'which?', 'done': False}"
    here = make_project(tmp_path, TWO_TASKS, asks)
    run_plan(here, 4)
    assert "the plan has not changed" in here.bridle("resume", "--replan").stderr
    (here.folder / "PLAN.md").write_text("# P\n\n## Other\nCheck: `true`\n")
    refused = here.bridle("resume", "--replan")
    assert (refused.returncode, "'One', whose question is open" in refused.stderr) == (2, True)
    (here.folder / "PLAN.md").write_text("## One\nNeeds: Missing\n")
    broken = here.bridle("resume", "--replan")
    assert broken.returncode == 2
    assert "PLAN.md" in broken.stderr
