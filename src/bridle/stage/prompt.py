"""What a Messages request asks: its parts as texts, and its refusal where it is not well formed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bridle.stage.answers import Source
from bridle.stage.refusal import Refusal, bad_request

# The API's roles; `system` inside messages is what newer clients send in the middle of a conversation.
ROLES = ("user", "assistant", "system")
# A rough figure for English and code. The stage counts no real tokens and says so.
CHARS_PER_TOKEN = 4


@dataclass(frozen=True)
class Prompt:
    """A well-formed request, as JSON objects; the methods read it."""

    model: str
    messages: tuple[dict[str, Any], ...]
    system: str
    tools: tuple[dict[str, Any], ...]
    stream: bool

    def text(self, source: Source) -> str:
        """Return all text of one part of the request, pieces apart by a line's end."""
        if source == "system":
            return self.system
        if source == "last_user":
            return "\n".join(_texts(self.last_user().get("content")))
        if source == "tool_results":
            return "\n".join(text for result in self.tool_results() for text in _texts(result.get("content")))
        spoken = "\n".join(text for message in self.messages for text in _texts(message.get("content")))
        return spoken if source == "messages" else f"{self.system}\n{spoken}"

    def last_user(self) -> dict[str, Any]:
        """Return the newest message of the user; an empty one if there is none."""
        return next((one for one in reversed(self.messages) if one.get("role") == "user"), {})

    def tool_results(self) -> Iterator[dict[str, Any]]:
        """Yield every tool result in the conversation, oldest first."""
        for message in self.messages:
            yield from _blocks(message, "tool_result")

    def answered_tools(self) -> frozenset[str]:
        """Return the names of the tools whose results the last user message holds."""
        names = {
            use.get("id"): str(use.get("name")) for message in self.messages for use in _blocks(message, "tool_use")
        }
        answered = (result.get("tool_use_id") for result in _blocks(self.last_user(), "tool_result"))
        return frozenset(names[use] for use in answered if isinstance(use, str) and use in names)

    def turn(self) -> int:
        """Return one more than the number of assistant messages."""
        return 1 + len([one for one in self.messages if one.get("role") == "assistant"])

    def tokens(self) -> int:
        """Return an estimate of the input's tokens from its length."""
        return estimated_tokens(self.text("all")) + sum(estimated_tokens(str(tool)) for tool in self.tools)


def estimated_tokens(text: str) -> int:
    """Return about how many tokens a text has, at least one."""
    return max(1, len(text) // CHARS_PER_TOKEN)


def read_prompt(body: Any, *, needs_max_tokens: bool) -> Prompt | Refusal:
    """Return the request in a decoded body, or the API's refusal of it."""
    if not isinstance(body, dict):
        return bad_request("the body must be a JSON object")
    fault = _fault(body, needs_max_tokens=needs_max_tokens)
    if fault is not None:
        return bad_request(fault)
    return Prompt(
        model=body["model"],
        messages=tuple(body["messages"]),
        system="\n".join(_texts(body.get("system"))),
        tools=tuple(body.get("tools") or ()),
        stream=bool(body.get("stream")),
    )


def _fault(body: dict[str, Any], *, needs_max_tokens: bool) -> str | None:
    """Return the first fault of a body, in the words and paths that the API uses."""
    for key in ("model", "messages", *(("max_tokens",) if needs_max_tokens else ())):
        if key not in body:
            return f"{key}: Field required"
    if not isinstance(body["model"], str) or not body["model"]:
        return "model: must be a non-empty string"
    if needs_max_tokens and (type(body["max_tokens"]) is not int or body["max_tokens"] < 1):
        return "max_tokens: must be a whole number above 0"
    if not isinstance(body.get("stream"), bool | None):
        return "stream: must be true or false"
    if not _is_content(body.get("system", "")):
        return "system: must be a string or a list of blocks"
    if not _are_objects(body.get("tools") or []):
        return "tools: must be a list of objects"
    return _messages_fault(body["messages"])


def _messages_fault(messages: Any) -> str | None:
    if not isinstance(messages, list) or not messages:
        return "messages: must be a list with at least one message"
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            return f"messages.{index}: must be an object"
        if message.get("role") not in ROLES:
            return f"messages.{index}.role: must be one of {', '.join(ROLES)}"
        if not _is_content(message.get("content")):
            return f"messages.{index}.content: must be a string or a list of blocks"
    return None


def _is_content(value: Any) -> bool:
    return isinstance(value, str) or _are_objects(value)


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _blocks(message: dict[str, Any], kind: str) -> Iterator[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, list):
        yield from (block for block in content if block.get("type") == kind)


def _texts(content: Any) -> Iterator[str]:
    """Yield the texts of a content: a string, or blocks with text, and tool results inside."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for block in content:
            if isinstance(block, dict):
                if isinstance(block.get("text"), str):
                    yield block["text"]
                yield from _texts(block.get("content"))
