"""Tasks that name a protected file, in their text or by a check that runs it: if they must change it, it is undone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from bridle.loop.plan.model import Plan, Task
from bridle.loop.protection.baseline import find_protected
from bridle.loop.settings.bridle_toml import FILE_NAME
from bridle.loop.settings.model import Settings
from bridle.loop.text.path_patterns import matches
from bridle.loop.working_copy.run_context import run_context
from bridle.workspace.inert_git import inert_git

# A plan that names a hundred tests says it once too often.
SHOWN_WARNINGS = 10
_OUR_FOLDER = ".ralph/"
# A check is expected to run such files; any other one may be what the task is about.
_CHECKING = re.compile(r"test|spec|check|verify|lint", re.IGNORECASE)


async def find_warnings(
    repository: Path, plan: Plan, settings: Settings, environment: Mapping[str, str], *, base: str
) -> list[str]:
    """Return a warning for each task that names a protected file which it may not edit. Nothing is written."""
    git = await inert_git(repository, environment)
    names = await git.names("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    folder = repository / ".a5c/runs/none"  # nothing of a run is read
    context = run_context(
        repository, environment=environment, settings=settings, plan=plan, base=base, run_folder=folder
    )
    protected = find_protected(context, sorted(names)).files
    own = plan.path and Path(plan.path).name
    files = {
        path: why
        for path, why in protected.items()
        if not path.startswith(_OUR_FOLDER) and Path(path).name not in (FILE_NAME, own)
    }
    found = [warning for task in plan.tasks for warning in _of_task(task, files)]
    more = len(found) - SHOWN_WARNINGS
    return [*found[:SHOWN_WARNINGS], *([f"and {more} more protected files that tasks name"] if more > 0 else [])]


def _of_task(task: Task, files: Mapping[str, str]) -> Iterator[str]:
    text = "\n".join((task.title, task.body, *(item.text for item in task.checklist)))
    for path, why in files.items():
        is_named = _names(text, path) or (
            not _CHECKING.search(path) and any(_names(check, path) for check in task.checks)
        )
        if is_named and not any(matches(pattern, path) for pattern in task.may_edit):
            yield (
                f"the task {task.title!r} names {path}, and its changes to that file would be undone: {why}."
                f" If the task must change it, add this line to the task: May edit: {path}"
            )


def _names(text: str, path: str) -> bool:
    return re.search(rf"(?<![\w./-]){re.escape(path)}(?![\w/-])", text) is not None
