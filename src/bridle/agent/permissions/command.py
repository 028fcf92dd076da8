"""Whether a command of the shell may run."""

from __future__ import annotations

from bridle.agent.permissions import texts
from bridle.agent.permissions.policy import Allowed, Asks, Denied, Policy, Verdict
from bridle.agent.permissions.rules import names_tool


def judge_command(command: object, policy: Policy) -> Verdict:
    """Whether this command may run."""
    text = command if isinstance(command, str) else ""
    if any(names_tool(rule, "Bash") for rule in policy.deny):
        return Denied(texts.denied_command(text))
    if any(rule.what is None and names_tool(rule, "Bash") for rule in policy.allow) and not policy.ask:
        return Allowed("rule Bash")
    return Allowed("mode") if policy.mode == "bypassPermissions" else Asks(texts.ask_tool("Bash", text))
