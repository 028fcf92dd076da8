"""The texts of a result: its answer, and the words of its error, wherever an agent puts them."""

from __future__ import annotations

from typing import Any

from bridle.wire.events.events import Result

# Where an error object has its text; the first that is not empty counts.
_WORDS = ("message", "error", "errors", "detail", "text", "content", "reason")
_NESTING = 8  # of error objects; real ones have two levels


def result_text(value: Any) -> str | None:
    """Return the text of a result: a string, or a message object with text blocks."""
    match value:
        case str(text) | {"content": str(text)}:
            return text
        case {"content": list(blocks)}:
            return "".join(text for block in blocks if (text := _block_text(block)))
    return None


def failure_text(event: Result) -> str | None:
    """Return the words of a failed result.

    Where only the subtype says that it failed, `result` may be an answer and is not its error.
    """
    listed = "; ".join(error_texts(event.errors)) or unlisted_words(event)
    return failed_result_text(event) or listed if event.is_error is True else listed or event.subtype


def failed_result_text(event: Result) -> str | None:
    """Return the text in the `result` of a failed result, which may be an error object."""
    return result_text(event.result) or error_words(event.result) or None


def unlisted_words(event: Result) -> str:
    """Return the words of an error that are not in `result` and `errors`: in `content`, else in `error`."""
    return result_text({"content": event.content}) or error_words(event.content) or error_words(event.error)


def error_texts(value: Any) -> list[str]:
    """Return the errors that a failed result lists: texts, or objects with a message."""
    return [text for item in (value if isinstance(value, list) else [value]) if (text := error_words(item))]


def error_words(value: Any, nesting: int = _NESTING) -> str:
    """Return the text in an error of any shape, or an empty text."""
    if isinstance(value, str):
        return value
    if nesting == 0:
        return ""
    if isinstance(value, list):
        return "; ".join(filter(None, (error_words(item, nesting - 1) for item in value)))
    if not isinstance(value, dict):
        return ""
    return next(filter(None, (error_words(value.get(name), nesting - 1) for name in _WORDS)), "")


def _block_text(block: Any) -> str:
    match block:
        case {"text": str(text)}:
            return text
    return ""
