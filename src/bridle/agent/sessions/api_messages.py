"""Messages as the Messages API accepts them: alternating roles, a result for every tool call, no empty content.

`as_messages` makes such a list from any transcript: after a crash between a call and its result, or with lines that
another program wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from bridle.agent.model.api.question import Block, Content, Message
from bridle.agent.sessions.valid_history import is_sendable, valid_history


class AnswerHead(msgspec.Struct, frozen=True):
    """The fields of an answer besides its content, as the endpoint sent them: any may be missing or odd."""

    id: Any = None
    model: Any = None
    stop_reason: Any = None
    stop_sequence: Any = None
    usage: Any = None
    stop_details: Any = None

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> AnswerHead:
        """Take the fields from a message in JSON."""
        return msgspec.convert(message, cls)


class History(msgspec.Struct, frozen=True):
    """The conversation of a transcript."""

    messages: list[Message] = msgspec.field(default_factory=list)
    """Valid for the API: roles alternate, every call has a result."""
    leaf: str | None = None
    """The id of the last line."""
    lines: tuple[tuple[str, str], ...] = ()
    """The id and role of each line with a message, oldest first."""
    chain: frozenset[str] = frozenset()
    """The ids of all lines of the conversation; a fork copies these."""
    title: str | None = None
    usage: dict[str, object] = msgspec.field(default_factory=dict)
    """The usage of the last answer."""
    dropped_tokens: int = 0
    """How many tokens all compactions have dropped."""


def text_block(text: str) -> Block:
    return {"type": "text", "text": text}


def blocks_of(content: Content) -> list[Block]:
    """Return content as a new list of blocks."""
    return [text_block(content)] if isinstance(content, str) else list(content)


def block_type(block: Block) -> str | None:
    """Return the type of a block; a server may send one without."""
    return block.get("type")


def text_of(content: Content) -> str:
    """Return the texts of a content, one per line."""
    if isinstance(content, str):
        return content
    texts = (block.get("text") for block in content if block_type(block) == "text")
    return "\n".join(text for text in texts if isinstance(text, str))


def as_messages(lines: Iterable[tuple[str, bytes]]) -> list[Message]:
    """Make messages of transcript lines, each given as its role and its content in JSON."""
    turns: list[Message] = []
    for role, content in lines:
        add(turns, role, [block for block in _decode_blocks(content) if is_sendable(block)])
    return valid_history(turns, for_request=False)


def add(messages: list[Message], role: str, content: Content) -> None:
    """Append content; it joins the last message if that has the same role."""
    blocks = blocks_of(content)
    if not blocks:
        return
    if messages and messages[-1]["role"] == role:
        messages[-1] = {"role": role, "content": [*blocks_of(messages[-1]["content"]), *blocks]}
    else:
        messages.append({"role": role, "content": blocks})


def _decode_blocks(content: bytes) -> list[Block]:
    try:
        value = msgspec.json.decode(content)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return []
    if isinstance(value, str):
        return [text_block(value)]
    return value if isinstance(value, list) else []
