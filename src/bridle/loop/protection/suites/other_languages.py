"""Reads tests of languages other than Python with regular expressions. Pure.

This is enough to report a test as deleted, skipped or empty; nothing else depends on it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from msgspec import Struct

from bridle.loop.protection.suites.suite import Case, Suite


class _Syntax(Struct, frozen=True):
    """How a language writes tests."""

    start: re.Pattern[str]
    """The beginning of a test; its group `name` is the test's name."""
    skip: re.Pattern[str]
    """A skip in the beginning or body of a test."""
    empty: re.Pattern[str]
    """A whole test with an empty body."""
    assertion: re.Pattern[str]
    comment: re.Pattern[str]
    focus: re.Pattern[str] | None = None
    exclude: re.Pattern[str] | None = None
    """A marker that excludes the whole file."""


def _reader(syntax: _Syntax) -> Callable[[str], Suite]:
    def read(text: str) -> Suite:
        plain = syntax.comment.sub(" ", text)
        starts = list(syntax.start.finditer(plain))
        ends = [*(start.start() for start in starts[1:]), len(plain)]
        is_excluded = syntax.exclude is not None and syntax.exclude.search(text) is not None
        cases: dict[str, Case] = {}
        for start, end in zip(starts, ends, strict=False):
            body = plain[start.start() : end]
            cases[_unused(start["name"], cases)] = Case(
                len(syntax.assertion.findall(body)),
                is_skipped=is_excluded or syntax.skip.search(body) is not None,
                is_empty=syntax.empty.match(body) is not None,
            )
        return Suite(cases, syntax.focus is not None and syntax.focus.search(plain) is not None)

    return read


def _unused(name: str, cases: Mapping[str, Case]) -> str:
    """Number the tests of one name in different groups."""
    number = 2
    unique = name
    while unique in cases:
        unique, number = f"{name} #{number}", number + 1
    return unique


_C_COMMENTS = re.compile(r"/\*.*?\*/|(?<![:\"'])//[^\n]*", re.DOTALL)
_SCRIPT = _Syntax(
    start=re.compile(
        r"(?<![\w.$])[xf]?(?:it|test|specify|describe|context)(?:\.\w+)*(?:\([^()]*\))?\(\s*"
        r"(?P<quote>['\"`])(?P<name>.*?)(?P=quote)",
        re.DOTALL,
    ),
    skip=re.compile(r"\A(?:x|\w+(?:\.\w+)*\.(?:skip|todo|fails)\b)|(?<![\w$])(?:t|this)\.skip\("),
    empty=re.compile(r"[^=]*?(?:=>\s*\{\s*\}|function\s*\w*\([^)]*\)\s*\{\s*\})\s*\)"),
    assertion=re.compile(r"\bexpect\s*\(|\bassert\b|\.should\b|\bt\.\w+\("),
    comment=_C_COMMENTS,
    focus=re.compile(r"(?<![\w.$])(?:(?:it|test|describe|context|specify)(?:\.\w+)*\.only|f(?:it|describe|context))\b"),
)
_GO = _Syntax(
    start=re.compile(r"^func (?P<name>(?:Test|Fuzz|Example)\w*)\(", re.MULTILINE),
    skip=re.compile(r"\b\w+\.Skip(?:f|Now)?\("),
    empty=re.compile(r"func \w+\([^)]*\)\s*\{\s*\}"),
    assertion=re.compile(r"\bt\.(?:Error|Fatal|Fail)\w*\(|\b(?:assert|require|is)\.\w+\("),
    comment=_C_COMMENTS,
    exclude=re.compile(r"^//(?:go:build| \+build) ignore", re.MULTILINE),
)
_RUST = _Syntax(
    start=re.compile(
        r"(?:#\[[^\]]*\]\s*)*#\[(?:\w+::)*(?:test|rstest)\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:pub\s+)?(?:async\s+)?fn\s+(?P<name>\w+)"
    ),
    skip=re.compile(r"\A(?:#\[[^\]]*\]\s*)*?#\[(?:ignore|cfg\(any\(\)\))"),
    empty=re.compile(r"[^{]*\{\s*\}"),
    assertion=re.compile(r"\b(?:debug_)?assert\w*!|\bpanic!|\?;"),
    comment=_C_COMMENTS,
)
_RUBY = _Syntax(
    start=re.compile(
        r"^[ \t]*[xf]?(?:it|specify|example|scenario|test)[ (]+(?P<quote>['\"])(?P<name>.*?)(?P=quote)", re.MULTILINE
    ),
    skip=re.compile(r"\A[ \t]*x|^[ \t]*(?:skip|pending)\b|skip: ", re.MULTILINE),
    empty=re.compile(r"[^\n]*(?:do|\))?[ \t]*\n[ \t]*end\b"),
    assertion=re.compile(r"\bexpect\b|\bassert\w*|\brefute\w*|\.should\b|\bmust_\w+"),
    comment=re.compile(r"^[ \t]*#[^\n]*", re.MULTILINE),
    focus=re.compile(r"^[ \t]*f(?:it|describe|context)\b|, :?focus", re.MULTILINE),
)
_JAVA = _Syntax(
    start=re.compile(
        r"(?:@\w+(?:\([^)]*\))?\s+)*@(?:Test|ParameterizedTest)\b(?:\([^)]*\))?\s+(?:@\w+(?:\([^)]*\))?\s+)*"
        r"(?:(?:public|private|protected|static|final|fun|void)\s+)*(?P<name>\w+)\s*\("
    ),
    skip=re.compile(r"\A(?:@\w+(?:\([^)]*\))?\s+)*?@(?:Disabled|Ignore)\b|enabled\s*=\s*false"),
    empty=re.compile(r"[^{]*\{\s*\}"),
    assertion=re.compile(r"\b(?:assert\w*|verify|fail|should\w*)\s*[({]"),
    comment=_C_COMMENTS,
)
_PHP = _Syntax(
    start=re.compile(r"function (?P<name>test\w+)\s*\("),
    skip=re.compile(r"markTest(?:Skipped|Incomplete)\("),
    empty=re.compile(r"[^{]*\{\s*\}"),
    assertion=re.compile(r"(?:->|::)(?:assert|expect)\w*\("),
    comment=_C_COMMENTS,
)


def _ruby(text: str) -> Suite:
    """Read test methods as if their names were quoted."""
    return _reader(_RUBY)(re.sub(r"(?m)^([ \t]*)def (test_\w+)", r'\1test "\2"', text))


READERS: dict[str, Callable[[str], Suite]] = {
    **dict.fromkeys((".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts"), _reader(_SCRIPT)),
    ".go": _reader(_GO),
    ".rs": _reader(_RUST),
    ".rb": _ruby,
    **dict.fromkeys((".java", ".kt"), _reader(_JAVA)),
    ".php": _reader(_PHP),
}
