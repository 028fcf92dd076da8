"""Why a command needs approval, as a request for the model and the host."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from bridle.agent.permissions.bash.wrappers import is_carrier
from bridle.agent.permissions.rules import denial_messages
from bridle.agent.permissions.rules.file_access import EDITING_MODES, read_suggestion
from bridle.agent.permissions.rules.policy import NeedsApproval, Policy
from bridle.agent.permissions.rules.rule_paths import is_inside

_PLAIN_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*\Z")


class Problem(msgspec.Struct, frozen=True):
    """Why one part of a command needs approval."""

    part: str
    text: str | None = None
    """The specific reason; None: the part only needs approval."""
    path: str | None = None
    rules: tuple[str, ...] = ()
    """The rules that would allow it."""
    kind: str = "other"
    action: str = ""
    """`read`, `write` or `redirect`, if a path is the reason."""


def suggest(part: str) -> str:
    """Return the rule content for a command: its first two words and `*`, or the command itself."""
    words = part.split()
    if len(words) > 1 and _PLAIN_NAME.match(words[0]) and _PLAIN_NAME.match(words[1]) and not is_carrier(words[0]):
        return f"{words[0]} {words[1]} *"
    return part


def ask(problems: list[Problem], count: int, policy: Policy) -> NeedsApproval:
    """Return the request for approval of a command of `count` parts."""
    by_part = {problem.part: problem for problem in reversed(problems)}
    first = problems[0]
    rules = tuple(dict.fromkeys(rule for problem in problems for rule in problem.rules))
    advice = denial_messages.advise(*rules) if rules else denial_messages.advise_simpler()
    if (
        first.action == "write"
        and policy.mode not in EDITING_MODES
        and first.path
        and is_inside(first.path, policy.working_folders)
    ):
        advice = f"{advice[:-1]}; or --permission-mode acceptEdits."
    if len(by_part) > 1:
        return NeedsApproval(
            denial_messages.ask_parts(list(reversed(by_part))),
            advice,
            suggestions=_suggestions(problems),
            kind="subcommandResults",
        )
    if first.text is None and count > 1:
        return NeedsApproval(
            denial_messages.ask_parts([first.part]),
            advice,
            suggestions=_suggestions(problems),
            kind="subcommandResults",
        )
    return NeedsApproval(
        first.text or denial_messages.NEEDS_APPROVAL, advice, first.path, _suggestions(problems), first.kind
    )


def _suggestions(problems: list[Problem]) -> tuple[dict[str, Any], ...]:
    rules = [
        {"toolName": "Bash", "ruleContent": suggest(part)}
        for part in dict.fromkeys(p.part for p in problems if p.rules)
    ]
    suggestions: list[dict[str, Any]] = []
    if rules:
        suggestions.append({"type": "addRules", "rules": rules, "behavior": "allow", "destination": "localSettings"})
    first = problems[0]
    if first.path is not None:
        folder = first.path.rpartition("/")[0]
        if first.action == "read":
            suggestions.append(read_suggestion(folder))
        else:
            suggestions.append({"type": "addDirectories", "directories": [folder or "/"], "destination": "session"})
        if first.action == "write":
            suggestions.append({"type": "setMode", "mode": "acceptEdits", "destination": "session"})
    return tuple(suggestions)
