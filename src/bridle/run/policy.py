"""Decide what the end of an attempt means: how it is judged, whether to retry, whether the agent is usable."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from bridle.errors import AgentError, AgentNotReady, ProcessError, UsageError
from bridle.ground.children.child_process import SpawnFailure
from bridle.run.command import CLAUDE_LIKE, KEY_VARIABLE
from bridle.run.locate import program_not_found
from bridle.run.request import Request
from bridle.wire.record.error_category import NO_DETAIL, Category
from bridle.wire.record.heuristics import asks_at_end
from bridle.wire.record.outcome import Ending, Outcome, Rules, exit_after_result
from bridle.wire.record.policy import Policy
from bridle.wire.record.record import Record


def rules_of(request: Request, environment: Mapping[str, str]) -> Rules:
    """Return the rules by which the outcome of a request is judged."""
    background = environment.get("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS") != "1"
    return Rules(
        policy=request.policy,
        hang_heuristic=request.hang_heuristic,
        background_heuristic=background,
        denials_fail=request.denials_fail,
    )


def deserves_retry(record: Record, outcome: Outcome, ending: Ending) -> bool:
    """Return whether the agent crashed or printed no whole result. A failed answer is never retried."""
    if ending.timed_out or ending.fault is not None or ending.not_found is not None:
        return False
    if record.results:
        return record.is_turn_open and record.failure is None and not ending.ended_by_us
    return outcome.policy is Policy.HARNESS or outcome.error is not None


# The result of an agent that gave up on its structured output.
_NO_OUTPUT = "error_max_structured_output_retries"


def asks_without_output(record: Record, outcome: Outcome) -> bool:
    """Return whether an agent asked the user in words, without the structured output that it had to return.

    Each reminder of that output is a turn, so the number of turns does not matter.
    """
    if record.failure is not None:
        is_without_output = record.failure.subtype == _NO_OUTPUT
    else:
        is_without_output = outcome.category is Category.PARSE and record.results > 0
    return is_without_output and asks_at_end(record)


NO_RESULT = "the agent's output ended without a result, so its last text counts (degraded)"


def describe_end(record: Record, outcome: Outcome) -> str:
    """Return what was wrong with the end of an agent; empty where nothing was."""
    if outcome.failed:
        return str(outcome.reason or outcome.error or NO_DETAIL)
    if not record.results:
        return NO_RESULT
    return exit_after_result(record, outcome.exit_code) or ""


def start_error(agent: str, error: ProcessError, failure: SpawnFailure) -> AgentError:
    """Return the error of the agent; raise an error of the caller or the machine."""
    if failure.about in ("arguments", "folder"):
        raise UsageError(error.message, remedy=error.remedy) from error
    if failure.about == "machine":
        raise error
    if failure.about == "program":
        return program_not_found(agent, error.message, remedy=error.remedy)
    return AgentNotReady(error.message, remedy=error.remedy)


# How Claude Code and others say it; anything else (an expired token, a disabled organization) is quoted.
_NOT_LOGGED_IN = re.compile(r"not logged in|run /login", re.IGNORECASE)


def login_error(request: Request, record: Record, outcome: Outcome, auth: str) -> AgentError | None:
    """Return an error if the API key was rejected or the agent is not logged in: only the user can fix that."""
    if outcome.category is not Category.AUTH or not record.failure:
        return None
    if auth.startswith(KEY_VARIABLE):
        message = f"{request.agent} cannot log in: the API rejected {KEY_VARIABLE} ({outcome.error})"
        return AgentNotReady(message, remedy=f"Set a valid {KEY_VARIABLE}, or unset it and log in.")
    return AgentNotReady(
        describe_login_failure(request.agent, outcome.error or ""), remedy=log_in_remedy(request.agent)
    )


# How Claude Code and our own agent say it, after their own retries.
_NO_CONNECTION = re.compile(r"unable to connect to api\b", re.IGNORECASE)
_CLOUDS = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX")


def connection_error(
    request: Request, record: Record, outcome: Outcome, environment: Mapping[str, str]
) -> AgentError | None:
    """Return an error if the agent never reached its endpoint; one that lost it in mid-work may continue at once."""
    if record.failure is None or not _NO_CONNECTION.search(record.failure.text or ""):
        return None
    if record.tool_uses or record.tokens.output_tokens:
        return None
    return AgentNotReady(
        f"{request.agent} cannot reach its endpoint{_shown_address(request.agent, environment)} ({outcome.error})",
        remedy="Check the network, the proxy and ANTHROPIC_BASE_URL; continue when it is reachable.",
    )


def _shown_address(agent: str, environment: Mapping[str, str]) -> str:
    """Return the address without what may be secret in it: a user, a password, a path."""
    if agent not in CLAUDE_LIKE or any(environment.get(name) for name in _CLOUDS):
        return ""
    named = environment.get("ANTHROPIC_BASE_URL", "").strip()
    if agent == "bridle-agent" and not named:
        named = environment.get("OPENAI_BASE_URL", "").strip()
    try:
        parts = urlsplit(named or "https://api.anthropic.com")
    except ValueError:  # brackets that are not closed
        return ""
    host = parts.netloc.rpartition("@")[2]
    return f" {parts.scheme}://{host}" if host else ""


def describe_login_failure(agent: str, error: str) -> str:
    """Return that an agent is not logged in, with its own message if that contains more."""
    says_no_more = not error or _NOT_LOGGED_IN.search(error) is not None
    return f"{agent} is not logged in" if says_no_more else f"{agent} cannot log in ({error})"


def log_in_remedy(agent: str) -> str:
    use_key = f'set {KEY_VARIABLE} and choose it (`--auth key`, or auth = "key" in $BRIDLE_HOME/bridle.toml)'
    if agent == "bridle-agent":
        from_claude = "`bridle-agent auth login --from-claude` to use the login of Claude Code"
        return f"Run `bridle-agent auth login`, or {from_claude}, or {use_key}."
    return f"Run {agent} and log in, or {use_key}." if agent in CLAUDE_LIKE else f"Run {agent} and log in."
