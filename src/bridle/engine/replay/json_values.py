"""The values of a process as JSON: digests, copies and previews."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from bridle.engine.process.define_task import caller_location
from bridle.errors import BadTask
from bridle.ground.light import quick_json
from bridle.journal.format.codec import BadText
from bridle.journal.format.documents import digest_of
from bridle.journal.format.input_values import check_value, clean_value, fault, shown

# Enough of the arguments to see a difference in a message.
SHOWN_CHARACTERS = 300

# What `repr` of most objects ends with; it differs in each interpreter.
_ADDRESS = re.compile(r"\bat 0x[0-9A-Fa-f]{4,16}\b")

Subject = tuple[str, str]
"""A description of a value for errors, such as ("the arguments of task", "review")."""


def digest(value: Any, subject: Subject) -> str:
    """Return the digest by which a replay compares the value."""
    try:
        return digest_of(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise _bad_value(subject, error) from error


def to_json(value: Any, subject: Subject) -> Any:
    """Return a copy of the value as JSON represents it, independent of the process."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise _bad_value(subject, error) from error


def checked(value: Any, subject: Subject) -> Any:
    """Return a copy as `to_json` does, for a new request; refuse too many levels, and keys that are not text.

    Such keys become text when they are written. Recorded requests have them; a replay compares them as text. Lone
    surrogates become U+FFFD, as in every value that comes in.
    """
    try:
        check_value(value)
    except (BadText, RecursionError) as error:
        raise _bad_value(subject, error) from error
    return clean_copy(value, subject)


def comparable(value: Any, subject: Subject) -> str:
    """Return the value as text that is the same in each interpreter: without addresses and lone surrogates."""
    return without_addresses(quick_json.compact_sorted(clean_copy(value, subject)))


def clean_copy(value: Any, subject: Subject) -> Any:
    """Return a copy as `to_json` does, with U+FFFD for each lone surrogate."""
    try:
        return clean_value(to_json(value, subject))
    except (BadText, RecursionError) as error:
        raise _bad_value(subject, error) from error


def without_addresses(text: str) -> str:
    """Return a text without the addresses of objects."""
    return _ADDRESS.sub("at 0x…", text)


def copy_for_process(value: Any) -> Any:
    """Return a copy that the process may modify."""
    if isinstance(value, dict):
        copy: dict[Any, Any] | list[Any] = value.copy()
        items: Iterable[Any] = value.items()
    elif isinstance(value, list):
        copy, items = value.copy(), enumerate(value)
    else:
        return value
    for key, item in items:
        if item.__class__ is dict or item.__class__ is list:
            copy[key] = copy_for_process(item)
    return copy


def preview(value: Any) -> str:
    """Return the beginning of a value as text."""
    try:
        text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        text = shown(value)
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "…"


def _bad_value(subject: Subject, error: Exception) -> BadTask:
    return BadTask(
        f"{subject[0]} {subject[1]!r} cannot be written as JSON at {caller_location(depth=3)}: {fault(error)}",
        remedy="Use str, int, float, bool, None, list and dict with keys of type str.",
    )
