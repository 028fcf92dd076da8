"""Hook definitions of settings files, plugins and hosts, by event."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

# A hook without a timeout of its own, in seconds, as Claude Code documents it.
DEFAULT_TIMEOUT_SECONDS = 60.0
# The timeout of a hook of type prompt: the answer of a model.
PROMPT_TIMEOUT_SECONDS = 30.0
# A pattern of names alone, joined by `|` or `,`; every other pattern is a regular expression.
_NAMES = re.compile(r"[\w-]+(\s*[|,]\s*[\w-]+)*")


class CommandHook(msgspec.Struct, frozen=True):
    """A shell command that reads the event on standard input."""

    command: str
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    variables: tuple[tuple[str, str], ...] = ()
    """Further variables: those of its plugin."""
    condition: str = ""
    """A permission rule that the tool call must match; empty for every call."""
    arguments: tuple[str, ...] | None = None
    """Started without a shell with these; None for a command of the shell."""
    is_async: bool = False
    """Whether the session continues without waiting for it."""

    @property
    def name(self) -> str:
        """How messages name it."""
        return " ".join((self.command, *self.arguments)) if self.arguments else self.command


class PromptHook(msgspec.Struct, frozen=True):
    """A question to a model, which decides whether a condition is met."""

    prompt: str
    timeout_seconds: float = PROMPT_TIMEOUT_SECONDS
    model: str | None = None
    condition: str = ""
    continues: bool = False
    """Whether the turn continues after a condition that is not met."""

    @property
    def name(self) -> str:
        """How messages name it."""
        return self.prompt


class CallbackHook(msgspec.Struct, frozen=True):
    """A function of the host."""

    callback_id: str
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    must_answer: bool = False
    """Whether a failure blocks, as `onFailure: block` demands."""
    condition: str = ""

    @property
    def name(self) -> str:
        """How messages name it."""
        return "callback"


Hook = CommandHook | PromptHook | CallbackHook


class HookMatcher(msgspec.Struct, frozen=True):
    """Hooks for the subjects that a pattern matches."""

    pattern: str
    hooks: tuple[Hook, ...]

    def matches(self, subject: str) -> bool:
        """Return whether the hooks apply to a tool, or to another subject of their event."""
        if self.pattern in ("", "*"):
            return True
        if _NAMES.fullmatch(self.pattern):
            return subject in re.split(r"\s*[|,]\s*", self.pattern)
        compiled = _compile(self.pattern)
        return compiled is not None and compiled.search(subject) is not None


HookTable = dict[str, tuple[HookMatcher, ...]]
"""The matchers of each event."""


def settings_hooks(
    value: Mapping[str, Any], source: str, variables: Mapping[str, str] | None = None
) -> tuple[HookTable, tuple[str, ...]]:
    """Return the hooks of a settings file or a plugin, and a warning for each entry that cannot be used."""
    table: HookTable = {}
    warnings: list[str] = []
    pairs = tuple((variables or {}).items())
    for event, groups in value.items():
        if not isinstance(groups, list):
            warnings.append(f"Ignoring hooks.{event} of {source}: it must be a list.")
            continue
        for group in groups:
            matcher = _settings_matcher(group, pairs)
            if matcher is None:
                kinds = "command or prompt"
                warnings.append(f"Ignoring an entry of hooks.{event} of {source}: it has no hook of type {kinds}.")
            else:
                table[event] = (*table.get(event, ()), matcher)
    return table, tuple(warnings)


def host_hooks(value: object) -> HookTable:
    """Return the hooks that a host registers in `initialize`; entries of another form are skipped."""
    table: HookTable = {}
    for event, groups in value.items() if isinstance(value, dict) else ():
        for group in groups if isinstance(groups, list) else ():
            match group:
                case {"hookCallbackIds": list(ids)}:
                    timeout, blocks = _seconds(group.get("timeout")), group.get("onFailure") == "block"
                    hooks = tuple(CallbackHook(each, timeout, blocks) for each in ids if isinstance(each, str))
                    table[event] = (*table.get(event, ()), HookMatcher(_pattern(group), hooks))
    return table


def merge_hooks(*tables: HookTable) -> HookTable:
    """Return the hooks of all tables, in their order."""
    merged: HookTable = {}
    for table in tables:
        for event, matchers in table.items():
            merged[event] = (*merged.get(event, ()), *matchers)
    return merged


def _settings_matcher(group: object, variables: tuple[tuple[str, str], ...]) -> HookMatcher | None:
    entries = group.get("hooks") if isinstance(group, dict) else None
    hooks = [hook for entry in (entries if isinstance(entries, list) else ()) if (hook := _hook(entry, variables))]
    return HookMatcher(_pattern(group), tuple(hooks)) if hooks and isinstance(group, dict) else None


def _hook(entry: object, variables: tuple[tuple[str, str], ...]) -> Hook | None:
    """Return the hook of an entry; None for one that cannot be used."""
    if not isinstance(entry, dict):
        return None
    match entry:
        case {"type": "command", "command": str(command)} if command.strip() and "\0" not in command:
            arguments = entry.get("args")
            return CommandHook(
                command,
                _seconds(entry.get("timeout")),
                variables,
                _text(entry.get("if")),
                tuple(map(str, arguments)) if isinstance(arguments, list) else None,
                entry.get("async") is True or entry.get("asyncRewake") is True,
            )
        case {"type": "prompt", "prompt": str(prompt)} if prompt.strip():
            return PromptHook(
                prompt,
                _seconds(entry.get("timeout"), PROMPT_TIMEOUT_SECONDS),
                _text(entry.get("model")) or None,
                _text(entry.get("if")),
                entry.get("continueOnBlock") is True,
            )
    return None


def _pattern(group: Mapping[str, Any]) -> str:
    pattern = group.get("matcher")
    return pattern if isinstance(pattern, str) else ""


def _seconds(value: object, default: float = DEFAULT_TIMEOUT_SECONDS) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 < value < float("inf") else default  # type: ignore[operator,arg-type]  # a number


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


@lru_cache(maxsize=64)
def _compile(pattern: str) -> re.Pattern[str] | None:
    """Compile a pattern; None for an invalid one, which matches nothing."""
    try:
        return re.compile(pattern)
    except re.error:
        return None
