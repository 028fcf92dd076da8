"""The outcome: the verdict on a record, given how the process ended.

There are two policies. `lenient` tolerates a missing result. `harness` is for unattended runs: a run without a
result and text fails, and so does one with a refused permission.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from bridle.wire.events.events import STREAM_ENDED
from bridle.wire.record.error_category import NO_DETAIL, Category, stream_error, truncate_error
from bridle.wire.record.heuristics import find_heuristic_warning
from bridle.wire.record.policy import Policy
from bridle.wire.record.record import Record

INTERRUPTED_SUBTYPE = "error_during_execution"
NO_RESULT = "stream-json ended without a 'result' message; token usage unavailable"
NO_EVENTS = "the input is JSON but has no events: expected one event per line (--output-format stream-json)"
OPEN_TURN = "stream-json ended within a turn; the result is that of the turn before"
MALFORMED_PREFIX = "malformed stream-json line skipped:"
NO_EXIT_CODE = -1  # of a run that timed out, or whose program was not found
# The end of a long stderr explains a failure. Live runs and logs read later keep the same part of it.
STDERR_TAIL_BYTES = 64 * 1024
_STDERR_LIMIT_CHARACTERS = 2000  # of stderr in a warning; the whole of it is in its own log


class Ending(Struct, frozen=True):
    """How the process ended."""

    exit_code: int | None = 0
    stderr: str = ""
    timed_out: bool = False
    expected_session: str | None = None
    """The session to resume, if there was one."""
    not_found: str | None = None
    """The error message if the program was not found."""
    fault: str | None = None
    """The error message if Bridle itself ended the run (a full disk, a schema that was never met)."""
    fault_category: Category | None = None
    ended_by_us: bool = False
    """Bridle ended a process that stayed after its result; the exit code means nothing."""

    @property
    def was_started(self) -> bool:
        """Whether there was a process: not if its program was missing or the run was refused before."""
        return self.not_found is None and not (self.exit_code is None and self.fault is not None)


class Outcome(Struct, frozen=True):
    """The verdict."""

    final_text: str
    error: str | None
    category: Category | None
    run_error: bool
    """Whether an unattended run must count as failed."""
    reason: str | None
    """Why it failed, if it did, in one line."""
    degraded: bool
    """The answer was assembled from the stream because the result had none."""
    succeeded: bool
    succeeded_cleanly: bool
    session_forked: bool
    exit_code: int | None
    warnings: tuple[str, ...]
    policy: Policy = Policy.HARNESS

    @property
    def failed(self) -> bool:
        """Whether the run failed by the outcome's policy."""
        return self.run_error if self.policy is Policy.HARNESS else self.error is not None


class Rules(Struct, frozen=True):
    """What counts as a failure."""

    policy: Policy = Policy.HARNESS
    hang_heuristic: bool = True
    background_heuristic: bool = True
    """False if the agent must not run anything in the background."""
    denials_fail: bool = True


class _Problem(Struct, frozen=True):
    """An error and its category; the text is None if only a heuristic found it."""

    error: str | None = None
    category: Category | None = None
    warnings: tuple[str, ...] = ()


def judge(record: Record, ending: Ending | None = None, rules: Rules | None = None) -> Outcome:
    """Return the outcome of a run."""
    ending, rules = _forgive_late_timeout(record, ending or Ending()), rules or Rules()
    final_text, degraded = _final_text(record)
    problem = _find_problem(record, ending, rules)
    reason, found = _find_reason(record, ending, rules, problem, final_text)
    category = problem.category or (found if rules.policy is Policy.HARNESS else None)
    exit_code = _exit_code(ending, problem)
    answered = record.output.strip() or (record.failure is None and final_text.strip())
    succeeded = exit_code == 0 and bool(answered) and ending.fault is None
    is_whole = record.results > 0 and record.failure is None and (ending.ended_by_us or not record.is_turn_open)
    return Outcome(
        final_text=final_text,
        error=problem.error,
        category=category,
        run_error=reason is not None,
        reason=None if reason is None else " ".join(reason.split()),
        degraded=degraded,
        succeeded=succeeded,
        succeeded_cleanly=succeeded and is_whole and problem.error is None and category is None,
        session_forked=_forked(record, ending),
        exit_code=exit_code,
        warnings=(*_stream_warnings(record, ending), *problem.warnings),
        policy=rules.policy,
    )


def is_cut_short(record: Record) -> bool:
    """Return whether there is no result, or only that of an interrupted agent or an ended stream."""
    if not record.results or record.terminal_reason == STREAM_ENDED:
        return True
    return record.failure is not None and record.failure.subtype == INTERRUPTED_SUBTYPE


def _forgive_late_timeout(record: Record, ending: Ending) -> Ending:
    """Ignore a timeout after the result: the agent had finished."""
    answered = record.results > 0 and record.failure is None
    return replace(ending, ended_by_us=True) if ending.timed_out and answered else ending


def _exit_code(ending: Ending, problem: _Problem) -> int | None:
    if problem.category is Category.TIMEOUT or ending.not_found is not None:
        return NO_EXIT_CODE
    return 0 if ending.ended_by_us else ending.exit_code


