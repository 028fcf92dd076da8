"""Decides whether a tool call may run: by the rules, the mode and the files it would use.

Nothing is opened or written here; links are resolved. Bash commands are parsed by `permissions.bash`, which is imported
with the first command.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bridle.agent.permissions.rules import denial_messages
from bridle.agent.permissions.rules.file_access import READERS, WRITERS, judge_file
from bridle.agent.permissions.rules.policy import Allowed, Denied, NeedsApproval, Policy, Verdict
from bridle.agent.permissions.rules.syntax import Rule, canonical, names_tool

# Tools that change nothing outside this program, or whose own calls are checked.
_FREE_TOOLS: Final = frozenset(
    {
        "Agent",
        "CronCreate",
        "CronDelete",
        "CronList",
        "ListMcpResourcesTool",
        "ReadMcpResourceTool",
        "ReportFindings",
        "ScheduleWakeup",
        "SendMessage",
        "Skill",
        "StructuredOutput",
        "TaskCreate",
        "TaskGet",
        "TaskList",
        "TaskOutput",
        "TaskStop",
        "TaskUpdate",
        "TodoWrite",
    }
)


FREE: Final = "needs no permission"

# Tools whose approval is the user's own answer: no rule and no mode replaces it.
_USER_TOOLS: Final = frozenset({"AskUserQuestion", "EnterPlanMode", "ExitPlanMode"})


def decide(tool: str, arguments: Mapping[str, Any], policy: Policy) -> Verdict:
    """Decide whether a call may run."""
    tool = canonical(tool)
    verdict = _decide(tool, arguments, policy)
    if isinstance(verdict, NeedsApproval) and policy.mode == "dontAsk":
        return Denied(denial_messages.dont_ask(tool, verdict.advice))
    return verdict


def approval_of_skill(name: str, policy: Policy) -> Verdict:
    """Return the verdict on a skill that allows tools: the user allows it, by a rule or when asked."""
    advice = denial_messages.advise(f"Skill({name})")
    if policy.mode == "dontAsk":
        return Denied(denial_messages.dont_ask("Skill", advice))
    content = {"toolName": "Skill", "ruleContent": name}
    suggestion = {"type": "addRules", "rules": [content], "behavior": "allow", "destination": "localSettings"}
    return NeedsApproval(f"Execute skill: {name}", advice, None, (suggestion,))


def only_reads(arguments: Mapping[str, Any], policy: Policy) -> bool:
    """Return whether a Bash command is read-only: it would be allowed without any rule."""
    from bridle.agent.permissions.bash.decide_command import decide_command  # tree-sitter is loaded with it

    bare = Policy(cwd=policy.cwd, home=policy.home, folders=policy.folders, shell_folder=policy.shell_folder)
    return isinstance(decide_command(arguments.get("command"), bare), Allowed)


def bypass_refusal(environment: Mapping[str, str], uid: int, source: str) -> str | None:
    """Return the error if permissions must not be bypassed here, else None; `source` is what would bypass them."""
    if uid != 0 or environment.get("IS_SANDBOX") == "1":
        return None
    return denial_messages.bypass_as_root(source)


def _decide(tool: str, arguments: Mapping[str, Any], policy: Policy) -> Verdict:
    for rule in policy.deny:
        if rule.specifier is None and names_tool(rule, tool):
            return Denied(denial_messages.denied_tool(tool))
    if tool == "Bash":
        from bridle.agent.permissions.bash.decide_command import decide_command  # tree-sitter is loaded with it

        return decide_command(arguments.get("command"), policy)
    if tool in READERS or tool in WRITERS:
        return judge_file(tool, arguments, policy)
    return _decide_other(tool, arguments, policy)


def _decide_other(tool: str, arguments: Mapping[str, Any], policy: Policy) -> Verdict:
    specifier = _subject(tool, arguments)
    denied = _other_rule(policy.deny, tool, specifier)
    if denied is not None and tool == "Agent":
        return Denied(denial_messages.denied_agent(specifier, str(denied), denied.source), is_listed=False)
    if denied is not None:
        return Denied(denial_messages.denied_call(tool, specifier))
    if tool in _USER_TOOLS:
        return NeedsApproval(denial_messages.ask_tool(tool), "Only the user can answer it.")
    if not _other_rule(policy.ask, tool, specifier):
        if policy.mode == "bypassPermissions":
            return Allowed("mode bypassPermissions")
        rule = _other_rule(policy.allow, tool, specifier)
        if rule:
            return Allowed(f"rule {rule}")
        if tool in _FREE_TOOLS:
            return Allowed(FREE)
    return _ask_other(tool, specifier)


def _ask_other(tool: str, specifier: str | None) -> NeedsApproval:
    is_domain = tool == "WebFetch" and specifier != "domain:"
    content = {"toolName": tool, "ruleContent": specifier} if is_domain else {"toolName": tool}
    suggestion = {"type": "addRules", "rules": [content], "behavior": "allow", "destination": "localSettings"}
    return NeedsApproval(
        denial_messages.ask_tool(tool),
        denial_messages.advise(f"{tool}({specifier})" if is_domain else tool),
        None,
        (suggestion,),
    )


def _subject(tool: str, arguments: Mapping[str, Any]) -> str | None:
    """Return what a rule of this tool would name in its parentheses for this call."""
    if tool == "WebFetch":
        return f"domain:{_domain(arguments.get('url'))}"
    if tool == "Skill":
        return str(arguments.get("skill", "")).strip().lstrip("/")
    if tool == "Agent":
        return str(arguments.get("subagent_type") or "general-purpose")
    return None


def _other_rule(rules: tuple[Rule, ...], tool: str, specifier: str | None) -> Rule | None:
    for rule in rules:
        if not names_tool(rule, tool):
            continue
        if rule.specifier is None or (specifier is not None and _matches(tool, rule.specifier, specifier)):
            return rule
    return None


def _matches(tool: str, pattern: str, specifier: str) -> bool:
    if tool == "WebFetch":
        return _matches_domain(pattern, specifier)
    if tool == "Agent":  # an agent is found in other letters too
        pattern, specifier = pattern.lower(), specifier.lower()
    if pattern.endswith(":*"):
        return specifier == pattern[:-2] or specifier.startswith(pattern[:-2])
    from fnmatch import fnmatchcase

    return fnmatchcase(specifier, pattern.replace("[", "[[]").replace("?", "[?]"))


def _matches_domain(pattern: str, specifier: str) -> bool:
    wanted, domain = pattern.lower().removeprefix("domain:"), specifier.removeprefix("domain:")
    if not pattern.lower().startswith("domain:") or not domain:
        return False
    if wanted.startswith("*."):
        return domain.endswith(wanted[1:])
    return domain == wanted


def _domain(url: object) -> str:
    from urllib.parse import urlsplit

    if not isinstance(url, str) or "\\" in url or any(ord(letter) <= 32 for letter in url):
        return ""  # parsers disagree about such a URL, so no rule matches it
    try:
        return (urlsplit(url).hostname or "").rstrip(".").lower()
    except ValueError:
        return ""
