"""The ids of a process's steps: a number, or the key of the step."""

from __future__ import annotations

from bridle.engine.process.define_task import caller_location
from bridle.errors import BadTask
from bridle.journal.format.input_values import shown

# Step ids have six digits.
STEP_LIMIT = 999_999

# Enough for a path or a title; the key is part of messages and of every entry.
KEY_LIMIT_CHARACTERS = 200


class Steps:
    """The steps of one execution, numbered in the order of their calls."""

    def __init__(self) -> None:
        self._count = 0
        self._locations: dict[str, str] = {}

    def next_id(self, key: str | None) -> str:
        """Return the id of the next step; a step with a key has no number."""
        if key is None:
            self._count += 1
            if self._count > STEP_LIMIT:
                raise BadTask(
                    f"a process can have at most {STEP_LIMIT:,} steps", remedy="Split the work into several runs."
                )
            return f"S{self._count:06d}"
        location = caller_location()
        _check_key(key, location)
        first = self._locations.setdefault(key, location)
        if first is not location:
            raise BadTask(
                f"the key {key!r} is used twice: at {first} and at {location}", remedy="Give each step a unique key."
            )
        return key

    def was_reached(self, step_id: str) -> bool:
        """Return whether a step has been called."""
        return not self.is_ahead(step_id) if _is_number(step_id) else step_id in self._locations

    def is_ahead(self, step_id: str) -> bool:
        """Return whether a numbered step has not been called yet; steps with keys do not count."""
        return _is_number(step_id) and int(step_id[1:]) > self._count


def _is_number(step_id: str) -> bool:
    return step_id[:1] == "S" and step_id[1:].isascii() and step_id[1:].isdigit()


def _check_key(key: object, location: str) -> None:
    fault = None
    if not isinstance(key, str):
        fault = "must be a string"
    elif not key.strip():
        fault = "must not be empty"
    elif len(key) > KEY_LIMIT_CHARACTERS:
        fault = f"must have at most {KEY_LIMIT_CHARACTERS} characters"
    elif not key.isprintable():
        fault = "must be printable"
    elif _is_number(key):
        fault = "must not look like the number of a step"
    if fault is not None:
        raise BadTask(f"the key {shown(key)} at {location} {fault}", remedy="Use a short name, such as 'review'.")
