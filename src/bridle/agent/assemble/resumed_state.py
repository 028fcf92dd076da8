"""What a resumed session knows from its earlier processes: the files that were read, and the task list."""

from __future__ import annotations

from pathlib import Path

from bridle.agent.assemble.run_inputs import RunInputs
from bridle.agent.sessions.session import Session
from bridle.agent.tools.contract.tool import Tool
from bridle.agent.tools.files.known_files import FileMemory


def keep_tasks(inputs: RunInputs, session: Session, tools: list[Tool]) -> None:
    """Write the task list of a session that is kept where Claude Code looks for it when it resumes the session."""
    if session.path is None:
        return
    from bridle.agent.tools.todo.task_files import TaskFiles
    from bridle.agent.tools.todo.task_tools import TaskCreate

    for tool in tools:
        if isinstance(tool, TaskCreate):
            tool.items.on_changed = TaskFiles(inputs.config_folder / "tasks" / session.id).save


def restore_state(inputs: RunInputs, session: Session, memory: FileMemory, tools: list[Tool]) -> None:
    """Restore the state of a resumed session from its transcript. A fork has its own task list, an empty one."""
    if session.source is None:
        return
    from bridle.agent.sessions.past_calls import PastCall, past_calls
    from bridle.agent.tools.files import restore_files
    from bridle.agent.tools.todo.restore_tasks import restore_task, restored_todos
    from bridle.agent.tools.todo.task_tools import TaskCreate
    from bridle.agent.tools.todo.todo_write import TodoWrite

    has_tasks = not inputs.options.session.forks
    items = next((tool.items for tool in tools if isinstance(tool, TaskCreate)), None) if has_tasks else None
    todo_write = next((tool for tool in tools if isinstance(tool, TodoWrite)), None) if has_tasks else None
    files: dict[Path, PastCall] = {}
    for call in past_calls(session.source, session.history.leaf):
        path = restore_files.path_of(call.name, call.arguments, call.cwd)
        if path is not None and call.detail.get("type") != "file_unchanged":
            files[path] = call
        elif items is not None and call.name.startswith("Task"):
            restore_task(items, call.name, call.arguments, call.detail)
        elif todo_write is not None and call.name == "TodoWrite":
            todo_write.todos = restored_todos(call.detail)
    for path, call in files.items():
        known = restore_files.known_text(call.name, call.detail)
        restore_files.restore_file(memory, path, known, ended_ms=call.ended_ms)
