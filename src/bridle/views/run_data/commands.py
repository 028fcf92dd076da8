"""The `bridle` command of each action of a view: its arguments as a list, checked. Pure.

An action is the command that a user would type: the journal records it, and what refuses the command refuses the
action. Texts of the user never begin an option: they follow `--`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from bridle.errors import UsageError
from bridle.ground import ids

# A hint, an answer or a prompt; a longer one belongs into a file.
TEXT_CHARACTERS = 20_000
_NAME_CHARACTERS = 500
_LIMIT_FLAGS = {
    "max_cost_usd": "--max-cost",
    "max_iterations": "--max-iterations",
    "max_seconds": "--max-time",
    "tries": "--tries",
}


class Target(Struct, frozen=True):
    """The run that an action is about."""

    run: Path
    """Its folder."""
    is_loop: bool = True
    """Whether it works through a plan; else it is the run of another process."""
    is_driven: bool = False
    """Whether a driver executes it now, and reads what the command records."""


class Command(Struct, frozen=True):
    """A command line, and whether it continues by itself after the view has its answer."""

    arguments: tuple[str, ...]
    is_detached: bool = False


def build_command(action: dict[str, Any], target: Target | None) -> Command:
    """Return the command of an action; raise UsageError where something is missing or wrong."""
    fields = _Fields(action)
    name = fields.text("action", _NAME_CHARACTERS)
    build = _BUILDERS.get(name)
    if build is None:
        raise UsageError(f"unknown action {name!r}", remedy=f"Use one of: {', '.join(_BUILDERS)}.")
    if target is not None:
        return build(fields, target)
    if name not in _WITHOUT_RUN:
        raise UsageError(f"the action {name} needs a run", remedy="Open a run first.")
    return _message(fields) if name == "message" else _start(fields)


class _Fields:
    """The fields of an action."""

    def __init__(self, action: dict[str, Any]) -> None:
        self._action = action

    def text(self, name: str, limit: int = TEXT_CHARACTERS) -> str:
        """Return a text that must be there."""
        value = self.optional(name, limit)
        if value is None:
            raise UsageError(f"{name} is missing", remedy="Write something.")
        return value

    def optional(self, name: str, limit: int = TEXT_CHARACTERS) -> str | None:
        """Return a text; None where it is missing or blank."""
        value = self._action.get(name)
        if value is None or value == "":
            return None
        if not isinstance(value, str) or len(value) > limit or "\0" in value:
            raise UsageError(f"{name} must be a text of at most {limit} characters")
        return value if value.strip() else None

    def effect(self) -> str:
        return ids.check_id(self.text("effect", _NAME_CHARACTERS), what="effect")

    def resumes(self, target: Target) -> bool:
        """Return whether the run must be continued after the command: as asked, unless a driver does it."""
        return self._action.get("resume") is True and not target.is_driven

    def limits(self) -> list[str]:
        """Return the flags of the limits that the user changes."""
        given = self._action.get("limits") or {}
        if not isinstance(given, dict) or not given.keys() <= _LIMIT_FLAGS.keys():
            raise UsageError(f"limits must be an object with some of: {', '.join(_LIMIT_FLAGS)}")
        flags: list[str] = []
        for name, value in given.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 10**9:
                raise UsageError(f"{name} must be a number above 0, got {str(value)[:40]!r}")
            suffix = "s" if name == "max_seconds" else ""
            flags += [_LIMIT_FLAGS[name], f"{value:g}{suffix}" if isinstance(value, float) else f"{value}{suffix}"]
        return flags


def _answer(fields: _Fields, target: Target) -> Command:
    return _answered(fields, target, (), fields.optional("option") or fields.text("text"))


def _approve(fields: _Fields, target: Target) -> Command:
    return _answered(fields, target, ("--approve",), fields.optional("text"))


def _reject(fields: _Fields, target: Target) -> Command:
    return _answered(fields, target, ("--reject",), fields.optional("text"))


def _answered(fields: _Fields, target: Target, flags: tuple[str, ...], text: str | None) -> Command:
    """Return the command of an answer. It names effect and run, so that it can answer no other question."""
    is_detached = fields.resumes(target)
    more = (*flags, "--resume") if is_detached else flags
    words = (fields.effect(), *(() if text is None else (text,)), str(target.run))
    return Command(("answer", "--json", *more, "--", *words), is_detached)


def _hint(fields: _Fields, target: Target) -> Command:
    return Command(("hint", "--json", "--", fields.text("text"), str(target.run)))


def _stop(_: _Fields, target: Target) -> Command:
    return Command(("stop", "--json", "--", str(target.run)))


def _resume(fields: _Fields, target: Target) -> Command:
    if not target.is_loop:
        return Command(("drive", "--json", "--", str(target.run)), is_detached=True)
    return Command(("resume", "--json", *fields.limits(), "--", str(target.run)), is_detached=True)


def _retry(fields: _Fields, target: Target) -> Command:
    words = ("--", fields.text("task", _NAME_CHARACTERS), str(target.run))
    if fields.resumes(target):
        return Command(("retry", "--json", "--resume", *words), is_detached=True)
    return Command(("retry", "--json", *words))


def _undo(_: _Fields, target: Target) -> Command:
    return Command(("undo", "--json", "--", str(target.run)))


def _message(fields: _Fields, _: Target | None = None) -> Command:
    session = ids.check_id(fields.text("session", _NAME_CHARACTERS), what="session")
    flags = ("--json", f"--resume={session}", *_agent_flags(fields))
    return Command(("ask", *flags, "--", fields.text("text")), is_detached=True)


def _start(fields: _Fields, _: Target | None = None) -> Command:
    prompt = fields.optional("prompt") or fields.text("text")
    return Command(("ask", "--json", *_agent_flags(fields), "--", prompt), is_detached=True)


def _agent_flags(fields: _Fields) -> list[str]:
    flags = {"agent": "--agent", "model": "--model", "allowed_tools": "--allowed-tools"}
    found = {flag: fields.optional(name, _NAME_CHARACTERS) for name, flag in flags.items()}
    return [f"{flag}={value}" for flag, value in found.items() if value is not None]


_BUILDERS: dict[str, Callable[[_Fields, Target], Command]] = {
    "answer": _answer,
    "approve": _approve,
    "reject": _reject,
    "hint": _hint,
    "stop": _stop,
    "resume": _resume,
    "retry": _retry,
    "undo": _undo,
    "message": _message,
    "start": _start,
}
_WITHOUT_RUN = ("message", "start")
