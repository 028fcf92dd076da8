"""Builds the body and headers of a request. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bridle import __version__
from bridle.agent.model.api.models import BETA_TASK_BUDGET, Model, effort_for, is_on, thinking_for
from bridle.agent.model.api.question import Block, Message, Question
from bridle.agent.model.api.stream_pieces import JsonObject
from bridle.errors import UsageError

API_VERSION = "2023-06-01"

_CACHE_MARK = {"cache_control": {"type": "ephemeral"}}
# Blocks that may not have a cache mark.
_UNMARKED = frozenset({"thinking", "redacted_thinking"})


def build_body(
    question: Question, model: Model, environment: Mapping[str, str], *, stream: bool, max_tokens: int | None = None
) -> JsonObject:
    """Return the body for one model; `max_tokens` overrides the question's after an error."""
    messages = list(question.messages) if model.takes_system_messages else _without_system(question.messages)
    limit = max_tokens or question.max_tokens or model.max_tokens
    thinking = None if _is_forced(question) else thinking_for(model, question.thinking_tokens, environment)
    if thinking is not None and question.thinking_display is not None and thinking["type"] != "disabled":
        thinking["display"] = question.thinking_display
    output = _output_config(question, model, environment)
    cached = question.is_cached and not is_on(environment, "DISABLE_PROMPT_CACHING")
    return {
        "model": model.id,
        "max_tokens": limit,
        **({"system": _marked_last(question.system, cached=cached)} if question.system else {}),
        "messages": _marked_newest(messages) if cached else messages,
        **({"tools": _marked_last(question.tools, cached=cached and not question.system)} if question.tools else {}),
        **({"tool_choice": question.tool_choice} if question.tool_choice is not None and question.tools else {}),
        **({"thinking": _within(thinking, limit)} if thinking is not None else {}),
        **({"output_config": output} if output else {}),
        **({"stream": True} if stream else {}),
    }


def beta_names(
    question: Question, model: Model, more: Iterable[str], environment: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the betas of a request without duplicates."""
    own = environment.get("ANTHROPIC_BETAS", "").split(",")
    budget = () if question.task_budget is None else (BETA_TASK_BUDGET,)
    return tuple(dict.fromkeys(name for name in (*model.betas, *budget, *more, *map(str.strip, own)) if name))


def build_headers(
    betas: Iterable[str],
    credential: Iterable[tuple[str, str]],
    session_id: str | None,
    environment: Mapping[str, str],
) -> dict[str, str]:
    """Return the headers of a request; ANTHROPIC_CUSTOM_HEADERS take precedence."""
    joined = ",".join(betas)
    named = {
        "accept": "application/json",
        "accept-encoding": "identity",
        "content-type": "application/json",
        "user-agent": f"bridle-agent/{__version__}",
        "anthropic-version": API_VERSION,
        **({"anthropic-beta": joined} if joined else {}),
        **dict(credential),
        **({"x-claude-code-session-id": session_id} if session_id else {}),
    }
    return named | custom_headers(environment)


def custom_headers(environment: Mapping[str, str]) -> dict[str, str]:
    """Parse ANTHROPIC_CUSTOM_HEADERS, one `Name: value` per line."""
    custom: dict[str, str] = {}
    for line in environment.get("ANTHROPIC_CUSTOM_HEADERS", "").splitlines():
        name, colon, value = line.partition(":")
        if not line.strip():
            continue
        if not colon or not name.strip():
            raise UsageError("each line of ANTHROPIC_CUSTOM_HEADERS must be `Name: value`")
        custom[name.strip().lower()] = value.strip()
    return custom


def _output_config(question: Question, model: Model, environment: Mapping[str, str]) -> JsonObject:
    effort = effort_for(model, question.effort, environment)
    budget = question.task_budget
    return {
        **({"effort": effort} if effort is not None else {}),
        **({"format": question.answer_format} if question.answer_format is not None else {}),
        **({"task_budget": {"type": "tokens", "total": budget}} if budget is not None else {}),
    }


def _is_forced(question: Question) -> bool:
    """Return whether a call of one of our tools is forced, which the API does not allow with thinking.

    For a tool that the endpoint runs, thinking is turned off by `thinking_tokens`, as in Claude Code.
    """
    choice = question.tool_choice
    is_ours = all("input_schema" in tool for tool in question.tools)
    return is_ours and choice is not None and choice.get("type") in ("any", "tool")


def _within(thinking: dict[str, object], limit: int) -> dict[str, object]:
    """Limit the thinking budget to `max_tokens`, of which it is a part."""
    budget = thinking.get("budget_tokens")
    return thinking if not isinstance(budget, int) else {**thinking, "budget_tokens": min(budget, limit - 1)}


def _marked_last(blocks: tuple[Block, ...], *, cached: bool) -> list[Block]:
    if not cached:
        return list(blocks)
    return [*blocks[:-1], {**blocks[-1], **_CACHE_MARK}]


def _marked_newest(messages: list[Message]) -> list[Message]:
    """Mark the last two user messages, so that the cache of the last request is used.

    With the mark on the system prompt these are three of the four that the API allows.
    """
    marked = list(messages)
    left = 2
    for index in range(len(marked) - 1, -1, -1):
        if left == 0:
            break
        if marked[index]["role"] == "user" and (message := _marked_message(marked[index])) is not None:
            marked[index] = message
            left -= 1
    return marked


def _marked_message(message: Message) -> Message | None:
    """Return the message with a mark on its last possible block, or None."""
    content = message["content"]
    if isinstance(content, str):
        return {**message, "content": [{"type": "text", "text": content, **_CACHE_MARK}]} if content else None
    for index in range(len(content) - 1, -1, -1):
        block = content[index]
        if block.get("type") not in _UNMARKED and block.get("text") != "":
            return {**message, "content": [*content[:index], {**block, **_CACHE_MARK}, *content[index + 1 :]]}
    return None


def _without_system(messages: Iterable[Message]) -> list[Message]:
    """Turn system messages into reminders of the user, and join adjacent user messages."""
    joined: list[Message] = []
    for message in messages:
        sent = _as_reminder(message) if message["role"] == "system" else message
        if joined and joined[-1]["role"] == sent["role"] == "user":
            blocks = [*_blocks(joined[-1]), *_blocks(sent)]
            # Tool results must come first.
            joined[-1] = {**joined[-1], "content": sorted(blocks, key=lambda block: block["type"] != "tool_result")}
        else:
            joined.append(sent)
    return joined


def _as_reminder(message: Message) -> Message:
    texts = [block.get("text", "") for block in _blocks(message) if block.get("type") == "text"]
    reminders = [{"type": "text", "text": f"<system-reminder>\n{text}\n</system-reminder>"} for text in texts]
    return {"role": "user", "content": reminders}


def _blocks(message: Message) -> list[Block]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