def _final_text(record: Record) -> tuple[str, bool]:
    """Return the answer, and whether it had to be assembled from the stream."""
    result = record.result_text or ""
    if result.strip():
        answer = record.answer.text
        return (answer, False) if answer.startswith(result) and answer != result else (result, False)
    streamed = record.main_thread_text if record.main_thread_text.strip() else record.output
    if streamed.strip() and record.failure is None:
        return streamed, True
    return streamed or result, bool(streamed.strip()) and not record.results


def _find_problem(record: Record, ending: Ending, rules: Rules) -> _Problem:
    """Return the first problem: of the stream, the clock, the heuristics, the process."""
    if ending.not_found is not None:
        return _Problem(ending.not_found)
    if ending.fault is not None:
        return _Problem(truncate_error(ending.fault), ending.fault_category or Category.PROCESS)
    stderr = ending.stderr if ending.stderr.strip() else ""
    if ending.timed_out and is_cut_short(record):
        return _Problem("timeout", Category.TIMEOUT, _stderr_warning(stderr))
    if record.failure is not None:
        error, category = stream_error(record.failure, record) if record.failure.is_declared else (None, None)
        said = (error or record.failure.text or "").strip()
        return _Problem(error, category, () if stderr.strip() == said else _stderr_warning(stderr))
    doubted = find_heuristic_warning(record, background=rules.background_heuristic) if rules.hang_heuristic else None
    if doubted is not None:
        return _Problem(None, doubted[0], (doubted[1], *_stderr_warning(stderr)))
    if ending.exit_code != 0 and stderr and not ending.ended_by_us:
        return _Problem(truncate_error(stderr), Category.PROCESS)
    return _Problem()


def _find_reason(
    record: Record, ending: Ending, rules: Rules, problem: _Problem, final_text: str
) -> tuple[str | None, Category | None]:
    """Return why an unattended run must count as failed, and the category that only the harness policy finds."""
    left_with = None if ending.ended_by_us else exit_after_result(record, ending.exit_code)
    if problem.error is not None:
        is_stderr = left_with is not None and ending.fault is None and ending.not_found is None
        return f"{left_with}: {problem.error}" if is_stderr else problem.error, None
    if record.failure is not None:
        return truncate_error(record.failure.text or NO_DETAIL), None
    if record.permission_denials and rules.denials_fail:
        refused = ", ".join(sorted(set(record.denied_tools)))
        return "; ".join(filter(None, (f"permission was refused for {refused}", left_with))), Category.PERMISSION
    if not record.results:
        return _reason_without_result(ending, final_text)
    # A command that the program executes itself, such as a compaction, takes no turn and needs no text.
    if not (final_text.strip() or record.has_structured_output or record.num_turns == 0):
        return "; ".join(filter(None, ("the agent ended with an empty result and no text", left_with))), None
    return (left_with, Category.PROCESS) if left_with is not None else (None, None)


def exit_after_result(record: Record, exit_code: int | None) -> str | None:
    """Return that an agent exited with an error after a result without one, or None."""
    if record.results and record.failure is None and exit_code not in (0, None):
        return f"the agent ended with exit code {exit_code} after its result"
    return None


def _reason_without_result(ending: Ending, final_text: str) -> tuple[str | None, Category | None]:
    if not final_text.strip():
        category = Category.PARSE if ending.exit_code == 0 else Category.PROCESS
        return f"the agent ended without a result (exit code {ending.exit_code})", category
    if ending.exit_code == 0:
        return None, None
    return f"the agent ended with exit code {ending.exit_code} and no result", Category.PROCESS


def session_to_resume(record: Record, ending: Ending) -> str | None:
    """Return the session to resume next; None where this run names none, or failed in another than it had to resume."""
    session, expected = record.usable_session, ending.expected_session
    if expected is None or session in (None, expected) or _has_answered(record, ending):
        return session
    return None


def _has_answered(record: Record, ending: Ending) -> bool:
    """Return whether the agent answered: with a result that is not an error, or with text and a clean exit."""
    if record.failure is not None:
        return False
    return record.results > 0 or (bool(record.output.strip()) and ending.exit_code == 0 and ending.fault is None)


def _forked(record: Record, ending: Ending) -> bool:
    expected = ending.expected_session
    return expected is not None and session_to_resume(record, ending) not in (None, expected)


def _stream_warnings(record: Record, ending: Ending) -> list[str]:
    warnings = [f"{MALFORMED_PREFIX} {head}" for head in record.malformed]
    more = record.parse_errors - len(record.malformed)
    if more > 0:
        warnings.append(f"{MALFORMED_PREFIX} and {more} more")
    if not record.results and ending.was_started:
        warnings.append(NO_RESULT)
    if record.results and record.is_turn_open and not ending.ended_by_us:
        warnings.append(OPEN_TURN)
    if record.ignored and record.ignored == record.events:
        warnings.append(NO_EVENTS)
    if record.other_session_id is not None:
        warnings.append(f"a later init has another session: {record.other_session_id}")
    return warnings + record.notices


def _stderr_warning(stderr: str) -> tuple[str, ...]:
    return (f"stderr: {stderr.strip()[:_STDERR_LIMIT_CHARACTERS]}",) if stderr else ()
