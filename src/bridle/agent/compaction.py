"""Compaction: when a conversation fills the model's window, a summary takes the place of its older part.

Planning is pure. `Compactor` asks the model and hands back values; who prints events and writes the transcript is the
caller.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from bridle.agent.messages import Message, add, mended
from bridle.agent.session import Noted, Session, new_uuid
from bridle.agent.summary import INSTRUCTION, opening, summary_of
from bridle.errors import ModelFailure

Trigger = Literal["auto", "manual"]
Ask = Callable[[list[Message]], Awaitable[str]]

# Room for the summary itself: the longest that was ever of use is far shorter.
SUMMARY_TOKENS = 20_000

# Room for one more step before the window is full: what a few tools return side by side.
STEP_TOKENS = 13_000

# What is left as it was (the last answer, the last call with its results) may take this part of the window.
PRESERVED_SHARE = 0.4

# A conversation that is less than this part of what the window holds is not what fills it: instructions and tools
# are, and a summary would change nothing.
WORTHWHILE_SHARE = 0.1

# A summary that is not at least this much shorter than what it replaces has not helped.
HELPFUL_SHARE = 0.8

# After as many failures in a row the session goes on without, rather than pay for one summary after the other.
FAILURES_IN_A_ROW = 3

# A summary request that is too long itself is tried with half as much, so often.
TRIES = 3

NOTHING_TO_COMPACT = "Error: No messages to compact"
TOO_FEW = "Not enough messages to compact."
EMPTY_SUMMARY = "Error during compaction: summarization produced empty response"

# English and code come to about so many characters a token; a picture costs the same whatever its file size.
_CHARACTERS_PER_TOKEN = 4
_PICTURE_TOKENS = 1600
_OFF = ("", "0", "false", "no")


class Window(msgspec.Struct, frozen=True):
    """What a model can hold."""

    context_tokens: int
    max_output_tokens: int


class Plan(msgspec.Struct, frozen=True):
    """Which messages are summed up, and which stay as they are."""

    summed_up: list[Message]
    preserved: list[Message]


class Compacted(msgspec.Struct, frozen=True):
    """It worked: the new conversation, and what the event and the transcript say about it."""

    messages: list[Message]
    summary: str
    """The text of the message that stands for the older part."""
    trigger: Trigger
    pre_tokens: int
    post_tokens: int
    dropped_tokens: int
    """How much all summaries of the session have left out."""
    duration_ms: int
    preserved_messages: int
    """How many messages stay as they were; one for each change of the speaker."""

    def event(self, preserved: Sequence[str], anchor: str) -> dict[str, Any]:
        """`compact_metadata` of the event, with the ids of the lines that stay and of the summary's own."""
        metadata: dict[str, Any] = {
            "trigger": self.trigger,
            "pre_tokens": self.pre_tokens,
            "post_tokens": self.post_tokens,
            "cumulative_dropped_tokens": self.dropped_tokens,
            "duration_ms": self.duration_ms,
        }
        if preserved:
            ids = list(preserved)
            metadata["preserved_segment"] = {"head_uuid": ids[0], "anchor_uuid": anchor, "tail_uuid": ids[-1]}
            metadata["preserved_messages"] = {"anchor_uuid": anchor, "uuids": ids, "all_uuids": ids}
        return metadata

    def line(self, preserved: Sequence[str], anchor: str) -> dict[str, Any]:
        """`compactMetadata` of the line in the transcript."""
        metadata: dict[str, Any] = {
            "trigger": self.trigger,
            "preTokens": self.pre_tokens,
            "durationMs": self.duration_ms,
        }
        if preserved:
            ids = list(preserved)
            metadata["preservedSegment"] = {"headUuid": ids[0], "anchorUuid": anchor, "tailUuid": ids[-1]}
            metadata["preservedMessages"] = {"anchorUuid": anchor, "uuids": ids, "allUuids": ids}
        return metadata | {"postTokens": self.post_tokens, "cumulativeDroppedTokens": self.dropped_tokens}


class Recorded(msgspec.Struct, frozen=True):
    """What the events about it name."""

    boundary: str
    """The id of `compact_boundary`."""
    metadata: dict[str, Any]
    summary: Noted
    """The message that stands for what was summed up."""


class NotCompacted(msgspec.Struct, frozen=True):
    """It did not work; the conversation stays as it is."""

    error: str
    failure: ModelFailure | None = None


