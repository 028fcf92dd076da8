"""Parses a shell command into all of its simple commands, and doubts about what was not understood.

A command that cannot be parsed safely is refused here; one of plain words needs no grammar; the others are read from
their syntax tree.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from bridle.agent.permissions.bash.grammar import KEYWORDS
from bridle.agent.permissions.bash.parsed_command import Command, Script
from bridle.agent.permissions.bash.syntax_tree import TreeReader
from bridle.agent.permissions.bash.words import PARSE_ERROR, plain

# Parsing time grows with the length; a longer command belongs in a file.
LIMIT_CHARACTERS: Final = 50_000
TOO_LONG: Final = "Command is too long to be read"
CONTROL: Final = "Contains control characters"

# Control characters except tab and line feed, and Unicode spaces that bash may not take for white space.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f\x85\xa0\u1680\u2000-\u200f\u2028-\u202f\u205f\u2060\u3000\ufeff\ud800-\udfff]"
)
# Characters without a special meaning to bash, and spaces.
_SIMPLE = re.compile(r"[A-Za-z0-9_./ :@%+,=-]+\Z")


# A Bash call is parsed when it arrives (may it run concurrently?) and once more when it runs (is it permitted?).
@lru_cache(maxsize=32)
def read_script(text: str, home: str) -> Script:
    """Parse what bash would run for this text."""
    if len(text) > LIMIT_CHARACTERS:
        return Script((), (TOO_LONG,), is_broken=True)
    if _CONTROL.search(text):
        return Script((), (CONTROL,), is_broken=True)
    simple = _simple(text)
    if simple is not None:
        return simple
    reader = TreeReader(text, home)
    try:
        reader.read()
    except UnicodeDecodeError:  # a node that ends inside a character, because the grammar got dots
        return Script((), (PARSE_ERROR,), is_broken=True)
    return reader.script()


def _simple(text: str) -> Script | None:
    """Parse a command of plain words without the grammar, which takes time to load; most are such."""
    words = text.split()
    if not words or not _SIMPLE.match(text) or "=" in words[0] or words[0] in KEYWORDS:
        return None
    return Script((Command(tuple(plain(word) for word in words), text=text.strip()),))
