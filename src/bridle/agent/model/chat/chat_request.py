"""Builds the body and headers of a chat request. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from bridle import __version__
from bridle.agent.model.api.models import requested_max_tokens
from bridle.agent.model.api.question import Block, Question
from bridle.agent.model.api.stream_pieces import JsonObject
from bridle.agent.model.chat.chat_messages import chat_messages

# Chat endpoints accept shorter names than the Messages API; those of MCP tools may be longer.
NAME_LIMIT = 64
_HASH_CHARACTERS = 8
_EFFORTS = {"low": "low", "medium": "medium", "high": "high", "xhigh": "high", "max": "high"}
# Only OpenAI itself refuses `max_tokens` for some models; other servers do not know the newer name.
_NEW_LIMIT_HOST = "api.openai.com"


def sent_names(tools: Iterable[Block]) -> dict[str, str]:
    """Return the names that are sent for tools whose own names are too long."""
    return {name: _shorten(name) for tool in tools if len(name := str(tool.get("name", ""))) > NAME_LIMIT}


def build_chat_body(
    question: Question,
    model_id: str,
    environment: Mapping[str, str],
    *,
    stream: bool,
    max_tokens: int | None = None,
    host: str = "",
) -> JsonObject:
    """Return the body of a request; without a limit of the user the server chooses how long an answer may be."""
    names = sent_names(question.tools)
    limit = max_tokens or question.max_tokens or requested_max_tokens(environment)
    effort = _EFFORTS.get(question.effort or environment.get("CLAUDE_CODE_EFFORT_LEVEL", ""))
    tools = [_tool(tool, names) for tool in question.tools if "input_schema" in tool]
    return {
        "model": model_id,
        "messages": chat_messages(question.system, question.messages, names),
        **({"tools": tools} if tools else {}),
        **(_tool_choice(question.tool_choice, names) if tools and question.tool_choice else {}),
        **({_limit_name(host): limit} if limit else {}),
        **({"reasoning_effort": effort} if effort else {}),
        **({"stream": True, "stream_options": {"include_usage": True}} if stream else {}),
    }


def build_chat_headers(credential: Iterable[tuple[str, str]], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a request."""
    account = {"openai-organization": "OPENAI_ORG_ID", "openai-project": "OPENAI_PROJECT_ID"}
    return {
        "accept": "application/json",
        "accept-encoding": "identity",
        "content-type": "application/json",
        "user-agent": f"bridle-agent/{__version__}",
        **{header: value for header, name in account.items() if (value := environment.get(name, "").strip())},
        **dict(credential),
    }


def _tool(tool: Block, names: Mapping[str, str]) -> JsonObject:
    name = tool["name"]
    schema = {key: value for key, value in tool["input_schema"].items() if key != "$schema"}
    function = {"name": names.get(name, name), "description": tool.get("description", ""), "parameters": schema}
    return {"type": "function", "function": function}


def _tool_choice(choice: Mapping[str, Any], names: Mapping[str, str]) -> JsonObject:
    one_at_a_time = {"parallel_tool_calls": False} if choice.get("disable_parallel_tool_use") else {}
    match choice.get("type"):
        case "any":
            return {"tool_choice": "required", **one_at_a_time}
        case "tool":
            name = str(choice.get("name"))
            return {"tool_choice": {"type": "function", "function": {"name": names.get(name, name)}}, **one_at_a_time}
        case "none":
            return {"tool_choice": "none"}
    return {"tool_choice": "auto", **one_at_a_time}


def _limit_name(host: str) -> str:
    return "max_completion_tokens" if host == _NEW_LIMIT_HOST else "max_tokens"


def _shorten(name: str) -> str:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARACTERS]
    return f"{name[: NAME_LIMIT - _HASH_CHARACTERS - 1]}_{digest}"
