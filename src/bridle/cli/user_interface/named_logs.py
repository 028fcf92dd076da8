"""The logs of agents that a user names: the newest, a file, those of a run, or those of a task of a run."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from bridle.cli.user_interface.terminal import chosen_run, shown_run, top_of
from bridle.errors import RunNotFound, UsageError
from bridle.ground.git_folder import folders_up_to_top, repository_top
from bridle.journal.format import layout
from bridle.journal.stores.find_run import LAST, matching_runs, runs_folders
from bridle.run.log_meta import LOG_SUFFIX
from bridle.views.run_data.run_logs import LOGS, NamedLog, NamedTask, RunLogs, logs_in, logs_of_run

NEWEST = "last"
_FILE_SUFFIXES = (LOG_SUFFIX, ".jsonl", ".json", ".log", ".txt")
_SHOWN_CHOICES = 8
# The search for logs below the repository's top begins with the nearest folders and takes at most a second.
_SEARCHED_FOLDERS = 20_000
_SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__"})  # many folders, and never those of a user
_RUN_DIGITS = 5  # no plan has ten thousand tasks
_NAME_CHARACTERS = 200  # a longer name is not that of a run or a task


class NamedLogs(Struct, frozen=True):
    """The logs that a user has named, and the run that they belong to."""

    logs: tuple[NamedLog, ...]
    run: Path | None = None


def find_logs(target: str, task: str | None = None, iteration: int | None = None) -> NamedLogs:
    """Return the logs that a user has named; raise UsageError where the name is wrong or ambiguous."""
    if task is not None:
        return _of_task(_logs_of(chosen_run(target, None)), task, iteration)
    if target == NEWEST and not os.path.exists(NEWEST):
        return NamedLogs((NamedLog(newest_log()),))
    if _is_path(target):
        return NamedLogs((NamedLog(Path(target)),))
    return _of_name(target, iteration)


def find_log_file(target: str) -> Path | None:
    """Return the log that an argument names as a file; None where it can only be a run."""
    if _is_path(target):
        return Path(target)
    if not os.path.isfile(target):
        return None
    if target != LAST and matching_runs(target, *runs_folders(None, os.environ)):
        raise UsageError(f"{target!r} could be a run or a file", remedy=f"The file is ./{target}.")
    return Path(target)


def newest_log() -> Path:
    """Return the newest log of the repository; outside of one, of the nearest folder above that has logs."""
    here = Path.cwd()
    top = repository_top(here)
    places = [[here], *([above] for above in here.parents)] if top is None else [_folders_with_logs(top, here)]
    for folders in places:
        paths = {path for folder in folders for path in logs_in(folder) if path.is_file()}
        if paths:
            return max(paths, key=lambda path: (path.stat().st_mtime_ns, path.name))
    raise UsageError(f"no log in {LOGS}", remedy="Name a file, a run or a task, or `-` for standard input.")


def _logs_of(run: Path) -> RunLogs:
    return logs_of_run(run, top_of(Path.cwd()))


def _of_run(logs: RunLogs, iteration: int | None) -> NamedLogs:
    return _chosen(logs.run, f"run {logs.run.name}", logs.logs, iteration)


def _of_task(logs: RunLogs, name: str, iteration: int | None) -> NamedLogs:
    tasks = _matching_tasks(logs.tasks, name)
    if not tasks:
        raise UsageError(f"run {logs.run.name} has no task {name!r}", remedy=_choices(logs.tasks))
    if len(tasks) > 1:
        raise UsageError(f"{name!r} could be {_listed(tasks)}", remedy="Pass more of the title, or the number.")
    return _chosen(logs.run, str(tasks[0]), tasks[0].logs, iteration)


def _of_name(name: str, iteration: int | None) -> NamedLogs:
    """Return the logs of the run of that name, of that task of the newest run, or the file of that name."""
    found = matching_runs(name, *runs_folders(None, os.environ))
    runs = [run for run in found if run.name == name or not _is_number(name)]
    newest = _newest_run()
    tasks = () if newest is None else _matching_tasks(newest.tasks, name)
    files = [name] if os.path.isfile(name) else []
    if len(runs) + len(tasks) + len(files) > 1:
        choices = [*(f"run {run.name}" for run in runs), *map(str, tasks), *(f"the file ./{file}" for file in files)]
        remedy = "Pass more of the name, or the run and the task: bridle show RUN TASK"
        raise UsageError(f"{name!r} could be {_listed(choices)}", remedy=remedy)
    if runs:
        return _of_run(_logs_of(runs[0]), iteration)
    if newest is not None and tasks:
        return _chosen(newest.run, str(tasks[0]), tasks[0].logs, iteration)
    if os.path.exists(name):
        return NamedLogs((NamedLog(Path(name)),))
    no_run = "There is no run here: name a log of an agent." if _is_number(name) else "Name a log of an agent."
    remedy = no_run if newest is None else _choices(newest.tasks)
    raise UsageError(f"there is no file, run or task {name!r}", remedy=remedy)


def _is_number(name: str) -> bool:
    """Return whether a name is the number of a task; the beginning of a run's id is longer."""
    return name.isdecimal() and len(name) < _RUN_DIGITS


