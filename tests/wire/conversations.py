"""Conversations for tests: from recordings, and from events written as plain objects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bridle.wire.events.decode import decode, decode_stream
from bridle.wire.transcript.items import AnyItem, Call
from bridle.wire.transcript.transcript import Transcript

RECORDINGS = Path(__file__).parents[1] / "recordings" / "claude-2.1.197"


def recorded(name: str) -> Transcript:
    """The whole conversation of a recording."""
    transcript = Transcript()
    for event in decode_stream([(RECORDINGS / f"{name}.ndjson").read_bytes()]):
        transcript.add(event)
    transcript.finish()
    return transcript


def told(*lines: dict[str, Any] | str) -> Transcript:
    """The conversation so far of a stream of these lines, one second apart, its process still alive."""
    transcript = Transcript()
    for second, line in enumerate(lines):
        tell(transcript, line, at=float(second))
    return transcript


def tell(transcript: Transcript, line: dict[str, Any] | str, at: float | None = None) -> tuple[int, ...]:
    """Add one more line; give the ids of the items that changed."""
    text = line if isinstance(line, str) else json.dumps(line)
    changed: dict[int, None] = {}
    for event in decode(text.encode()):
        changed |= dict.fromkeys(transcript.add(event, at))
    return tuple(changed)


def says(*blocks: dict[str, Any], parent: str | None = None, message: str = "m1", **fields: Any) -> dict[str, Any]:
    """A line of the agent."""
    return {
        "type": "assistant",
        "message": {"id": message, "role": "assistant", "model": "m", "content": list(blocks)},
        "parent_tool_use_id": parent,
        **fields,
    }


def answers(*blocks: dict[str, Any], parent: str | None = None, **fields: Any) -> dict[str, Any]:
    """A line of the user's side: tool results, words."""
    return {
        "type": "user",
        "message": {"role": "user", "content": list(blocks)},
        "parent_tool_use_id": parent,
        **fields,
    }


def text(words: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": words}


def use(call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    """A tool call block."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id: str, content: Any = "done", *, is_error: bool = False) -> dict[str, Any]:
    """A tool result block."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": is_error}


def ends(words: str | None = None, **fields: Any) -> dict[str, Any]:
    """A result line."""
    return {"type": "result", "subtype": "success", "is_error": False, "result": words, **fields}


def streams(kind: str, **fields: Any) -> dict[str, Any]:
    """A piece of an answer under way."""
    return {"type": "stream_event", "event": {"type": kind, **fields}, "parent_tool_use_id": None}


def calls(transcript: Transcript, thread: str | None = None) -> list[Call]:
    """The calls of a thread."""
    return [item for item in transcript.items(thread) if isinstance(item, Call)]


def states(transcript: Transcript, thread: str | None = None) -> list[tuple[str, str]]:
    """The name and the state of each call of a thread."""
    return [(call.name, str(call.state)) for call in calls(transcript, thread)]


def kinds(items: tuple[AnyItem, ...]) -> list[str]:
    """The kinds of the items."""
    return [type(item).__name__ for item in items]
