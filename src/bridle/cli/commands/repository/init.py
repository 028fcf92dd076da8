"""`bridle init`: detect how a repository is tested, and write its bridle.toml and a first plan."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bridle.cli.user_interface.terminal import print_document
from bridle.errors import AgentError, UsageError
from bridle.ground.git_folder import repository_top

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.loop.onboarding.candidates import Candidate, DetectedCommands

PLAN = "PLAN.md"
SCHEMA = "bridle.schema.json"


@click.command("init", short_help="Detect how this repository is tested; write bridle.toml and a first plan.")
@click.option(
    "--check", "commands", multiple=True, metavar="COMMAND", help="The test command, instead of the detected one."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
def command(*, commands: tuple[str, ...], as_json: bool) -> int:
    """Detect how this repository is tested, and write bridle.toml and a first PLAN.md, unless there is a plan.

    Editors check bridle.toml by bridle.schema.json, which is written too. Asks nothing and runs nothing.
    An existing file is not changed.
    """
    from bridle.loop.settings.bridle_toml import FILE_NAME

    here = Path.cwd()
    repository = repository_top(here)
    top = repository or here
    plan = _own_plan(top)
    existing = [name for name in (FILE_NAME, plan) if os.path.lexists(top / name)]
    _check_existing(top, existing, commands)
    found = _detect(top, here)
    checks = _choose_checks(top, commands, found, has_settings=FILE_NAME in existing)
    written = _write(top, existing, checks, found)
    report = _Report(top, checks, found, written, existing, plan=plan, is_repository=repository is not None)
    if as_json:
        print_document(report.document())
    for line in report.lines():
        click.echo(line, err=True)
    return 0


class _Report:
    """What was detected and written."""

    def __init__(
        self,
        top: Path,
        checks: Sequence[Candidate],
        found: DetectedCommands,
        written: list[str],
        existing: list[str],
        *,
        plan: str,
        is_repository: bool,
    ) -> None:
        self._top = top
        self._is_repository = is_repository
        self._checks = checks
        commands = {check.command for check in checks}
        self._others = [candidate for candidate in found.checks if candidate.command not in commands]
        self._setup = found.setup[:1]
        self._written = written
        self._existing = existing
        self._plan = plan
        self._next = f"bridle run {plan}"

    def document(self) -> dict[str, object]:
        return {
            "repository": str(self._top),
            "checks": [_candidate_document(candidate) for candidate in self._checks],
            "others": [_candidate_document(candidate) for candidate in self._others],
            "setup": [_candidate_document(candidate) for candidate in self._setup],
            "written": [str(self._top / name) for name in self._written],
            "kept": [str(self._top / name) for name in self._existing],
            "next": self._next,
        }

    def lines(self) -> list[str]:
        lines = [_candidate_line("check", candidate) for candidate in self._checks]
        lines += [_candidate_line("also found", candidate) for candidate in self._others]
        lines += [_candidate_line("setup", candidate) for candidate in self._setup]
        if not self._checks:
            lines.append("check       none found: without a check, tasks end as unverified. Set one with --check.")
        lines += [f"kept        {self._top / name} (it exists)" for name in self._existing]
        lines += [f"wrote       {self._top / name}" for name in self._written]
        if not self._is_repository:
            lines.append("note        not a git repository: run `git init` before the first run")
        return [*lines, f"next        edit {self._plan}, then: {self._next}"]


def _candidate_document(candidate: Candidate) -> dict[str, object]:
    return {"command": candidate.command, "reason": candidate.reason, "is_here": candidate.is_installed}


def _candidate_line(title: str, candidate: Candidate) -> str:
    missing = "" if candidate.is_installed else "; its program is not on PATH"
    return f"{title:<11} {candidate.command}  ({candidate.reason}{missing})"


def _check_existing(top: Path, existing: list[str], commands: Sequence[str]) -> None:
    """Raise if there is nothing to write, or if --check cannot be written."""
    from bridle.loop.settings.bridle_toml import FILE_NAME

    if len(existing) == 2:
        raise UsageError(
            f"{existing[0]} and {existing[1]} exist in {top}; nothing was written",
            remedy=f"Edit them, then run `bridle run {existing[1]}`.",
        )
    if commands and FILE_NAME in existing:
        raise UsageError(
            f"{top / FILE_NAME} exists; --check was not written into it",
            remedy="Add the command to its `checks`, or move the file.",
        )


def _choose_checks(
    top: Path, commands: Sequence[str], found: DetectedCommands, *, has_settings: bool
) -> list[Candidate]:
    """Return the commands of --check, else those of an existing bridle.toml, else the likeliest detected one."""
    from bridle.ground.home import bridle_home
    from bridle.loop.onboarding.candidates import Candidate
    from bridle.loop.settings.bridle_toml import FILE_NAME, load_settings
    from bridle.loop.settings.value_kinds import TEXTS

    if commands:
        try:
            return [Candidate(command, "from --check") for command in TEXTS.read(list(commands))]
        except ValueError as error:
            raise UsageError(f"--check must be a command, {error}") from error
    if has_settings:
        settings = load_settings(top, bridle_home(os.environ))
        return [Candidate(command, f"from {FILE_NAME}") for command in settings.checks]
    return [found.check] if found.check is not None else []


def _detect(top: Path, here: Path) -> DetectedCommands:
    """Detect the commands at the top of the repository, else in the current folder."""
    from bridle.loop.onboarding.candidates import Candidate, DetectedCommands
    from bridle.loop.onboarding.detect import detect

    found = detect(top)
    if found.checks or here == top:
        return found
    below = here.relative_to(top)
    inside = detect(here)

    def prefixed(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
        import shlex

        prefix = f"cd {shlex.quote(str(below))} && "
        return tuple(
            Candidate(prefix + item.command, f"{below}: {item.reason}", item.is_installed) for item in candidates
        )

    return DetectedCommands(prefixed(inside.checks), prefixed(inside.setup))


def _write(top: Path, existing: list[str], checks: Sequence[Candidate], found: DetectedCommands) -> list[str]:
    """Write the missing files and return their names."""
    from bridle.ground import disk
    from bridle.loop.onboarding.templates import first_plan, first_settings
    from bridle.loop.settings.bridle_toml import FILE_NAME

    schema = None if FILE_NAME in existing else _write_schema(top)
    commands = [check.command for check in checks]
    others = [candidate for candidate in found.checks if candidate.command not in commands]
    has_agents_file = (top / "AGENTS.md").exists()
    texts = {
        FILE_NAME: first_settings(checks, others, found.setup[0] if found.setup else None, _agent(), schema=schema),
        PLAN: first_plan(top.name or "This repository", commands, has_agents_file=has_agents_file),
    }
    written = [name for name in texts if name not in existing and (name != PLAN or _own_plan(top) == PLAN)]
    for name in written:
        disk.write_new(top / name, texts[name].encode("utf-8"), mode=0o644)
    return [*written, SCHEMA] if schema is not None else written


def _own_plan(top: Path) -> str:
    """Return the plan that is there, in any format, or the name of the one to write."""
    from bridle.loop.plan.read_plan import DEFAULT_NAMES

    return next((name for name in DEFAULT_NAMES if os.path.lexists(top / name)), PLAN)


def _write_schema(top: Path) -> str | None:
    """Write the schema of the settings, for editors, over an older one at most; return its name, or None."""
    from bridle.cli.commands.reference.schema import write_schema
    from bridle.loop.settings.toml_schema import settings_schema

    try:
        write_schema(settings_schema(), top / SCHEMA)
    except UsageError:
        return None  # a file of the user has that name
    return SCHEMA


def _agent() -> str | None:
    """Return the first installed agent to write into the file, or None for the default."""
    from bridle.loop.settings.model import AGENTS
    from bridle.run.locate import find_program

    for name in AGENTS:
        if name == "bridle-agent":
            continue  # always installed: says nothing about what the user uses
        try:
            find_program(name, os.environ)
        except AgentError:
            continue
        return None if name == AGENTS[0] else name
    return None
