"""The answer to `get_context_usage`: what fills the context window, by category.

The endpoint reports only the total of the last request. The categories are estimates by the length of their texts; the
messages are the rest, so that the categories add up to the total.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from bridle.agent.compaction.window import estimate
from bridle.agent.control.control_handlers import Handler, Payload
from bridle.agent.conversation.model_requests import ContextParts, ModelRequests
from bridle.agent.conversation.model_setup import ModelSetup
from bridle.agent.model.api.question import Block, Message
from bridle.agent.prompt.instructions import LOCAL, USER
from bridle.agent.sessions.api_messages import block_type, blocks_of
from bridle.agent.skills.catalogue import Skills
from bridle.wire.events.loose_json import JsonObject

_USAGE = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_GRID_ROWS = 10
_LARGE_WINDOW_TOKENS = 1_000_000


def context_handlers(requests: ModelRequests, setup: ModelSetup, skills: Skills) -> dict[str, Handler]:
    """Return the handler of `get_context_usage`."""

    async def usage(_request: JsonObject) -> Payload:
        return context_usage(await requests.context(), setup, skills)

    return {"get_context_usage": usage}


def context_usage(parts: ContextParts, setup: ModelSetup, skills: Skills) -> JsonObject:
    """Return how full the context window is, and of what."""
    memory = [_memory_file(str(file.path), file.kind, file.text) for file in parts.head.instructions]
    servers, builtin = _tools_by_kind(parts.tools)
    fixed = {
        "System prompt": (_tokens(parts.head.system), "promptBorder"),
        "System tools": (_tokens(builtin), "inactive"),
        "MCP tools": (_tokens(servers), "cyan_FOR_SUBAGENTS_ONLY"),
        "Memory files": (sum(file["tokens"] for file in memory), "claude"),
        "Skills": (_tokens(parts.skill_listing or ""), "warning"),
    }
    others = sum(tokens for tokens, _ in fixed.values())
    messages = max(parts.used_tokens - others, estimate(parts.messages))
    total, window = others + messages, setup.model.context_window
    shown = {name: entry for name, entry in fixed.items() if entry[0]}
    shown |= {
        "Messages": (messages, "purple_FOR_SUBAGENTS_ONLY"),
        "Free space": (max(window - total, 0), "promptBorder"),
    }
    categories = [{"name": name, "tokens": tokens, "color": color} for name, (tokens, color) in shown.items()]
    listed = [skill for skill in skills.all() if skill.for_model]
    figures: JsonObject = {"totalSkills": len(listed), "includedSkills": len(listed), "tokens": fixed["Skills"][0]}
    frontmatter = [
        {"name": skill.name, "source": skill.source, "tokens": _tokens(f"{skill.name}: {skill.description}")}
        for skill in listed
    ]
    return {
        "categories": categories,
        "totalTokens": total,
        "maxTokens": window,
        "rawMaxTokens": window,
        "autocompactSource": "auto",
        "percentage": round(100 * total / window),
        "gridRows": _grid(categories, window),
        "model": setup.model.shown,
        "memoryFiles": memory,
        "mcpTools": [_server_tool(tool) for tool in servers],
        "agents": [],
        "skills": {**figures, "skillFrontmatter": frontmatter},
        "autoCompactThreshold": parts.compaction_threshold,
        "isAutoCompactEnabled": parts.compacts,
        "messageBreakdown": _breakdown(parts.messages, messages),
        "apiUsage": {name: parts.usage.get(name) or 0 for name in _USAGE} if parts.usage else None,
    }


def _tokens(value: object) -> int:
    """Estimate the tokens of a text or of JSON."""
    return estimate([{"role": "user", "content": value}])  # type: ignore[typeddict-item]  # any JSON has a size


def _memory_file(path: str, kind: str, text: str) -> dict[str, Any]:
    return {"path": path, "type": {USER: "User", LOCAL: "Local"}.get(kind, "Project"), "tokens": _tokens(text)}


def _tools_by_kind(tools: Sequence[Block]) -> tuple[list[Block], list[Block]]:
    """Return the tools of MCP servers, and the others."""
    servers = [tool for tool in tools if str(tool["name"]).startswith("mcp__")]
    return servers, [tool for tool in tools if tool not in servers]


def _server_tool(tool: Block) -> JsonObject:
    name = str(tool["name"])
    return {"name": name, "serverName": name.split("__")[1], "tokens": _tokens(tool), "isLoaded": True}


def _breakdown(messages: Sequence[Message], total: int) -> JsonObject:
    """Return the tokens of the messages by the kind of their blocks."""
    names: dict[str, str] = {}
    by_tool: dict[str, dict[str, int]] = {}
    kinds = {"tool_use": 0, "tool_result": 0, "assistant": 0, "user": 0}
    for message in messages:
        for block in blocks_of(message["content"]):
            kind, tokens = block_type(block), _tokens(block)
            if kind == "tool_use":
                names[block["id"]] = block["name"]
                _count(by_tool, block["name"], "callTokens", tokens)
            elif kind == "tool_result":
                _count(by_tool, names.get(block["tool_use_id"], "unknown"), "resultTokens", tokens)
            known = kind if kind in ("tool_use", "tool_result") else message["role"]
            kinds[known if known in kinds else "user"] += tokens
    return {
        "toolCallTokens": kinds["tool_use"],
        "toolResultTokens": kinds["tool_result"],
        "attachmentTokens": 0,
        "assistantMessageTokens": kinds["assistant"],
        "userMessageTokens": kinds["user"],
        "redirectedContextTokens": 0,
        "unattributedTokens": max(total - sum(kinds.values()), 0),
        "toolCallsByType": [{"name": name, **counts} for name, counts in by_tool.items()],
        "attachmentsByType": [],
    }


def _count(by_tool: dict[str, dict[str, int]], name: str, kind: str, tokens: int) -> None:
    by_tool.setdefault(name, {"callTokens": 0, "resultTokens": 0})[kind] += tokens


def _grid(categories: list[dict[str, Any]], window: int) -> list[list[JsonObject]]:
    """Return the squares that a host draws: each category gets its share of them, at least one."""
    columns = 20 if window >= _LARGE_WINDOW_TOKENS else 10
    count = _GRID_ROWS * columns
    square = window / count
    squares: list[JsonObject] = []
    for category in categories:
        tokens = category["tokens"]
        for number in range(max(1, math.ceil(tokens / square)) if tokens else 0):
            squares.append(
                {
                    "color": category["color"],
                    "isFilled": True,
                    "categoryName": category["name"],
                    "tokens": tokens,
                    "percentage": round(100 * tokens / window),
                    "squareFullness": min(1.0, round(max(tokens - number * square, 0) / square, 4)),
                }
            )
    squares = squares[:count]
    return [squares[start : start + columns] for start in range(0, len(squares), columns)]
