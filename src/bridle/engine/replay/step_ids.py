"""What each step of a process is called: by its number, or by the key that it was given."""

from __future__ import annotations

from bridle.engine.process.define_task import caller_place
from bridle.errors import BadTask

# Step ids have six digits.
STEP_LIMIT = 999_999

# Room for a path or a title; the key stands in messages and in every entry.
KEY_LIMIT_CHARACTERS = 200


class Steps:
    """Counts the steps of one execution, in the order in which they are called."""

    def __init__(self) -> None:
        self._count = 0
        self._places: dict[str, str] = {}

    def take(self, key: str | None) -> str:
        """The id of the next step; a key takes no number."""
        if key is None:
            self._count += 1
            if self._count > STEP_LIMIT:
                raise BadTask(f"a process has at most {STEP_LIMIT:,} steps", remedy="Start another run for the rest.")
            return f"S{self._count:06d}"
        place = caller_place()
        _check_key(key, place)
        first = self._places.setdefault(key, place)
        if first is not place:
            raise BadTask(
                f"the key {key!r} is used a second time at {place}, after {first}", remedy="Give each step its own key."
            )
        return key

    def was_taken(self, step_id: str) -> bool:
        """Whether a step has been called, by its number or by its key."""
        return not self.lies_ahead(step_id) if _is_number(step_id) else step_id in self._places

    def lies_ahead(self, step_id: str) -> bool:
        """Whether a numbered step has not been called yet; one with a key may never be."""
        return _is_number(step_id) and int(step_id[1:]) > self._count


def _is_number(step_id: str) -> bool:
    return step_id[:1] == "S" and step_id[1:].isascii() and step_id[1:].isdigit()


def _check_key(key: object, place: str) -> None:
    fault = None
    if not isinstance(key, str):
        fault = "is not text"
    elif not key.strip():
        fault = "is empty"
    elif len(key) > KEY_LIMIT_CHARACTERS:
        fault = f"is longer than {KEY_LIMIT_CHARACTERS} characters"
    elif not key.isprintable():
        fault = "has characters that cannot be shown"
    elif _is_number(key):
        fault = "looks like the number of a step"
    if fault is not None:
        raise BadTask(f"the key {key!r} at {place} {fault}", remedy="Use a short name, such as 'review'.")
