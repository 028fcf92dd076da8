"""Tests as they stand in source files: their names, what they assert, whether they run at all. Pure.

Python is parsed. Other languages are read by the forms in which their test runners want tests to be written, which is
enough to see that one is gone, skipped or empty; nothing is decided by it but what a person is told.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

_FOLDERS = frozenset({"test", "tests", "spec", "specs", "__tests__", "testing", "e2e"})
_NAMES = re.compile(
    r"test_.*\.py|.*_test\.(?:py|go|rb|exs)|.*_spec\.rb|.*[.-](?:test|spec)\.[cm]?[jt]sx?"
    r"|.*Tests?\.(?:java|kt|php|cs)|test.*\.rs|.*\.rs",
    re.DOTALL,
)


@dataclass(frozen=True)
class Case:
    """One test."""

    assertions: int
    is_skipped: bool = False
    is_empty: bool = False


@dataclass(frozen=True)
class Suite:
    """The tests of one file."""

    by_name: dict[str, Case]
    is_focused: bool = False
    """Some are marked to be the only ones that run."""


def may_hold_tests(path: str) -> bool:
    """Whether a file may hold tests."""
    *folders, name = path.split("/")
    known = posixpath.splitext(name)[1] in _READERS
    return known and (bool(_NAMES.fullmatch(name)) or any(folder in _FOLDERS for folder in folders))


def suite_of(path: str, text: str) -> Suite:
    """The tests of a file, by their names; none where it cannot be read."""
    return _READERS.get(posixpath.splitext(path)[1], _none)(text)


def _none(_text: str) -> Suite:
    return Suite({})


# Python

_PYTHON_SKIPS = frozenset(
    {"skip", "skipif", "skipIf", "skipUnless", "skipTest", "xfail", "expectedFailure", "SkipTest"}
)


def _python(text: str) -> Suite:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return Suite({})
    is_skipped = any(_skips_all(statement) for statement in tree.body)
    return Suite(dict(_python_tests(tree.body, "", is_skipped=is_skipped)))


def _python_tests(body: list[ast.stmt], prefix: str, *, is_skipped: bool) -> Iterator[tuple[str, Case]]:
    for statement in body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name.startswith("test"):
                skipped = is_skipped or _is_marked(statement.decorator_list) or _skips(statement.body)
                yield prefix + name, _python_test(statement.body, is_skipped=skipped)
            case ast.ClassDef(name=name):
                all_of_it = is_skipped or _is_marked(statement.decorator_list)
                all_of_it = all_of_it or any(_skips_all(one) for one in statement.body)
                yield from _python_tests(statement.body, f"{prefix}{name}.", is_skipped=all_of_it)


def _python_test(body: list[ast.stmt], *, is_skipped: bool) -> Case:
    reached = body
    for position, statement in enumerate(body):
        if isinstance(statement, ast.Return):  # what follows is never run
            reached = body[:position]
            break
    is_empty = all(isinstance(one, ast.Pass) or _is_idle(one) for one in reached)
    return Case(sum(_is_assertion(node) for one in reached for node in ast.walk(one)), is_skipped, is_empty)


def _is_idle(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Assert(test=test):
            return _is_always_true(test)
        case _:
            return False


def _is_assertion(node: ast.AST) -> bool:
    match node:
        case ast.Assert(test=test):
            return not _is_always_true(test)
        case ast.Call(func=ast.Attribute(attr=name)) | ast.Call(func=ast.Name(id=name)):
            return name.startswith("assert") or name in ("raises", "warns", "fail")
        case _:
            return False


def _is_always_true(test: ast.expr) -> bool:
    match test:
        case ast.Constant(value=value):
            return bool(value)
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(_is_always_true(one) for one in values)
        case _:
            return False


def _is_marked(decorators: list[ast.expr]) -> bool:
    return any(_last_name(one) in _PYTHON_SKIPS for one in decorators)


def _skips(body: list[ast.stmt]) -> bool:
    """Whether a test skips itself, at the top of its body."""
    for statement in body:
        match statement:
            case ast.Expr(value=ast.Call() as call) if _last_name(call) in _PYTHON_SKIPS:
                return True
            case ast.Raise(exc=ast.expr() as raised) if _last_name(raised) in _PYTHON_SKIPS:
                return True
    return False


def _skips_all(statement: ast.stmt) -> bool:
    """Whether a statement of a module or a class skips all that is in it."""
    match statement:
        case ast.Assign(targets=[ast.Name(id="__test__")], value=ast.Constant(value=False)):
            return True
        case ast.Assign(targets=[ast.Name(id="pytestmark")], value=value):
            marks = value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]
            return _is_marked(marks)
        case _:
            return _skips([statement])


def _last_name(node: ast.expr) -> str:
    while isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


# Languages that are read by their forms


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
        ends = [found.start() for found in starts[1:]] + [len(plain)]
        left_out = form.leaves_out is not None and form.leaves_out.search(text) is not None
        found: dict[str, Case] = {}
        for start, end in zip(starts, ends, strict=True):
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


_READERS: dict[str, Callable[[str], Suite]] = {
    ".py": _python,
    **dict.fromkeys((".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts"), _by_form(_SCRIPT)),
    ".go": _by_form(_GO),
    ".rs": _by_form(_RUST),
    ".rb": _ruby,
    **dict.fromkeys((".java", ".kt"), _by_form(_JAVA)),
    ".php": _by_form(_PHP),
}
