"""How full the model's window is, and how a conversation is parted that no longer fits. All of it is pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from bridle.agent.compaction.summary_text import INSTRUCTION
from bridle.agent.sessions.api_messages import Message, add, mended

# Room for the summary itself: the longest that was ever of use is far shorter.
SUMMARY_TOKENS = 20_000

# Room for one more step before the window is full: what a few tools return side by side.
STEP_TOKENS = 13_000

# What is left as it was (the last answer, the last call with its results) may take this part of the window.
PRESERVED_SHARE = 0.4

# English and code come to about so many characters a token; a picture costs the same whatever its file size.
_CHARACTERS_PER_TOKEN = 4
_PICTURE_TOKENS = 1600


class Window(msgspec.Struct, frozen=True):
    """What a model can hold."""

    context_tokens: int
    max_output_tokens: int


class Plan(msgspec.Struct, frozen=True):
    """Which messages are summed up, and which stay as they are."""

    summed_up: list[Message]
    preserved: list[Message]


def threshold(window: Window, *, percent: float | None = None) -> int:
    """From how many tokens on a conversation is too long."""
    reserve = min(window.max_output_tokens, SUMMARY_TOKENS) + STEP_TOKENS
    # A small window (a local model) keeps at least half of itself for the conversation.
    limit = max(window.context_tokens - reserve, window.context_tokens // 2)
    return limit if percent is None else min(limit, int(window.context_tokens * percent / 100))


def used(usage: Mapping[str, Any], since: Sequence[Message] = ()) -> int:
    """How full the window is: what the last answer used, and about what was said since."""
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    counts = (usage.get(name) for name in names)
    return sum(count for count in counts if isinstance(count, int) and not isinstance(count, bool)) + estimate(since)


def estimate(messages: Sequence[Message]) -> int:
    """About how many tokens messages are."""
    return math.ceil(sum(_size(message.get("content")) for message in messages))


def plan(messages: Sequence[Message], window: Window) -> Plan:
    """Leave what is under way as it was: the last answer, or the last words of the user, or a call with its results."""
    start = _tail(messages)
    preserved = list(messages[start:])
    if estimate(preserved) > window.context_tokens * PRESERVED_SHARE:
        return Plan(list(messages), [])
    return Plan(list(messages[:start]), preserved)


def request(summed_up: Sequence[Message], instructions: str = "", *, limit_tokens: int | None = None) -> list[Message]:
    """The messages that ask for the summary; with a limit, only the newest that fit, and without pictures."""
    messages = list(summed_up)
    if limit_tokens is not None:
        messages = _newest(messages, limit_tokens)
    text = INSTRUCTION
    if instructions.strip():
        text += f"\n\nThe user wants this of the summary besides:\n{instructions.strip()}"
    add(messages, "user", text)
    return messages


def _tail(messages: Sequence[Message]) -> int:
    """Where that begins which is under way."""
    last = len(messages) - 1
    if last < 0:
        return 0
    if messages[last]["role"] == "assistant":
        return last
    start = last
    while start > 0 and messages[start]["role"] != "assistant":
        if _has(messages[start], "tool_result"):
            return start - 1
        start -= 1
    return start + 1 if messages[start]["role"] == "assistant" else start


def _newest(messages: list[Message], limit_tokens: int) -> list[Message]:
    kept: list[Message] = []
    left = limit_tokens
    for message in reversed(messages):
        plain = {"role": message["role"], "content": [_plain(block) for block in blocks_of(message)]}
        left -= estimate([plain])
        if left < 0 and kept:
            break
        kept.insert(0, plain)
    note = {"type": "text", "text": "(The earlier part of the conversation was too long to be shown.)"}
    turns = [(message["role"], message["content"]) for message in kept if message["role"] != "system"]
    return mended([("user", [note]), *turns])


def blocks_of(message: Message) -> list[dict[str, Any]]:
    """The content of a message as blocks."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _has(message: Message, kind: str) -> bool:
    return any(block.get("type") == kind for block in blocks_of(message))


def _plain(block: dict[str, Any]) -> dict[str, Any]:
    """The block with words in the place of pictures and documents."""
    if block.get("type") in ("image", "document"):
        return {"type": "text", "text": f"[{block['type']}]"}
    if isinstance(content := block.get("content"), list):
        return block | {"content": [_plain(part) for part in content if isinstance(part, dict)]}
    return block


def _size(value: object) -> float:
    """Tokens in a value, by the length of its texts."""
    if isinstance(value, str):
        return len(value) / _CHARACTERS_PER_TOKEN
    if isinstance(value, dict):
        if value.get("type") in ("image", "document"):
            return _PICTURE_TOKENS
        return sum(_size(item) for item in value.values())
    if isinstance(value, list):
        return sum(_size(item) for item in value)
    return 1
