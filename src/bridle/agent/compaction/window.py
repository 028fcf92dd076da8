"""Pure planning of compaction: how full the context window is, and which messages to summarise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from bridle.agent.model.api.cost import TOKEN_COUNTS, count_of
from bridle.agent.model.api.question import Block, Message
from bridle.agent.sessions.api_messages import add, block_type, blocks_of, text_block
from bridle.agent.sessions.valid_history import valid_history

# Reserved for the summary; useful ones are far shorter.
SUMMARY_TOKENS = 20_000

# Reserved for one more step: the results of a few parallel tool calls.
STEP_TOKENS = 13_000

# The preserved part (the last answer, the last call with its results) may take this share of the window.
PRESERVED_SHARE = 0.4

# Estimates: English and code have about 4 characters per token; an image costs the same whatever its file size.
_CHARACTERS_PER_TOKEN = 4
_IMAGE_TOKENS = 1600


class Window(msgspec.Struct, frozen=True):
    """The token limits of a model."""

    context_tokens: int
    max_output_tokens: int


class Plan(msgspec.Struct, frozen=True):
    """Which messages are summarised, and which stay as they are."""

    older: list[Message]
    preserved: list[Message]


def threshold(window: Window, *, percent: float | None = None) -> int:
    """Return the number of tokens from which on a conversation is compacted."""
    reserve = min(window.max_output_tokens, SUMMARY_TOKENS) + STEP_TOKENS
    # A small window (a local model) keeps at least half of itself for the conversation.
    limit = max(window.context_tokens - reserve, window.context_tokens // 2)
    return limit if percent is None else min(limit, int(window.context_tokens * percent / 100))


def used(usage: Mapping[str, Any], since: Sequence[Message] = ()) -> int:
    """Return the used tokens: the usage of the last answer, and an estimate of the messages since."""
    return sum(count_of(usage, name) for name in TOKEN_COUNTS) + estimate(since)


def estimate(messages: Sequence[Message]) -> int:
    return math.ceil(sum(_size(message["content"]) for message in messages))


def plan(messages: Sequence[Message], window: Window) -> Plan:
    """Split off the part in progress: the last answer, the last user message, or a call with its results."""
    start = _tail(messages)
    preserved = list(messages[start:])
    if estimate(preserved) > window.context_tokens * PRESERVED_SHARE:
        return Plan(list(messages), [])
    return Plan(list(messages[:start]), preserved)


def summary_request(
    older: Sequence[Message], instructions: str = "", *, limit_tokens: int | None = None
) -> list[Message]:
    """Return the messages that ask for a summary; with a limit, only the newest ones, without images."""
    messages = list(older)
    if limit_tokens is not None:
        messages = _newest(messages, limit_tokens)
    from bridle.agent.compaction.summary_text import INSTRUCTION  # late: most conversations stay short

    text = INSTRUCTION
    if instructions.strip():
        text += f"\n\nThe user also wants this of the summary:\n{instructions.strip()}"
    add(messages, "user", text)
    return messages


def _tail(messages: Sequence[Message]) -> int:
    """Return the index where the part in progress begins."""
    last = len(messages) - 1
    if last < 0:
        return 0
    if messages[last]["role"] == "assistant":
        return last
    start = last
    while start > 0 and messages[start]["role"] != "assistant":
        if _has_result(messages[start]):
            return start - 1
        start -= 1
    return start + 1 if messages[start]["role"] == "assistant" else start


def _newest(messages: list[Message], limit_tokens: int) -> list[Message]:
    newest: list[Message] = []
    remaining = limit_tokens
    for message in reversed(messages):
        blocks = [_without_images(block) for block in blocks_of(message["content"])]
        remaining -= math.ceil(_size(blocks))
        if remaining < 0 and newest:
            break
        newest.insert(0, {"role": message["role"], "content": blocks})
    note: Message = {"role": "user", "content": "(The earlier part of the conversation was too long to be shown.)"}
    kept = [message for message in newest if message["role"] != "system"]
    return valid_history([note, *kept], for_request=False)


def _has_result(message: Message) -> bool:
    return any(block_type(block) == "tool_result" for block in blocks_of(message["content"]))


def _without_images(block: Block) -> Block:
    """Return the block with a text instead of each image and document."""
    if block_type(block) in ("image", "document"):
        return text_block(f"[{block['type']}]")
    if isinstance(content := block.get("content"), list):
        return block | {"content": [_without_images(part) for part in content if isinstance(part, dict)]}
    return block


def _size(value: object) -> float:
    """Estimate the tokens of a JSON value by the length of its texts."""
    if isinstance(value, str):
        return len(value) / _CHARACTERS_PER_TOKEN
    if isinstance(value, dict):
        if value.get("type") in ("image", "document"):
            return _IMAGE_TOKENS
        return sum(_size(item) for item in value.values())
    if isinstance(value, list):
        return sum(_size(item) for item in value)
    return 1
