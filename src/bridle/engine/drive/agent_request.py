"""What a task asks of an agent: from its definition to a request for the runner."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bridle.engine.drive.performer import Job
from bridle.engine.process.effects import SKILL
from bridle.errors import BadTask
from bridle.run.request import Limits, Mode, Permission, Reasoning, Request

# What other programs call an agent that has another name here.
_AGENTS = {"claude-code": "claude"}
# The parts of a prompt that the format knows, in the order in which they make sense; others follow.
_PARTS = ("role", "task", "context", "instructions", "outputFormat")


@dataclass(frozen=True)
class AgentDefaults:
    """How agents are run where a task says nothing about it."""

    agent: str = "claude"
    model: str | None = None
    reasoning: Reasoning | None = None
    permission: Permission = Permission.ACCEPT_EDITS
    limits: Limits = field(default_factory=Limits)


def request(job: Job, manner: AgentDefaults) -> Request:
    """The agent run that a task asks for, in the repository; BadTask where it cannot be one."""
    kind = job.effect.kind
    section = job.task.get(kind)
    given: Mapping[str, Any] = section if isinstance(section, Mapping) else {"prompt": section}
    execution = job.task.get("execution")
    more: Mapping[str, Any] = execution if isinstance(execution, Mapping) else {}
    schema, harness = given.get("outputSchema") or given.get("schema"), str(more.get("harness") or manner.agent)
    try:
        return Request(
            prompt=_prompt(kind, given, job.task),
            cwd=job.repository,
            agent=_AGENTS.get(harness, harness),
            mode=Mode(given.get("mode") or Mode.CODER),
            task=job.name,
            system_prompt=_text(given.get("systemPrompt")),
            allowed_tools=_tools(given.get("allowedTools")),
            model=_text(given.get("model")) or _text(more.get("model")) or manner.model,
            reasoning=Reasoning(given["reasoning"]) if given.get("reasoning") else manner.reasoning,
            json_schema=schema if isinstance(schema, Mapping) else None,
            permission=manner.permission,
            limits=_limits(given, manner.limits),
        )
    except ValueError as error:
        raise BadTask(f"the task {job.name!r} of kind {kind} cannot be run: {error}") from error


def _prompt(kind: str, given: Mapping[str, Any], task: Mapping[str, Any]) -> str:
    """The words for the agent: its own, or put together from the parts that the format knows."""
    if kind == SKILL:
        return _skill_prompt(given, task)
    prompt = given.get("prompt")
    if isinstance(prompt, str) and prompt.strip():
        return prompt
    if isinstance(prompt, Mapping):
        order = [*(part for part in _PARTS if part in prompt), *(part for part in prompt if part not in _PARTS)]
        parts = [f"{part}:\n{_lines(prompt[part])}" for part in order if prompt[part]]
        if parts:
            return "\n\n".join(parts)
    raise BadTask("a task of kind agent has no prompt", remedy="Give agent: {'prompt': 'what to do'}.")


def _skill_prompt(given: Mapping[str, Any], task: Mapping[str, Any]) -> str:
    name = given.get("name") or given.get("skill")
    if not isinstance(name, str) or not name:
        raise BadTask("a task of kind skill names no skill", remedy="Give skill: {'name': …, 'context': …}.")
    context = given.get("context") or given.get("args") or task.get("inputs")
    return f"Use the skill {name!r} for this:\n{_lines(context)}"


def _lines(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        return "\n".join(f"- {_lines(item)}" for item in value)
    return json.dumps(value, ensure_ascii=False, indent=2)


def _limits(given: Mapping[str, Any], limits: Limits) -> Limits:
    wish = given.get("timeoutMs")
    if not isinstance(wish, (int, float)) or isinstance(wish, bool) or wish <= 0:
        return limits
    return replace(limits, run_seconds=wish / 1000)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _tools(value: object) -> tuple[str, ...] | None:
    return tuple(str(tool) for tool in value) if isinstance(value, (list, tuple)) else None
