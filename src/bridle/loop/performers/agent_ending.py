"""What the end of an agent means: whether it is the task's affair, or the account's, the endpoint's, a person's. Pure.

What the agent's own fields say comes first. Where only words say it, they must be those in which programs speak of
themselves, and must stand where a program reports its failure: an agent may write about limits as much as it likes.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo

from bridle.ground import clock
from bridle.loop import effects
from bridle.run.policy import log_in_remedy
from bridle.run.runner import Finished
from bridle.run.watchdog import Watchdog
from bridle.wire.record.error_category import Category
from bridle.wire.record.limit_resets import limit_reset_time

# What of an agent's last words is kept for people.
SAID_CHARACTERS = 2000
# What ends an agent that has not come to its result.
DEATHS = (Category.PROCESS, Category.PARSE, Category.TIMEOUT)
# Of what a program printed that died: it says why at the end.
_LAST_WORDS_CHARACTERS = 4000

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
    r"|econnre|etimedout|enotfound|eai_again|socket hang up|stream disconnected|high demand"
)

# What is said of an agent that a watchdog ended, with the setting that says when.
_ENDED_BY: dict[Watchdog | None, str] = {
    Watchdog.RUN: "it was ended, since it took longer than `agent_timeout` allows",
    Watchdog.IDLE: "it was ended, since nothing was heard of it for as long as `idle_timeout` allows",
    Watchdog.TOOL_IDLE: "it was ended, since its tool said nothing for as long as `tool_idle_timeout` allows",
    Watchdog.LEAVING: "it was ended, since it had closed its output without a result, and stayed",
}

_PAY = "Add credit, or log in to another account. Then run `bridle resume`."


def ending(
    finished: Finished, *, agent: str, question: str, now: datetime, local: tzinfo = UTC
) -> dict[str, str | None]:
    """The ending, what was said, and until when an account is at its limit; none but `ok` is the task's own fault."""
    what, said = _what(finished, agent, question)
    resets_at = _resets_at(finished, now, local) if what == effects.LIMIT else None
    return {"ending": what, "said": said[:SAID_CHARACTERS], "resets_at": resets_at}


def _what(finished: Finished, agent: str, question: str) -> tuple[str, str]:
    outcome, record = finished.outcome, finished.record
    said = outcome.error or ""
    if finished.unusable is not None:
        return effects.UNUSABLE, "; ".join(filter(None, (finished.unusable.message, finished.unusable.remedy)))
    if outcome.category is Category.BUDGET and not record.results:
        return effects.BUDGET, said
    blamed = _by_failure(finished, agent)
    if blamed is not None:
        return blamed
    if question or outcome.category is Category.INTERACTIVE:
        return effects.QUESTION, said
    if outcome.run_error and not record.results and outcome.category in DEATHS:
        # One that gave a result has ended by itself, whatever form its answer has.
        return effects.CRASHED, _ENDED_BY.get(finished.limit, said)
    return effects.OK, said


def _by_failure(finished: Finished, agent: str) -> tuple[str, str] | None:
    """What a failure is that somebody else than the task is to blame for; None where it is none."""
    outcome, record = finished.outcome, finished.record
    if not outcome.run_error:
        return None
    said = str(outcome.error or outcome.reason or "")
    words = failure_words(finished).lower()
    status = record.failure.api_error_status if record.failure is not None else None
    if status == 402 or _BILLING.search(words):
        return effects.UNUSABLE, f"{agent}: the account has no credit left ({said}). {_PAY}"
    if outcome.category is Category.USAGE_LIMIT:
        return effects.LIMIT, said
    if outcome.category is Category.AUTH or _AUTH.search(words):
        return effects.UNUSABLE, f"{agent} is not logged in. {log_in_remedy(agent)} Then run `bridle resume`."
    if _LIMIT.search(words):
        return effects.LIMIT, said
    is_answered = record.failure is not None or outcome.category in (Category.RATE_LIMIT, Category.API)
    if outcome.category is Category.RATE_LIMIT or (is_answered and _is_transient(status, words)):
        return effects.TRANSIENT, said
    return None


def failure_words(finished: Finished) -> str:
    """Where a program reports its failure: the error of its result, or what it printed before it died without one."""
    outcome, record = finished.outcome, finished.record
    if record.failure is not None:
        return "\n".join(filter(None, (record.failure.text, outcome.error, record.failure.notice)))
    if record.results or record.tool_uses:
        return ""  # its words are about its work
    last = "\n".join((outcome.error or "", *record.malformed, *record.notices, record.main_thread_text))
    return last[-_LAST_WORDS_CHARACTERS:]


def _is_transient(status: int | None, words: str) -> bool:
    return status == 429 or (status is not None and status >= 500) or _TRANSIENT.search(words) is not None


def _resets_at(finished: Finished, now: datetime, local: tzinfo) -> str | None:
    """The moment of the account's own event, else that of the words; None where neither names one to come."""
    found = limit_reset_time(finished.record.resets_at, failure_words(finished), now=now, local=local)
    return None if found is None else clock.iso(found)
