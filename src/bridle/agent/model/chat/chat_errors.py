"""Reads the errors of chat endpoints, whose documents differ from server to server. Pure.

A prompt that is too long gets the text of the Messages API, so that the conversation is compacted as with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from bridle.agent.model.api.api_json import decode_json
from bridle.agent.model.api.request_errors import RequestError, from_status
from bridle.agent.model.api.stream_pieces import JsonObject

_TOO_LONG_KINDS = frozenset({"context_length_exceeded", "exceed_context_size_error", "string_above_max_length"})
_TOO_LONG = re.compile(
    r"maximum context length|context[ _]length[ _]exceeded|exceeds? (the )?(available |model'?s? )?context"
    r"|context (size|window|length) (of|is|exceeded)|prompt is too long|too many (input )?tokens",
    re.IGNORECASE,
)
# "maximum context length is 8192 tokens … 5000 in the messages, 4000 in the completion", as OpenAI and vLLM say it.
_WINDOW = re.compile(r"maximum context length is (\d+)")
_PROMPT = re.compile(r"(\d+) (?:tokens )?(?:in the messages|input tokens|from the input)|has (\d+) input tokens")
_ANSWER = re.compile(r"(\d+) (?:tokens )?(?:in|for) the completion|too large: (\d+)|requested (\d+) output tokens")
_OVERLOADED = frozenset({"overloaded_error", "engine_overloaded", "server_overloaded"})
_NO_MONEY = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_TAGS = re.compile(r"<(style|script)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)


def chat_error(status: int, headers: Mapping[str, str], text: str, *, now: float) -> RequestError:
    """Return the error for a status and the body of its response: JSON of any form, plain text or HTML."""
    try:
        document = decode_json(text.encode())
    except ValueError:
        document = None
    kind, message = error_parts(document)
    shown = message or _plain(text)
    error = from_status(status, headers, {"error": {"type": kind, "message": shown}}, shown, now=now)
    error = replace(error, request_id=headers.get("x-request-id") or error.request_id)
    if is_too_long(status, kind, error.message):
        return replace(error, status=400, message=_as_messages_api(error.message))
    if kind == "model_not_found":
        return replace(error, status=404)
    return replace(error, should_retry=False) if kind in _NO_MONEY else error


def error_parts(document: Any) -> tuple[str | None, str]:
    """Return kind and message of an error document; the code is the kind where it is a name."""
    if not isinstance(document, dict):
        return None, document if isinstance(document, str) else ""
    error = document.get("error", document)
    if isinstance(error, str):
        return _name(document), error
    if not isinstance(error, dict):
        return None, ""
    message = error.get("message") or error.get("detail") or error.get("error")
    return _name(error), message if isinstance(message, str) else _details(message)


def is_too_long(status: int, kind: str | None, message: str) -> bool:
    """Return whether the prompt, or prompt and answer together, exceed the window of the model."""
    return status in (400, 413, 422, 500) and (kind in _TOO_LONG_KINDS or _TOO_LONG.search(message) is not None)


def _as_messages_api(message: str) -> str:
    """Return the text of the Messages API for the same: with the numbers where a shorter answer would fit."""
    window, prompt, answer = (_number(pattern, message) for pattern in (_WINDOW, _PROMPT, _ANSWER))
    if window and prompt and answer and prompt < window:
        return f"input length and `max_tokens` exceed context limit: {prompt} + {answer} > {window}, {message}"
    return f"prompt is too long: {message}"


def _number(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    return None if found is None else int(next(group for group in found.groups() if group))


def _name(error: JsonObject) -> str | None:
    """Return the code, or else the type, of an error."""
    named = (error.get("code"), error.get("type"))
    names = [name for name in named if isinstance(name, str) and not name.isdigit()]
    if any(name in _OVERLOADED for name in names):
        return "overloaded_error"
    return names[0] if names else None


def _details(value: Any) -> str:
    """Return the messages of a list of problems, as web frameworks send them."""
    problems = [item.get("msg") for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    return "; ".join(problem for problem in problems if isinstance(problem, str))


def _plain(text: str) -> str:
    """Return a body that is not JSON as text; of a page only what a browser would show."""
    return " ".join((_TAGS.sub(" ", text) if text.lstrip().startswith("<") else text).split())
