"""Encode and decode entries: the layout and the checksum of the format.

The checksum is of the raw text. JavaScript and Python write numbers and escapes differently, so a text is never
encoded again for a comparison.
"""

from __future__ import annotations

import os

from bridle.errors import JournalBroken, UsageError
from bridle.ground.light import quick_json
from bridle.ground.light.abc_names import Mapping
from bridle.ground.light.moments import iso
from bridle.ground.light.shell_word import shell_word
from bridle.ground.ulid import is_ulid, milliseconds_of
from bridle.journal.format import layout
from bridle.journal.format.digest import sha256
from bridle.journal.format.entries import OWN_PREFIX, Entry

_SUFFIX = ".json"
_CHECKSUM_HEAD = b',\n  "checksum": "'
_CHECKSUM_TAIL = b'"\n}\n'
_CHECKSUM_DIGITS = 64
_CHECKSUM_LENGTH = len(_CHECKSUM_HEAD) + _CHECKSUM_DIGITS + len(_CHECKSUM_TAIL)


class BadText(Exception):
    """The content of a file is invalid; the message says why."""


def pretty(value: object) -> bytes:
    """Return JSON in the format's layout: indented by two spaces, not escaped, with a newline."""
    text = quick_json.pretty(value)
    try:
        return (text + "\n").encode()
    except UnicodeEncodeError:  # a lone surrogate, which the format escapes
        return (_escape_surrogates(text) + "\n").encode()


def compact(value: object) -> str:
    """Return JSON on one line, in ASCII."""
    return quick_json.compact(value)


def parse(text: bytes | str) -> object:
    """Parse JSON; raise BadText for NaN, Infinity and invalid UTF-8."""
    try:
        return quick_json.strict(text if isinstance(text, str) else text.decode())
    except (ValueError, RecursionError) as error:
        raise BadText(str(error)) from error


def parse_object(text: bytes | str) -> dict[str, object]:
    """Parse JSON that must be an object."""
    value = parse(text)
    if not isinstance(value, dict):
        raise BadText("it is not an object")
    return value


def encode(entry_type: str, recorded_at: str, data: Mapping[str, object]) -> bytes:
    """Return the text of an entry's file."""
    try:
        body = pretty({"type": entry_type, "recordedAt": recorded_at, "data": data})
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"the data of a journal entry must be JSON: {error}", payload=data) from error
    return body[:-3] + _CHECKSUM_HEAD + sha256(body).encode() + _CHECKSUM_TAIL


def decode(seq: int, ulid: str, text: bytes) -> Entry:
    """Parse the text of an entry's file; raise BadText if it is incomplete, changed or not an entry."""
    check(text)
    value = parse_object(text)
    entry_type, recorded_at, data = value.get("type"), value.get("recordedAt"), value.get("data")
    if not isinstance(entry_type, str) or not isinstance(recorded_at, str) or not isinstance(data, dict):
        raise BadText("it lacks type, recordedAt or data")
    if _is_of_our_writer(entry_type, data) and _is_later(recorded_at, iso(milliseconds_of(ulid) * 1_000_000)):
        raise BadText(f"its content is that of a later entry: it was recorded at {recorded_at}, after its id was made")
    return Entry(seq, ulid, entry_type, recorded_at, data)


def _is_of_our_writer(entry_type: str, data: Mapping[str, object]) -> bool:
    """Return whether the id was made after the text; other programs make it before."""
    fields = (layout.TASK_DIGEST, layout.RESULT_DIGEST, layout.OUTPUT_DIGEST)
    return entry_type.startswith(OWN_PREFIX) or any(name in data for name in fields)


def _is_later(one: str, other: str) -> bool:
    """Compare two times; those of another form, such as of the year 10000, are not compared."""
    return len(one) == len(other) and one > other


def check(text: bytes) -> None:
    """Compare the checksum at the end of a text with the text before it."""
    if not text:
        raise BadText("the file is empty")
    head, tail = text[:-_CHECKSUM_LENGTH], text[-_CHECKSUM_LENGTH:]
    if not (tail.startswith(_CHECKSUM_HEAD) and tail.endswith(_CHECKSUM_TAIL)):
        raise BadText("it is torn: it does not end with a checksum")
    written = tail[len(_CHECKSUM_HEAD) : -len(_CHECKSUM_TAIL)]
    if sha256(head + b"\n}\n").encode() != written:
        raise BadText("its checksum does not match: it was changed after it was written")


def parse_name(name: str) -> tuple[int, str] | None:
    """Return the number and the id in the name of an entry's file; None for any other name."""
    digits, dot, rest = name.partition(".")
    ulid = rest.removesuffix(_SUFFIX)
    is_number = len(digits) >= 6 and digits.isascii() and digits.isdigit()
    if not (is_number and dot and rest.endswith(_SUFFIX) and is_ulid(ulid)):
        return None
    return int(digits), ulid


def bad_file(path: object, fault: str, *, payload: object = None) -> JournalBroken:
    """Return the error for an invalid file of the journal."""
    return needs_repair(JournalBroken(f"the journal file {path} is invalid: {fault}", payload=payload), _run_of(path))


def missing_file(path: object) -> JournalBroken:
    """Return the error for a newest entry that only the pack still has."""
    error = bad_file(path, "it is missing, but it was written")
    error.remedy = (
        f"{_repair_command(_run_of(path))} restores it. If you put back an earlier journal, delete "
        f"{_run_of(path)}/{layout.STATE}/{layout.PACK_FILE} instead."
    )
    return error


def needs_repair(error: JournalBroken, run: object) -> JournalBroken:
    """Return the error with the command that repairs the journal of this run."""
    error.remedy = f"{_repair_command(run)} moves it aside and keeps a backup."
    return error


def _repair_command(run: object) -> str:
    return f"bridle run:repair-journal {shell_word(str(run))}"


def _run_of(path: object) -> str:
    return os.path.dirname(os.path.dirname(str(path)))


def _escape_surrogates(text: str) -> str:
    return "".join(f"\\u{ord(letter):04x}" if 0xD800 <= ord(letter) <= 0xDFFF else letter for letter in text)