def _newest_run() -> RunLogs | None:
    try:
        return _logs_of(chosen_run(LAST, None))
    except RunNotFound:
        return None


def _matching_tasks(tasks: Sequence[NamedTask], name: str) -> tuple[NamedTask, ...]:
    """Return the tasks of that number or name, else those whose title begins with it or contains it."""
    wanted = name.casefold()
    tests: tuple[Callable[[NamedTask], bool], ...] = (
        lambda task: str(task.number) == name or name in task.names or task.title.casefold() == wanted,
        lambda task: task.title.casefold().startswith(wanted),
        lambda task: wanted in task.title.casefold(),
    )
    matches = (tuple(filter(test, tasks)) for test in tests)
    return next((found for found in matches if found), ())


def _chosen(run: Path, what: str, logs: tuple[NamedLog, ...], iteration: int | None) -> NamedLogs:
    found = tuple(log for log in logs if iteration is None or log.iteration == iteration)
    if found:
        return NamedLogs(found, run)
    if logs:
        known = ", ".join(str(number) for number in dict.fromkeys(log.iteration for log in logs) if number is not None)
        raise UsageError(f"{what} has no iteration {iteration}", remedy=f"It has these: {known}." if known else "")
    raise UsageError(f"no agent has worked on {what}", remedy=f"Its state: bridle {_status_command(run)}")


def _status_command(run: Path) -> str:
    """Return the command that shows the state of a run: one of the loop has a receipt."""
    from bridle.journal.stores.file_store import FileStore
    from bridle.loop.run_inputs import is_loop_run

    return f"{'status' if is_loop_run(FileStore(run)) else 'run:status'} {shown_run(run)}"


def _choices(tasks: Sequence[NamedTask]) -> str:
    return f"Tasks of the run: {_listed(tasks)}." if tasks else "Name a log of an agent."


def _listed(choices: Sequence[object]) -> str:
    more = len(choices) - _SHOWN_CHOICES
    return ", ".join(map(str, choices[:_SHOWN_CHOICES])) + (f" or {more} more" if more > 0 else "")


def _is_path(target: str) -> bool:
    """Return whether an argument can only be a file, there or not."""
    is_like_one = "/" in target or target.endswith(_FILE_SUFFIXES) or len(target) > _NAME_CHARACTERS
    return is_like_one and not os.path.isfile(os.path.join(target, layout.RUN_FILE))


def _folders_with_logs(top: Path, here: Path) -> list[Path]:
    """Return the folders of a repository in which an agent was started: a log is in the agent's working folder."""
    found, waiting, searched = folders_up_to_top(here), deque([top]), 0
    while waiting and searched < _SEARCHED_FOLDERS:
        folder, searched = waiting.popleft(), searched + 1
        for name in _folder_names(folder):
            if name == LOGS.parts[0]:
                found.append(folder)
            elif not name.startswith(".") and name not in _SKIPPED_FOLDERS:
                waiting.append(folder / name)
    return found


def _folder_names(folder: Path) -> list[str]:
    """Return the names of the folders in a folder; none where it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
