"""A message in the two forms of the Messages API: one JSON document, or a stream of events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, assert_never

from bridle.stage.answers import Block, Raw, Spoken, Text, Thinking, ToolUse
from bridle.stage.prompt import estimated_tokens


@dataclass(frozen=True)
class Voice:
    """What a message needs to know beside the script: its id, its model and the length of what was asked."""

    id: str
    model: str
    input_tokens: int


@dataclass(frozen=True)
class Event:
    """One server-sent event and whether it is a delta, before which a slow model waits."""

    data: bytes
    is_delta: bool = False


def document(said: Spoken, voice: Voice) -> dict[str, Any]:
    """Return the whole message as the API's JSON document."""
    blocks = _blocks(said, voice)
    return _message(said, voice, [_content(block) for block in blocks]) | {
        "stop_reason": _stop_reason(said, blocks),
        "stop_sequence": said.stop_sequence,
        "usage": _usage(said, voice, blocks),
    }


def events(said: Spoken, voice: Voice) -> Iterator[Event]:
    """Yield the message as the API's stream of events."""
    blocks = _blocks(said, voice)
    usage = _usage(said, voice, blocks)
    opening = usage | {"output_tokens": min(1, usage["output_tokens"])}
    start = _message(said, voice, []) | {"stop_reason": None, "stop_sequence": None, "usage": opening}
    yield event({"type": "message_start", "message": start})
    for index, block in enumerate(blocks):
        yield from _block_events(index, block, said.chunk_chars)
    if not blocks:
        yield event({"type": "ping"})
    ending = {"stop_reason": _stop_reason(said, blocks), "stop_sequence": said.stop_sequence}
    closing = {key: usage[key] for key in ("input_tokens", *_CACHE_KEYS, "output_tokens")}
    yield event({"type": "message_delta", "delta": ending, "usage": closing})
    yield event({"type": "message_stop"})


def event(document: dict[str, Any]) -> Event:
    """Return a document as one server-sent event named by its type."""
    kind = document["type"]
    data = b"event: " + kind.encode() + b"\ndata: " + encoded(document) + b"\n\n"
    return Event(data, is_delta=kind == "content_block_delta")


def encoded(document: Any) -> bytes:
    """Return compact JSON in UTF-8; half characters that a client sent us go out escaped."""
    try:
        return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(document, separators=(",", ":")).encode()


_CACHE_KEYS = ("cache_creation_input_tokens", "cache_read_input_tokens")


def _blocks(said: Spoken, voice: Voice) -> list[Block]:
    """Return the blocks with nothing left out: strings as text, and an id for each tool call."""
    blocks: list[Block] = []
    for index, block in enumerate(said.blocks):
        if isinstance(block, str):
            blocks.append(Text(text=block))
        elif isinstance(block, ToolUse) and block.id is None:
            tool_id = f"toolu_{voice.id.removeprefix('msg_')}_{index}"
            blocks.append(ToolUse(name=block.name, input=block.input, id=tool_id, raw_input=block.raw_input))
        else:
            blocks.append(block)
    return blocks


def _message(said: Spoken, voice: Voice, content: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": said.id or voice.id,
        "type": "message",
        "role": "assistant",
        "model": said.model or voice.model,
        "content": content,
    }


def _content(block: Block) -> dict[str, Any]:
    """Return a block as it stands in a finished message."""
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


def _stop_reason(said: Spoken, blocks: list[Block]) -> str:
    calls = any(isinstance(block, ToolUse) for block in blocks)
    return said.stop_reason or ("tool_use" if calls else "end_turn")


def _usage(said: Spoken, voice: Voice, blocks: list[Block]) -> dict[str, Any]:
    """Return the figures of the script, and estimates for those it does not give."""
    given = said.usage
    written = "".join(_written(block) for block in blocks)
    return {
        "input_tokens": voice.input_tokens if given.input_tokens is None else given.input_tokens,
        "cache_creation_input_tokens": given.cache_creation_input_tokens,
        "cache_read_input_tokens": given.cache_read_input_tokens,
        "cache_creation": {
            "ephemeral_5m_input_tokens": given.cache_creation_input_tokens,
            "ephemeral_1h_input_tokens": 0,
        },
        "output_tokens": estimated_tokens(written) if given.output_tokens is None else given.output_tokens,
        "service_tier": "standard",
    }


def _written(block: Block) -> str:
    """Return what a model would have had to write for a block."""
    match block:
        case Text():
            return block.text
        case Thinking():
            return block.thinking
        case ToolUse():
            return block.name + encoded(block.input).decode()
        case Raw():
            return encoded(block.block).decode()
        case _:
            assert_never(block)


def _block_events(index: int, block: Block, chunk_chars: int) -> Iterator[Event]:
    """Yield a block's start, its deltas and its stop; the first block is followed by a ping, as in the API."""
    opening, deltas = _opening(block), _deltas(block, chunk_chars)
    yield event({"type": "content_block_start", "index": index, "content_block": opening})
    if index == 0:
        yield event({"type": "ping"})
    for delta in deltas:
        yield event({"type": "content_block_delta", "index": index, "delta": delta})
    yield event({"type": "content_block_stop", "index": index})


def _opening(block: Block) -> dict[str, Any]:
    """Return a block as it stands before its deltas."""
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
            text = encoded(block.input).decode() if block.raw_input is None else block.raw_input
            for piece in ["", *_pieces(text, chunk_chars)]:
                yield {"type": "input_json_delta", "partial_json": piece}
        case Raw():
            return
        case _:
            assert_never(block)


def _pieces(text: str, chunk_chars: int) -> list[str]:
    return [text[start : start + chunk_chars] for start in range(0, len(text), chunk_chars)]
