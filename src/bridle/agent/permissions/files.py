"""Whether a tool may read or change a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bridle.agent.permissions import texts
from bridle.agent.permissions.paths import is_inside, is_protected, matches, resolve
from bridle.agent.permissions.policy import Allowed, Asks, Denied, Policy, Verdict
from bridle.agent.permissions.rules import Rule, names_tool

READERS: Final = {"Read": "file_path", "Glob": "path", "Grep": "path"}
WRITERS: Final = {"Write": "file_path", "Edit": "file_path", "NotebookEdit": "notebook_path"}


def judge_file(tool: str, arguments: Mapping[str, Any], policy: Policy) -> Verdict:
    writes = tool in WRITERS
    given = arguments.get(WRITERS[tool] if writes else READERS[tool])
    path = given if isinstance(given, str) else "." if given is None and not writes else ""
    resolved = resolve(path, policy.cwd, policy.home)
    if resolved is None or not path:
        return Asks(texts.no_path(tool, path))
    denied = file_rule(policy.deny, resolved, policy, tool=tool)
    if denied:
        return Denied(texts.DENIED_FOLDER, is_listed=False)
    asked = file_rule(policy.ask, resolved, policy, tool=tool)
    if not asked:
        if policy.mode == "bypassPermissions":
            return Allowed("mode bypassPermissions")
        allowed = file_rule(policy.allow, resolved, policy, tool=tool)
        if writes and policy.mode == "plan":
            return Denied(texts.plan_write(path))
        if allowed:
            return Allowed(f"rule {allowed}")
        if is_inside(resolved, policy.working_folders):
            if not writes:
                return Allowed("reading in the working folders")
            if policy.mode in ("acceptEdits", "auto") and not is_protected(resolved):
                return Allowed(f"mode {policy.mode}")
    return _ask_file(path, resolved, policy, writes=writes)


def file_rule(rules: tuple[Rule, ...], resolved: str, policy: Policy, *, tool: str) -> Rule | None:
    """The first rule that means this tool and this resolved path.

    Rules of Edit are for every tool that changes files, rules of Read for every tool that reads them.
    """
    family = "Edit" if tool in WRITERS else "Read"
    for rule in rules:
        if names_tool(rule, tool) and rule.what is None:
            return rule
        if rule.what is None or rule.tool not in (tool, family):
            continue
        if matches(rule.what, resolved, cwd=policy.cwd, home=policy.home):
            return rule
    return None


def _ask_file(path: str, resolved: str, policy: Policy, *, writes: bool) -> Asks:
    inside = is_inside(resolved, policy.working_folders)
    suggestions: list[dict[str, Any]] = []
    folder = resolved.rpartition("/")[0] or "/"
    if not writes:
        what = {"toolName": "Read", "ruleContent": f"/{folder}/**" if folder != "/" else "//**"}
        suggestions.append({"type": "addRules", "rules": [what], "behavior": "allow", "destination": "session"})
    else:
        suggestions.append({"type": "setMode", "mode": "acceptEdits", "destination": "session"})
        if not inside:
            suggestions.append({"type": "addDirectories", "directories": [folder], "destination": "session"})
    text = texts.ask_file(path, resolved, writes=writes, protected=writes and inside and is_protected(resolved))
    return Asks(text, None if inside else resolved, tuple(suggestions))
