"""JSON without importing `json`, which imports regular expressions and takes longer than all of a hook.

Calls the C scanner and encoder that `json` uses. What they do not support, and every error, is left to `json`: the
result is always the same; a test compares them.
"""

from __future__ import annotations

import sys

from bridle.ground.light.abc_names import Callable, Iterable

Scan = Callable[[str, int], tuple[object, int]]
Encode = Callable[[object, int], Iterable[str]]

_WHITESPACE = " \t\n\r"
_INDENT = "  "


def loads(text: str | bytes) -> object:
    """Parse as `json.loads` does."""
    found = _scan_fast(_SCAN, text)
    if found is not _NOTHING:
        return found
    import json

    return json.loads(text)


def strict(text: str | bytes) -> object:
    """Parse strict JSON: NaN, Infinity and numbers that are too large for a float raise ValueError."""
    found = _scan_fast(_STRICT_SCAN, text)
    if found is not _NOTHING:
        return found
    import json

    return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_integer)


class SameKeyError(ValueError):
    """An object has the same key twice."""


def strict_with_unique_keys(text: str | bytes) -> object:
    """Parse strict JSON; an object that has the same key twice raises SameKeyError."""
    found = _scan_fast(_UNIQUE_SCAN, text)
    if found is not _NOTHING:
        return found
    import json

    return json.loads(
        text,
        parse_constant=_refuse_constant,
        parse_float=_finite,
        parse_int=_integer,
        object_pairs_hook=_unique_object,
    )


def pretty(value: object) -> str:
    """Encode with an indent of two spaces, without ASCII escapes; NaN raises ValueError."""
    if _QUOTE is not None:
        parts: list[str] = []
        try:
            _write_value(value, "\n", parts.append, _QUOTE)
            return "".join(parts)
        except (_NotPlain, RecursionError):
            pass
    import json

    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)


def compact(value: object) -> str:
    """Encode on one line, in ASCII; NaN raises ValueError."""
    if _MAKE_ENCODER is not None:
        encode = _MAKE_ENCODER({}, _refuse_value, _QUOTE_ASCII, None, ":", ",", *_AS_GIVEN)
        return "".join(encode(value, 0))
    import json

    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def readable(value: object, *, pretty: bool = False) -> str:
    """Encode without ASCII escapes, on one line or with an indent of two spaces; NaN is written as `NaN`."""
    if _MAKE_ENCODER is not None and not pretty:
        encode = _MAKE_ENCODER({}, _refuse_value, _QUOTE, None, ":", ",", *_AS_GIVEN_WITH_NAN)
        return "".join(encode(value, 0))
    import json

    separators = None if pretty else (",", ":")
    return json.dumps(value, indent=2 if pretty else None, separators=separators, ensure_ascii=False)


def compact_sorted(value: object) -> str:
    """Encode on one line with sorted keys: equal for equal documents."""
    if _SORTED is not None:
        return "".join(_SORTED(value, 0))
    import json

    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


class _NotPlain(Exception):
    """A value or a key of a type that is left to `json`."""


class _Rules:
    """The options that the C scanner reads."""

    strict = True
    object_hook = None
    parse_int = int

    def __init__(
        self,
        parse_constant: Callable[[str], object],
        parse_float: Callable[[str], float] = float,
        object_pairs_hook: Callable[[list[tuple[str, object]]], object] | None = None,
    ) -> None:
        self.parse_constant = parse_constant
        self.parse_float = parse_float
        self.object_pairs_hook = object_pairs_hook


_NOTHING = object()
# Sort the keys, skip those of another type, allow NaN.
_AS_GIVEN = (False, False, False)
_AS_GIVEN_WITH_NAN = (False, False, True)
_BY_KEY = (True, False, False)
_CONSTANTS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number - number != 0:  # infinite
        raise ValueError(f"the number {text} is too large for JSON")
    return number


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:  # the message of Python names a function of Python
        raise ValueError(f"the number {text[:12]}… has too many digits: {len(text)}") from None


def _unique_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise SameKeyError(next(key for key in keys if keys.count(key) > 1))
    return found


def _refuse_value(value: object) -> object:
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def _scan_fast(scan: Scan | None, text: str | bytes) -> object:
    """Return the value; _NOTHING where `json` must raise the error."""
    if scan is None:
        return _NOTHING
    try:
        plain = (text if isinstance(text, str) else text.decode()).strip(_WHITESPACE)
        value, end = scan(plain, 0)
    except (StopIteration, ValueError, RecursionError, SystemError):
        # SystemError: before Python 3.12 the scanner cannot raise its error while `json` is not loaded.
        return _NOTHING
    return value if end == len(plain) else _NOTHING


def _write_value(value: object, newline: str, write: Callable[[str], None], quote: Callable[[str], str]) -> None:
    kind = type(value)
    if kind is str:
        write(quote(value))  # type: ignore[arg-type]  # its type was just checked
    elif kind is dict:
        _write_object(value, newline, write, quote)  # type: ignore[arg-type]  # the same
    elif kind is list or kind is tuple:
        _write_list(value, newline, write, quote)  # type: ignore[arg-type]  # the same
    elif value is None:
        write("null")
    elif kind is bool:
        write("true" if value else "false")
    elif kind is int or (kind is float and value - value == 0):  # type: ignore[operator]  # not NaN, not infinite
        write(repr(value))
    else:
        raise _NotPlain


def _write_object(
    value: dict[object, object], newline: str, write: Callable[[str], None], quote: Callable[[str], str]
) -> None:
    if not value:
        write("{}")
        return
    inner = newline + _INDENT
    before = "{" + inner
    for key, item in value.items():
        if type(key) is not str:
            raise _NotPlain
        write(before)
        write(quote(key))
        write(": ")
        _write_value(item, inner, write, quote)
        before = "," + inner
    write(newline + "}")


def _write_list(
    value: list[object] | tuple[object, ...], newline: str, write: Callable[[str], None], quote: Callable[[str], str]
) -> None:
    if not value:
        write("[]")
        return
    inner = newline + _INDENT
    before = "[" + inner
    for item in value:
        write(before)
        _write_value(item, inner, write, quote)
        before = "," + inner
    write(newline + "]")


_SCAN: Scan | None = None
_STRICT_SCAN: Scan | None = None
_UNIQUE_SCAN: Scan | None = None
_SORTED: Encode | None = None
_MAKE_ENCODER: Callable[..., Encode] | None = None
_QUOTE: Callable[[str], str] | None = None
_QUOTE_ASCII: Callable[[str], str] | None = None
# In a debug build the scanner aborts the process where it cannot raise its error.
if not hasattr(sys, "gettotalrefcount"):
    try:
        import _json

        _SCAN = _json.make_scanner(_Rules(_CONSTANTS.__getitem__))  # type: ignore[arg-type]  # any object with these fields
        _STRICT_SCAN = _json.make_scanner(_Rules(_refuse_constant, _finite))  # type: ignore[arg-type]  # the same
        _UNIQUE_SCAN = _json.make_scanner(_Rules(_refuse_constant, _finite, _unique_object))  # type: ignore[arg-type]  # the same
        _QUOTE, _QUOTE_ASCII = _json.encode_basestring, _json.encode_basestring_ascii
        _MAKE_ENCODER = _json.make_encoder
        # Created once: that takes four times as long as using it.
        _SORTED = _json.make_encoder(None, _refuse_value, _QUOTE_ASCII, None, ":", ",", *_BY_KEY)
    except (ImportError, AttributeError, TypeError):
        pass  # another interpreter: use `json`
