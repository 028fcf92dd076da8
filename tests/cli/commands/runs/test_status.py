"""`bridle status` says what is at work while a driver runs: task, agent, tool, since when, and for how much."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.loop_commands import TWO_TASKS, in_background
from tests.run.fixtures.fake_agent import wait_until

# Calls a tool, says so in the file `calls-tool`, and waits until that is removed.
CALLS_TOOL = """
if task == "Two":
    usage = {"input_tokens": 1000, "output_tokens": 10}
    show(type="assistant", parent_tool_use_id=None, message={"id": "m", "role": "assistant", "usage": usage,
        "model": "claude-sonnet-4-5", "content": [{"type": "text", "text": "I run the tests."},
        {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "pytest -q --of hunter2-of-mine"}}]})
    open(os.path.join(os.path.dirname(calls), "calls-tool"), "w").close()
    while os.path.exists(os.path.join(os.path.dirname(calls), "calls-tool")): time.sleep(0.01)
open(task.lower(), 'w').close()
"""


@contextmanager
def at_work(tmp_path: Path) -> Iterator[Project]:
    """Yield a project with a run whose second task's agent has called a tool."""
    here = make_project(tmp_path, TWO_TASKS, CALLS_TOOL)
    flag = here.agent_folder / "calls-tool"
    with in_background(here, "run", "PLAN.md") as child:
        wait_until(flag.exists)
        yield here
        flag.unlink()
        assert child.wait(60) == 0


def test_status_names_task_iteration_agent_tool_time_and_cost(tmp_path: Path) -> None:
    with at_work(tmp_path) as here:
        document = json.loads(here.bridle("status", "--json", MY_TOKEN="hunter2-of-mine").stdout)
        (now,) = document["now"]
        assert (now["task"], now["iteration"], now["agent"], now["action"]) == ("Two", 1, "claude", "working")
        assert now["tool"].startswith("Bash pytest -q --of ")
        assert "hunter2-of-mine" not in json.dumps(document)
        assert now["text"] == "I run the tests."
        assert now["seconds"] >= 0
        assert now["cost_usd"] > 0
        assert document["at_work"]["pid"] > 0
        lines = here.bridle("status").stdout.splitlines()
        (line,) = [number for number, line in enumerate(lines) if " Two " in line]
        assert "running" in lines[line]
        assert "pending" not in "\n".join(lines)
        assert lines[line + 1].strip().startswith("claude, iteration 1, ")
        assert lines[line + 1].endswith(" USD so far")
        assert lines[line + 2].strip() == "> Bash pytest -q --of hunter2-of-mine"
    assert "now" not in json.loads(here.bridle("status", "--json").stdout)


def test_a_task_that_waits_is_pending_beside_one_that_runs(tmp_path: Path) -> None:
    waits = "open(calls + '-on', 'w').close()\nwhile os.path.exists(calls + '-on'): time.sleep(0.01)\n"
    here = make_project(tmp_path, TWO_TASKS, f"{waits}open(task.lower(), 'w').close()")
    flag = here.agent_folder / "calls-on"
    with in_background(here, "run", "PLAN.md"):
        wait_until(flag.exists)
        one, two = (line for line in here.bridle("status").stdout.splitlines() if " One " in line or " Two " in line)
        assert "running" in one
        assert "pending" in two
        flag.unlink()
