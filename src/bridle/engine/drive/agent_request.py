"""The request to the runner for an agent task."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bridle.engine.drive.performer import Job
from bridle.engine.process.effects import SKILL
from bridle.errors import BadTask
from bridle.run.request import Limits, Mode, Permission, Reasoning, Request

# Names of agents in other programs.
_AGENTS = {"claude-code": "claude"}
# The parts of a prompt by the format, in a sensible order; others follow.
_PARTS = ("role", "task", "context", "instructions", "outputFormat")


@dataclass(frozen=True)
class AgentDefaults:
    """The defaults for agent tasks."""

    agent: str = "claude"
    model: str | None = None
    reasoning: Reasoning | None = None
    permission: Permission = Permission.ACCEPT_EDITS
    limits: Limits = field(default_factory=Limits)


def request(job: Job, defaults: AgentDefaults) -> Request:
    """Return the request for an agent task in the repository; raise BadTask if it is invalid."""
    kind = job.effect.kind
    section = job.task.get(kind)
    fields: Mapping[str, Any] = section if isinstance(section, Mapping) else {"prompt": section}
    execution = job.task.get("execution")
    hints: Mapping[str, Any] = execution if isinstance(execution, Mapping) else {}
    schema, harness = fields.get("outputSchema") or fields.get("schema"), str(hints.get("harness") or defaults.agent)
    try:
        return Request(
            prompt=_prompt(kind, fields, job.task),
            cwd=job.repository,
            agent=_AGENTS.get(harness, harness),
            mode=Mode(fields.get("mode") or Mode.CODER),
            task=job.name,
            system_prompt=_text(fields.get("systemPrompt")),
            allowed_tools=_tools(fields.get("allowedTools")),
            model=_text(fields.get("model")) or _text(hints.get("model")) or defaults.model,
            reasoning=Reasoning(fields["reasoning"]) if fields.get("reasoning") else defaults.reasoning,
            json_schema=schema if isinstance(schema, Mapping) else None,
            permission=defaults.permission,
            limits=_limits(fields, defaults.limits),
        )
    except ValueError as error:
        raise BadTask(f"the definition of task {job.name!r} is invalid: {error}") from error


def _prompt(kind: str, fields: Mapping[str, Any], task: Mapping[str, Any]) -> str:
    """Return the prompt: a text, or the joined parts by the format."""
    if kind == SKILL:
        return _skill_prompt(fields, task)
    prompt = fields.get("prompt")
    if isinstance(prompt, str) and prompt.strip():
        return prompt
    if isinstance(prompt, Mapping):
        order = [*(part for part in _PARTS if part in prompt), *(part for part in prompt if part not in _PARTS)]
        parts = [f"{part}:\n{_lines(prompt[part])}" for part in order if prompt[part]]
        if parts:
            return "\n\n".join(parts)
    raise BadTask("a task of kind agent has no prompt", remedy="Give agent: {'prompt': 'what to do'}.")


def _skill_prompt(fields: Mapping[str, Any], task: Mapping[str, Any]) -> str:
    name = fields.get("name") or fields.get("skill")
    if not isinstance(name, str) or not name:
        raise BadTask("a task of kind skill has no skill name", remedy="Give skill: {'name': …, 'context': …}.")
    context = fields.get("context") or fields.get("args") or task.get("inputs")
    return f"Use the skill {name!r} for this:\n{_lines(context)}"


def _lines(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        return "\n".join(f"- {_lines(item)}" for item in value)
    return json.dumps(value, ensure_ascii=False, indent=2)


def _limits(fields: Mapping[str, Any], limits: Limits) -> Limits:
    timeout_ms = fields.get("timeoutMs")
    if not isinstance(timeout_ms, (int, float)) or isinstance(timeout_ms, bool) or timeout_ms <= 0:
        return limits
    return replace(limits, run_seconds=timeout_ms / 1000)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _tools(value: object) -> tuple[str, ...] | None:
    return tuple(str(tool) for tool in value) if isinstance(value, (list, tuple)) else None
