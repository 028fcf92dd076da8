"""The words that may not come back: the text of src, docs, tools and bench is the English of its field.

A use that is right all the same carries its reason on its line: `# language: …` in Python, `<!-- language: … -->` in
Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]

# A pattern, between word boundaries, and what to write instead.
REPLACEMENTS = {
    "nobody|somebody|anybody|whoever|whomever": "the role: user, agent, caller, driver, worker, reader; or the passive",
    "(?:a|the|another) person|(?:a|the) person's": "user",
    "meanwhile|in the midst|midst": "while …, since then, during",
    "(?<!there )(?-i:is none)": "not one, none of them; for an error: must be …, got …",
    "(?:ends?|ended) well": "succeeded, passed",
    "(?:broken|breaks?|broke) off": "interrupted",
    "(?:taken|takes?|took) back": "reverted",
    "in (?:its|their) place": "instead",
    "stands": "is",
    "(?:go|goes|going|gone|went) on(?! (?:the|a|an|stderr|stdout)\\b)": "continue",
    "mend|mends|mended|mending": "fix, repair, restore",
    "troubles?": "error, problem",
    "gives": "returns, yields",
    "at work(?! on)": "running",
    "at work on": "running, working on",
    "by hand": "manually",
    "(?:is|are|was|were|be|been|being) (?:told|heard)": "printed, logged, returned, received, notified",
    "(?:its|their|own|last|such) words": "message, text",
    "words for people": "messages",
    "naps?|purse|herald|crew|roster": "wait, budget, hooks, workers, agents",
    "manner|wish|wishes": "options, request",
    "(?:if|when|where|because|or) there (?:is|are|was|were) (?-i:none)": "if it is missing, without a …, or None",
    "None without (?:one|any|either)": "or None, None without a …",
    r"(?<!there )(?:is|are|was|were) no (?!longer\b|more\b)\w+": "is not a …, has no …",
    "(?:all|one|those|anyone) whom?": "the role: user, agent, caller, driver, worker, reader",
    '(?<=""")(?:Those|The same|It|They)': "the noun that is meant: a docstring is complete without the one before it",
    "(?<=# )(?-i:Those|The same)": "the noun that is meant",
    "for ever": "forever",
    "of the moment": "current",
    '(?<=""")(?:Say|Tell)': "what the function does: return, yield, print, notify",
}

# Foreign text, generated pages of foreign facts, and data.
EXEMPT = ("src/bridle/ground/price_list.py",)

ALLOWED = re.compile(r"# language: \S|<!-- language: \S")


# Before the text of a line: its indent, and the mark of a comment, a list or a quotation.
_MARGIN = re.compile(r"^[\s#*>-]+")


class Use(NamedTuple):
    """A word that may not be used, and where it is."""

    place: str
    word: str
    instead: str


def uses(text: str, place: str) -> Iterator[Use]:
    """Yield each use of a listed word that has no reason on its line."""
    lines = text.splitlines()
    for number, (line, after) in enumerate(zip(lines, [*lines[1:], ""], strict=True), start=1):
        if ALLOWED.search(line):
            continue
        both = f"{line.rstrip()} {_MARGIN.sub('', after)}"  # a phrase may continue on the next line
        for pattern, instead in _PATTERNS:
            if (found := pattern.search(both)) and found.start() <= len(line.rstrip()):
                yield Use(f"{place}:{number}", found[0], instead)


def files() -> list[Path]:
    """List the files that users and contributors read."""
    code = [path for folder in ("src", "tools", "bench") for path in (ROOT / folder).rglob("*.py")]
    found = [*code, *(ROOT / "src").rglob("*.md"), *(ROOT / "docs").glob("*.md")]
    names = sorted(str(path.relative_to(ROOT)) for path in [*found, ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
    return [ROOT / name for name in names if not name.startswith(EXEMPT)]


_PATTERNS = [(re.compile(rf"\b(?:{words})\b", re.IGNORECASE), instead) for words, instead in REPLACEMENTS.items()]


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_listed_word_is_used(path: Path) -> None:
    found = list(uses(path.read_text(encoding="utf-8"), str(path.relative_to(ROOT))))
    assert not found, "\n".join(f"{use.place}: {use.word!r}: write {use.instead}" for use in found)


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ('"""Who asks, if anybody does."""', "anybody"),
        ("the run is Nobody's", "Nobody"),
        ("# the agent is at work", "at work"),
        ('raise UsageError(f"{text!r} is none")', "is none"),
        ("`bridle resume` goes on where it was", "goes on"),
        ("The agent's last words are kept.", "last words"),
        ('"""Return the receipt; None if there is none."""', "if there is none"),
        ('"""Return the receipt; None without one."""', "None without one"),
        ("a failed write is no error", "is no error"),
        ("for all who wait", "all who"),
        ('    """Those that git does not track."""', "Those"),
        ("# The same for tasks.", "The same"),
        ('    """Say how two plans differ."""', "Say"),
        ("# The run waits, and then it goes\n# on where it was.", "goes on"),
    ],
)
def test_a_listed_word_is_found_with_its_line(line: str, word: str) -> None:
    assert [(use.place, use.word) for use in uses(f"first\n{line}\n", "a.py")] == [("a.py:2", word)]


@pytest.mark.parametrize(
    "line",
    [
        "nobody = 65534  # language: the name of the uid",
        "the user `nobody` <!-- language: a user's name -->",
        "a busybody; somebody_else = 1",
        "it went on the stack",
        "Keep the words of the list apart.",
        "there is no driver, and it is no longer needed",
        "# Tasks that were retried. The same tasks",
    ],
)
def test_a_use_with_a_reason_and_other_words_are_not_found(line: str) -> None:
    assert list(uses(line, "a.py")) == []


def test_a_reason_may_not_be_empty() -> None:
    assert list(uses("nobody  # language: ", "a.py"))
