"""Reads the finished tool calls of a transcript, so that a resumed session knows what they did."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from bridle.agent.sessions.read_transcript import lines_of

_CALL, _RESULT = b'"tool_use"', b'"tool_result"'


class PastCall(msgspec.Struct, frozen=True):
    """A call that succeeded."""

    name: str
    arguments: dict[str, Any]
    detail: dict[str, Any]
    """The result as programs get it; empty if the transcript has none."""
    cwd: str
    """The working folder of that moment."""
    ended_ms: int
    """When it had ended, in milliseconds since 1970; 0 if the transcript does not say."""


def past_calls(transcript: Path, last: str | None) -> Iterator[PastCall]:
    """Yield the calls of the main conversation, oldest first, up to the line with the id `last`."""
    open_calls: dict[str, tuple[str, dict[str, Any]]] = {}
    for data in lines_of(transcript):
        has_blocks = _CALL in data or _RESULT in data
        if not has_blocks and (last is None or last.encode() not in data):
            continue
        line = _decode(data)
        if has_blocks and not line.get("isSidechain"):
            for block in _blocks(line):
                if block.get("type") == "tool_use" and isinstance(block.get("input"), dict):
                    open_calls[str(block.get("id"))] = str(block.get("name")), block["input"]
                elif block.get("type") == "tool_result" and not block.get("is_error"):
                    call = open_calls.pop(str(block.get("tool_use_id")), None)
                    if call is not None:
                        yield _past_call(call, line)
        if last is not None and line.get("uuid") == last:
            return


def _past_call(call: tuple[str, dict[str, Any]], line: dict[str, Any]) -> PastCall:
    detail = line.get("toolUseResult")
    return PastCall(*call, detail if isinstance(detail, dict) else {}, str(line.get("cwd") or "/"), _milliseconds(line))


def _milliseconds(line: dict[str, Any]) -> int:
    try:
        return round(datetime.fromisoformat(str(line.get("timestamp"))).timestamp() * 1000)
    except (ValueError, OverflowError):
        return 0


def _blocks(line: dict[str, Any]) -> list[dict[str, Any]]:
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _decode(data: bytes) -> dict[str, Any]:
    try:
        line = msgspec.json.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return {}
    return line if isinstance(line, dict) else {}
