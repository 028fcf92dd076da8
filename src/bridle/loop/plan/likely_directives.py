"""Lines that were probably meant as directives but are text, with the reason why they have no effect. Pure.

A line is read without what may be around the word of a directive: marks of Markdown, tags, comments, and characters
that look like others.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from msgspec import Struct

from bridle.loop.text.lookalikes import simplify

# Longer lines are prose, and each expression below looks at a whole line.
_LIMIT_CHARACTERS = 4_000
_MOST_MARKS = 12

_TAG = r"</?[a-zA-Z][^<>]*>"
_MARK = re.compile(
    rf"""\s+ | (?P<comment><!--(?:(?!-->).)*-->|-->) | (?P<open><!--) | (?P<quotation>>|\[![A-Z]+\])
    | (?P<heading>[#]{{1,6}}(?=\s)) | (?P<numbered>(?:\d{{1,9}}|[a-z])[.)](?=\s))
    | (?P<checklist>\[[ xX/~>?!-]?\](?=\s)) | (?P<table>\|)
    | (?P<footnote>\[\^[^\]\s]+\]:) | (?P<tag>{_TAG}) | (?P<code>`+)
    | (?P<list>[-+*•–—▪◦‣·●○]+(?=\s)) | (?P<emphasis>[*_~=]+)
    | (?P<weak>\([0-9a-z]\)|[^\w\s])""",
    re.DOTALL | re.VERBOSE,
)
_PLACES = {
    "comment": "after a comment; begin the line with it",
    "open": "in a comment",
    "quotation": "in a quotation",
    "heading": "in a heading",
    "numbered": "in a numbered list; begin the line with it, or use `-`",
    "checklist": "in a checklist; write it without the box",
    "table": "in a table; write it on its own line",
    "footnote": "in a footnote; write it on its own line",
    "tag": "after an HTML tag; begin the line with it",
    "code": "in backticks; only its command may be in them",
}
_OTHERWISE = "in this form; begin the line with it"
# After these marks, a word with a colon is common in prose: only a command in backticks is a sign.
_WEAK = frozenset({"weak", "checklist"})

_WORD = r"[A-Za-z][A-Za-z _-]{1,29}?"
_CLOSING = rf"""(?:[*_~=`"'”’)\]}}】」]|{_TAG})*"""
_NOTE = r"\s*\[\^[^\]\s]+\]|\s*\([^()]{0,40}\)|\]\([^()]{0,200}\)|\s*#?\d{1,3}|\s+commands?|\s*[^\w\s\x00-\x7f]"
_NAMED = re.compile(
    rf"(?P<name>{_WORD})(?P<note>{_NOTE})?(?P<close>{_CLOSING})"
    rf"(?:\s*(?P<sign>\\?:+[-=]?|[-–—=]*>|[→⇒➜]|=)|\s*(?:;|\||[-–—]+)(?=[\s*_`])|(?=\s*`)|(?<=edit)(?=\s+[^\s*]*[./])|(?=\s*{_TAG}\s*`))"
    rf"(?:(?P<end>{_CLOSING})(?=\s|\Z))?(?P<value>.*)\Z",
    re.DOTALL | re.IGNORECASE,
)
_ALONE = re.compile(rf"(?P<name>{_WORD}){_CLOSING}\s*\Z")
_SPAN = r"`[^`]+`"
_COMMANDS = re.compile(rf"[\s*_~|]*{_SPAN}(?:(?:[\s,]|and)*{_SPAN})*(?:[\s*_~|).,;\]]|{_TAG}|<!--.*)*\Z", re.DOTALL)
_IN_PATHS = frozenset("./*")
_LATER = re.compile(
    rf"(?:[.;,!?)]|\s[-–—])[*_\s]+(?:(Checks?|Setup)[*_]*:[*_]*\s*{_SPAN}\W*\Z|(May edit|Needs)[*_]*:[*_]*\s*[^\s,]+)"
)
_NEEDED_WORDS = "needs?|after|requires|dependency|dependencies|prerequisites?|depends|blocked by"
_NEEDS = rf"(?:depends|dependent|waits) (?:on|for)|{_NEEDED_WORDS}"
_NEEDED = re.compile(rf"(?:{_NEEDS})(?P<note>{_NOTE})?(?P<titles>(?:\W)+\S.*)\Z", re.DOTALL | re.IGNORECASE)
_ALONE_NEEDS = re.compile(rf"(?:{_NEEDS})\W*\Z", re.IGNORECASE)
_EDGES = " \t:;*_=-–—>|`'\"()[]{}"
_WITHIN = re.compile(r"(?:\A|[\s,;.`])[*_]*(Checks?|Needs|May edit|Setup)[*_]*:[*_]*\s", re.IGNORECASE)


class Reading(Struct, frozen=True):
    """A line as a directive, if it was meant as one."""

    word: str
    """Without case, spaces and hyphens."""
    place: str
    """Why the line has no effect."""
    has_sign: bool
    """Whether a colon or an arrow follows the word."""
    has_command: bool
    """Whether what follows is in backticks."""
    has_paths: bool
    """Whether what follows is paths or patterns."""
    is_prose: bool
    """Whether the line may be prose if it has no command."""


def read_line(text: str) -> Reading | None:
    """Read a line as a directive, whatever is around its word; return None if no word is found."""
    shown, odd = simplify(text[:_LIMIT_CHARACTERS])
    rest, marks = _strip_marks(shown)
    named = _NAMED.match(rest)
    if named is None:
        return None
    name, value, has_sign = named["name"], named["value"], named["sign"] is not None
    is_named_row = marks.get("table") is not None and not has_sign and not name[0].isupper()
    is_explained = "code" in marks and not _is_to_end(marks["code"], rest)
    is_prose = not has_sign or named["note"] is not None or is_explained or not _WEAK.isdisjoint(marks)
    return Reading(
        word=squeeze(name),
        place=_place(marks, odd),
        has_sign=has_sign,
        has_command=_COMMANDS.match(value) is not None and not is_named_row,
        has_paths=is_paths(value),
        is_prose=is_prose,
    )


def read_alone(text: str) -> str:
    """Return the only word of a line, without case, spaces and hyphens; an empty text if there is more."""
    alone = _ALONE.match(_strip_marks(simplify(text[:_LIMIT_CHARACTERS])[0])[0])
    return squeeze(alone["name"]) if alone is not None else ""


def is_command(text: str) -> bool:
    """Return whether a text is only commands in backticks."""
    return _COMMANDS.match(text[:_LIMIT_CHARACTERS]) is not None


def is_paths(text: str) -> bool:
    """Return whether a text is only paths or patterns, separated by commas."""
    words = [word.strip("`*_~|)]") for word in re.split(r"[\s,]+", text[:_LIMIT_CHARACTERS])]
    paths = [word for word in words if word not in ("", "and")]
    return bool(paths) and all(not _IN_PATHS.isdisjoint(path) for path in paths)


def find_later(text: str) -> str | None:
    """Return the word of a directive that follows a sentence on its line, with a command."""
    later = _LATER.search(text[:_LIMIT_CHARACTERS])
    return later[1] or later[2] if later is not None else None


def find_within(value: str) -> str | None:
    """Return the word of another directive in a value."""
    within = _WITHIN.search(value[:_LIMIT_CHARACTERS])
    return within[1] if within is not None else None


def find_needed(text: str, below: str) -> str | None:
    """Return what a line, or the item below its only word, says that a task needs: it may be titles."""
    rest = _strip_marks(simplify(text[:_LIMIT_CHARACTERS])[0])[0]
    if _ALONE_NEEDS.match(rest) is not None:
        return below.removeprefix(":").strip()
    needed = _NEEDED.match(rest)
    return needed["titles"].strip(_EDGES) if needed is not None else None


def squeeze(name: str) -> str:
    """Return a word without case, spaces and hyphens."""
    return re.sub(r"[\s_-]", "", name).lower()


def _strip_marks(text: str) -> tuple[str, dict[str, str]]:
    """Return the text behind its marks, and the last mark of each kind, in their order."""
    marks: dict[str, str] = {}
    start = count = 0
    while count < _MOST_MARKS and (mark := _MARK.match(text, start)) is not None:
        start, count = mark.end(), count + 1
        if mark.lastgroup is not None:
            marks[mark.lastgroup] = mark[0]
    return text[start:], marks


def _is_to_end(backticks: str, rest: str) -> bool:
    """Return whether the code that begins with a word is all of its line, as no sentence about a directive is."""
    inside = rest.rstrip(" *_|.)\t")
    return inside.endswith(backticks) and backticks not in inside.removesuffix(backticks)


def _place(marks: Collection[str], odd: str | None) -> str:
    place = next((_PLACES[mark] for mark in marks if mark in _PLACES), None)
    if place is not None:
        return place
    return f"here, because of the character {odd}" if odd else _OTHERWISE
