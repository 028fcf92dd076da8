"""A Messages API request as its texts and blocks, and the API's error for one that is not well formed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from bridle.stage.answers import Source
from bridle.stage.history import history_fault
from bridle.stage.refusal import Refusal, bad_request
from bridle.wire.events.loose_json import JsonObject

# The API's roles; newer clients send `system` messages in the middle of a conversation.
ROLES = ("user", "assistant", "system")
# A rough figure for English and code; the stage does not count real tokens.
CHARS_PER_TOKEN = 4


class ToolBlock(Struct, frozen=True):
    """A tool call or a tool result in a message."""

    type: str
    """`tool_use` or `tool_result`."""
    id: str | None
    """The id of the call."""
    name: str
    texts: tuple[str, ...]


class Message(Struct, frozen=True):
    """A message of the conversation."""

    texts: tuple[str, ...] = ()
    tool_blocks: tuple[ToolBlock, ...] = ()


class Prompt(Struct, frozen=True):
    """A well-formed request.

    It holds the whole conversation, which most answers do not ask about: a message is read when it is needed.
    """

    model: str
    sent: list[JsonObject]
    """The messages as they were sent."""
    system: str
    tool_names: frozenset[str]
    tool_tokens: int
    stream: bool

    def text(self, source: Source) -> str:
        """Return all text of one part of the request, pieces separated by newlines."""
        if source == "system":
            return self.system
        if source == "last_user":
            return "\n".join(self.last_user().texts)
        if source == "tool_results":
            results = (block for message in self._messages() for block in message.tool_blocks)
            return "\n".join(text for block in results if block.type == "tool_result" for text in block.texts)
        conversation = "\n".join(text for message in self.sent for text in _texts(message["content"]))
        return conversation if source == "messages" else f"{self.system}\n{conversation}"

    def last_user(self) -> Message:
        """Return the newest user message, or an empty one."""
        return next((_message(sent) for sent in reversed(self.sent) if sent["role"] == "user"), Message())

    def answered_tools(self) -> frozenset[str]:
        """Return the names of the tools whose results are in the last user message."""
        blocks = [block for message in self._messages() for block in message.tool_blocks]
        names = {block.id: block.name for block in blocks if block.type == "tool_use"}
        answered = (block.id for block in self.last_user().tool_blocks if block.type == "tool_result")
        return frozenset(names[call_id] for call_id in answered if call_id is not None and call_id in names)

    def turn(self) -> int:
        """Return one more than the number of assistant messages."""
        return 1 + [sent["role"] for sent in self.sent].count("assistant")

    def tokens(self) -> int:
        """Return an estimate of the input's tokens from its length."""
        return estimate_tokens(self.text("all")) + self.tool_tokens

    def _messages(self) -> Iterator[Message]:
        return map(_message, self.sent)


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text has, at least one."""
    return max(1, len(text) // CHARS_PER_TOKEN)


def read_prompt(body: Any, *, needs_max_tokens: bool, checked: int = 0) -> Prompt | Refusal:
    """Return the request in a decoded body, or the API's error for it. `checked`: so many messages have no fault."""
    if not isinstance(body, dict):
        return bad_request("the body must be a JSON object")
    fault = _fault(body, needs_max_tokens=needs_max_tokens, checked=checked)
    if fault is not None:
        return bad_request(fault)
    tools: list[JsonObject] = body.get("tools") or []
    return Prompt(
        model=body["model"],
        sent=body["messages"],
        system="\n".join(_texts(body.get("system"))),
        tool_names=frozenset(name for tool in tools if isinstance(name := tool.get("name"), str)),
        tool_tokens=sum(estimate_tokens(str(tool)) for tool in tools),
        stream=bool(body.get("stream")),
    )


def _message(sent: JsonObject) -> Message:
    content = sent["content"]
    blocks = content if isinstance(content, list) else []
    tool_blocks = (_tool_block(block) for block in blocks)
    return Message(tuple(_texts(content)), tuple(block for block in tool_blocks if block is not None))


def _tool_block(block: JsonObject) -> ToolBlock | None:
    # Not `match`: a request has the whole conversation, and patterns of mappings are slow.
    kind = block.get("type")
    if kind == "tool_use":
        return ToolBlock("tool_use", _call_id(block.get("id")), str(block.get("name")), ())
    if kind == "tool_result":
        return ToolBlock("tool_result", _call_id(block.get("tool_use_id")), "", tuple(_texts(block.get("content"))))
    return None


def _call_id(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _fault(body: JsonObject, *, needs_max_tokens: bool, checked: int) -> str | None:
    """Return the first fault of a body, with the API's wording and paths."""
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
    return _messages_fault(body["messages"], checked)


def _messages_fault(messages: Any, checked: int) -> str | None:
    if not isinstance(messages, list) or not messages:
        return "messages: must be a list with at least one message"
    for index, message in enumerate(messages[checked:], checked):
        if not isinstance(message, dict):
            return f"messages.{index}: must be an object"
        if message.get("role") not in ROLES:
            return f"messages.{index}.role: must be one of {', '.join(ROLES)}"
        if not _is_content(message.get("content")):
            return f"messages.{index}.content: must be a string or a list of blocks"
    return history_fault(messages)


def _is_content(value: Any) -> bool:
    return isinstance(value, str) or _are_objects(value)


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


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
