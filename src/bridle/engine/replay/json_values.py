"""Values as JSON knows them: what a process gives is digested, copied and shown; what JSON cannot hold is refused."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from bridle.engine.process.define_task import caller_place
from bridle.errors import BadTask
from bridle.journal.format.documents import digest_of

# What a message shows of arguments: enough to see the difference.
SHOWN_CHARACTERS = 300

What = tuple[str, str]
"""What a value is and whose, for the message that refuses it: ("the arguments of task", "review")."""


def digest(value: Any, what: What) -> str:
    """The digest by which a replay recognises the value."""
    try:
        return digest_of(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise _refusal(what, error) from error


def copied(value: Any, what: What) -> Any:
    """The value as JSON gives it back: what the process does to its own copy later changes nothing."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise _refusal(what, error) from error


def own(value: Any) -> Any:
    """A copy for the process, which may change what it is given."""
    if isinstance(value, dict):
        made: dict[Any, Any] | list[Any] = value.copy()
        places: Iterable[Any] = value.items()
    elif isinstance(value, list):
        made, places = value.copy(), enumerate(value)
    else:
        return value
    for place, item in places:
        if item.__class__ is dict or item.__class__ is list:
            made[place] = own(item)
    return made


def shown(value: Any) -> str:
    """The beginning of a value, for a message."""
    try:
        text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "…"


def _refusal(what: What, error: Exception) -> BadTask:
    return BadTask(
        f"{what[0]} {what[1]!r} cannot be written as JSON at {caller_place(depth=3)}: {error}",
        remedy="Use text, numbers, true and false, None, lists and dicts.",
    )
