"""The request to the runner for an agent task."""

from __future__ import annotations

import json
from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from bridle.engine.drive.performer import Job
from bridle.engine.process.effects import SKILL
from bridle.errors import BadTask
from bridle.ground.json_fields import JsonFields
from bridle.run.isolation.sandbox_rules import ChosenSandbox
from bridle.run.request import Auth, Limits, Mode, Permission, Reasoning, Request

# Names of agents in other programs.
_AGENTS = {"claude-code": "claude"}
# The parts of a prompt by the format, in a sensible order; others follow.
_PARTS = ("role", "task", "context", "instructions", "outputFormat")


class AgentDefaults(Struct, frozen=True):
    """The defaults for agent tasks."""

    agent: str = "claude"
    model: str | None = None
    reasoning: Reasoning | None = None
    permission: Permission = Permission.ACCEPT_EDITS
    auth: Auth = Auth.AUTO
    limits: Limits = field(default_factory=Limits)
    sandbox: ChosenSandbox = field(default_factory=ChosenSandbox)


def request(job: Job, defaults: AgentDefaults) -> Request:
    """Return the request for an agent task in the repository; raise BadTask if it is invalid."""
    task, kind = JsonFields(job.task.document), job.effect.kind
    section = task.fields(kind) if task.object(kind) else JsonFields({"prompt": task.first(kind)})
    execution, timeout_ms = task.fields("execution"), section.positive("timeoutMs")
    harness, reasoning = str(execution.first("harness") or defaults.agent), section.first("reasoning")
    try:
        return Request(
            prompt=_skill_prompt(section, task) if kind == SKILL else _prompt(section),
            cwd=job.repository,
            agent=_AGENTS.get(harness, harness),
            mode=Mode(section.first("mode") or Mode.CODER),
            task=job.name,
            purpose=f"{job.run.name}/{job.effect.effect_id}",
            system_prompt=section.text("systemPrompt"),
            allowed_tools=section.texts("allowedTools"),
            model=section.text("model") or execution.text("model") or defaults.model,
            reasoning=Reasoning(reasoning) if reasoning else defaults.reasoning,
            json_schema=section.object("outputSchema", "schema") or None,
            permission=defaults.permission,
            auth=defaults.auth,
            sandbox=defaults.sandbox,
            read_only=(job.run.parent,),
            limits=replace(defaults.limits, run_seconds=timeout_ms / 1000) if timeout_ms else defaults.limits,
        )
    except ValueError as error:
        raise BadTask(f"the definition of task {job.name!r} is invalid: {error}") from error


def _prompt(section: JsonFields) -> str:
    """Return the prompt: a text, or the joined parts by the format."""
    prompt = section.first("prompt")
    if isinstance(prompt, str) and prompt.strip():
        return prompt
    if isinstance(prompt, Mapping):
        order = [*(part for part in _PARTS if part in prompt), *(part for part in prompt if part not in _PARTS)]
        parts = [f"{part}:\n{_lines(prompt[part])}" for part in order if prompt[part]]
        if parts:
            return "\n\n".join(parts)
    raise BadTask("a task of kind agent has no prompt", remedy="Set agent: {'prompt': 'what to do'}.")


def _skill_prompt(section: JsonFields, task: JsonFields) -> str:
    name = section.text("name", "skill")
    if name is None:
        raise BadTask("a task of kind skill has no skill name", remedy="Set skill: {'name': …, 'context': …}.")
    context = section.first("context", "args") or task.first("inputs")
    return f"Use the skill {name!r} for this:\n{_lines(context)}"


def _lines(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        return "\n".join(f"- {_lines(item)}" for item in value)
    return json.dumps(value, ensure_ascii=False, indent=2)
