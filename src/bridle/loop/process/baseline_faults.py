"""Checks that cannot start before any work: faults of the plan, which no agent can fix. Pure.

A script or a module that a task is to make is missing too, so only programs that were looked for on PATH count, known
runners, and lines that a shell cannot parse; of the guard also targets, files and folders that are not there and that
no task names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from bridle.ground.suggest import close_names
from bridle.loop.effect_results import CheckResult
from bridle.loop.effects import OF_GUARD, Check

_NOT_FOUND, _NOT_EXECUTABLE = 127, 126
# How shells, and programs that start others, name a program that is not on PATH: a word without a slash.
_SHELL = re.compile(
    r"^(?:\S*/)?[a-z]*sh: (?:line )?(?:\d+: )?[\'\"]?([^\s/:\'\"]+)[\'\"]?: (?:command not found|not found)$",
    re.MULTILINE,
)
_STARTER = re.compile(
    r"^(?:\S*/)?(?:env|nice|nohup|setsid|stdbuf|time|timeout|xargs): (?:failed to run command |cannot run |failed to"
    r" execute )?[\'‘\"]?([^\s/:\'’\"]+)[\'’\"]?: No such file or directory$",
    re.MULTILINE,
)
_ZSH = re.compile(r"^(?:\S*/)?zsh:\d+: command not found: (\S+)$", re.MULTILINE)
_NOT_PERMITTED = re.compile(r"^.*: Permission denied$", re.MULTILINE)
_MAKE_PROGRAM = re.compile(r"^g?make(?:\[\d+\])?: ([^\s/:]+): No such file or directory$", re.MULTILINE)
_RUNNERS = (
    *("pytest", "unittest", "nose2", "tox", "nox", "coverage", "mypy", "pyright", "ruff", "flake8", "pylint", "black"),
    *("behave", "pip"),
)
_NO_MODULE = re.compile(r"No module named \'?(\w+)")
# As close as a runner's name with a letter that is missing, doubled or swapped.
_TYPO_CUTOFF = 0.81
# npm, cargo and go; a script or an alias that a task may make has other messages.
_NO_COMMAND = re.compile(
    r"^(?:Unknown command: \"|error: no such command: `|go )(\S+?)(?:\"|`|: unknown command)", re.MULTILINE
)
_NO_TARGET = re.compile(
    r"make(?:\[\d+\])?: \*\*\* No rule to make target \'([^\']+)\'\.  Stop|Missing script: \"([^\"]+)\""
)
# A line that a shell cannot parse; in a script that is a file, the message begins with the name of the file.
_NO_SYNTAX = re.compile(
    r"^(?:\S*/)?[a-z]*sh: (?:-c: )?(?:line )?\d+: ((?:[Ss]yntax error|unexpected EOF).*)$|^zsh:\d+: (parse error.*)$",
    re.MULTILINE,
)
# A file or a folder that the command names: pytest, Python, node, shells, cd and make.
_NO_FILE = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^ERROR: (?:file or directory )?not found: (.+)$",
        r"can\'t open file \'([^\']+)\': \[Errno 2\]",
        r"^Could not find \'([^\']+)\'$",
        r"Error: Cannot find module \'([^\']+)\'(?=[\s\S]*requireStack: \[\])",
        r"^(?:\S*/)?[a-z]*sh: (?:line )?(?:\d+: )?cannot open (.+): No such file$",
        r"^(?:\S*/)?[a-z]*sh: (?:line )?(?:\d+: )?cd: can\'t cd to (.+)$",
        r"^(?:\S*/)?[a-z]*sh: (?:line )?(?:\d+: )?(?:cd: )?(.+): (?:No such file or directory|not found)$",
        r"^g?make(?:\[\d+\])?: \*\*\* ([^\s:]+): No such file or directory\.  Stop",
        r"^npm (?:error|ERR!) enoent Could not read (package\.json)",
    )
)
_NO_MAKEFILE = re.compile(r"make(?:\[\d+\])?: \*\*\* No targets specified and no makefile found")
_NO_OPTION = re.compile(r"^.+: error: (unrecognized arguments: .+)$", re.MULTILINE)


def describe_faults(results: Iterable[CheckResult], wanted: str | None = None) -> str:
    """Return which checks cannot start, why, and what to do; empty where all can.

    `wanted` is what the tasks are to do: what they name may be missing before any work. None: a run of an earlier
    version, which knew fewer faults.
    """
    faults = [(result, fault) for result in results if (fault := find_fault(result, wanted)) is not None]
    if not faults:
        return ""
    described = "; ".join(f"the check `{result.command}` cannot start: {fault}" for result, fault in faults)
    return (
        f"{described}. Nothing was spent. Correct the plan and run `bridle resume --replan`, or install"
        " what is missing and run `bridle resume`"
    )


def find_fault(result: CheckResult, wanted: str | None = "") -> str | None:
    """Return why a check cannot start; None where it ran, whatever it found."""
    if result.passed:
        return None
    return _missing_program(result) or _wrong_line(result, wanted) or _missing_name(result, wanted)


def _missing_program(result: CheckResult) -> str | None:
    """Return which program cannot be started."""
    output, code = result.output, result.exit_code
    if code == _NOT_FOUND and (match := _SHELL.search(output) or _STARTER.search(output) or _ZSH.search(output)):
        return f"{match[1]!r} is not on PATH (exit code {code})"
    if code == _NOT_EXECUTABLE and (match := _NOT_PERMITTED.search(output)):
        return f"{match[0].strip()} (exit code {code})"
    if match := _MAKE_PROGRAM.search(output):
        return f"{match[1]!r}, which make starts, is not on PATH"
    if (match := _NO_MODULE.search(output)) and close_names(match[1], _RUNNERS, cutoff=_TYPO_CUTOFF):
        return f"the Python that runs it has no module {match[1]!r}"
    return None


def _wrong_line(result: CheckResult, wanted: str | None) -> str | None:
    """Return what the program that was started says about its own line."""
    output = result.output
    if match := _NO_COMMAND.search(output):
        return f"{result.command.split()[0]!r} has no command {match[1]!r}"
    if wanted is None:
        return None
    if match := _NO_SYNTAX.match(output.lstrip()):  # the shell reads the whole line before it starts anything
        return f"the shell cannot read it: {match[1] or match[2]}"
    if result.owner == OF_GUARD and (match := _NO_OPTION.search(output)):
        return match[1]
    return None


def _missing_name(result: CheckResult, wanted: str | None) -> str | None:
    """Return what the guard names and is not there, unless a task is to make it."""
    if result.owner != OF_GUARD:
        return None
    target = _NO_TARGET.search(result.output)
    if target is not None and not _is_wanted(name := target[1] or target[2], wanted):
        return f"there is no target or script {name!r}"
    if wanted is None:
        return None
    if _NO_MAKEFILE.search(result.output) and "akefile" not in wanted:
        return "there is no Makefile"
    found = (match[1] for pattern in _NO_FILE if (match := pattern.search(result.output)))
    named = (name for name in found if _last_part(name) in result.command or result.command.startswith("npm "))
    missing = next((name for name in named if not _is_wanted(name, wanted)), None)
    return None if missing is None else f"there is no {missing}"


def _is_wanted(name: str, wanted: str | None) -> bool:
    """Return whether a task names a file by the last part of its path, or a target in a code span."""
    last = re.escape(_last_part(name))
    is_word = re.fullmatch(r"[\w-]+", _last_part(name)) is not None
    pattern = rf"`[^`\n]*(?<![\w.-]){last}(?![\w-])[^`\n]*`" if is_word else rf"(?<![\w.-]){last}(?![\w-])"
    return wanted is not None and re.search(pattern, wanted) is not None


def _last_part(name: str) -> str:
    return name.split("::")[0].rstrip("/").rpartition("/")[2]


def failed_setup(results: Sequence[CheckResult], checks: Sequence[Check]) -> CheckResult | None:
    """Return the setup command that failed before the checks could run."""
    commands = {check.command for check in checks}
    return next((result for result in results if result.command not in commands and not result.passed), None)
