"""A record and its outcome in a few lines: the verdict, then the facts, then the warnings.

Control characters in the agent's output are escaped, so that a log cannot drive the terminal.
"""

from __future__ import annotations

from collections.abc import Callable

from bridle.views.format_amounts import format_count
from bridle.views.terminal.escape_controls import escape_unprintable
from bridle.wire.record.outcome import Outcome
from bridle.wire.record.record import Record, Tally

_LABEL_WIDTH = 10
_ANSWER_LINES = 20  # leaves room on the screen for the rest; `--json` has the whole answer
_TEXT_CHARACTERS = 2000  # of one error, answer line or warning


def summarize_outcome(record: Record, outcome: Outcome, *, clean: Callable[[str], str] = str) -> str:
    """Return the summary without a final newline; `clean` masks secrets in the agent's output."""
    lines = [_verdict(record, outcome), *_facts(record, outcome), *_answer(outcome)]
    lines += [_labelled("warning", warning) for warning in outcome.warnings]
    return "\n".join(escape_unprintable(clean(line)) for line in lines)


def _verdict(record: Record, outcome: Outcome) -> str:
    if outcome.failed:
        kind = f" ({outcome.category})" if outcome.category else ""
        return f"failed{kind}: {_cut(outcome.reason or outcome.error or 'reason unknown')}"
    if outcome.run_error:
        return f"not a failure by the lenient policy: {_cut(outcome.reason or 'reason unknown')}"
    if outcome.category is not None:
        return f"succeeded, but doubtful ({outcome.category}): see the warnings"
    if outcome.degraded:
        missing = "the result has no text" if record.results else "no result"
        return f"succeeded, degraded: {missing}, answer assembled from the stream"
    return "succeeded" if outcome.succeeded else f"ended without an answer (exit code {outcome.exit_code})"


def _facts(record: Record, outcome: Outcome) -> list[str]:
    facts = {
        "agent": _join(record.version, record.model, _format_if_known("permission mode {}", record.permission_mode)),
        "auth": _format_if_known("apiKeySource {}", record.api_key_source),
        "session": _join(record.session_id, "not the session that was resumed" * outcome.session_forked),
        "folder": record.cwd or "",
        "turns": _join(_count(record.num_turns, "turn"), _seconds(record.duration_ms), _cost(record)),
        "tokens": _tokens(record),
        "tools": _tools(record),
        "denied": ", ".join(record.denied_tools),
        "retries": _count(record.api_retries or None, "retried request"),
        "limits": _join(record.rate_limit_status, _format_if_known("resets at {} (epoch seconds)", record.resets_at)),
        "exit code": "unknown" if outcome.exit_code is None else str(outcome.exit_code),
    }
    return [_labelled(label, fact) for label, fact in facts.items() if fact]


def _answer(outcome: Outcome) -> list[str]:
    lines = outcome.final_text.strip().splitlines()
    if not lines:
        return []
    more = len(lines) - _ANSWER_LINES
    shown = [_labelled("answer" if index == 0 else "", line) for index, line in enumerate(lines[:_ANSWER_LINES])]
    return [*shown, _labelled("", f"… and {_count(more, 'line')} more")] if more > 0 else shown


def _tokens(record: Record) -> str:
    usage, note = record.usage, ""
    if not usage.output_tokens and record.usage_estimate is not None:
        usage, note = record.usage_estimate, "counted from messages"
    elif record.uncounted != Tally():
        usage, note = record.tokens, "partly counted from messages"
    if not (usage.input_tokens or usage.output_tokens):
        return ""
    cache = usage.cache_read_input_tokens + usage.cached_input_tokens
    return _join(
        f"{usage.input_tokens} in",
        f"{usage.output_tokens} out",
        f"{cache} from the cache" * bool(cache),
        f"{usage.cache_creation_input_tokens} into the cache" * bool(usage.cache_creation_input_tokens),
        note,
    )


def _tools(record: Record) -> str:
    if not record.tool_uses:
        return ""
    failed = f"{record.tool_errors} failed" * bool(record.tool_errors)
    return _join(_count(record.tool_uses, "call"), _count(record.tool_results, "result"), failed)


def _cost(record: Record) -> str:
    if record.reported_cost_usd is not None:
        return f"{record.reported_cost_usd:.4f} USD"
    if record.known_cost_usd:
        return f"at least {record.known_cost_usd:.4f} USD"
    return "" if record.tokens == Tally() else "cost not reported"


def _seconds(milliseconds: float | None) -> str:
    return "" if milliseconds is None else f"{milliseconds / 1000:.1f} s"


def _count(number: int | None, noun: str) -> str:
    return "" if number is None else format_count(number, noun)


def _format_if_known(template: str, value: object) -> str:
    return "" if value is None else template.format(value)


def _join(*facts: str | None) -> str:
    return ", ".join(fact for fact in facts if fact)


def _labelled(label: str, text: str) -> str:
    return f"{label:<{_LABEL_WIDTH}}{_cut(text)}".rstrip()


def _cut(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _TEXT_CHARACTERS else f"{text[:_TEXT_CHARACTERS]} …"
