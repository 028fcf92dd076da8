"""Values that come from outside (results, inputs, arguments): the rules that all of them must follow to be stored."""

from __future__ import annotations

from bridle.ground.light import quick_json
from bridle.ground.light.abc_names import Iterable
from bridle.journal.format.codec import BadText

# Real values have fewer levels than 30. Python stops at 1000 frames, and sorting the keys of a level takes three.
DEPTH_LIMIT = 128

# Enough of a value to recognise it in a message.
SHOWN_CHARACTERS = 300

_BYTE_ORDER_MARK = "\ufeff"


class Unstorable(BadText):
    """A text is JSON, but its value cannot be stored."""


class TooDeep(Unstorable):
    """A value has more levels than can be stored."""

    def __init__(self) -> None:
        super().__init__(f"it is nested more than {DEPTH_LIMIT} levels deep")


def parse_input(text: bytes | str) -> object:
    """Parse JSON that a user or an agent wrote; lone surrogates become U+FFFD.

    The same key twice in an object is refused: programs differ in which of the two counts.
    """
    try:
        # Editors on Windows write a mark at the beginning of a file.
        plain = (text if isinstance(text, str) else text.decode()).removeprefix(_BYTE_ORDER_MARK)
        value = quick_json.strict_with_unique_keys(plain)
    except RecursionError as error:
        raise TooDeep from error
    except quick_json.SameKeyError as error:
        raise Unstorable(f"an object has the key {shown(str(error))} twice") from error
    except ValueError as error:
        raise BadText(f"it is not JSON: {fault(error)}") from error
    check_value(value)
    return clean_value(value) if "\\u" in plain else value


def fault(error: Exception) -> str:
    """Return what is wrong with a value that Python cannot parse or write as JSON."""
    text = str(error)
    # Python names the function that raises its limit.
    return "an integer has more than 4300 digits" if "set_int_max_str_digits" in text else text


def check_value(value: object) -> None:
    """Raise BadText for a value that is nested too deep, or has a key that is not text."""
    _check(value, DEPTH_LIMIT)


def clean_value(value: object) -> object:
    """Return a value that was checked with U+FFFD for each lone surrogate; raise BadText if two keys become one."""
    if isinstance(value, str):
        return _clean_text(value)
    if isinstance(value, (list, tuple)):
        return [clean_value(item) for item in value]
    if not isinstance(value, dict):
        return value
    cleaned = {_clean_text(key): clean_value(item) for key, item in value.items()}
    if len(cleaned) < len(value):
        raise BadText("two keys of an object differ only in lone surrogates, which are not characters")
    return cleaned


def shown(value: object) -> str:
    """Return the beginning of a value's repr, for a message; a value of a process may have none."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001  # an integer of 5,000 digits, or any error of a class of the process
        return f"<{type(value).__name__} that cannot be printed>"
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"


def to_utf8(text: str) -> bytes:
    """Encode a text for another program; lone surrogates that are not bytes of a file name become U+FFFD."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return _clean_text(text).encode()


def _check(value: object, levels: int) -> None:
    items: Iterable[object]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise BadText(f"the key {shown(key)} is not text, but of type {type(key).__name__}")
        items = value.values()
    elif isinstance(value, (list, tuple)):
        items = value
    else:
        return
    if not levels:
        raise TooDeep
    for item in items:
        if isinstance(item, (dict, list, tuple)):
            _check(item, levels - 1)


def _clean_text(text: str) -> str:
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
