"""The logs of agents that a user names: the newest, a file, those of a run, or those of a task of a run."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from bridle.cli.user_interface.agent_ending import read_meta_if_possible
from bridle.cli.user_interface.terminal import chosen_run, shown_run, top_of
from bridle.engine.process.effects import AGENT, SKILL
from bridle.errors import RunNotFound, UsageError
from bridle.ground.git_folder import folders_up_to_top, repository_top
from bridle.journal.format import layout
from bridle.journal.stores.find_run import LAST, matching_runs, runs_folders
from bridle.journal.stores.store import Store
from bridle.run.log_meta import LOG_SUFFIX, LogMeta

NEWEST = "last"
LOGS = Path(".ralph/logs/claude")
# Runs with worktrees keep their logs there.
WORKTREES = Path(".ralph/worktrees")
_FILE_SUFFIXES = (LOG_SUFFIX, ".jsonl", ".json", ".log", ".txt")
_SHOWN_CHOICES = 8
# The search for logs below the repository's top begins with the nearest folders and takes at most a second.
_SEARCHED_FOLDERS = 20_000
_SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__"})  # many folders, and never those of a user
_RUN_DIGITS = 5  # no plan has ten thousand tasks
_NAME_CHARACTERS = 200  # a longer name is not that of a run or a task


class NamedLog(Struct, frozen=True):
    """A log, and what its agent worked on where that is known."""

    path: Path
    task: str = ""
    key: str = ""
    """The name by which the task is found: its title, or the id of the effect."""
    iteration: int | None = None
    attempt: int = 1
    """Greater than 1 for an agent that was started again in the same iteration."""
    agent: str = ""

    @property
    def title(self) -> str:
        """What the agent worked on, in one line; empty where that is not known."""
        iteration = "" if self.iteration is None else f": iteration {self.iteration}"
        attempt = "" if self.attempt == 1 else f", attempt {self.attempt}"
        agent = f" ({self.agent})" if self.agent else ""
        return f"{self.task}{iteration}{attempt}{agent}" if self.task else ""


class NamedTask(Struct, frozen=True):
    """A task of a run, and the agents that worked on it."""

    number: int
    names: tuple[str, ...]
    """Its title, then its ids and labels."""
    logs: tuple[NamedLog, ...] = ()

    @property
    def title(self) -> str:
        """Its title."""
        return self.names[0]

    def __str__(self) -> str:
        return f"task {self.number} {self.title!r}"


class RunLogs(Struct, frozen=True):
    """The logs of a run."""

    run: Path
    tasks: tuple[NamedTask, ...]
    logs: tuple[NamedLog, ...]
    """Those of all tasks, in the order of their start."""


class NamedLogs(Struct, frozen=True):
    """The logs that a user has named, and the run that they belong to."""

    logs: tuple[NamedLog, ...]
    run: Path | None = None


def find_logs(target: str, task: str | None = None, iteration: int | None = None) -> NamedLogs:
    """Return the logs that a user has named; raise UsageError where the name is wrong or ambiguous."""
    if task is not None:
        return _of_task(logs_of_run(chosen_run(target, None)), task, iteration)
    if target == NEWEST and not os.path.exists(NEWEST):
        return NamedLogs((NamedLog(newest_log()),))
    if _is_path(target):
        return NamedLogs((NamedLog(Path(target)),))
    return _of_name(target, iteration)


def newest_log() -> Path:
    """Return the newest log of the repository; outside of one, of the nearest folder above that has logs."""
    here = Path.cwd()
    top = repository_top(here)
    places = [[here], *([above] for above in here.parents)] if top is None else [_folders_with_logs(top, here)]
    for folders in places:
        paths = {path for folder in folders for path in _logs_in(folder) if path.is_file()}
        if paths:
            return max(paths, key=lambda path: (path.stat().st_mtime_ns, path.name))
    raise UsageError(f"no log in {LOGS}", remedy="Name a file, a run or a task, or `-` for standard input.")


def logs_of_run(run: Path) -> RunLogs:
    """Return the logs of a run's agents, by task and in the order of their start."""
    from bridle.journal.stores.file_store import FileStore
    from bridle.loop.run_inputs import is_loop_run, read_inputs

    store, folders = FileStore(run), [top_of(run.absolute()), top_of(Path.cwd())]
    if is_loop_run(store):
        inputs = read_inputs(store)
        folders += [Path(inputs.repository), *map(Path, inputs.worktrees)]
        names: list[tuple[str, ...]] = [(task.title,) for task in inputs.plan.tasks]
        logs = tuple(_logs_of_iterations(run.name, folders))
    else:
        names = _names_of_effects(store)
        logs = tuple(_logs_of_effects(run.name, folders, names))
    tasks = (
        NamedTask(number, task, tuple(log for log in logs if log.key in task))
        for number, task in enumerate(names, start=1)
    )
    return RunLogs(run, tuple(tasks), logs)


def _logs_of_iterations(run: str, folders: Sequence[Path]) -> Iterator[NamedLog]:
    """Yield the logs of a run of the loop; their purpose is that of `effects.work_purpose`."""
    for label, attempt, path, meta in _logs_with_purpose(run, folders):
        title, _, number = label.rpartition(": iteration ")
        iteration = int(number) if number.isdecimal() else None
        yield NamedLog(path, title, title, iteration, attempt, meta.agent or "")


def _logs_of_effects(run: str, folders: Sequence[Path], names: Iterable[tuple[str, ...]]) -> Iterator[NamedLog]:
    """Yield the logs of a process's agents; their purpose has the id of the effect."""
    titles = {effect_id: title for title, effect_id, *_ in names}
    for effect_id, attempt, path, meta in _logs_with_purpose(run, folders):
        yield NamedLog(path, titles.get(effect_id, effect_id), effect_id, None, attempt, meta.agent or "")


def _logs_with_purpose(run: str, folders: Sequence[Path]) -> Iterator[tuple[str, int, Path, LogMeta]]:
    """Yield label, attempt, path and meta of the logs whose purpose names a run, in the order of their start."""
    attempts: dict[str, int] = {}
    paths = {path.resolve() for folder in folders for path in _logs_in(folder)}
    for path in sorted(paths, key=lambda path: path.name):
        meta = read_meta_if_possible(path)
        owner, _, label = (meta.purpose or "").partition("/")
        if owner == run and label:
            attempts[label] = attempts.get(label, 0) + 1
            yield label, attempts[label], path, meta


def _names_of_effects(store: Store) -> list[tuple[str, ...]]:
    """Return title, id and label of each effect that an agent executes."""
    names: list[tuple[str, ...]] = []
    for effect in store.state().effects.values():
        if effect.kind in (AGENT, SKILL):
            title = store.task(effect).title or effect.label or effect.task_id
            names.append((title, effect.effect_id, effect.label or "", effect.task_id))
    return names


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
        return _of_run(logs_of_run(runs[0]), iteration)
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
        return logs_of_run(chosen_run(LAST, None))
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


def _logs_in(folder: Path) -> Iterator[Path]:
    for place in (folder, *(folder / WORKTREES).glob("*")):
        # Not what an agent put in the place of a log: a named pipe would block.
        yield from (path for path in (place / LOGS).glob(f"*{LOG_SUFFIX}") if path.is_file())
