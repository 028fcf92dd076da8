"""Compaction: when a conversation fills the context window, a summary replaces its older part.

`Compactor` asks the model and returns values; the caller prints events and writes the transcript.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal

import msgspec

from bridle.agent.compaction.window import Window, estimate, plan, summary_request, threshold
from bridle.agent.model.api.question import Message
from bridle.agent.sessions.api_messages import add
from bridle.agent.sessions.session import LineId, Session, new_uuid
from bridle.agent.sessions.transcript_entries import CompactMetadata, PreservedMessages, PreservedSegment
from bridle.errors import ModelFailure

Trigger = Literal["auto", "manual"]
Ask = Callable[[list[Message]], Awaitable[str]]

# Below this share of the used tokens, instructions and tools fill the window, and a summary would not help.
WORTHWHILE_SHARE = 0.1

# A summary longer than this share of what it replaces counts as a failure.
HELPFUL_SHARE = 0.8

# After this many failures in a row the session continues without compaction, to save the cost of more summaries.
FAILURES_IN_A_ROW = 3

# A summary request that is too long is retried with half as much, up to this many requests in all.
TRIES = 3

NOTHING_TO_COMPACT = "Error: No messages to compact"
TOO_FEW = "Not enough messages to compact."
EMPTY_SUMMARY = "Error during compaction: summarization produced empty response"

_OFF = ("", "0", "false", "no")


class Compacted(msgspec.Struct, frozen=True):
    """The compacted conversation and its figures."""

    messages: list[Message]
    summary: str
    """The text of the message that replaces the older part."""
    trigger: Trigger
    pre_tokens: int
    post_tokens: int
    dropped_tokens: int
    """How many tokens all compactions of the session have dropped."""
    duration_ms: int
    preserved_messages: int
    """How many messages stay as they were; consecutive ones of the same role count once."""


class Recorded(msgspec.Struct, frozen=True):
    """A compaction in the transcript: the ids that its events name."""

    boundary: str
    """The id of the `compact_boundary` event."""
    summary: LineId
    """The line of the summary."""
    preserved: list[str]
    """The lines that stay as they were."""
    metadata: CompactMetadata


class NotCompacted(msgspec.Struct, frozen=True):
    """Why compaction failed; the conversation is unchanged."""

    error: str
    failure: ModelFailure | None = None


class Compactor:
    """Decides when to compact, and compacts. Repeated failures disable it for the session."""

    def __init__(self, environment: Mapping[str, str], *, dropped_tokens: int = 0) -> None:
        self._is_on = not any(_is_set(environment, name) for name in ("DISABLE_COMPACT", "DISABLE_AUTO_COMPACT"))
        self._percent = _percent(environment)
        self._dropped = dropped_tokens
        self._failures = 0

    @property
    def is_on(self) -> bool:
        """Whether conversations are compacted by themselves."""
        return self._is_on

    def threshold(self, window: Window) -> int:
        """Return the number of tokens from which on a conversation is compacted."""
        return threshold(window, percent=self._percent)

    def is_due(self, used_tokens: int, messages: Sequence[Message], window: Window) -> bool:
        """Return whether to compact before the next request."""
        if not self._is_on or self._failures >= FAILURES_IN_A_ROW:
            return False
        if used_tokens < self.threshold(window):
            return False
        planned = plan(messages, window)
        return len(planned.older) > 1 and estimate(planned.older) >= used_tokens * WORTHWHILE_SHARE

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
        """Ask the model for a summary and return the new conversation. `now` reads a clock in seconds.

        Nothing changes before the summary is complete, so this may be cancelled at any time.
        """
        if not messages:
            return NotCompacted(NOTHING_TO_COMPACT)
        planned = plan(messages, window)
        if len(planned.older) < 2:
            return NotCompacted(TOO_FEW)
        from bridle.agent.compaction.summary_text import extract_summary, opening_message

        started = now()
        try:
            summary = extract_summary(await _ask(planned.older, window, ask, instructions))
        except ModelFailure as failure:
            self._failures += 1
            return NotCompacted(f"Error during compaction: {failure.text}", failure)
        if not summary:
            self._failures += 1
            return NotCompacted(EMPTY_SUMMARY)
        text = opening_message(summary, transcript_path)
        messages_after = _with_summary(text, planned.preserved)
        post = estimate(messages_after)
        # Count a summary that did not help as a failure: the next one would not help either.
        self._failures = self._failures + 1 if post > estimate(messages) * HELPFUL_SHARE else 0
        self._dropped = max(0, self._dropped + used_tokens - post)
        return Compacted(
            messages=messages_after,
            summary=text,
            trigger=trigger,
            pre_tokens=used_tokens,
            post_tokens=post,
            dropped_tokens=self._dropped,
            duration_ms=round((now() - started) * 1000),
            preserved_messages=_runs(planned.preserved),
        )


def record(compacted: Compacted, session: Session) -> Recorded:
    """Write a compaction to the transcript and return the ids that its events name."""
    preserved = session.last_lines(compacted.preserved_messages)
    boundary, anchor = new_uuid(), new_uuid()
    metadata = transcript_metadata(compacted, preserved, anchor)
    summary = session.add_summary(metadata, compacted.summary, boundary=boundary, anchor=anchor)
    return Recorded(boundary, summary, preserved, metadata)


def transcript_metadata(compacted: Compacted, preserved: list[str], anchor: str) -> CompactMetadata:
    """Return the metadata of a boundary line, with the ids of the preserved lines and of the summary."""
    metadata = CompactMetadata(
        trigger=compacted.trigger,
        pre_tokens=compacted.pre_tokens,
        duration_ms=compacted.duration_ms,
        post_tokens=compacted.post_tokens,
        cumulative_dropped_tokens=compacted.dropped_tokens,
    )
    if preserved:
        metadata.preserved_segment = PreservedSegment(
            head_uuid=preserved[0], anchor_uuid=anchor, tail_uuid=preserved[-1]
        )
        metadata.preserved_messages = PreservedMessages(anchor_uuid=anchor, uuids=preserved, all_uuids=preserved)
    return metadata


async def _ask(older: list[Message], window: Window, ask: Ask, instructions: str) -> str:
    """Ask for the summary; if the request is too long, ask about the newest part only."""
    limit: int | None = None
    for attempt in range(TRIES):
        try:
            return await ask(summary_request(older, instructions, limit_tokens=limit))
        except ModelFailure as failure:
            if failure.terminal_reason != "prompt_too_long" or attempt == TRIES - 1:
                raise
            limit = min(estimate(older), window.context_tokens) // 2 ** (attempt + 1)
    raise AssertionError("the last attempt returns or raises")


def _with_summary(text: str, preserved: list[Message]) -> list[Message]:
    messages: list[Message] = []
    add(messages, "user", text)
    for message in preserved:
        if message["role"] == "system":
            messages.append(message)
        else:
            add(messages, message["role"], message["content"])
    return messages


def _runs(messages: Sequence[Message]) -> int:
    """Count changes of the role; a system message counts as the user's."""
    count, last_role = 0, None
    for message in messages:
        role = "assistant" if message["role"] == "assistant" else "user"
        count += role != last_role
        last_role = role
    return count


def _is_set(environment: Mapping[str, str], name: str) -> bool:
    return environment.get(name, "").strip().lower() not in _OFF


def _percent(environment: Mapping[str, str]) -> float | None:
    try:
        percent = float(environment.get("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", ""))
    except ValueError:
        return None
    return percent if 0 < percent <= 100 else None
