"""The tests of files in other languages than Python, read by the forms in which their runners want tests written. Pure.

That is enough to see that a test is gone, skipped or empty; nothing is decided by it but what a person is told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bridle.loop.protection.suites.suite import Case, Suite


@dataclass(frozen=True)
class _Form:
    start: re.Pattern[str]
    """Where a test begins; its group `name` is its name."""
    skip: re.Pattern[str]
    """What skips it, in its beginning or its body."""
    empty: re.Pattern[str]
    """What a test without anything in it looks like, from its beginning on."""
    assertion: re.Pattern[str]
    comment: re.Pattern[str]
    focus: re.Pattern[str] | None = None
    leaves_out: re.Pattern[str] | None = None
    """What takes the whole file out of the tests."""


def _by_form(form: _Form) -> Callable[[str], Suite]:
    def read(text: str) -> Suite:
        plain = form.comment.sub(" ", text)
        starts = list(form.start.finditer(plain))
        ends = [*(found.start() for found in starts[1:]), len(plain)]
        left_out = form.leaves_out is not None and form.leaves_out.search(text) is not None
        found: dict[str, Case] = {}
        for start, end in zip(starts, ends, strict=False):
            body = plain[start.start() : end]
            found[_unused(start["name"], found)] = Case(
                len(form.assertion.findall(body)),
                is_skipped=left_out or form.skip.search(body) is not None,
                is_empty=form.empty.match(body) is not None,
            )
        return Suite(found, form.focus is not None and form.focus.search(plain) is not None)

    return read


def _unused(name: str, found: Mapping[str, Case]) -> str:
    """Two tests of one name, in different groups, are two tests."""
    number = 2
    shown = name
    while shown in found:
        shown, number = f"{name} #{number}", number + 1
    return shown


_C_COMMENTS = re.compile(r"/\*.*?\*/|(?<![:\"'])//[^\n]*", re.DOTALL)
_SCRIPT = _Form(
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
_GO = _Form(
    start=re.compile(r"^func (?P<name>(?:Test|Fuzz|Example)\w*)\(", re.MULTILINE),
    skip=re.compile(r"\b\w+\.Skip(?:f|Now)?\("),
    empty=re.compile(r"func \w+\([^)]*\)\s*\{\s*\}"),
    assertion=re.compile(r"\bt\.(?:Error|Fatal|Fail)\w*\(|\b(?:assert|require|is)\.\w+\("),
    comment=_C_COMMENTS,
    leaves_out=re.compile(r"^//(?:go:build| \+build) ignore", re.MULTILINE),
)
_RUST = _Form(
    start=re.compile(
        r"(?:#\[[^\]]*\]\s*)*#\[(?:\w+::)*(?:test|rstest)\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:pub\s+)?(?:async\s+)?fn\s+(?P<name>\w+)"
    ),
    skip=re.compile(r"\A(?:#\[[^\]]*\]\s*)*?#\[(?:ignore|cfg\(any\(\)\))"),
    empty=re.compile(r"[^{]*\{\s*\}"),
    assertion=re.compile(r"\b(?:debug_)?assert\w*!|\bpanic!|\?;"),
    comment=_C_COMMENTS,
)
_RUBY = _Form(
    start=re.compile(
        r"^[ \t]*[xf]?(?:it|specify|example|scenario|test)[ (]+(?P<quote>['\"])(?P<name>.*?)(?P=quote)", re.MULTILINE
    ),
    skip=re.compile(r"\A[ \t]*x|^[ \t]*(?:skip|pending)\b|skip: ", re.MULTILINE),
    empty=re.compile(r"[^\n]*(?:do|\))?[ \t]*\n[ \t]*end\b"),
    assertion=re.compile(r"\bexpect\b|\bassert\w*|\brefute\w*|\.should\b|\bmust_\w+"),
    comment=re.compile(r"^[ \t]*#[^\n]*", re.MULTILINE),
    focus=re.compile(r"^[ \t]*f(?:it|describe|context)\b|, :?focus", re.MULTILINE),
)
_JAVA = _Form(
    start=re.compile(
        r"(?:@\w+(?:\([^)]*\))?\s+)*@(?:Test|ParameterizedTest)\b(?:\([^)]*\))?\s+(?:@\w+(?:\([^)]*\))?\s+)*"
        r"(?:(?:public|private|protected|static|final|fun|void)\s+)*(?P<name>\w+)\s*\("
    ),
    skip=re.compile(r"\A(?:@\w+(?:\([^)]*\))?\s+)*?@(?:Disabled|Ignore)\b|enabled\s*=\s*false"),
    empty=re.compile(r"[^{]*\{\s*\}"),
    assertion=re.compile(r"\b(?:assert\w*|verify|fail|should\w*)\s*[({]"),
    comment=_C_COMMENTS,
)
_PHP = _Form(
    start=re.compile(r"function (?P<name>test\w+)\s*\("),
    skip=re.compile(r"markTest(?:Skipped|Incomplete)\("),
    empty=re.compile(r"[^{]*\{\s*\}"),
    assertion=re.compile(r"(?:->|::)(?:assert|expect)\w*\("),
    comment=_C_COMMENTS,
)


def _ruby(text: str) -> Suite:
    """A method that is a test is read as if it had been written with its name in quotes."""
    return _by_form(_RUBY)(re.sub(r"(?m)^([ \t]*)def (test_\w+)", r'\1test "\2"', text))


BY_FORM: dict[str, Callable[[str], Suite]] = {
    **dict.fromkeys((".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts"), _by_form(_SCRIPT)),
    ".go": _by_form(_GO),
    ".rs": _by_form(_RUST),
    ".rb": _ruby,
    **dict.fromkeys((".java", ".kt"), _by_form(_JAVA)),
    ".php": _by_form(_PHP),
}
