"""Decides whether a Bash command may run.

A deny rule applies if any part of the command matches it, in any form. A command is allowed only if every part is
allowed and nothing in it is in doubt.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from bridle.agent.permissions.bash.allow import decide_parts
from bridle.agent.permissions.bash.command_lines import command_lines
from bridle.agent.permissions.bash.denied_files import guards_files, uses_denied_file
from bridle.agent.permissions.bash.parse import read_script
from bridle.agent.permissions.bash.parsed_command import Redirect
from bridle.agent.permissions.bash.rule_patterns import Pattern, compile_rule, could_match, matches
from bridle.agent.permissions.bash.words import Word
from bridle.agent.permissions.rules import denial_messages
from bridle.agent.permissions.rules.file_access import READERS
from bridle.agent.permissions.rules.policy import Allowed, Denied, NeedsApproval, Policy, Verdict
from bridle.agent.permissions.rules.syntax import Rule, names_tool


def decide_command(command: object, policy: Policy) -> Verdict:
    """Decide whether a command may run."""
    if not isinstance(command, str):
        return NeedsApproval(denial_messages.ask_tool("Bash"), denial_messages.advise("Bash"))
    if policy.mode == "plan":
        # Only what certainly just reads: no rule allows a command, or a redirection, to write.
        policy = msgspec.structs.replace(policy, allow=tuple(rule for rule in policy.allow if rule.tool in READERS))
    allowed = _whole(policy.allow, command)
    if policy.mode == "bypassPermissions":
        allowed = "mode bypassPermissions"
    denies, asks = _patterns(policy.deny), _patterns(policy.ask)
    if allowed and not denies and not asks and not guards_files(policy):
        return Allowed(allowed)  # nothing could deny it, so it need not be parsed
    script = read_script(command, policy.home)
    redirects: list[Redirect] = []
    lines = list(dict.fromkeys(command_lines(script, command, policy.home, redirects)))
    if _whole(policy.deny, command) or _any_matches(denies, lines):
        return Denied(denial_messages.denied_command(command))
    if guards_files(policy) and uses_denied_file(lines, redirects, policy):
        return Denied(denial_messages.denied_files(command))
    if _whole(policy.ask, command) or _any_matches(asks, lines):
        return NeedsApproval(denial_messages.ask_tool("Bash"), "A rule requires approval.", kind="rule")
    if policy.mode == "bypassPermissions":
        return Allowed(allowed or "")
    hidden = next((line for line in lines for deny in (*denies, *asks) if could_match(deny, line)), None)
    if hidden is not None:
        doubt = next((word.doubt for word in hidden if word.doubt), None) or denial_messages.NEEDS_APPROVAL
        return NeedsApproval(script.doubts[0] if script.doubts else doubt, denial_messages.advise_simpler())
    if allowed:
        return Allowed(allowed)
    return decide_parts(script, policy)


def _patterns(rules: Iterable[Rule]) -> list[Pattern]:
    return [compile_rule(rule) for rule in rules if rule.specifier is not None and names_tool(rule, "Bash")]


def _whole(rules: Iterable[Rule], command: str) -> str | None:
    """Return a rule that matches every command, or exactly this text."""
    for rule in rules:
        specifier = rule.specifier
        is_whole = specifier is None or ("*" not in specifier and specifier == command.strip())
        if is_whole and names_tool(rule, "Bash"):
            return f"rule {rule}"
    return None


def _any_matches(patterns: Sequence[Pattern], lines: Sequence[tuple[Word, ...]]) -> bool:
    return any(matches(pattern, line) for pattern in patterns for line in lines)
