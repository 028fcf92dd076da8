"""`bridle show --prompt TASK`: the prompt that an agent got, or would get."""

from __future__ import annotations

import json
from pathlib import Path

from tests.loop.fixtures.fake_agent import make_project
from tests.loop.fixtures.loop_commands import TWO_TASKS, run_plan


def test_the_prompt_of_a_task_is_shown_before_and_after_it_was_sent(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, "if number == 2: open('one', 'w').close()")
    before = here.bridle("show", "--prompt", "two")
    assert "**Two**" in before.stdout
    assert "no agent got it yet" in before.stderr
    assert not (here.folder / ".a5c").exists()
    run = run_plan(here, 3, "--max-iterations", "2")["run"]
    last = json.loads(here.bridle("show", "--prompt", "One", "--json").stdout)
    assert (last["iteration"], last["run"], last["task"]) == (2, run, "One")
    assert last["text"] == here.calls()[1]["prompt"]
    first = json.loads(here.bridle("show", "--prompt", run, "1", "--iteration", "1", "--json").stdout)
    assert first["text"] == here.calls()[0]["prompt"]
    assert "no agent got it yet" in here.bridle("show", "--prompt", "Two").stderr
    for words, fault in (
        (("Three",), "no task 'Three'"),
        (("One", "--iteration", "7"), "no prompt of iteration 7"),
        ((), "needs a task"),
    ):
        refused = here.bridle("show", "--prompt", *words)
        assert (refused.returncode, fault in refused.stderr) == (2, True), refused.stderr
