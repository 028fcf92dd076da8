"""Lines that are not events, recognised without a decoder: of text, and short ones.

Garbage can be millions of lines of a few bytes, and each failure of a decoder costs several exceptions. The result is
the same as that of the decoders, except for the reason.
"""

from __future__ import annotations

import re

from bridle.wire.events.events import Event, Ignored, Malformed

# The decoders' exceptions cost as much as reading some hundred bytes: they do not matter on a longer line.
SHORT_BYTES = 64
NOT_JSON = "not a JSON value"

# The bytes that begin neither a JSON value nor, as UTF-8, a blank.
TEXT_STARTS = frozenset(range(256)) - frozenset(b'{["-0123456789tfnNI \t\n\v\f\r\x1c\x1d\x1e\x1f\xc2\xe1\xe2\xe3')
# Text that begins like a JSON value, recognised without decoding it.
_is_text = re.compile(
    rb'[0-9][^0-9.eE\s\x1c-\x1f\xc2\xe1\xe2\xe3]|-[^0-9I]|\{[^\s"}]|t[^r]|f[^a]|n[^u]|N[^a]|I[^n]'
    rb'|"[^"]*\Z|\[[^\]]*\Z',
).match
_BLANK = r"[ \t\n\r]*"
_STRING = r'"(?:[^"\\]|\\.)*"'
# What may be an object (or several), an array or a string; only a decoder can tell.
_may_be_value = re.compile(
    rf"\{{{_BLANK}(?:\}}|{_STRING}{_BLANK}:.*\}})|\[.*\]\Z|{_STRING}\Z",
    re.DOTALL,
).match
_is_scalar = re.compile(
    r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null|NaN|-?Infinity",
).fullmatch


def decode_short(line: bytes) -> list[Event] | None:
    """Return the events of a line that is not an object; None if a decoder has to read it."""
    if line and line[0] in TEXT_STARTS:
        return [Malformed(raw=line, reason=NOT_JSON)]
    if len(line) > SHORT_BYTES:
        return None
    if _is_text(line):
        return [Malformed(raw=line, reason=NOT_JSON)]
    content = line.decode("utf-8", "replace").strip()
    if not content:
        return []
    if _may_be_value(content):
        return None
    if _is_scalar(content):
        return [Ignored(raw=line)]
    return [Malformed(raw=line, reason=NOT_JSON)]
