"""Streams to measure with, the same bytes every time.

small10 is 10 MB of small events, about four fifths of them pieces of an answer under way.
mixed100 is 100 MB: tool results of up to 400 KB, each repeated in `tool_use_result`, between ordinary events.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MEGABYTE = 1_000_000
SESSION = "5f0c7a52-0000-4000-8000-000000000001"
MODEL = "claude-sonnet-4-5-20250929"
WORDS = (
    "the",
    "agent",
    "reads",
    "every",
    "file,",
    "runs",
    "tests",
    "and",
    "writes",
    "what",
    "it",
    "saw;",
    "naïve",
    "✓",
)
LARGEST_RESULT_CHARACTERS = 400_000
# What tools print: numbered source, matches, a log, a document; full of quotes, tabs and letters beyond ASCII.
PRINTED = (
    '{0:6}\t    def find(self, name: str = "{0}") -> "Item | None":\n',
    '{0:6}\t        """Return the item — or None — whose name is {0}."""\n',
    'src/app/items.py:{0}:        log.info("found %s", name, extra={{"path": "C:\\\\tmp\\\\{0}"}})\n',
    "2026-11-15T10:00:00.{0:03}Z  INFO  café ✓ request {0} took 12 ms\n",
    '\t{{"id": {0}, "name": "item-{0}", "tags": ["a", "b"], "note": "naïve"}},\n',
    "        return [item for item in self.items if item.name == name]\n",
)

Line = dict[str, Any]


def ensure(folder: Path) -> dict[str, Path]:
    """The files of this module, written where they are missing."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {"small10": (small_lines, 10 * MEGABYTE), "mixed100": (mixed_lines, 100 * MEGABYTE)}
    paths = {}
    for name, (lines, size) in wanted.items():
        paths[name] = folder / f"{name}.ndjson"
        if not paths[name].exists():
            _write(paths[name], lines(random.Random(name)), size)  # noqa: S311  # the same numbers every time
    return paths


def small_lines(chance: random.Random) -> Iterator[Line]:
    """Short turns with partial messages, forever."""
    yield _init()
    number = 0
    while True:
        number += 1
        yield from _streamed_message(chance, number)
        yield from _call(chance, number, f"toolu_{number:08}", _words(chance, 40))


def mixed_lines(chance: random.Random) -> Iterator[Line]:
    """Turns whose tools answer at length, forever."""
    yield _init()
    number = 0
    while True:
        number += 1
        yield _assistant(number, {"type": "thinking", "thinking": _words(chance, 60), "signature": "c2ln" * 80})
        yield _assistant(number, {"type": "text", "text": _words(chance, 40)})
        size = int(LARGEST_RESULT_CHARACTERS * chance.random() ** 3)
        yield from _call(chance, number, f"toolu_{number:08}", _file(size))


def _write(path: Path, lines: Iterator[Line], size_bytes: int) -> None:
    """Whole or not at all: a run that is interrupted here must not leave half a file to measure with."""
    begun = path.with_suffix(".begun")
    with begun.open("wb") as stream:
        while stream.tell() < size_bytes:
            stream.write(_encoded(next(lines)))
        stream.write(_encoded(_result()))
    begun.rename(path)


def _encoded(line: Line) -> bytes:
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _streamed_message(chance: random.Random, number: int) -> Iterator[Line]:
    text = [_words(chance, chance.randint(3, 9)) for _ in range(16)]
    yield _piece(
        {"type": "message_start", "message": {"id": f"msg_{number:08}", "role": "assistant", "content": []}}, number
    )
    yield _piece({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}, number)
    for words in text:
        yield _piece(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": words}}, number
        )
    yield _assistant(number, {"type": "text", "text": " ".join(text)})
    yield _piece({"type": "content_block_stop", "index": 0}, number)
    yield _piece(
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 42}}, number
    )
    yield _piece({"type": "message_stop"}, number)
    yield _system("status", {"status": "requesting"}, number)
    yield _system("thinking_tokens", {"estimated_tokens": number, "estimated_tokens_delta": 3}, number)


def _call(chance: random.Random, number: int, call_id: str, content: str) -> Iterator[Line]:
    arguments = {"command": f"grep -rn {_words(chance, 1)} src", "description": _words(chance, 5)}
    yield _assistant(number, {"type": "tool_use", "id": call_id, "name": "Bash", "input": arguments})
    block = {"tool_use_id": call_id, "type": "tool_result", "content": content, "is_error": False}
    yield {
        "type": "user",
        "message": {"role": "user", "content": [block]},
        "parent_tool_use_id": None,
        "session_id": SESSION,
        "uuid": _uuid(number),
        "timestamp": "2026-11-15T10:00:00.000Z",
        "tool_use_result": {"stdout": content, "stderr": "", "interrupted": False, "isImage": False},
    }


def _assistant(number: int, block: Line) -> Line:
    usage = {
        "input_tokens": 12,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 18_000,
        "output_tokens": 1,
    }
    message = {
        "id": f"msg_{number:08}",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [block],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    return {
        "type": "assistant",
        "message": message,
        "parent_tool_use_id": None,
        "session_id": SESSION,
        "uuid": _uuid(number),
    }


def _piece(event: Line, number: int) -> Line:
    return {
        "type": "stream_event",
        "event": event,
        "session_id": SESSION,
        "parent_tool_use_id": None,
        "uuid": _uuid(number),
    }


def _system(subtype: str, fields: Line, number: int) -> Line:
    return {"type": "system", "subtype": subtype, **fields, "uuid": _uuid(number), "session_id": SESSION}


def _init() -> Line:
    about = {"cwd": "/project", "session_id": SESSION, "tools": ["Bash", "Read"], "mcp_servers": [], "model": MODEL}
    return {"type": "system", "subtype": "init", **about, "permissionMode": "default", "uuid": _uuid(0)}


def _result() -> Line:
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "duration_ms": 1200,
        "duration_api_ms": 900,
        "num_turns": 2,
        "result": "done",
        "stop_reason": "end_turn",
        "session_id": SESSION,
        "total_cost_usd": 0.5,
        "usage": {"input_tokens": 100, "output_tokens": 20},
        "permission_denials": [],
        "uuid": _uuid(1),
    }


def _file(characters: int) -> str:
    lines, size, number = [], 0, 0
    while size < characters:
        lines.append(PRINTED[number % len(PRINTED)].format(number % 1000))
        size += len(lines[-1])
        number += 1
    return "".join(lines)


def _words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(WORDS, k=count))


def _uuid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012}"