class Compactor:
    """Decides when to sum up, and does it. It gives up for the session where summing up fails again and again."""

    def __init__(self, environment: Mapping[str, str], *, dropped_tokens: int = 0, is_on: bool = True) -> None:
        disabled = any(_is_set(environment, name) for name in ("DISABLE_COMPACT", "DISABLE_AUTO_COMPACT"))
        self._is_on = is_on and not disabled
        self._percent = _percent(environment)
        self._dropped = dropped_tokens
        self._failures = 0

    def is_due(self, used_tokens: int, messages: Sequence[Message], window: Window) -> bool:
        """Whether the conversation should be summed up before the next request."""
        if not self._is_on or self._failures >= FAILURES_IN_A_ROW:
            return False
        if used_tokens < threshold(window, percent=self._percent):
            return False
        plan_now = plan(messages, window)
        return len(plan_now.summed_up) > 1 and estimate(plan_now.summed_up) >= used_tokens * WORTHWHILE_SHARE

    async def compact(
        self,
        messages: Sequence[Message],
        window: Window,
        *,
        trigger: Trigger,
        used_tokens: int,
        ask: Ask,
        transcript_path: str | None,
        now: Callable[[], float],
        instructions: str = "",
    ) -> Compacted | NotCompacted:
        """Ask the model for a summary and put it in place. `now` reads a clock in seconds.

        Nothing is changed before the summary is there, so that it can be cancelled at any moment.
        """
        if not messages:
            return NotCompacted(NOTHING_TO_COMPACT)
        planned = plan(messages, window)
        if len(planned.summed_up) < 2:
            return NotCompacted(TOO_FEW)
        started = now()
        try:
            summary = summary_of(await _ask(planned.summed_up, window, ask, instructions))
        except ModelFailure as failure:
            self._failures += 1
            return NotCompacted(f"Error during compaction: {failure.text}", failure)
        if not summary:
            self._failures += 1
            return NotCompacted(EMPTY_SUMMARY)
        text = opening(summary, transcript_path)
        fresh = _joined(text, planned.preserved)
        post = estimate(fresh)
        self._judge(estimate(messages), post)
        self._dropped = max(0, self._dropped + used_tokens - post)
        return Compacted(
            messages=fresh,
            summary=text,
            trigger=trigger,
            pre_tokens=used_tokens,
            post_tokens=post,
            dropped_tokens=self._dropped,
            duration_ms=round((now() - started) * 1000),
            preserved_messages=_runs(planned.preserved),
        )

    def _judge(self, before: int, after: int) -> None:
        """One that did not help counts as a failure: the next would not help either."""
        self._failures = self._failures + 1 if after > before * HELPFUL_SHARE else 0


def record(compacted: Compacted, session: Session) -> Recorded:
    """Write it into the transcript, and say what the events name."""
    preserved = session.last_lines(compacted.preserved_messages)
    boundary, anchor = new_uuid(), new_uuid()
    noted = session.compacted(compacted.line(preserved, anchor), compacted.summary, boundary=boundary, anchor=anchor)
    return Recorded(boundary, compacted.event(preserved, anchor), noted)


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


async def _ask(summed_up: list[Message], window: Window, ask: Ask, instructions: str) -> str:
    """Ask; where even that is too long, ask about the newest part only."""
    limit: int | None = None
    for attempt in range(TRIES):
        try:
            return await ask(request(summed_up, instructions, limit_tokens=limit))
        except ModelFailure as failure:
            if failure.terminal_reason != "prompt_too_long" or attempt == TRIES - 1:
                raise
            limit = min(estimate(summed_up), window.context_tokens) // 2 ** (attempt + 1)
    raise AssertionError("the last try returns or raises")


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
        plain = {"role": message["role"], "content": [_plain(block) for block in _blocks(message)]}
        left -= estimate([plain])
        if left < 0 and kept:
            break
        kept.insert(0, plain)
    note = {"type": "text", "text": "(The earlier part of the conversation was too long to be shown.)"}
    turns = [(message["role"], message["content"]) for message in kept if message["role"] != "system"]
    return mended([("user", [note]), *turns])


def _joined(text: str, preserved: list[Message]) -> list[Message]:
    messages: list[Message] = []
    add(messages, "user", text)
    for message in preserved:
        if message["role"] == "system":
            messages.append(message)
        else:
            add(messages, message["role"], _blocks(message))
    return messages


def _runs(messages: Sequence[Message]) -> int:
    """How often the speaker changes; what the program says inside counts as the user's."""
    count, before = 0, None
    for message in messages:
        whose = "assistant" if message["role"] == "assistant" else "user"
        count += whose != before
        before = whose
    return count


def _blocks(message: Message) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _has(message: Message, kind: str) -> bool:
    return any(block.get("type") == kind for block in _blocks(message))


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


def _is_set(environment: Mapping[str, str], name: str) -> bool:
    return environment.get(name, "").strip().lower() not in _OFF


def _percent(environment: Mapping[str, str]) -> float | None:
    try:
        percent = float(environment.get("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", ""))
    except ValueError:
        return None
    return percent if 0 < percent <= 100 else None
