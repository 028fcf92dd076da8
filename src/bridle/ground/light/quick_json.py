"""JSON without the module `json`, whose import brings regular expressions along: more than a hook's whole work.

The interpreter's own scanner and encoder, which `json` uses too, are called here without it. Whatever they do not take,
and every error, is left to `json`: the answer is the same in all cases, a test compares them.
"""

from __future__ import annotations

import sys

from bridle.ground.light.abc_names import Callable, Iterable

Scan = Callable[[str, int], tuple[object, int]]
Encode = Callable[[object, int], Iterable[str]]

_WHITESPACE = " \t\n\r"
_INDENT = "  "


def loads(text: str | bytes) -> object:
    """What `json.loads` gives."""
    found = _quickly(_SCAN, text)
    if found is not _NOTHING:
        return found
    import json

    return json.loads(text)


def strict(text: str | bytes) -> object:
    """The same for what every implementation calls JSON: NaN and Infinity are refused with a ValueError."""
    found = _quickly(_STRICT_SCAN, text)
    if found is not _NOTHING:
        return found
    import json

    return json.loads(text, parse_constant=_refuse_constant)


def pretty(value: object) -> str:
    """A document for people: two spaces, letters as they are; NaN is refused with a ValueError."""
    if _QUOTE is not None:
        parts: list[str] = []
        try:
            _lay_out(value, "\n", parts.append, _QUOTE)
            return "".join(parts)
        except (_NotPlain, RecursionError):
            pass
    import json

    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)


def compact(value: object) -> str:
    """A document on one line, in ASCII; NaN is refused with a ValueError."""
    if _MAKE_ENCODER is not None:
        encode = _MAKE_ENCODER({}, _refuse_value, _QUOTE_ASCII, None, ":", ",", *_AS_GIVEN)
        return "".join(encode(value, 0))
    import json

    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def compact_sorted(value: object) -> str:
    """The same, equal for equal documents: the keys of objects are sorted."""
    if _SORTED is not None:
        return "".join(_SORTED(value, 0))
    import json

    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


class _NotPlain(Exception):
    """A value, or a key, of a type that the plain way does not write."""


class _Rules:
    """What the interpreter's scanner wants to know, as `json` tells it."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int

    def __init__(self, parse_constant: Callable[[str], object]) -> None:
        self.parse_constant = parse_constant


_NOTHING = object()
# Sort the keys, skip those of another type, allow NaN.
_AS_GIVEN = (False, False, False)
_BY_KEY = (True, False, False)
_CONSTANTS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _refuse_value(value: object) -> object:
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def _quickly(scan: Scan | None, text: str | bytes) -> object:
    """The value, or _NOTHING where `json` must say what is wrong."""
    if scan is None:
        return _NOTHING
    try:
        plain = (text if isinstance(text, str) else text.decode()).strip(_WHITESPACE)
        value, end = scan(plain, 0)
    except (StopIteration, ValueError, RecursionError, SystemError):
        # SystemError: before Python 3.12 the scanner cannot say what is wrong while `json` is not loaded.
        return _NOTHING
    return value if end == len(plain) else _NOTHING


def _lay_out(value: object, newline: str, say: Callable[[str], None], quote: Callable[[str], str]) -> None:
    kind = type(value)
    if kind is str:
        say(quote(value))  # type: ignore[arg-type]  # its type was just looked at, which a checker cannot see
    elif kind is dict:
        _lay_out_object(value, newline, say, quote)  # type: ignore[arg-type]  # the same
    elif kind is list or kind is tuple:
        _lay_out_list(value, newline, say, quote)  # type: ignore[arg-type]  # the same
    elif value is None:
        say("null")
    elif kind is bool:
        say("true" if value else "false")
    elif kind is int or (kind is float and value - value == 0):  # type: ignore[operator]  # not NaN, not infinite
        say(repr(value))
    else:
        raise _NotPlain


def _lay_out_object(
    value: dict[object, object], newline: str, say: Callable[[str], None], quote: Callable[[str], str]
) -> None:
    if not value:
        say("{}")
        return
    inner = newline + _INDENT
    before = "{" + inner
    for key, item in value.items():
        if type(key) is not str:
            raise _NotPlain
        say(before)
        say(quote(key))
        say(": ")
        _lay_out(item, inner, say, quote)
        before = "," + inner
    say(newline + "}")


def _lay_out_list(
    value: list[object] | tuple[object, ...], newline: str, say: Callable[[str], None], quote: Callable[[str], str]
) -> None:
    if not value:
        say("[]")
        return
    inner = newline + _INDENT
    before = "[" + inner
    for item in value:
        say(before)
        _lay_out(item, inner, say, quote)
        before = "," + inner
    say(newline + "]")


_SCAN: Scan | None = None
_STRICT_SCAN: Scan | None = None
_SORTED: Encode | None = None
_MAKE_ENCODER: Callable[..., Encode] | None = None
_QUOTE: Callable[[str], str] | None = None
_QUOTE_ASCII: Callable[[str], str] | None = None
# A debug build ends the process where the scanner cannot say what is wrong.
if not hasattr(sys, "gettotalrefcount"):
    try:
        import _json

        _SCAN = _json.make_scanner(_Rules(_CONSTANTS.__getitem__))  # type: ignore[arg-type]  # any object with these fields
        _STRICT_SCAN = _json.make_scanner(_Rules(_refuse_constant))  # type: ignore[arg-type]  # the same
        _QUOTE, _QUOTE_ASCII = _json.encode_basestring, _json.encode_basestring_ascii
        _MAKE_ENCODER = _json.make_encoder
        # Made once: making an encoder takes four times as long as using it.
        _SORTED = _json.make_encoder(None, _refuse_value, _QUOTE_ASCII, None, ":", ",", *_BY_KEY)
    except (ImportError, AttributeError, TypeError):
        pass  # an interpreter without them, or with others: `json` knows what to do there
