"""The rules of the Messages API for a conversation, with the API's wording for one that breaks them.

A client that keeps a conversation sends it whole with every request. One block that the API refuses makes every later
request fail, so the stage refuses it too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from bridle.wire.events.loose_json import JsonObject

_THOUGHTS = ("thinking", "redacted_thinking")


def history_fault(messages: list[JsonObject]) -> str | None:
    """Return the first fault of messages whose shape is valid; None if the API accepts them."""
    return next(_faults(messages), None)


def _faults(messages: list[JsonObject]) -> Iterator[str]:
    if messages[0]["role"] == "assistant":
        yield 'messages: first message must use the "user" role'
    last = len(messages) - 1
    for index, message in enumerate(messages):
        content = message["content"]
        if not content and not (index == last and message["role"] == "assistant"):
            yield (
                f"messages.{index}: all messages must have non-empty content except for the optional final assistant "
                "message"
            )
        yield from _text_faults(content)
        if message["role"] == "assistant":
            yield from _thought_faults(index, _blocks(message))
    yield from _call_faults(messages)


def _text_faults(content: Any) -> Iterator[str]:
    """Yield a fault for each blank text, those in tool results too."""
    if isinstance(content, str):
        if content and not content.strip():
            yield "messages: text content blocks must contain non-whitespace text"
        return
    for block in content:
        if block.get("type") == "text" and isinstance(text := block.get("text"), str):
            if not text:
                yield "messages: text content blocks must be non-empty"
            elif not text.strip():
                yield "messages: text content blocks must contain non-whitespace text"
        if block.get("type") == "tool_result" and isinstance(inner := block.get("content"), list):
            yield from _text_faults([part for part in inner if isinstance(part, dict)])


def _thought_faults(index: int, blocks: list[JsonObject]) -> Iterator[str]:
    for place, block in enumerate(blocks):
        if block.get("type") != "thinking":
            continue
        signature = block.get("signature")
        if not isinstance(signature, str):
            yield f"messages.{index}.content.{place}.thinking.signature: Field required"
        elif not signature:
            yield f"messages.{index}.content.{place}: Invalid `signature` in `thinking` block"
    if blocks and blocks[-1].get("type") in _THOUGHTS:
        last = f"messages.{index}.content.{len(blocks) - 1}"
        yield f"{last}: The final block in an assistant message cannot be `thinking`."


def _call_faults(messages: list[JsonObject]) -> Iterator[str]:
    """Yield a fault for each call without a result in the next message, and for each result without a call."""
    seen: set[str] = set()
    pending: list[str] = []
    at = 0
    for index, message in enumerate(messages):
        if message["role"] == "system":  # between messages, part of none
            continue
        blocks = _blocks(message)
        yield from _result_faults(index, blocks if message["role"] == "user" else [], pending)
        answered = _leading_results(blocks) if message["role"] == "user" else []
        if lacking := [call for call in pending if call not in answered]:
            yield _lacking(at, lacking)
        calls = [str(block.get("id")) for block in blocks if block.get("type") == "tool_use"]
        pending, at = (calls, index) if message["role"] == "assistant" else ([], index)
        if seen.intersection(pending) or len(set(pending)) < len(pending):
            yield "messages: `tool_use` ids must be unique"
        seen.update(pending)
    if pending:
        yield _lacking(at, pending)


def _result_faults(index: int, blocks: list[JsonObject], pending: list[str]) -> Iterator[str]:
    ids = Counter(str(block.get("tool_use_id")) for block in blocks if block.get("type") == "tool_result")
    for call, count in ids.items():
        if call not in pending:
            yield (
                f"messages.{index}: unexpected `tool_use_id` found in `tool_result` blocks: {call}. Each `tool_result` "
                "block must have a corresponding `tool_use` block in the previous message."
            )
        elif count > 1:
            yield (
                f"messages.{index}: each tool_use must have a single result. Found multiple `tool_result` blocks with "
                f"id: {call}"
            )


def _leading_results(blocks: list[JsonObject]) -> list[str]:
    """Return the calls whose results come before anything else in a message."""
    calls: list[str] = []
    for block in blocks:
        if block.get("type") != "tool_result":
            break
        calls.append(str(block.get("tool_use_id")))
    return calls


def _lacking(index: int, calls: list[str]) -> str:
    return (
        f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{', '.join(calls)}. Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )


def _blocks(message: JsonObject) -> list[JsonObject]:
    content = message["content"]
    return content if isinstance(content, list) else []
