"""Code in the line of a check, such as `node -e "…"`: what it loads or reads is the work that it asks about. Pure.

The line itself says what is expected. These files stay protected: those named like a test or an expected result, those
that the code executes as text, data beside other data or beside code of the project, which may be what the code has to
return, and code that is loaded where the line itself compares nothing.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Collection, Iterator

from bridle.loop.protection.shell_commands import Simple, simple_commands

_PROGRAM = re.compile(r"((?:python|pypy)[0-9.]*|node|nodejs|bun|deno|ruby|perl|php|lua[0-9.]*|Rscript)")
_FLAGS = frozenset({"-c", "-e", "-E", "-p", "-pe", "-r", "--eval", "--print", "eval"})
_SOURCE = re.compile(r"\.(?:py|[cm]?[jt]s|[jt]sx|rb|p[lm]|php|lua|R)$")
_EXECUTES = re.compile(
    r"\b(?:exec|execfile|execSync|eval|run_path|run_module|subprocess|system|popen|spawn\w*|child_process|importlib"
    r"|runInNewContext|runInThisContext|load_source|\w*FileLoader|instance_eval|class_eval|dofile|loadfile|do"
    r"|Function|Script|Worker|doctest|testfile|test_file|compile|qx|passthru|shell_exec|open3|execvp?|execute|Command|_load"
    r"|node:test)\b|`|\$\("
)
_STRING = re.compile(r"['\"]([^'\"\n]+)['\"]")
_COMPARES = re.compile(
    r"[=!<>]=|=~|\s[<>]\s|assert|[eE]qual|\bok\(|\b(?:match|expect|test|throws|is|in|not|isinstance)\b"
)
# Modules that only parse or compare; what else Python imports may be the project's own.
_PARSERS = sys.stdlib_module_names | {
    "yaml",
    "toml",
    "tomli",
    "lxml",
    "bs4",
    "ruamel",
    "orjson",
    "ujson",
    "PIL",
    "pypdf",
}
_IMPORTS = re.compile(r"(?:^|[;\n])\s*(?:from\s+([\w.]+)\s+import\s+(\w+)|import\s+([\w., ]+))")
_OWN = re.compile(
    r"(?:require\w*|import|from|include|load|dofile|source)\b[\s(]*['\"]\.{0,2}/?[\w./-]+(?<!\.json)['\"]"
)
_BUILT_IN = re.compile(r"(?:require|import|from)\b[\s(]*['\"](?:node:)?[\w/-]+['\"]")
_DECIDES = re.compile(
    r"(?:^|[/_.-])(?:ref|oracle|cases?|answers?)(?=[_.-])|tests?|spec|check|verif|valid|lint|assert|accept|approv|expect|want|golden|snapshot|fixture|reference|baseline",
    re.IGNORECASE,
)


def inline_codes(simple: Simple) -> Iterator[str]:
    """Yield the code that a command passes to an interpreter as an argument."""
    name = next(iter(simple.words), "")
    for position, word in enumerate(simple.words[:-1]):
        if word in _FLAGS and _PROGRAM.fullmatch(posixpath.basename(name)):
            yield simple.words[position + 1]
        if not word.startswith("-"):
            name = word


def words_of_code(commands: Collection[Simple], line: str) -> dict[Simple, str]:
    """Return what the code of these commands becomes if it is read as shell lines, each with its code."""
    return {
        inner: code
        for simple in commands
        for code in inline_codes(simple)
        if not _EXECUTES.search(code) and "`" not in line
        for inner in simple_commands(code, simple.folder)
    }


def strings_of_executing_code(commands: Collection[Simple]) -> Iterator[Simple]:
    """Yield the texts in code that executes texts or programs, each as a command."""
    for simple in commands:
        for code in inline_codes(simple):
            for text in _STRING.findall(code) if _EXECUTES.search(code) else ():
                yield from simple_commands(text, simple.folder)


def imported_modules(code: str) -> Iterator[str]:
    """Yield the names of the modules that code in Python imports."""
    for package, name, modules in _IMPORTS.findall(code):
        if package:
            yield f"{package}.{name}"
        yield from (module.split()[0] for module in modules.split(",") if module.split())


def defining_files(names: Collection[str], code: str) -> set[str]:
    """Return those of the files that a piece of code names which say what is expected."""
    data = {name for name in names if not _SOURCE.search(name)}
    named = {name for name in names if decides(name)}
    if len(names) > 1 or (_loads_own(code) and not _COMPARES.search(code)):
        return {*names}
    return named | (data if _loads_own(code) else set())


def decides(name: str) -> bool:
    """Return whether a file is named like a test or an expected result."""
    return _DECIDES.search(name) is not None


def _loads_own(code: str) -> bool:
    """Return whether code loads what may be a module of the project."""
    plain = _BUILT_IN.sub("", code)
    modules = (module.split(".")[0] for module in imported_modules(code))
    return _OWN.search(plain) is not None or any(module not in _PARSERS for module in modules)
