"""Permission updates of a host: rules, folders and the mode, applied to the policy of this session.

The shapes are those of the control protocol: `addRules`, `replaceRules`, `removeRules`, `addDirectories`,
`removeDirectories`, `setMode`. An update that is not valid is skipped, and the rest applies. `destination` is not used:
every update lasts as long as the process, and no settings file is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from bridle.agent.permissions.rules.policy import MODES, Policy, with_mode
from bridle.agent.permissions.rules.syntax import Rule, parse_rules
from bridle.ground.files.real_path import resolve

_BEHAVIORS = ("allow", "deny", "ask")


def apply_updates(policy: Policy, updates: object, *, may_bypass: bool) -> Policy:
    """Return the policy with the updates of a host."""
    for update in updates if isinstance(updates, list) else ():
        if isinstance(update, dict):
            policy = _apply(policy, update, may_bypass=may_bypass)
    return policy


def _apply(policy: Policy, update: dict[str, Any], *, may_bypass: bool) -> Policy:
    match update:
        case {"type": "addRules" | "replaceRules" | "removeRules" as kind, "rules": list(sent), "behavior": behavior}:
            return _with_rules(policy, kind, behavior, sent)
        case {"type": "addDirectories" | "removeDirectories" as kind, "directories": list(sent)}:
            return _with_folders(policy, kind, sent)
        case {"type": "setMode", "mode": str(mode)} if mode in MODES:
            return policy if mode == "bypassPermissions" and not may_bypass else with_mode(policy, mode)
    return policy


def _with_rules(policy: Policy, kind: str, behavior: object, sent: list[Any]) -> Policy:
    if behavior not in _BEHAVIORS:
        return policy
    rules = tuple(parse_rules(text for entry in sent if (text := _rule_text(entry))))
    present: tuple[Rule, ...] = getattr(policy, str(behavior))
    match kind:
        case "addRules":
            changed = (*present, *rules)
        case "replaceRules":
            changed = rules
        case _:
            removed = {str(rule) for rule in rules}
            changed = tuple(rule for rule in present if str(rule) not in removed)
    return msgspec.structs.replace(policy, **{str(behavior): changed})


def _rule_text(entry: object) -> str | None:
    match entry:
        case {"toolName": str(tool), "ruleContent": str(content)} if content:
            return f"{tool}({content})"
        case {"toolName": str(tool)}:
            return tool
    return None


def _with_folders(policy: Policy, kind: str, sent: Iterable[Any]) -> Policy:
    found = (resolve(folder, policy.cwd, policy.home) for folder in sent if isinstance(folder, str) and folder)
    folders = dict.fromkeys(folder for folder in found if folder is not None)
    if kind == "addDirectories":
        changed = tuple(dict.fromkeys([*policy.folders, *folders]))
    else:
        changed = tuple(folder for folder in policy.folders if folder not in folders)
    return msgspec.structs.replace(policy, folders=changed)
