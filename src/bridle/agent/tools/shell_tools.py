"""Makes the shell and task list tools of one session."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bridle.agent.permissions.rules.syntax import canonical
from bridle.agent.tools.contract.tool import Tool
from bridle.agent.tools.shell.background import BackgroundTasks
from bridle.agent.tools.shell.bash import Bash
from bridle.agent.tools.shell.limits import CommandLimits
from bridle.agent.tools.shell.shell import Shell
from bridle.agent.tools.shell.task_output import TaskOutput
from bridle.agent.tools.shell.task_stop import TaskStop
from bridle.agent.tools.todo.task_tools import task_list_tools
from bridle.agent.tools.todo.todo_write import TodoWrite


def shell_tools(
    shell: Shell, background: BackgroundTasks, *, results_folder: Path, limits: CommandLimits
) -> list[Tool]:
    """Return the tools of one session; long outputs are saved in `results_folder`."""
    return [
        Bash(shell, background, results_folder=results_folder, limits=limits),
        TaskOutput(background, output_characters=limits.task_output_characters),
        TaskStop(background),
        TodoWrite(),
        *task_list_tools(),
    ]


def normalize_arguments(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the input of a call with old field names replaced by the current ones."""
    current = dict(arguments)
    if canonical(name) != "TaskOutput":
        return current
    task_id = current.pop("task_id", None) or current.pop("bash_id", None) or current.pop("agentId", None)
    if name == "BashOutput":
        current = {key: value for key, value in current.items() if key in ("block", "timeout")}
    return {**({"task_id": task_id} if task_id is not None else {}), "block": True, "timeout": 30000, **current}
