"""A message in the two forms of the Messages API: a JSON document, or a stream of events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import assert_never

from msgspec import Struct

from bridle.stage.answers import Block, MessageAnswer, Raw, Text, Thinking, ToolUse
from bridle.stage.prompt import estimate_tokens
from bridle.wire.events.loose_json import JsonObject, to_bytes


class MessageContext(Struct, frozen=True):
    """What a message needs besides the script: its id, its model and the input's tokens."""

    id: str
    model: str
    input_tokens: Callable[[], int]
    """Counted only for an answer that does not say it: the whole conversation is read for it."""


class Event(Struct, frozen=True):
    """One server-sent event; `token_delay_seconds` applies before a delta."""

    data: bytes
    is_delta: bool = False


def message_document(answer: MessageAnswer, context: MessageContext) -> JsonObject:
    """Return the whole message as the API's JSON document."""
    blocks = _blocks(answer, context)
    return _message(answer, context, [_content(block) for block in blocks]) | {
        "stop_reason": _stop_reason(answer, blocks),
        "stop_sequence": answer.stop_sequence,
        "usage": _usage(answer, context, blocks),
    }


def message_events(answer: MessageAnswer, context: MessageContext) -> Iterator[Event]:
    """Yield the message as the API's stream of events."""
    blocks = _blocks(answer, context)
    usage = _usage(answer, context, blocks)
    opening = {**usage, "output_tokens": min(1, usage["output_tokens"])}
    opening.pop("server_tool_use", None)  # known at the end
    start = _message(answer, context, []) | {"stop_reason": None, "stop_sequence": None, "usage": opening}
    yield sse_event({"type": "message_start", "message": start})
    for index, block in enumerate(blocks):
        yield from _block_events(index, block, answer.chunk_chars)
    if not blocks:
        yield sse_event({"type": "ping"})
    ending = {"stop_reason": _stop_reason(answer, blocks), "stop_sequence": answer.stop_sequence}
    closing = {key: usage[key] for key in _CLOSING_KEYS if key in usage}
    yield sse_event({"type": "message_delta", "delta": ending, "usage": closing})
    yield sse_event({"type": "message_stop"})


def sse_event(document: JsonObject) -> Event:
    """Return a document as a server-sent event named by its type."""
    kind = document["type"]
    data = b"event: " + kind.encode() + b"\ndata: " + to_bytes(document) + b"\n\n"
    return Event(data, is_delta=kind == "content_block_delta")


# The counts that a stream ends with.
_CLOSING_KEYS = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
    "server_tool_use",
)


def _blocks(answer: MessageAnswer, context: MessageContext) -> list[Block]:
    """Return the blocks with strings as text blocks and an id for each tool call."""
    blocks: list[Block] = []
    for index, block in enumerate(answer.blocks):
        if isinstance(block, str):
            blocks.append(Text(text=block))
        elif isinstance(block, ToolUse) and block.id is None:
            tool_id = f"toolu_{context.id.removeprefix('msg_')}_{index}"
            blocks.append(ToolUse(name=block.name, input=block.input, id=tool_id, raw_input=block.raw_input))
        else:
            blocks.append(block)
    return blocks


def _message(answer: MessageAnswer, context: MessageContext, content: list[JsonObject]) -> JsonObject:
    return {
        "id": answer.id or context.id,
        "type": "message",
        "role": "assistant",
        "model": answer.model or context.model,
        "content": content,
    }


def _content(block: Block) -> JsonObject:
    """Return a block as in a finished message."""
    match block:
        case Text():
            return {"type": "text", "text": block.text}
        case Thinking():
            return {"type": "thinking", "thinking": block.thinking, "signature": block.signature}
        case ToolUse():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input}
        case Raw():
            return block.block
        case _:
            assert_never(block)


def _stop_reason(answer: MessageAnswer, blocks: list[Block]) -> str:
    calls = any(isinstance(block, ToolUse) for block in blocks)
    return answer.stop_reason or ("tool_use" if calls else "end_turn")


def _usage(answer: MessageAnswer, context: MessageContext, blocks: list[Block]) -> JsonObject:
    """Return the script's token counts, with estimates for the missing ones."""
    usage = answer.usage
    output = "".join(_output_text(block) for block in blocks)
    searches = usage.web_search_requests
    return {
        "input_tokens": context.input_tokens() if usage.input_tokens is None else usage.input_tokens,
        "cache_creation_input_tokens": usage.cache_creation_input_tokens,
        "cache_read_input_tokens": usage.cache_read_input_tokens,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_creation_input_tokens,
            "ephemeral_1h_input_tokens": 0,
        },
        "output_tokens": estimate_tokens(output) if usage.output_tokens is None else usage.output_tokens,
        "service_tier": "standard",
        **({"server_tool_use": {"web_search_requests": searches}} if searches else {}),
    }


def _output_text(block: Block) -> str:
    """Return the text that a model would have generated for a block."""
    match block:
        case Text():
            return block.text
        case Thinking():
            return block.thinking
        case ToolUse():
            return block.name + to_bytes(block.input).decode()
        case Raw():
            return to_bytes(block.block).decode()
        case _:
            assert_never(block)


def _block_events(index: int, block: Block, chunk_chars: int) -> Iterator[Event]:
    """Yield a block's start, its deltas and its stop; the first block is followed by a ping, as in the API."""
    opening, deltas = _opening(block), _deltas(block, chunk_chars)
    yield sse_event({"type": "content_block_start", "index": index, "content_block": opening})
    if index == 0:
        yield sse_event({"type": "ping"})
    for delta in deltas:
        yield sse_event({"type": "content_block_delta", "index": index, "delta": delta})
    yield sse_event({"type": "content_block_stop", "index": index})


def _opening(block: Block) -> JsonObject:
    """Return a block as it is before its deltas."""
    match block:
        case Text():
            return {"type": "text", "text": ""}
        case Thinking():
            return {"type": "thinking", "thinking": "", "signature": ""}
        case ToolUse():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": {}}
        case Raw():
            return block.block
        case _:
            assert_never(block)


def _deltas(block: Block, chunk_chars: int) -> Iterator[dict[str, str]]:
    match block:
        case Text():
            for piece in _pieces(block.text, chunk_chars):
                yield {"type": "text_delta", "text": piece}
        case Thinking():
            for piece in _pieces(block.thinking, chunk_chars):
                yield {"type": "thinking_delta", "thinking": piece}
            yield {"type": "signature_delta", "signature": block.signature}
        case ToolUse():
            text = to_bytes(block.input).decode() if block.raw_input is None else block.raw_input
            for piece in ["", *_pieces(text, chunk_chars)]:
                yield {"type": "input_json_delta", "partial_json": piece}
        case Raw():
            return
        case _:
            assert_never(block)


def _pieces(text: str, chunk_chars: int) -> list[str]:
    return [text[start : start + chunk_chars] for start in range(0, len(text), chunk_chars)]
