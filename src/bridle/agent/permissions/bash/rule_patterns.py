"""Matches the patterns of `Bash(…)` rules with commands.

Commands are compared word by word, so that quoting makes no difference and a space inside a word is not a separator.
A word that is not known before the command runs could be anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import msgspec

from bridle.agent.permissions.bash.words import Word, read_word
from bridle.agent.permissions.rules.syntax import Rule

_BETWEEN: Final = "\0"
# Comparing a pattern with a partly unknown command takes time proportional to both lengths.
_COMPARED_CHARACTERS: Final = 2_000


class Pattern(msgspec.Struct, frozen=True):
    """The compiled pattern of a rule."""

    rule: Rule
    regex: re.Pattern[str]
    glob: str
    """The pattern with `*` and separated words, for commands with unknown parts."""
    words_before_star: int
    """The number of whole words before the first `*`, or of all words."""
    has_star: bool
    is_path_like: bool
    """Whether a word has both `*` and a slash, so that `..` must not match."""


@lru_cache(maxsize=512)
def compile_rule(rule: Rule) -> Pattern:
    text = rule.specifier if rule.specifier is not None else "*"
    if text.endswith(":*"):
        text = f"{text[:-2]} *"
    words = _split(text)
    open_end = len(words) > 1 and words[-1] == "*"
    shown = words[:-1] if open_end else words
    body = _BETWEEN.join(_regex(word) for word in shown)
    glob = _BETWEEN.join(shown)
    return Pattern(
        rule=rule,
        regex=re.compile(body + (f"(?:{_BETWEEN}.*)?" if open_end else ""), re.DOTALL),
        glob=f"{glob}{_BETWEEN}*" if open_end else glob,
        words_before_star=next((place for place, word in enumerate(words) if _has_star(word)), len(words)),
        has_star=any(_has_star(word) for word in words),
        is_path_like=any(_has_star(word) and "/" in word for word in words),
    )


def matches(pattern: Pattern, words: Sequence[Word]) -> bool:
    """Return whether the pattern matches this command; unknown words match no pattern."""
    if not words or any(word.value is None for word in words):
        return False
    values = [word.value or "" for word in words]
    if pattern.is_path_like and any(".." in value.split("/") for value in values):
        return False
    return pattern.regex.fullmatch(_BETWEEN.join(values)) is not None


def could_match(pattern: Pattern, words: Sequence[Word]) -> bool:
    """Return whether the pattern could match this command, depending on its unknown words."""
    if all(word.is_plain for word in words):
        return False  # known words were compared already
    pieces = ["*" if not word.is_plain else (word.value or "").replace("*", "\\*") for word in words]
    text = _BETWEEN.join(pieces)
    if len(text) > _COMPARED_CHARACTERS or len(pattern.glob) > _COMPARED_CHARACTERS:
        return True
    bare = pattern.glob.removesuffix(f"{_BETWEEN}*")
    return _globs_overlap(pattern.glob, text) or (bare != pattern.glob and _globs_overlap(bare, text))


def _split(text: str) -> list[str]:
    """Split a rule into words like the shell, but keep every `*` (escaped ones as `\\*`)."""
    words = re.findall(r"(?:[^\s\"'\\]|\\.|'[^']*'|\"(?:[^\"\\]|\\.)*\"|[\"'\\])+", text, re.DOTALL)
    return [_unquote(word) for word in words]


def _unquote(word: str) -> str:
    if "\\*" in word or not re.search(r"[\"'\\]", word):
        return word
    read = read_word(word, "")
    return word if read.value is None else read.value


def _has_star(word: str) -> bool:
    return "*" in word.replace("\\*", "")


def _regex(word: str) -> str:
    return ".*".join(re.escape(part.replace("\0", "*")) for part in word.replace("\\*", "\0").split("*"))


def _tokens(glob: str) -> list[str]:
    """Split a glob into characters; an escaped star is one token."""
    return re.findall(r"\\\*|.", glob, re.DOTALL)


def _globs_overlap(one: str, other: str) -> bool:
    """Return whether some text matches both globs."""
    left, right = _tokens(one), _tokens(other)
    row = [True] + [False] * len(right)
    for place, letter in enumerate(right):
        row[place + 1] = row[place] and letter == "*"
    for sign in left:
        new = [row[0] and sign == "*"]
        for place, letter in enumerate(right):
            if sign == "*" or letter == "*":
                new.append(row[place + 1] or new[place])
            else:
                new.append(row[place] and sign == letter)
        if not any(new):
            return False
        row = new
    return row[-1]
