"""The outcome: a verdict on a record, given how the process ended.

Two policies judge one record. `lenient` follows the parser that tolerates a missing result. `harness` is for
unattended work: no result and no text fails the run, and so does a refused permission.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from bridle.wire.events.events import STREAM_ENDED
from bridle.wire.record.error_category import Category, stream_error, truncate_error
from bridle.wire.record.heuristics import find_doubt
from bridle.wire.record.record import Record

INTERRUPTED_SUBTYPE = "error_during_execution"
NO_RESULT = "stream-json ended without a 'result' message; token usage unavailable"
NO_EVENTS = "there is JSON here but no event: a list of them (--output-format json) is not what is read, but one a line"
MALFORMED_PREFIX = "malformed stream-json line skipped:"
NO_EXIT_CODE = -1  # of a run that was timed out, or whose program was not there
# The end of a long stderr is what explains a failure. Live runs and logs read later keep the same part of it.
STDERR_TAIL_BYTES = 64 * 1024
_STDERR_LIMIT_CHARACTERS = 2000  # of stderr in a warning; the whole of it is in its own log


class Policy(StrEnum):
    """Who judges."""

    HARNESS = "harness"
    LENIENT = "lenient"


@dataclass(frozen=True, slots=True)
class Ending:
    """How the process ended, as seen from outside."""

    exit_code: int | None = 0
    stderr: str = ""
    timed_out: bool = False
    expected_session: str | None = None
    """The session that was to be continued, where one was."""
    not_found: str | None = None
    """Set when there was no such program: the words to say so."""
    fault: str | None = None
    """Something on our side ended the run (a full disk, a schema that was never met): the words to say so."""
    fault_category: Category | None = None
    ended_by_us: bool = False
    """We ended a process that had given its result and stayed; its exit code then says nothing."""

    @property
    def was_started(self) -> bool:
        """Whether there was a process at all: not where its program was missing or the run was refused before it."""
        return self.not_found is None and not (self.exit_code is None and self.fault is not None)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The verdict."""

    final_text: str
    error: str | None
    category: Category | None
    run_error: bool
    """Whether unattended work must treat the run as failed."""
    reason: str | None
    """Why it failed, in one line, where it did."""
    degraded: bool
    """The answer was put together from the stream because the result had none."""
    succeeded: bool
    succeeded_cleanly: bool
    session_forked: bool
    exit_code: int | None
    warnings: tuple[str, ...]
    policy: Policy = Policy.HARNESS

    @property
    def failed(self) -> bool:
        """The verdict in one bit, by the policy that judged."""
        return self.run_error if self.policy is Policy.HARNESS else self.error is not None


@dataclass(frozen=True, slots=True)
class Rules:
    """What the caller wants judged, and how."""

    policy: Policy = Policy.HARNESS
    hang_heuristic: bool = True
    background_heuristic: bool = True
    """False where the agent was told to run nothing in the background."""
    denials_fail: bool = True


@dataclass(frozen=True, slots=True)
class _Trouble:
    """An error and what kind it is; the text is None for one that only the heuristics saw."""

    error: str | None = None
    category: Category | None = None
    warnings: tuple[str, ...] = ()


def judge(record: Record, ending: Ending | None = None, rules: Rules | None = None) -> Outcome:
    """Give the verdict on a run."""
    ending, rules = _seen_from_the_result(record, ending or Ending()), rules or Rules()
    final_text, degraded = _final_text(record)
    trouble = _trouble(record, ending, rules)
    reason = _reason(record, ending, rules, trouble, final_text)
    category = trouble.category or _category_of_reason(record, ending, rules, reason)
    exit_code = _exit_code(ending, trouble)
    answered = record.output.strip() or (record.failure is None and final_text.strip())
    succeeded = exit_code == 0 and bool(answered)
    return Outcome(
        final_text=final_text,
        error=trouble.error,
        category=category,
        run_error=reason is not None,
        reason=reason,
        degraded=degraded,
        succeeded=succeeded,
        succeeded_cleanly=succeeded and trouble.error is None and category is None,
        session_forked=_forked(record, ending),
        exit_code=exit_code,
        warnings=(*_stream_warnings(record, ending), *trouble.warnings, *_mismatch(record, ending, trouble)),
        policy=rules.policy,
    )


def is_cut_short(record: Record) -> bool:
    """No result, or only one that an agent prints when it is interrupted, or that stands for none."""
    if not record.results or record.terminal_reason == STREAM_ENDED:
        return True
    return record.failure is not None and record.failure.subtype == INTERRUPTED_SUBTYPE


