"""Whether the plan, its checks or the settings have changed since a run began. Small, since `bridle status` imports it.

What is slow to import is imported only if a file has changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridle.ground import disk
from bridle.ground.home import bridle_home
from bridle.journal.format import layout
from bridle.journal.stores.file_store import FileStore
from bridle.loop.run_inputs import plan_in_force, read_place

if TYPE_CHECKING:
    from bridle.loop.plan.model import Plan, Task
    from bridle.loop.run_inputs import RunInputs
    from bridle.loop.settings.model import Settings

_LIMIT_BYTES = 16 * 1024 * 1024
# Settings that a flag cannot change, so that a difference is one of the files.
_COMPARED = ("checks", "setup", "clean", "protect", "check_timeout", "setup_timeout")
# Names in one line.
SHOWN = 3


def find_changes(run: Path, environment: Mapping[str, str]) -> list[str]:
    """Return what differs from the plan and the settings that a run uses, a line each."""
    store = FileStore(run, reuses_view=True)
    document = plan_in_force(store)
    place = read_place(store)
    path = document.get("path")
    lines = []
    if isinstance(path, str):
        path = path if place.recorded_repository is None else path.replace(place.recorded_repository, place.repository)
        lines += _plan_changes(Path(path), document)
    if _is_newer(Path(place.repository), run):
        lines += _settings_changes(store, Path(place.repository), environment)
    return lines


def known_plan(store: FileStore, inputs: RunInputs, new: Plan | None = None) -> Plan:
    """Return the plan that a run uses, with the tasks of earlier ones: their effects may be in progress."""
    from msgspec.structs import replace

    from bridle.loop.plan.model import Plan

    plan = new or replace(Plan.from_json(plan_in_force(store)), path=inputs.plan.path)
    titles = {task.title for task in plan.tasks}
    return replace(plan, tasks=(*plan.tasks, *(task for task in inputs.plan.tasks if task.title not in titles)))


def _plan_changes(path: Path, recorded: Mapping[str, Any]) -> list[str]:
    data = disk.read_part(path, _LIMIT_BYTES)
    if data is None:
        return [f"{path.name} does not exist any more"]
    text = data.decode("utf-8-sig", "surrogateescape")
    if text.replace("\r\n", "\n") == str(recorded.get("text")).replace("\r\n", "\n"):
        return []
    from bridle.errors import Error
    from bridle.loop.plan.model import Plan
    from bridle.loop.plan.read_plan import read_plan
    from bridle.loop.settings.model import Settings

    old = Plan.from_json(recorded)
    try:
        new = read_plan(str(path), path.parent, Settings(checks=old.guard, setup=old.setup))
    except Error as error:
        if _is_ticked_whole(path, text, old):
            return []
        return [f"{path.name} has changed, and cannot be read: {' '.join(error.message.split())}"]
    found = list(_differences(old, new))
    return [f"{path.name} has changed: {'; '.join(found)}"] if found else []


def _is_ticked_whole(path: Path, text: str, old: Plan) -> bool:
    """Return whether it is the old text with every task ticked: it has no tasks any more."""
    from bridle.loop.plan.tick_boxes import tick_text

    lines = old.text.replace("\r\n", "\n")
    return tick_text(path, lines, [task.title for task in old.tasks])[0] == text.replace("\r\n", "\n")


def _differences(old: Plan, new: Plan) -> Iterator[str]:
    """Yield how two plans differ; ticks do not count."""
    before, after = {task.title: task for task in old.tasks}, {task.title: task for task in new.tasks}
    if added := [title for title in after if title not in before and title not in old.left_out]:
        yield f"new: {_names(added)}"
    if gone := [title for title in before if title not in after and title not in new.left_out]:
        yield f"gone: {_names(gone)}"
    both = [title for title in before if title in after]
    if checks := [title for title in both if before[title].checks != after[title].checks]:
        yield f"other checks: {_names(checks)}"
    if texts := [title for title in both if title not in checks and _words(before[title]) != _words(after[title])]:
        yield f"other text: {_names(texts)}"
    own = [command for command in old.guard if command != ".ralph/check"]
    if own != list(new.guard):
        yield "other `Checks:`"
    if old.setup != new.setup:
        yield "other `Setup:`"


def _words(task: Task) -> tuple[object, ...]:
    return task.body, tuple(item.text for item in task.checklist), task.needs, task.may_edit, task.priority


def _names(titles: list[str]) -> str:
    more = len(titles) - SHOWN
    return ", ".join(map(repr, titles[:SHOWN])) + (f" and {more} more" if more > 0 else "")


def _is_newer(repository: Path, run: Path) -> bool:
    """Return whether the settings of the repository were written after the run was created."""
    try:
        return os.stat(repository / "bridle.toml").st_mtime > os.stat(run / layout.RUN_FILE).st_mtime
    except OSError:
        return False


def _settings_changes(store: FileStore, repository: Path, environment: Mapping[str, str]) -> list[str]:
    from bridle.errors import Error
    from bridle.loop.run_inputs import read_inputs
    from bridle.loop.settings.bridle_toml import load_settings

    try:
        now = load_settings(repository, bridle_home(environment))
    except Error as error:
        return [f"bridle.toml has changed, and cannot be read: {' '.join(error.message.split())}"]
    found = _different_keys(read_inputs(store).settings, now)
    return [f"bridle.toml has changed: {', '.join(found)}"] if found else []


def _different_keys(old: Settings, now: Settings) -> list[str]:
    from bridle.loop.settings.model import KEYS

    attributes = {name: KEYS[name].attribute for name in _COMPARED if name in KEYS}
    return [name for name, attribute in attributes.items() if getattr(old, attribute) != getattr(now, attribute)]
