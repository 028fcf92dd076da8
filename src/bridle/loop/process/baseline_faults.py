"""Checks that cannot start before any work: faults of the plan, which no agent can fix. Pure.

A script or a module that a task is to make is missing too, so only programs that were looked for on PATH count, and
known runners; of the guard also targets and scripts that its file does not define.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from bridle.ground.suggest import close_names
from bridle.loop.effect_results import CheckResult
from bridle.loop.effects import OF_GUARD, Check

_NOT_FOUND, _NOT_EXECUTABLE = 127, 126
# How shells and `env` name a program that is not on PATH: a word without a slash.
_SHELL = re.compile(
    r"^(?:\S*/)?(?:[a-z]*sh|env): (?:line )?(?:\d+: )?[\'‘\"]?([^\s/:\'’\"]+)[\'’\"]?: "
    r"(?:command not found|not found|No such file or directory)$",
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


def describe_faults(results: Iterable[CheckResult]) -> str:
    """Return which checks cannot start, why, and what to do; empty where all can."""
    faults = [(result, fault) for result in results if (fault := find_fault(result)) is not None]
    if not faults:
        return ""
    described = "; ".join(f"the check `{result.command}` cannot start: {fault}" for result, fault in faults)
    return (
        f"{described}. Nothing was spent. Correct the plan and run `bridle resume --replan`, or install"
        " what is missing and run `bridle resume`"
    )


def find_fault(result: CheckResult) -> str | None:
    """Return why a check cannot start; None where it ran, whatever it found."""
    output = result.output
    if result.passed:
        return None
    if result.exit_code == _NOT_FOUND and (match := _SHELL.search(output) or _ZSH.search(output)):
        return f"{match[1]!r} is not on PATH (exit code {result.exit_code})"
    if result.exit_code == _NOT_EXECUTABLE and (match := _NOT_PERMITTED.search(output)):
        return f"{match[0].strip()} (exit code {result.exit_code})"
    if match := _MAKE_PROGRAM.search(output):
        return f"{match[1]!r}, which make starts, is not on PATH"
    if (match := _NO_MODULE.search(output)) and close_names(match[1], _RUNNERS, cutoff=_TYPO_CUTOFF):
        return f"the Python that runs it has no module {match[1]!r}"
    if match := _NO_COMMAND.search(output):
        return f"{result.command.split()[0]!r} has no command {match[1]!r}"
    if result.owner == OF_GUARD and (match := _NO_TARGET.search(output)):
        return f"there is no target or script {match[1] or match[2]!r}"
    return None


def failed_setup(results: Sequence[CheckResult], checks: Sequence[Check]) -> CheckResult | None:
    """Return the setup command that failed before the checks could run."""
    commands = {check.command for check in checks}
    return next((result for result in results if result.command not in commands and not result.passed), None)
