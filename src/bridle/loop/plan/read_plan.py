"""The argument of `bridle run`: a plan's file name, or a goal as text."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from bridle.errors import DiskError, PlanError
from bridle.ground import disk
from bridle.ground.suggest import did_you_mean
from bridle.loop.plan.goal import parse_goal
from bridle.loop.plan.markdown import parse_markdown
from bridle.loop.plan.model import Plan
from bridle.loop.plan.prd_json import parse_prd
from bridle.loop.plan.problems import refusal
from bridle.loop.plan.task_list import is_task_list, parse_task_list
from bridle.loop.plan.yaml_tasks import ENDINGS, parse_yaml_tasks
from bridle.loop.settings.bridle_toml import find_file
from bridle.loop.settings.model import Settings

# Tried in this order when there is no argument.
DEFAULT_NAMES = ("PLAN.md", "prd.json", "PRD.md", "tasks.yaml")
_ENDINGS = (".md", ".json", *ENDINGS)
# The plan is recorded in the run, and every prompt has a part of it.
LIMIT_BYTES = 1024 * 1024


class _Parse(Protocol):
    """A parser of plans whose guard and setup may come from the settings."""

    def __call__(
        self,
        text: str,
        source: str,
        *,
        path: str | None = None,
        guard: Sequence[str] = (),
        setup: Sequence[str] = (),
        has_settings_file: bool = True,
    ) -> Plan: ...


def read_plan(argument: str | None, cwd: Path, settings: Settings) -> Plan:
    """Read the plan that the argument means. Raises PlanError with every problem.

    A name that ends in `.md`, `.json`, `.yaml` or `.yml` or has a path separator is a file, and so is the name of an
    existing file. Anything else is a goal, unless it looks like a mistyped file name. Without an argument it is the
    first of `DEFAULT_NAMES` that exists.
    """
    name = _default_name(cwd) if argument is None else argument
    has_file = find_file(cwd) is not None
    if not is_file_name(name, cwd):
        _refuse_mistyped_name(name.strip(), cwd)
        return parse_goal(name, guard=settings.checks, setup=settings.setup, has_settings_file=has_file)
    path = cwd / name
    text = _read_text(name, path)
    parse = _parser(name, text)
    if parse is None:
        return parse_markdown(text, name, path=str(path.absolute()), setup=settings.setup)
    return parse(
        text,
        name,
        path=str(path.absolute()),
        guard=settings.checks,
        setup=settings.setup,
        has_settings_file=has_file,
    )


def _parser(name: str, text: str) -> _Parse | None:
    """Return the parser of a plan whose guard is in the settings; None for Markdown with sections."""
    ending = name.lower()
    if ending.endswith(".json"):
        return parse_prd
    if ending.endswith(ENDINGS):
        return parse_yaml_tasks
    return parse_task_list if is_task_list(text, name) else None


def is_file_name(argument: str, cwd: Path) -> bool:
    """Return whether the argument names a file, existing or not. Raises PlanError for a folder."""
    if "\0" in argument:
        raise refusal(["the plan's name has a NUL character"])
    if argument.strip() and os.path.isdir(cwd / argument):
        raise refusal([f"{argument} is a folder. Name the plan in it, or describe the goal in a sentence."])
    named = argument.lower().endswith(_ENDINGS) or any(
        separator in argument for separator in (os.sep, os.altsep) if separator
    )
    return named or (bool(argument) and os.path.exists(cwd / argument))


def _default_name(cwd: Path) -> str:
    for name in DEFAULT_NAMES:
        if os.path.exists(cwd / name):
            return name
    above = next((found for name in DEFAULT_NAMES if (found := _above(cwd, name)) is not None), None)
    if above is not None:
        raise PlanError(f"no plan given, and {cwd} contains none", remedy=f"Did you mean: bridle run {above}")
    raise PlanError(
        f"no plan given, and {cwd} has no {' or '.join(DEFAULT_NAMES)}",
        remedy='Run `bridle run "goal"`, or write a plan with `bridle init` or `bridle plan "goal"`.',
    )


def _read_text(name: str, path: Path) -> str:
    """Return the file's text without a byte order mark."""
    try:
        if os.path.getsize(path) > LIMIT_BYTES:
            raise refusal([f"{name} is larger than {LIMIT_BYTES // 1024} KiB. Split it into several plans."])
        data = disk.read_bounded(path, LIMIT_BYTES)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise _missing_file(name, path) from error
    except OSError as error:
        raise refusal([f"cannot read {name}: {error.strerror}"]) from error
    except DiskError as error:
        raise refusal([error.message]) from error
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise refusal([f"{name}:{line}: not UTF-8. Save the file as UTF-8."]) from error


def _refuse_mistyped_name(goal: str, cwd: Path) -> None:
    """Raise PlanError for a goal that is a plan's name without its ending, or a single word."""
    beside = _plans_in(cwd)
    meant = [name for name in beside if name.rpartition(".")[0].casefold() == goal.casefold()]
    if meant:
        raise PlanError(f"no such file: {goal}", remedy=f"Did you mean {' or '.join(meant)}? Nothing was started.")
    if goal.isascii() and len(goal.split()) == 1:  # a sentence in other scripts may have no spaces
        remedy = f"{did_you_mean(goal, beside, limit=2)} Name the plan's file, or describe the goal in a sentence."
        raise PlanError(f"{goal!r} is not a file, and a goal must have more than one word", remedy=remedy.strip())


def _plans_in(folder: Path) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name.lower().endswith(_ENDINGS))
    except OSError:
        return []


def _above(folder: Path, name: str) -> str | None:
    """Return the path of a file at the top of the repository that a folder is in, as seen from there."""
    top = next((above for above in folder.absolute().parents if os.path.lexists(above / ".git")), None)
    is_top = os.path.lexists(folder / ".git")
    return os.path.relpath(top / name, folder) if top and not is_top and os.path.isfile(top / name) else None


def _missing_file(name: str, path: Path) -> PlanError:
    above = _above(path.parent, path.name) if os.path.dirname(name) == "" else None
    similar = did_you_mean(path.name, _plans_in(path.parent), limit=2)
    remedy = f"Did you mean: bridle run {above}" if above is not None else similar or "Nothing was started."
    if " " in name.strip():
        remedy += " Text with a slash is taken for a file name. Describe the goal without a slash, or write a plan."
    return PlanError(f"no such file: {name}", remedy=remedy)
