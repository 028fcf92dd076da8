"""Whether the pattern of a `Bash(…)` rule means a command.

Commands are compared word by word, so that quoting makes no difference and a space inside a word is not a space
between two. A word that is not known before it runs stands for anything.
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
# Comparing a pattern with a command of which parts are unknown takes time in proportion to both lengths.
_COMPARED_CHARACTERS: Final = 2_000


class Pattern(msgspec.Struct, frozen=True):
    """A rule's pattern, ready to be compared."""

    rule: Rule
    regex: re.Pattern[str]
    glob: str
    """The same with `*` for anything and words apart, for comparing with commands that have unknown parts."""
    words_before_star: int
    """How many whole words stand before the first `*`; all of them, if there is none."""
    has_star: bool
    is_path_like: bool
    """Whether a `*` stands in a word with a slash, and so must not climb out by `..`."""


@lru_cache(maxsize=512)
def compile_rule(rule: Rule) -> Pattern:
    """The pattern of a rule."""
    text = rule.what if rule.what is not None else "*"
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
    """Whether the pattern means exactly this command; what is not known fits no pattern."""
    if not words or any(word.value is None for word in words):
        return False
    values = [word.value or "" for word in words]
    if pattern.is_path_like and any(".." in value.split("/") for value in values):
        return False
    return pattern.regex.fullmatch(_BETWEEN.join(values)) is not None


def could_match(pattern: Pattern, words: Sequence[Word]) -> bool:
    """Whether the pattern could mean this command, if what is not known turned out so."""
    if all(word.is_plain for word in words):
        return False  # what is known was compared already
    pieces = ["*" if not word.is_plain else _escape(word.value or "") for word in words]
    text = _BETWEEN.join(pieces)
    if len(text) > _COMPARED_CHARACTERS or len(pattern.glob) > _COMPARED_CHARACTERS:
        return True
    bare = pattern.glob.removesuffix(f"{_BETWEEN}*")
    return _meet(pattern.glob, text) or (bare != pattern.glob and _meet(bare, text))


def _split(text: str) -> list[str]:
    """The words of a rule, as the shell would take them apart, but with every `*` kept (escaped ones as `\\*`)."""
    found = re.findall(r"(?:[^\s\"'\\]|\\.|'[^']*'|\"(?:[^\"\\]|\\.)*\"|[\"'\\])+", text, re.DOTALL)
    return [_unquote(word) for word in found]


def _unquote(word: str) -> str:
    if "\\*" in word or not re.search(r"[\"'\\]", word):
        return word
    read = read_word(word, "")
    return word if read.value is None else read.value


def _has_star(word: str) -> bool:
    return "*" in word.replace("\\*", "")


def _regex(word: str) -> str:
    return ".*".join(re.escape(part.replace("\0", "*")) for part in word.replace("\\*", "\0").split("*"))


def _escape(value: str) -> str:
    return value.replace("*", "\\*")


def _tokens(glob: str) -> list[str]:
    """Letters, with `*` for anything; an escaped star is the letter of two signs."""
    return re.findall(r"\\\*|.", glob, re.DOTALL)


def _meet(one: str, other: str) -> bool:
    """Whether some text fits both, where `*` is anything in each."""
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
