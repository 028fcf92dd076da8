"""The end of the agent's process, as an item of the conversation."""

from __future__ import annotations

from bridle.wire.record.outcome import Ending
from bridle.wire.transcript.clip import Clip
from bridle.wire.transcript.items import ProcessEnd


def process_end(ending: Ending, clip: Clip, limit: int, *, has_result: bool) -> ProcessEnd | None:
    """Return the item for a process that failed or ended without a result, without an id; else None."""
    reason = _reason(ending, has_result=has_result)
    if reason is None:
        return None
    stderr = clip.end(ending.stderr.strip(), limit)
    return ProcessEnd(
        id=0, exit_code=ending.exit_code, reason=reason, stderr=stderr.text, omitted_lines=stderr.omitted_lines
    )


def _reason(ending: Ending, *, has_result: bool) -> str | None:
    """Return why the process ended, empty if only its exit code shows that; None for a success."""
    if ending.not_found is not None or ending.fault is not None:
        return ending.not_found or ending.fault
    if ending.timed_out:
        return "a time limit was reached"
    if ending.ended_by_us or (ending.exit_code in (0, None) and has_result):
        return None
    if ending.exit_code is None:
        return "the exit code is not known"
    return "" if has_result else "it printed no result"