def _seen_from_the_result(record: Record, ending: Ending) -> Ending:
    """A limit that strikes after the result ends a process that had nothing more to say."""
    answered = record.results > 0 and record.failure is None
    return replace(ending, ended_by_us=True) if ending.timed_out and answered else ending


def _exit_code(ending: Ending, trouble: _Trouble) -> int | None:
    if trouble.category in (Category.TIMEOUT, Category.NOT_FOUND):
        return NO_EXIT_CODE
    return 0 if ending.ended_by_us else ending.exit_code


def _final_text(record: Record) -> tuple[str, bool]:
    """The answer, and whether it had to be put together from the stream."""
    stated = record.result_text or ""
    if stated.strip():
        said = record.answer.text
        return (said, False) if said.startswith(stated) and said != stated else (stated, False)
    streamed = record.main_thread_text if record.main_thread_text.strip() else record.output
    if streamed.strip() and record.failure is None:
        return streamed, True
    return streamed or stated, bool(streamed.strip()) and not record.results


def _trouble(record: Record, ending: Ending, rules: Rules) -> _Trouble:
    """The first of these that holds: an error in the stream, the clock, the heuristics, the process."""
    if ending.not_found is not None:
        return _Trouble(ending.not_found, Category.NOT_FOUND)
    if ending.fault is not None:
        return _Trouble(truncate_error(ending.fault), ending.fault_category or Category.PROCESS)
    stderr = ending.stderr if ending.stderr.strip() else ""
    if ending.timed_out and is_cut_short(record):
        return _Trouble("timeout", Category.TIMEOUT, _stderr_warning(stderr))
    if record.failure is not None:
        return _Trouble(*stream_error(record.failure, record), _stderr_warning(stderr))
    doubted = find_doubt(record, background=rules.background_heuristic) if rules.hang_heuristic else None
    if doubted is not None:
        return _Trouble(None, doubted[0], (doubted[1], *_stderr_warning(stderr)))
    if ending.exit_code != 0 and stderr and not ending.ended_by_us:
        return _Trouble(truncate_error(stderr), Category.PROCESS)
    return _Trouble()


def _reason(record: Record, ending: Ending, rules: Rules, trouble: _Trouble, final_text: str) -> str | None:
    """Why unattended work must treat the run as failed; None where it need not."""
    if trouble.error is not None:
        return trouble.error
    if record.permission_denials and rules.denials_fail:
        names = ", ".join(sorted({str(d.get("tool_name", "?")) for d in record.permission_denials}))
        return f"permission was refused for {names}"
    if record.results:
        # A command that the program answered itself, such as a compaction, takes no turn and need not say anything.
        answered = final_text.strip() or record.has_structured_output or record.num_turns == 0
        return None if answered else "the agent ended with an empty result and no text"
    if not final_text.strip():
        return f"the agent ended without a result (exit code {ending.exit_code})"
    return None if ending.exit_code == 0 else f"the agent ended with exit code {ending.exit_code} and no result"


def _category_of_reason(record: Record, ending: Ending, rules: Rules, reason: str | None) -> Category | None:
    """The kind of a failure that only the harness policy sees."""
    if reason is None or rules.policy is Policy.LENIENT:
        return None
    if record.results:
        return Category.PERMISSION if record.permission_denials else None
    return Category.PARSE if ending.exit_code == 0 else Category.PROCESS


def _forked(record: Record, ending: Ending) -> bool:
    expected = ending.expected_session
    return expected is not None and record.session_id is not None and record.session_id != expected


def _stream_warnings(record: Record, ending: Ending) -> list[str]:
    warnings = [f"{MALFORMED_PREFIX} {head}" for head in record.malformed]
    more = record.parse_errors - len(record.malformed)
    if more > 0:
        warnings.append(f"{MALFORMED_PREFIX} and {more} more")
    if not record.results and ending.was_started:
        warnings.append(NO_RESULT)
    if record.ignored and record.ignored == record.events:
        warnings.append(NO_EVENTS)
    if record.other_session_id is not None:
        warnings.append(f"a later init named another session: {record.other_session_id}")
    return warnings + record.notices


def _mismatch(record: Record, ending: Ending, trouble: _Trouble) -> list[str]:
    """The process and the stream disagree; the stream is believed."""
    believed = record.results and record.failure is None and trouble.category is not Category.PROCESS
    if not believed or ending.timed_out or ending.ended_by_us or ending.exit_code == 0:
        return []
    return [f"exit code {ending.exit_code} after a result without an error"]


def _stderr_warning(stderr: str) -> tuple[str, ...]:
    return (f"stderr: {stderr.strip()[:_STDERR_LIMIT_CHARACTERS]}",) if stderr else ()
