"""A task is done only if its work is in its commit: not in files that git does not track, nor mixed with other work."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.loop_commands import assert_replays, receipt_of, run_plan, verdicts

PLAN = "# One\n\n## One\nCheck: `sh test.sh`\n"


@pytest.mark.parametrize("how", ["untracked", "ignored"])
def test_a_check_that_needs_a_file_which_no_commit_contains_is_not_enough(tmp_path: Path, how: str) -> None:
    agent = "open('tool.cfg', 'w').write('good')"
    ignores = {".gitignore": "*.cfg\n"} if how == "ignored" else {}
    here = make_project(tmp_path, PLAN, agent, **{"test.sh": "grep -q good tool.cfg\n"}, **ignores)
    (here.folder / "tool.cfg").write_text("bad")
    document = run_plan(here, 1, "--tries", "2")
    assert verdicts(document) == {"One": "failed"}
    reason = document["tasks"][0]["reason"]
    assert "its checks pass only with files that no commit contains (tool.cfg)" in reason
    assert "Put it into files that git tracks" in here.calls()[1]["prompt"]
    assert document["commits"] == []
    assert_replays(here)


def test_a_check_that_needs_nothing_in_the_repository_is_done_without_a_commit(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    here = make_project(tmp_path, f"# One\n\n## One\nCheck: `test -f {outside}`\n", f"open({str(outside)!r}, 'w')")
    assert verdicts(run_plan(here, 0)) == {"One": "done"}


ASKS = """
if "The answer" not in prompt and "green" not in prompt:
    open("half-" + task.lower(), "w").write(task)
    answer |= {"question": f"Which colour for {task}?", "done": False}
else:
    open(task.lower(), "w").close()
"""
TWO = "# Two\n\n## One\nCheck: `test -f one`\n\n## Two\nCheck: `test -f two`\n"


def effects(document: dict[str, object]) -> dict[str, str]:
    tasks = document["tasks"]
    assert isinstance(tasks, list)
    return {task["title"]: task["effect"] for task in tasks if "effect" in task}


@pytest.mark.parametrize("first", ["One", "Two"])
def test_two_questions_do_not_mix_their_work(tmp_path: Path, first: str) -> None:
    here: Project = make_project(tmp_path, TWO, ASKS)
    document = run_plan(here, 4)
    assert verdicts(document) == {"One": "needs you", "Two": "needs you"}
    open_questions = effects(document)
    document = receipt_of(here.bridle("answer", open_questions.pop(first), "green", "--resume", "--json"), 4)
    files = here.git("show", "--name-only", "--format=", "HEAD").split()
    other = next(iter(open_questions))
    assert first.lower() in files
    assert f"half-{other.lower()}" not in files
    document = receipt_of(here.bridle("answer", open_questions[other], "green", "--resume", "--json"), 0)
    assert verdicts(document) == {"One": "done", "Two": "done"}
    assert_replays(here)


def test_the_work_of_the_only_task_stays_while_its_question_waits(tmp_path: Path) -> None:
    here = make_project(tmp_path, "# One\n\n## One\nCheck: `test -f one`\n", ASKS)
    document = run_plan(here, 4)
    assert (here.folder / "half-one").read_text() == "One"
    document = receipt_of(here.bridle("answer", effects(document)["One"], "green", "--resume", "--json"), 0)
    assert here.git("show", "--name-only", "--format=", "HEAD").split() == ["half-one", "one"]
    assert_replays(here)
