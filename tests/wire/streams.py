"""Short ways to write an agent's lines, and the way from lines to the document that `inspect --json` prints."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from bridle.wire.events.decode import decode_stream
from bridle.wire.record.outcome import Ending, Rules, judge
from bridle.wire.record.recorder import record_events
from bridle.wire.record.report import report_document, report_json

SESSION = "5f0c7a52-0000-4000-8000-000000000001"
Line = dict[str, Any]


def init(**fields: Any) -> Line:
    """The first line of a turn."""
    about = {"session_id": SESSION, "cwd": "/project", "model": "claude-sonnet-4-5", "tools": ["Bash"]}
    return {"type": "system", "subtype": "init", **about, **fields}


def text(words: Any) -> Line:
    """A text block."""
    return {"type": "text", "text": words}


def call(name: str, call_id: str = "toolu_1", **arguments: Any) -> Line:
    """A tool call block."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def said(*content: Any, parent: str | None = None, error: str | None = None, **message: Any) -> Line:
    """An assistant line; a plain string stands for a text block."""
    blocks = [text(item) if isinstance(item, str) else item for item in content]
    body = {"id": "msg_1", "role": "assistant", "content": blocks, "stop_reason": None, **message}
    line = {"type": "assistant", "message": body, "parent_tool_use_id": parent, "session_id": SESSION}
    return line if error is None else {**line, "error": error}


def answered(call_id: str = "toolu_1", content: Any = "ok", **fields: Any) -> Line:
    """A user line with one tool result."""
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}
    return {"type": "user", "message": {"role": "user", "content": [block]}, "parent_tool_use_id": None}


def result(words: Any = "done", **fields: Any) -> Line:
    """A result line of two turns; a field given as ... is left out."""
    line = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "num_turns": 2,
        "result": words,
        "session_id": SESSION,
        "total_cost_usd": 0.01,
        "usage": {"input_tokens": 100, "output_tokens": 20},
        "permission_denials": [],
        **fields,
    }
    return {name: value for name, value in line.items() if value is not ...}


def failed(words: Any = "it broke", **fields: Any) -> Line:
    """A result line of a turn that ended in an error."""
    return result(words, is_error=True, **fields)


def printed(lines: Iterable[Line | str | bytes]) -> bytes:
    """The lines as an agent prints them; text and bytes stand for themselves."""
    return b"".join(_line_bytes(line) + b"\n" for line in lines)


def inspected(lines: Iterable[Line | str | bytes], ending: Ending | None = None, rules: Rules | None = None) -> Line:
    """The whole document for these lines."""
    return inspected_bytes(printed(lines), ending, rules)


def inspected_bytes(data: bytes, ending: Ending | None = None, rules: Rules | None = None) -> Line:
    """The whole document for these bytes, through JSON as a program would read it."""
    record = record_events(decode_stream([data]))
    read: Line = json.loads(report_json(report_document(record, judge(record, ending, rules))))
    return read


def _line_bytes(line: Line | str | bytes) -> bytes:
    if isinstance(line, bytes):
        return line
    return (line if isinstance(line, str) else json.dumps(line)).encode()
