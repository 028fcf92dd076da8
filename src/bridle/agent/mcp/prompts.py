"""The prompts of MCP servers as slash commands: `/mcp__server__prompt argument …`."""

from __future__ import annotations

from typing import Any

from bridle.agent.mcp.config import safe_name
from bridle.agent.mcp.declared import DeclaredPrompt
from bridle.agent.mcp.results import ResultReader
from bridle.agent.mcp.server import McpServer
from bridle.agent.tools.contract.tool import ContentBlock
from bridle.errors import ServerFailure, UserError


def command_name(server: str, prompt: str) -> str:
    """Return the name of the slash command for a prompt."""
    return f"mcp__{safe_name(server)}__{prompt}"


def arguments_of(prompt: DeclaredPrompt, typed: str, command: str) -> dict[str, str]:
    """Return the arguments that the user typed, by position. Raises UserError if a required one is missing."""
    words = typed.split()
    names = [name for name, _ in prompt.arguments]
    if len(words) > len(names) > 0:
        words = [*words[: len(names) - 1], " ".join(words[len(names) - 1 :])]
    given = dict(zip(names, words, strict=False))
    for name, is_required in prompt.arguments:
        if is_required and name not in given:
            raise UserError(f"Missing required argument: {name}. Usage: /{command} {' '.join(names)}")
    return given


async def expand_prompt(
    server: McpServer, prompt: DeclaredPrompt, arguments: dict[str, str], reader: ResultReader
) -> list[ContentBlock]:
    """Get a prompt from its server, as blocks of one user message. Raises UserError if the server fails."""
    try:
        result = await server.request("prompts/get", {"name": prompt.name, "arguments": arguments})
        messages = result.get("messages")
        return [
            block for message in (messages if isinstance(messages, list) else []) for block in _blocks(message, reader)
        ]
    except ServerFailure as failure:
        raise UserError(failure.message) from failure


def _blocks(message: Any, reader: ResultReader) -> list[ContentBlock]:
    content = message.get("content") if isinstance(message, dict) else None
    found = content if isinstance(content, list) else [content]
    return [block for item in found if isinstance(item, dict) for block in reader.convert(item)]
