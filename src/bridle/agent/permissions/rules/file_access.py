"""Decides whether a tool may read or change a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from bridle.agent.permissions.rules import denial_messages
from bridle.agent.permissions.rules.policy import Allowed, Denied, NeedsApproval, Policy, Verdict
from bridle.agent.permissions.rules.rule_paths import (
    is_inside,
    matches,
    matches_any_case,
    protection,
    split_pattern,
)
from bridle.agent.permissions.rules.syntax import Rule, names_tool
from bridle.ground.files.real_path import is_loop, resolve

READERS: Final = {"Read": "file_path", "Glob": "path", "Grep": "path"}
WRITERS: Final = {"Write": "file_path", "Edit": "file_path", "NotebookEdit": "notebook_path"}
# A placeholder for any file in a folder; no pattern matches it by chance.
_ANY_NAME: Final = "\x01"
EDITING_MODES: Final = frozenset({"acceptEdits", "auto"})


def judge_file(tool: str, arguments: Mapping[str, Any], policy: Policy) -> Verdict:
    """Decide whether a tool may use the file or search the folder that its arguments name."""
    writes = tool in WRITERS
    argument = arguments.get(WRITERS[tool] if writes else READERS[tool])
    path = argument if isinstance(argument, str) else ""
    start = policy.shell_folder or policy.cwd
    if tool == "Glob":
        path = split_pattern(str(arguments.get("pattern", "")), path)[0]
    if not path and tool in ("Glob", "Grep"):
        path = start
    resolved = resolve(path, start, policy.home) if path else None
    if resolved is None and path and is_loop(path, start, policy.home):
        return Denied(denial_messages.link_loop(tool, os.path.join(start, path)), is_listed=False)
    if resolved is None:
        return NeedsApproval(denial_messages.no_path(tool), denial_messages.advise(tool))
    searches = tool in ("Glob", "Grep")
    if denial(resolved, policy, tool=tool):
        return (
            Denied(denial_messages.denied_search(path))
            if searches
            else Denied(denial_messages.DENIED_FOLDER, is_listed=False)
        )
    if writes and _is_shared(resolved, policy):
        return Denied(denial_messages.isolated(policy.cwd), is_listed=False)
    ask_rule = file_rule(policy.ask, resolved, policy, tool=tool)
    if ask_rule is not None:
        reason = (
            denial_messages.ask_tool(tool) if ask_rule.specifier is None else _reason(path, resolved, writes=writes)
        )
        return NeedsApproval(reason, f"The rule {ask_rule} requires approval.", kind="rule", path=resolved)
    verdict = _judge_write(tool, path, resolved, policy) if writes else _judge_read(tool, path, resolved, policy)
    return replace(verdict, path=resolved) if isinstance(verdict, NeedsApproval) else verdict


def file_rule(rules: tuple[Rule, ...], resolved: str, policy: Policy, *, tool: str) -> Rule | None:
    """Return the first rule that matches this tool and resolved path.

    Edit rules with a pattern apply to every tool that changes files, Read rules to every tool that reads them.
    """
    return _first_rule(rules, resolved, policy, tool, matches)


def _first_rule(
    rules: tuple[Rule, ...], resolved: str, policy: Policy, tool: str, matches_path: Callable[..., bool]
) -> Rule | None:
    family = "Edit" if tool in WRITERS else "Read"
    for rule in rules:
        if rule.specifier is None:
            if names_tool(rule, tool):
                return rule
        elif rule.tool in (tool, family) and matches_path(rule.specifier, resolved, cwd=policy.cwd, home=policy.home):
            return rule
    return None


def denial(resolved: str, policy: Policy, *, tool: str) -> Rule | None:
    """Return the rule that denies this path, or everything below it."""
    paths = (resolved, f"{resolved}/{_ANY_NAME}")
    policies = (policy,) if policy.checkout is None else (policy, replace(policy, cwd=policy.checkout))
    found = (_first_rule(policy.deny, path, each, tool, matches_any_case) for path in paths for each in policies)
    return next((rule for rule in found if rule is not None), None)


def _is_shared(resolved: str, policy: Policy) -> bool:
    """Return whether a file is of the working copy that an agent in a worktree must not change."""
    return (
        policy.checkout is not None
        and is_inside(resolved, (policy.checkout,))
        and not is_inside(resolved, policy.working_folders)
    )


def _protection(resolved: str, policy: Policy) -> str | None:
    """Return the name in a path that protects it; where a worktree lies does not count."""
    if policy.checkout is not None and is_inside(resolved, (policy.cwd,)):
        resolved = resolved.removeprefix(policy.cwd)
    return protection(resolved)


def may_change(resolved: str, policy: Policy, *, tool: str | None = None) -> str | None:
    """Return the rule or mode that allows changing a resolved path, or None.

    Without a tool it is a Bash command that would change the file; rules without a pattern do not apply then.
    """
    guard = _protection(resolved, policy)
    for rule in policy.allow:
        if rule.specifier is None and tool is None:
            continue
        if guard is not None and guard not in (rule.specifier or "").lower():
            continue  # the pattern itself must name what is protected
        if file_rule((rule,), resolved, policy, tool=tool or "Edit"):
            return f"rule {rule}"
    if guard is None and policy.mode in EDITING_MODES and is_inside(resolved, policy.working_folders):
        return f"mode {policy.mode}"
    return None


def may_read(resolved: str, policy: Policy) -> bool:
    """Return whether a command may read a resolved path without approval."""
    patterns = tuple(rule for rule in policy.allow if rule.specifier is not None)
    return is_inside(resolved, policy.working_folders) or bool(file_rule(patterns, resolved, policy, tool="Read"))


def is_hidden(path: str, policy: Policy) -> bool:
    """Return whether a rule denies reading this file, so that searches must not show it either."""
    patterns = [rule.specifier for rule in policy.deny if rule.specifier is not None and rule.tool in READERS]
    if not patterns:  # the usual case; a search can find very many files
        return False
    resolved = resolve(path, policy.cwd, policy.home)
    folders = (policy.cwd,) if policy.checkout is None else (policy.cwd, policy.checkout)
    return resolved is None or any(
        matches_any_case(pattern, resolved, cwd=folder, home=policy.home) for pattern in patterns for folder in folders
    )


def _judge_read(tool: str, path: str, resolved: str, policy: Policy) -> Verdict:
    if policy.mode == "bypassPermissions":
        return Allowed("mode bypassPermissions", resolved)
    allowed = file_rule(policy.allow, resolved, policy, tool=tool)
    if allowed is not None:
        return Allowed(f"rule {allowed}", resolved)
    if is_inside(resolved, policy.working_folders):
        return Allowed("reading in the working folders", resolved)
    folder = resolved.rpartition("/")[0]
    suggestion = read_suggestion(folder)
    return NeedsApproval(
        denial_messages.ask_read(path),
        denial_messages.advise(f"Read(/{resolved})"),
        resolved,
        (suggestion,),
        "workingDir",
    )


def _judge_write(tool: str, path: str, resolved: str, policy: Policy) -> Verdict:
    if policy.mode == "bypassPermissions":
        return Allowed("mode bypassPermissions", resolved)
    advice = denial_messages.advise(f"Edit(/{resolved})")
    accept = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
    if policy.mode == "plan":
        return NeedsApproval(denial_messages.plan_write(path), "Leave plan mode to write.", kind="mode")
    allowed = may_change(resolved, policy, tool=tool)
    if allowed is not None:
        return Allowed(allowed, resolved)
    reason = _reason(path, resolved, writes=True)
    if _protection(resolved, policy) is not None:
        return NeedsApproval(reason, advice, kind="safetyCheck")
    if is_inside(resolved, policy.working_folders):
        return NeedsApproval(reason, f"{advice[:-1]}; or --permission-mode acceptEdits.", None, (accept,))
    folders = {"type": "addDirectories", "directories": [resolved.rpartition("/")[0] or "/"], "destination": "session"}
    suggestions = (accept, folders) if policy.mode not in EDITING_MODES else (folders,)
    return NeedsApproval(reason, advice, resolved, suggestions, "workingDir")


def read_suggestion(folder: str) -> dict[str, Any]:
    """Return the permission update that allows reading a folder for this session."""
    rules = [{"toolName": "Read", "ruleContent": f"/{folder}/**"}]
    return {"type": "addRules", "rules": rules, "behavior": "allow", "destination": "session"}


def _reason(path: str, resolved: str, *, writes: bool) -> str:
    if not writes:
        return denial_messages.ask_read(path)
    guard = protection(resolved)
    return denial_messages.ask_protected(path) if guard not in (None, ".claude") else denial_messages.ask_write(path)
