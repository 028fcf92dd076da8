"""The logs of the agents of a run: which files they are, and what each agent worked on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from bridle.engine.process.effects import AGENT, SKILL
from bridle.ground.git_folder import repository_top
from bridle.journal.stores.store import Store
from bridle.run.log_meta import LOG_SUFFIX, LogMeta
from bridle.views.run_data.log_ending import read_meta_if_possible

LOGS = Path(".ralph/logs/claude")
# Runs with worktrees keep their logs there.
WORKTREES = Path(".ralph/worktrees")


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
    """The logs of all tasks, in the order of their start."""


def logs_of_run(run: Path, *more_folders: Path) -> RunLogs:
    """Return the logs of a run's agents, by task and in the order of their start."""
    from bridle.journal.stores.file_store import FileStore
    from bridle.loop.run_inputs import is_loop_run, read_inputs

    folder = run.absolute()
    store, folders = FileStore(run), [repository_top(folder) or folder, *more_folders]
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


def logs_in(folder: Path) -> Iterator[Path]:
    """Yield the logs of a folder and of the worktrees in it; none that is a link, or anything else but a file."""
    for place in (folder, *(folder / WORKTREES).glob("*")):
        logs = place / LOGS
        # An agent can put a link there, which would show any file of the user as a log, or a named pipe, which blocks.
        if logs.is_dir() and logs.resolve() == place.resolve() / LOGS:
            yield from (path for path in logs.glob(f"*{LOG_SUFFIX}") if path.is_file() and not path.is_symlink())


def working_folder_of(log: Path) -> Path:
    """Return the folder in which the agent of a log works."""
    return log.parents[len(LOGS.parts)]


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
    paths = {path.resolve() for folder in folders for path in logs_in(folder)}
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
