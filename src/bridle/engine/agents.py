"""Effects that are agents: one fresh agent for each, through the runner, and what came of it as a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridle.engine.effects import SKILL
from bridle.errors import BadTask
from bridle.run.request import Limits, Mode, Permission, Reasoning, Request
from bridle.run.runner import Finished, run

Say = Callable[[str], None]


@dataclass(frozen=True)
class Manner:
    """How agents are run where a task says nothing about it."""

    agent: str = "claude"
    model: str | None = None
    reasoning: Reasoning | None = None
    permission: Permission = Permission.ACCEPT_EDITS
    limits: Limits = Limits()


def request(task: Mapping[str, Any], manner: Manner, *, cwd: Path, name: str, own_folder: bool) -> Request:
    """The agent run that a task asks for; BadTask where it has no prompt."""
    kind = str(task.get("kind"))
    section = task.get(kind)
    given: Mapping[str, Any] = section if isinstance(section, Mapping) else {"prompt": section}
    execution = task.get("execution")
    more: Mapping[str, Any] = execution if isinstance(execution, Mapping) else {}
    schema = given.get("outputSchema") or given.get("schema")
    try:
        return Request(
            prompt=_prompt(kind, given, task),
            cwd=cwd,
            agent=str(given.get("agent") or more.get("harness") or manner.agent),
            mode=Mode(given.get("mode") or Mode.CODER),
            task=name,
            system_prompt=_text(given.get("systemPrompt")),
            allowed_tools=_tools(given.get("allowedTools")),
            model=_text(given.get("model")) or _text(more.get("model")) or manner.model,
            reasoning=Reasoning(given["reasoning"]) if given.get("reasoning") else manner.reasoning,
            json_schema=schema if isinstance(schema, Mapping) else None,
            permission=manner.permission,
            limits=manner.limits,
            own_folder=own_folder,
        )
    except ValueError as error:
        raise BadTask(f"the task {name!r} of kind {kind} cannot be run: {error}") from error


async def perform(asked: Request, environment: Mapping[str, str], say: Say) -> Finished:
    """Run the agent to its end."""
    return await run(asked, environment=environment, say=say)


def value(finished: Finished) -> dict[str, Any]:
    """What a process gets for an agent that did its work."""
    record, outcome = finished.record, finished.outcome
    return {
        "text": outcome.final_text,
        "structured": record.structured_output,
        "sessionId": record.session_id,
        "costUsd": finished.cost.usd,
        "seconds": round(finished.duration_seconds, 3),
        "attempts": finished.attempts,
        "log": str(finished.log_path) if finished.log_path else None,
    }


def error(finished: Finished) -> dict[str, Any]:
    """What a process gets for one that did not."""
    outcome = finished.outcome
    message = str(finished.unusable or outcome.error or "the agent failed and did not say why")
    data = {"category": outcome.category.value if outcome.category else None, **value(finished)}
    return {"name": "AgentFailed", "message": message, "data": data}


def _prompt(kind: str, given: Mapping[str, Any], task: Mapping[str, Any]) -> str:
    """The words for the agent: its own, or put together from the parts that the format knows."""
    if kind == SKILL:
        name = given.get("name") or given.get("skill")
        if not name:
            raise BadTask("a task of kind skill names no skill", remedy="Give skill: {'name': …}.")
        return f"Use the skill {name}. Context: {given.get('context') or given.get('args') or task.get('inputs')}"
    prompt = given.get("prompt")
    if isinstance(prompt, str) and prompt.strip():
        return prompt
    if isinstance(prompt, Mapping):
        parts = [f"{part}: {_lines(prompt[part])}" for part in prompt if prompt[part]]
        if parts:
            return "\n\n".join(parts)
    raise BadTask("a task of kind agent has no prompt", remedy="Give agent: {'prompt': 'what to do'}.")


def _lines(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return "\n".join(f"- {item}" for item in value)
    return str(value)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _tools(value: object) -> tuple[str, ...] | None:
    return tuple(str(tool) for tool in value) if isinstance(value, (list, tuple)) else None
