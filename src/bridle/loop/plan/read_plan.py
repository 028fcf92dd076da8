"""What `bridle run` was given: the name of a plan, or a goal in words."""

from __future__ import annotations

import os
from pathlib import Path

from bridle.errors import DiskError, PlanError
from bridle.ground import disk
from bridle.ground.suggest import did_you_mean
from bridle.loop.plan.goal import parse_goal
from bridle.loop.plan.markdown import parse_markdown
from bridle.loop.plan.model import Plan
from bridle.loop.plan.prd_json import parse_prd
from bridle.loop.plan.problems import refusal
from bridle.loop.settings.model import Settings

# What is taken where nothing was given, in this order.
DEFAULT_NAMES = ("PLAN.md", "prd.json")
# The plan is frozen into the run, and every prompt holds a part of it. A book of this size is no plan.
LIMIT_BYTES = 1024 * 1024


def read_plan(argument: str | None, cwd: Path, settings: Settings) -> Plan:
    """The plan that the argument means; PlanError, with everything that is wrong, where it cannot be worked on.

    A name that ends in `.md` or `.json` or holds a path separator is a file; so is the name of a file that exists.
    Anything else is a goal. Without an argument it is PLAN.md or prd.json.
    """
    given = _default(cwd) if argument is None else argument
    if not is_file_name(given, cwd):
        return parse_goal(given, guard=settings.checks, setup=settings.setup)
    path = cwd / given
    text = _text(given, path)
    if given.lower().endswith(".json"):
        return parse_prd(text, given, path=str(path.absolute()), guard=settings.checks, setup=settings.setup)
    return parse_markdown(text, given, path=str(path.absolute()), setup=settings.setup)


def is_file_name(argument: str, cwd: Path) -> bool:
    """Whether the argument names a file, there or not; PlanError for a folder."""
    if "\0" in argument:
        raise refusal(["the plan's name holds a NUL character"])
    if argument.strip() and os.path.isdir(cwd / argument):
        raise refusal([f"{argument} is a folder; name the plan in it, or say the goal in more words"])
    named = argument.lower().endswith((".md", ".json")) or any(mark in argument for mark in (os.sep, os.altsep) if mark)
    return named or (bool(argument) and os.path.exists(cwd / argument))


def _default(cwd: Path) -> str:
    for name in DEFAULT_NAMES:
        if os.path.exists(cwd / name):
            return name
    raise PlanError(
        f"no plan was named, and {cwd} holds no {' or '.join(DEFAULT_NAMES)}",
        remedy='Say `bridle run "goal"`, or let `bridle init` or `bridle plan "goal"` write a plan.',
    )


def _text(given: str, path: Path) -> str:
    """The file's text; without the mark that some editors put before it."""
    try:
        if os.path.getsize(path) > LIMIT_BYTES:
            raise refusal([f"{given} is larger than {LIMIT_BYTES // 1024} KiB; split it into several plans"])
        data = disk.read_bounded(path, LIMIT_BYTES)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise _missing(given, path) from error
    except OSError as error:
        raise refusal([f"{given} cannot be read: {error.strerror}"]) from error
    except DiskError as error:
        raise refusal([error.message]) from error
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise refusal([f"{given}:{line}: this is not UTF-8; save the file as UTF-8"]) from error


def _missing(given: str, path: Path) -> PlanError:
    try:
        beside = sorted(name for name in os.listdir(path.parent) if name.lower().endswith((".md", ".json")))
    except OSError:
        beside = []
    remedy = did_you_mean(path.name, beside, limit=2) or "Nothing was started."
    if " " in given.strip():
        remedy += " Words with a slash in them are taken for a file's name: say a goal without, or write a plan."
    return PlanError(f"there is no such file: {given}", remedy=remedy)
