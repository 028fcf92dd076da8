"""JSON that was cut off, closed so that its beginning can be decoded."""

from __future__ import annotations

import json
import re

# An escape that the cut has halved: `\`, `\u`, `\u12`.
_HALF_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*(\\(?:u[0-9a-fA-F]{0,3})?)$")
_CLOSING = {"{": "}", "[": "]"}


def complete_json(text: str) -> str:
    """Return the beginning of a JSON object as a whole one, without its last member if only the name is there."""
    closing, is_string = _open_parts(text)
    if is_string:
        half = _HALF_ESCAPE.search(text)
        text = (text[: half.start(1)] if half else text) + '"'
    # As it is, with a value for the last name, and without the last member: the first that is JSON counts.
    for candidate in (text, f"{text}:null", f"{text}null", text.rpartition(",")[0], "{"):
        completed = candidate.rstrip(", \n") + (closing if candidate != "{" else "}")
        if _is_json(completed):
            return completed
    return "{}"


def _open_parts(text: str) -> tuple[str, bool]:
    """Return the brackets that are missing at the end, and whether the text ends within a string."""
    missing: list[str] = []
    is_string = is_escaped = False
    for character in text:
        if is_escaped:
            is_escaped = False
        elif is_string:
            is_escaped = character == "\\"
            is_string = character != '"'
        elif character == '"':
            is_string = True
        elif character in _CLOSING:
            missing.append(_CLOSING[character])
        elif missing and character == missing[-1]:
            missing.pop()
    return "".join(reversed(missing)), is_string


def _is_json(text: str) -> bool:
    try:
        json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return False
    return True
