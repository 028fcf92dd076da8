"""Compaction: when a conversation fills the model's window, a summary takes the place of its older part.

Planning is pure. `Compactor` asks the model and hands back values; who prints events and writes the transcript is the
caller.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from bridle.agent.compaction.summary_text import opening, summary_of
from bridle.agent.compaction.window import Window, blocks_of, estimate, plan, request, threshold
from bridle.agent.sessions.api_messages import Message, add
from bridle.agent.sessions.session import Noted, Session, new_uuid
from bridle.errors import ModelFailure

Trigger = Literal["auto", "manual"]
Ask = Callable[[list[Message]], Awaitable[str]]

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

_OFF = ("", "0", "false", "no")


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


def _joined(text: str, preserved: list[Message]) -> list[Message]:
    messages: list[Message] = []
    add(messages, "user", text)
    for message in preserved:
        if message["role"] == "system":
            messages.append(message)
        else:
            add(messages, message["role"], blocks_of(message))
    return messages


def _runs(messages: Sequence[Message]) -> int:
    """How often the speaker changes; what the program says inside counts as the user's."""
    count, before = 0, None
    for message in messages:
        whose = "assistant" if message["role"] == "assistant" else "user"
        count += whose != before
        before = whose
    return count


def _is_set(environment: Mapping[str, str], name: str) -> bool:
    return environment.get(name, "").strip().lower() not in _OFF


def _percent(environment: Mapping[str, str]) -> float | None:
    try:
        percent = float(environment.get("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", ""))
    except ValueError:
        return None
    return percent if 0 < percent <= 100 else None
