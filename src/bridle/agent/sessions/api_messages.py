"""Messages as the Messages API accepts them: alternating roles, a result for every tool call, no empty content.

`as_messages` makes such a list from any transcript: after a crash between a call and its result, or with lines that
another program wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from bridle.agent.model.api.question import Block, Content, Message


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


NO_RESULT = "The call was interrupted and its result was lost. Check what it did before you rely on it."

_THOUGHTS = ("thinking", "redacted_thinking")
# Block types that only one side of a conversation may send.
_ASSISTANT_ONLY = (*_THOUGHTS, "tool_use", "server_tool_use")
_USER_ONLY = ("tool_result", "image", "document")


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
    turns: list[tuple[str, list[Block]]] = []
    for role, content in lines:
        foreign = _USER_ONLY if role == "assistant" else _ASSISTANT_ONLY
        blocks = [block for block in _decode_blocks(content) if block["type"] not in foreign]
        if not blocks:
            continue
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        else:
            turns.append((role, blocks))
    return repair(turns)


def repair(turns: Sequence[tuple[str, list[Block]]]) -> list[Message]:
    """Add a result to every call without one, and drop results without a call."""
    messages: list[Message] = []
    seen: set[str] = set()
    results = _results(turns)
    pending: list[str] = []
    for role, blocks in turns:
        if role == "assistant":
            answer = _sendable_answer(blocks, seen)
            if answer and messages:  # the first message must be the user's
                pending += [block["id"] for block in answer if block_type(block) == "tool_use"]
                add(messages, "assistant", answer)
            continue
        others = [block for block in blocks if block_type(block) != "tool_result"]
        answers = [results.get(call) or _no_result(call) for call in _in_order(pending, blocks)]
        pending = []
        add(messages, "user", answers + others)
    if pending:
        add(messages, "user", [results.get(call) or _no_result(call) for call in pending])
    return messages


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
        value = [text_block(value)]
    if not isinstance(value, list):
        return []
    return [_without_empty_parts(block) for block in value if _is_sendable(block)]


def _without_empty_parts(block: Block) -> Block:
    """Return the block without the parts of a tool result that endpoints reject."""
    if block["type"] != "tool_result":
        return block
    content = block.get("content")
    if isinstance(content, list):
        content = [part for part in content if _is_sendable(part)]
    if not isinstance(content, str | list) or (not content and block.get("is_error")):
        content = "(no output)"
    return block | {"content": content}


def _is_sendable(block: object) -> bool:
    """Return whether an endpoint accepts the block: it has a type, and the fields that this type requires."""
    if not isinstance(block, dict) or not isinstance(kind := block.get("type"), str):
        return False
    if kind == "text":
        return isinstance(text := block.get("text"), str) and bool(text.strip())
    if kind == "thinking":
        return isinstance(block.get("thinking"), str) and _has_text(block, "signature")
    if kind == "tool_use":
        return _has_text(block, "id") and _has_text(block, "name") and isinstance(block.get("input"), dict)
    if kind == "tool_result":
        return _has_text(block, "tool_use_id")
    return True


def _has_text(block: Block, name: str) -> bool:
    return isinstance(value := block.get(name), str) and bool(value)


def _results(turns: Sequence[tuple[str, list[Block]]]) -> dict[str, Block]:
    """Return the first result of each call."""
    results: dict[str, Block] = {}
    for role, blocks in turns:
        for block in blocks if role == "user" else ():
            if block_type(block) == "tool_result":
                results.setdefault(block["tool_use_id"], block)
    return results


def _sendable_answer(blocks: list[Block], seen: set[str]) -> list[Block]:
    """Return an answer without repeated calls and without thinking at its end."""
    answer: list[Block] = []
    for block in blocks:
        if block_type(block) == "tool_use":
            if block["id"] in seen:
                continue
            seen.add(block["id"])
        answer.append(block)
    while answer and block_type(answer[-1]) in _THOUGHTS:
        answer.pop()
    return answer


def _in_order(pending: list[str], blocks: list[Block]) -> list[str]:
    """Return the pending calls: those with a result here in the order of the results, then the others."""
    here = [block["tool_use_id"] for block in blocks if block_type(block) == "tool_result"]
    answered = [call for call in dict.fromkeys(here) if call in pending]
    return [*answered, *(call for call in pending if call not in answered)]


def _no_result(call: str) -> Block:
    return {"type": "tool_result", "content": NO_RESULT, "is_error": True, "tool_use_id": call}
