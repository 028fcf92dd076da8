"""Classifies how an agent ended: by itself, or because of the account, the endpoint, a crash or a question. Pure.

The typed fields of the agent's result come first. Where only text tells, it must match a program's own error messages
and be where a program reports its failure: an agent may write about limits as much as it likes.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo

from msgspec import Struct

from bridle.ground import clock
from bridle.loop import effect_results
from bridle.run.finished import Finished
from bridle.run.policy import asks_without_output, describe_end, describe_login_failure, log_in_remedy
from bridle.run.watchdog import Watchdog
from bridle.wire.record.error_category import Category
from bridle.wire.record.limit_resets import limit_reset_time

# How much of an agent's last message is kept.
MESSAGE_CHARACTERS = 2000
# Failures that end an agent before its result.
DEATHS = (Category.PROCESS, Category.PARSE, Category.TIMEOUT)
# How much of the end of a dead program's output is searched for the cause.
_LAST_OUTPUT_CHARACTERS = 4000

# The session to resume does not exist any more: the agent has read nothing of its prompt.
_SESSION_GONE = re.compile(r"no (?:conversation|session|thread) found|(?:conversation|session|thread) not found", re.I)
_BILLING = re.compile(
    r"credit balance is too low|insufficient[_ ](?:quota|funds|credits?)|billing[_ ](?:error|hard limit)"
    r"|payment required|out of (?:credits|extra usage)|no credits? (?:left|remaining)"
    r"|spend(?:ing)? (?:limit|cap) (?:reached|exceeded)"
)
_AUTH = re.compile(
    r"invalid (?:x-)?api[ _-]?key|(?:please )?run /login|not logged in|login (?:required|expired)|authentication_error"
    r"|oauth (?:token|authentication).{0,40}(?:expired|revoked|invalid|not supported)"
    r"|(?:token|key) (?:has been )?revoked"
    r"|api[ _-]key not (?:valid|found|set)|missing (?:bearer|api key)|\b401 unauthorized|please set an auth method"
    r"|organization has been disabled|invalid bearer token"
)
_LIMIT = re.compile(
    r"usage[ _]limit|(?:session|weekly|5-hour|opus|sonnet|fable|daily) limit (?:reached|hit)|hit your .{0,20}limit"
    r"|limit reached .{0,10}resets|quota (?:exceeded|exhausted|will reset)|exceeded your current quota|exhausted your"
    r"|per day per (?:user|project)|requestsperday"
)
_TRANSIENT = re.compile(
    r"overloaded|\b(?:429|500|502|503|504|529)\b|rate[ _-]limit|too many requests|resource[ _](?:has been )?exhausted"
    r"|internal server error|bad gateway|service unavailable|connection error|connection (?:refused|reset)|fetch failed"
    r"|unable to connect to api\b"
    r"|econnre|etimedout|enotfound|eai_again|socket hang up|stream disconnected|high demand"
)

# Which setting ended an agent.
_ENDED_BY: dict[Watchdog | None, str] = {
    Watchdog.RUN: "it was stopped because it ran longer than `agent_timeout`",
    Watchdog.IDLE: "it was stopped because it printed nothing for `idle_timeout`",
    Watchdog.TOOL_IDLE: "it was stopped because its tool printed nothing for `tool_idle_timeout`",
    Watchdog.LEAVING: "it was stopped because it closed its output without a result and did not exit",
}

# How agents say that there is no such model; the text is that of a failure.
_NO_MODEL = re.compile(
    r"issue with the selected model|model[_ ]not[_ ]found|not_found_error.{0,40}model|unknown model|invalid model"
    r"|no such model|model .{0,80}(?:does not exist|not found|is not supported)"
)

_CHOOSE_MODEL = "Choose another one: bridle resume --model NAME"
_PAY = "Add credit, or log in to another account. Then run `bridle resume`."


class AgentEnding(Struct, frozen=True):
    """How an agent ended; every ending but `ok` has a cause outside the task."""

    ending: str
    """One of the endings of `effect_results`."""
    message: str
    limit_resets_at: str | None = None


def classify_ending(
    finished: Finished, *, agent: str, question: str, changed: bool, now: datetime, local: tzinfo = UTC
) -> AgentEnding:
    """Return how an agent ended, its message, and when its usage limit is reset.

    `question` is that of its structured output; `changed` is whether it changed the working copy.
    """
    ending, message = _ending(finished, agent, is_asking=bool(question) or _waits_for_answer(finished, changed=changed))
    resets_at = _resets_at(finished, now, local) if ending == effect_results.LIMIT else None
    return AgentEnding(ending, message[:MESSAGE_CHARACTERS], resets_at)


def _ending(finished: Finished, agent: str, *, is_asking: bool) -> tuple[str, str]:
    outcome, record = finished.outcome, finished.record
    message = outcome.error or ""
    if finished.unusable is not None:
        return effect_results.UNUSABLE, ". ".join(filter(None, (finished.unusable.message, finished.unusable.remedy)))
    if outcome.category is Category.BUDGET and not record.results:
        return effect_results.BUDGET, message
    blamed = _outside_failure(finished, agent)
    if blamed is not None:
        return blamed
    if record.failure is not None and not record.tool_uses and _SESSION_GONE.search(failure_text(finished)):
        return effect_results.CRASHED, message
    if is_asking:
        return effect_results.QUESTION, message
    if outcome.run_error and not record.results and outcome.category in DEATHS:
        # An agent with a result has ended by itself, whatever the form of its answer.
        return effect_results.CRASHED, _ENDED_BY.get(finished.limit, message)
    return effect_results.OK, describe_end(record, outcome)


def _waits_for_answer(finished: Finished, *, changed: bool) -> bool:
    """Return whether an agent ended with a question; without structured output only if it changed no files."""
    outcome, record = finished.outcome, finished.record
    return outcome.category is Category.INTERACTIVE or (not changed and asks_without_output(record, outcome))


def _outside_failure(finished: Finished, agent: str) -> tuple[str, str] | None:
    """Return the ending of a failure that has a cause outside the task; None for any other."""
    outcome, record = finished.outcome, finished.record
    if not outcome.run_error:
        return None
    message = str(outcome.error or outcome.reason or "")
    text = failure_text(finished).lower()
    status = record.failure.api_error_status if record.failure is not None else None
    if status == 402 or _BILLING.search(text):
        return effect_results.UNUSABLE, f"{agent}: the account has no credit left ({message}). {_PAY}"
    if outcome.category is Category.USAGE_LIMIT:
        return effect_results.LIMIT, message
    if outcome.category is Category.AUTH or _AUTH.search(text):
        failure = describe_login_failure(agent, message)
        return effect_results.UNUSABLE, f"{failure}. {log_in_remedy(agent)} Then run `bridle resume`."
    if record.failure is not None and not record.tool_uses and (status == 404 or _NO_MODEL.search(text)):
        return effect_results.UNUSABLE, f"{agent}: the model is not available ({message}). {_CHOOSE_MODEL}"
    if _LIMIT.search(text):
        return effect_results.LIMIT, message
    is_answered = record.failure is not None or outcome.category in (Category.RATE_LIMIT, Category.API)
    if outcome.category is Category.RATE_LIMIT or (is_answered and _is_transient(status, text)):
        return effect_results.TRANSIENT, message
    return None


def failure_text(finished: Finished) -> str:
    """Return the error of an agent's result, or the end of its output where it died without one."""
    outcome, record = finished.outcome, finished.record
    if record.failure is not None:
        return "\n".join(filter(None, (record.failure.text, outcome.error, record.failure.notice)))
    if record.results or record.tool_uses:
        return ""  # its text is about its work
    last = "\n".join((outcome.error or "", *record.malformed, *record.notices, record.main_thread_text))
    return last[-_LAST_OUTPUT_CHARACTERS:]


def _is_transient(status: int | None, text: str) -> bool:
    return status == 429 or (status is not None and status >= 500) or _TRANSIENT.search(text) is not None


def _resets_at(finished: Finished, now: datetime, local: tzinfo) -> str | None:
    """Return the reset that the account's event or the error text names; None where neither is in the future."""
    reset = limit_reset_time(finished.record.resets_at, failure_text(finished), now=now, local=local)
    return None if reset is None else clock.iso(reset)
