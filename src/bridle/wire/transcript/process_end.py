"""The end of the agent's process, as an item of the conversation."""

from __future__ import annotations

from bridle.wire.record.outcome import Ending
from bridle.wire.transcript.clip import Clip
from bridle.wire.transcript.items import ProcessEnd

UNKNOWN = Ending(exit_code=None)
"""The ending of a process of which only the log is known."""


def process_end(ending: Ending, clip: Clip, limit: int, *, results: int, is_turn_open: bool) -> ProcessEnd | None:
    """Return the item for a process that failed or whose last turn has no result, without an id; else None."""
    missing = (
        ("its last turn has no result" if results else "it printed no result") if is_turn_open or not results else ""
    )
    if ending == UNKNOWN:
        return None if not missing else ProcessEnd(id=0, is_known=False, reason="the log ends without a result")
    reason = _reason(ending, missing)
    if reason is None:
        return None
    stderr = clip.end(ending.stderr.strip(), limit)
    return ProcessEnd(
        id=0, exit_code=ending.exit_code, reason=reason, stderr=stderr.text, omitted_lines=stderr.omitted_lines
    )


def _reason(ending: Ending, missing: str) -> str | None:
    """Return why the process ended, empty if only its exit code shows that; None for a success."""
    if ending.not_found is not None or ending.fault is not None:
        return ending.not_found or ending.fault
    if ending.timed_out:
        return "a time limit was reached"
    if ending.ended_by_us or (ending.exit_code in (0, None) and not missing):
        return None
    if ending.exit_code is None:
        return "the exit code is not known"
    return missing
