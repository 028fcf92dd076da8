"""The prompts of a task: those that its agents got, or the one that its first agent would get."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from bridle.cli.user_interface.terminal import chosen_run, top_of
from bridle.errors import RunNotFound, UsageError
from bridle.ground import disk
from bridle.ground.home import bridle_home
from bridle.journal.stores.file_store import FileStore
from bridle.journal.stores.find_run import LAST
from bridle.loop.control.changed_plan import known_plan
from bridle.loop.performers.work import PROMPTS, first_request
from bridle.loop.plan.model import Plan, Task
from bridle.loop.plan.read_plan import read_plan
from bridle.loop.run_inputs import read_inputs
from bridle.loop.settings.bridle_toml import load_settings
from bridle.loop.settings.model import Settings
from bridle.loop.working_copy.refs import task_slug
from bridle.loop.working_copy.run_context import run_context

_LIMIT_BYTES = 16 * 1024 * 1024


class ShownPrompt(Struct, frozen=True):
    """A prompt, and what it is for."""

    task: str
    text: str
    iteration: int
    run: str | None = None
    """None if it was not sent."""
    path: str | None = None


def find_prompt(task: str, run: str | None, iteration: int | None) -> ShownPrompt:
    """Return the prompt of a task's last iteration, or of the one given; without one, that of its first."""
    try:
        folder = chosen_run(run or LAST, None)
    except RunNotFound:
        if run is not None:
            raise
        settings = load_settings(Path.cwd(), bridle_home(os.environ))
        plan = read_plan(None, Path.cwd(), settings)
        return _unsent(_find_task(plan, task), plan, settings, top_of(Path.cwd()))
    store = FileStore(folder)
    inputs = read_inputs(store)
    plan = known_plan(store, inputs)
    found = _find_task(plan, task)
    sent = _sent(folder, found.title)
    if iteration is not None and iteration not in sent:
        known = ", ".join(map(str, sorted(sent))) or "none"
        raise UsageError(f"{found.title!r} has no prompt of iteration {iteration}", remedy=f"It has these: {known}.")
    if not sent:
        return _unsent(found, plan, inputs.settings, Path(inputs.repository))
    number = iteration or max(sent)
    text = disk.read_bounded(sent[number], _LIMIT_BYTES).decode("utf-8", "replace")
    return ShownPrompt(found.title, text, number, folder.name, str(sent[number]))


def _find_task(plan: Plan, name: str) -> Task:
    """Return the task of that number or title, or the only one whose title contains the name."""
    exact = [task for number, task in enumerate(plan.tasks, 1) if name in (task.title, str(number))]
    matching = exact or [task for task in plan.tasks if name.casefold() in task.title.casefold()]
    if len(matching) != 1:
        titles = ", ".join(task.title for task in matching or plan.tasks)
        fault = f"{name!r} matches {len(matching)} tasks" if matching else f"no task {name!r} in the plan"
        raise UsageError(fault, remedy=f"Use one of: {titles}")
    return matching[0]


def _sent(run: Path, title: str) -> dict[int, Path]:
    """Return the kept prompts of a task by their iterations."""
    prefix = f"{task_slug(title)}-"
    paths = [path for path in (run / PROMPTS).glob(f"{prefix}*.md") if not path.is_symlink()]
    numbers = [(path.stem.removeprefix(prefix), path) for path in paths]
    return {int(number): path for number, path in numbers if number.isdecimal()}


def _unsent(task: Task, plan: Plan, settings: Settings, repository: Path) -> ShownPrompt:
    context = run_context(
        repository,
        environment=dict(os.environ),
        settings=settings,
        plan=plan,
        base="",
        run_folder=repository / ".a5c/runs/not-started",
    )
    return ShownPrompt(task.title, first_request(task, context)[0].text, 1)
