"""Recorded transcripts, and what of two transcripts can be compared."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bridle.agent.model.api.question import Message
from bridle.agent.sessions.api_messages import blocks_of

FOLDER = Path(__file__).parent / "transcripts"
RECORDED = sorted(path.name for path in FOLDER.glob("*.jsonl"))

Line = dict[str, Any]

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# What only the recorded program has: listings of its own agents and skills, and where a block was made.
_ONLY_THERE = ("agent_listing_delta", "skill_listing", "command_permissions")


def recorded(name: str) -> list[Line]:
    """The lines of a recorded transcript."""
    return lines_in(FOLDER / name)


def lines_in(path: Path) -> list[Line]:
    """The lines of any transcript."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def comparable(lines: list[Line]) -> list[str]:
    """Lines as text, keys in their order, with ids numbered as they appear and every moment the same."""
    numbers: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        return numbers.setdefault(found[0], f"id-{len(numbers)}")

    texts = []
    for line in _without_listings(lines):
        line = {name: value for name, value in line.items() if name not in ("attributionSkill", "slug")}
        text = json.dumps(line, ensure_ascii=False)
        text = re.sub(r'"timestamp": "[^"]+"', '"timestamp": "then"', text)
        texts.append(_UUID.sub(number, text))
    return texts


def is_sendable(messages: Sequence[Message]) -> bool:
    """The rules of an endpoint."""
    roles = [message["role"] for message in messages]
    if roles != ["user", "assistant"] * (len(roles) // 2) + ["user"] * (len(roles) % 2):
        return False
    waiting: set[str] = set()
    for message in messages:
        blocks = blocks_of(message["content"])
        answers = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if not blocks or sorted(answers) != sorted(waiting):
            return False
        if any(block["type"] == "text" and not block["text"].strip() for block in blocks):
            return False
        waiting = {block["id"] for block in blocks if block["type"] == "tool_use"}
    return not waiting


def _without_listings(lines: list[Line]) -> list[Line]:
    """Leave them out; what followed on one follows on the line before it."""
    before: dict[str, str | None] = {}
    kept = []
    for line in lines:
        if line["type"] == "mode":
            continue
        if line["type"] == "attachment" and line["attachment"]["type"] in _ONLY_THERE:
            before[line["uuid"]] = before.get(line["parentUuid"], line["parentUuid"])
            continue
        line = dict(line)
        for name in ("parentUuid", "leafUuid"):
            if line.get(name) in before:
                line[name] = before[line[name]]
        kept.append(line)
    return kept
