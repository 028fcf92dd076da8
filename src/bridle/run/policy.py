"""What the end of an attempt means: how it is judged, whether it is tried again, whether a person must mend it."""

from __future__ import annotations

from collections.abc import Mapping

from bridle.errors import AgentError, AgentNotFound, AgentNotReady, ProcessError, UsageError
from bridle.ground.children.child_process import SpawnFailure
from bridle.run.command import KEY_VARIABLE
from bridle.run.request import Request
from bridle.wire.record.error_category import Category
from bridle.wire.record.outcome import Ending, Outcome, Policy, Rules
from bridle.wire.record.record import Record


def rules_of(request: Request, environment: Mapping[str, str]) -> Rules:
    """How a request wants its run judged."""
    background = environment.get("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS") != "1"
    return Rules(
        policy=request.policy,
        hang_heuristic=request.hang_heuristic,
        background_heuristic=background,
        denials_fail=request.denials_fail,
    )


def deserves_retry(record: Record, outcome: Outcome, ending: Ending) -> bool:
    """Whether the agent crashed or never gave a result. What it answered, however bad, is never tried again."""
    if record.results or ending.timed_out or ending.fault is not None or ending.not_found is not None:
        return False
    return outcome.run_error if outcome.policy is Policy.HARNESS else outcome.error is not None


def not_started(error: ProcessError, failure: SpawnFailure) -> AgentError:
    """The agent's own fault; what the caller or the machine got wrong is raised."""
    if failure.about in ("arguments", "folder"):
        raise UsageError(error.message, remedy=error.remedy) from error
    if failure.about == "machine":
        raise error
    kind = AgentNotFound if failure.about == "program" else AgentNotReady
    return kind(error.message, remedy=error.remedy)


def not_logged_in(request: Request, record: Record, outcome: Outcome, auth: str) -> AgentError | None:
    """A key that was refused, or no login at all: nothing but a person can mend it."""
    if outcome.category is not Category.AUTH or not record.failure:
        return None
    if auth.startswith(KEY_VARIABLE):
        what = f"its {KEY_VARIABLE} was refused"
        remedy = f"set a valid {KEY_VARIABLE}, or use the login with --auth login"
    else:
        what = "it is not logged in"
        remedy = f"run `{request.agent}` once by hand and log in, or choose an API key with --auth key"
    return AgentNotReady(f"{request.agent} cannot be used: {what} ({outcome.error})", remedy=remedy)
