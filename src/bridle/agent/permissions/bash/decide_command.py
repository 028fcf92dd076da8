"""Decides whether a Bash command may run.

A deny rule applies if any part of the command matches it, in any form. A command is allowed only if every part is
allowed and nothing in it is in doubt.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bridle.agent.permissions.bash.allow import decide_parts
from bridle.agent.permissions.bash.command_lines import command_lines
from bridle.agent.permissions.bash.parse import read_script
from bridle.agent.permissions.bash.parsed_command import Script
from bridle.agent.permissions.bash.rule_patterns import Pattern, compile_rule, could_match, matches
from bridle.agent.permissions.bash.words import Word
from bridle.agent.permissions.rules import denial_messages
from bridle.agent.permissions.rules.file_access import WRITERS, denial
from bridle.agent.permissions.rules.policy import Allowed, Denied, NeedsApproval, Policy, Verdict
from bridle.agent.permissions.rules.rule_paths import glob_matches
from bridle.agent.permissions.rules.syntax import Rule, names_tool
from bridle.ground.real_path import resolve

_FILE_RULES = frozenset({"Read", *WRITERS})


def decide_command(command: object, policy: Policy) -> Verdict:
    """Decide whether a command may run."""
    if not isinstance(command, str):
        return NeedsApproval(denial_messages.ask_tool("Bash"), denial_messages.advise("Bash"))
    allowed = _whole(policy.allow, command)
    if policy.mode == "bypassPermissions":
        allowed = "mode bypassPermissions"
    denies, asks = _patterns(policy.deny), _patterns(policy.ask)
    if allowed and not denies and not asks and not _guards_files(policy):
        return Allowed(allowed)  # nothing could deny it, so it need not be parsed
    script = read_script(command, policy.home)
    lines = list(dict.fromkeys(command_lines(script, command, policy.home)))
    if _whole(policy.deny, command) or _any_matches(denies, lines) or _uses_denied_file(script, policy):
        return Denied(denial_messages.denied_command(command))
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


def _guards_files(policy: Policy) -> bool:
    return any(rule.specifier is not None and rule.tool in _FILE_RULES for rule in policy.deny)


def _uses_denied_file(script: Script, policy: Policy) -> bool:
    """Return whether the command names a file that a rule denies."""
    if not _guards_files(policy):
        return False
    folders = {policy.cwd, policy.shell_folder or policy.cwd}
    for command in script.commands:
        changed = [redirect.target for redirect in command.redirects if not redirect.is_read]
        named = [] if command.words and command.words[0].value in ("echo", "printf") else list(command.words[1:])
        read = [*named, *(redirect.target for redirect in command.redirects if redirect.is_read)]
        for folder in folders:
            if any(_is_denied(word, "Read", folder, policy) for word in read):
                return True
            if any(_is_denied(word, "Edit", folder, policy) for word in [*changed, *named]):
                return True
    return False


def _is_denied(word: Word, tool: str, folder: str, policy: Policy) -> bool:
    paths = (resolve(path, folder, policy.home) for path in _paths(word, folder))
    return any(resolved is not None and denial(resolved, policy, tool=tool) for resolved in paths)


def _paths(word: Word, folder: str) -> list[str]:
    """Return the paths that a word may name: itself, the matches of its glob, the value of an option."""
    value = word.value
    if not value:
        return []
    if word.glob_at >= 0:
        from fnmatch import fnmatchcase

        paths = glob_matches(value, word.glob_at, folder) or []
        return [path for path in paths if "[" in value or fnmatchcase(path, value)]
    _, sign, content = value.partition("=")
    return [value, content] if sign and content else [value]
