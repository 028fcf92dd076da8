"""`bridle init`: look at a repository, and write its bridle.toml and a first plan."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bridle.errors import AgentError, UsageError
from bridle.ground.git_folder import repository_top

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.loop.onboarding.candidates import Candidate, DetectedCommands

PLAN = "PLAN.md"


@click.command("init", short_help="Look at this repository and write bridle.toml and a first plan.")
@click.option(
    "--check", "given", multiple=True, metavar="COMMAND", help="The command that tests it, in place of what is found."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
def command(*, given: tuple[str, ...], as_json: bool) -> int:
    """Find out how this repository is tested, and write bridle.toml and a first PLAN.md.

    Nothing is asked and nothing is run. A file that is there stays as it is.
    """
    from bridle.loop.settings.bridle_toml import FILE_NAME

    here = Path.cwd()
    repository = repository_top(here)
    top = repository or here
    kept = [name for name in (FILE_NAME, PLAN) if os.path.lexists(top / name)]
    _refuse(top, kept, given)
    found = _look(top, here)
    checks = _chosen(top, given, found, has_settings=FILE_NAME in kept)
    written = _write(top, kept, checks, found)
    report = _Report(top, checks, found, written, kept, is_repository=repository is not None)
    if as_json:
        click.echo(json.dumps(report.document()))
    for line in report.lines():
        click.echo(line, err=True)
    return 0


class _Report:
    """What was found and done."""

    def __init__(
        self,
        top: Path,
        checks: Sequence[Candidate],
        found: DetectedCommands,
        written: list[str],
        kept: list[str],
        *,
        is_repository: bool,
    ) -> None:
        self._top = top
        self._is_repository = is_repository
        self._checks = checks
        chosen = {one.command for one in checks}
        self._others = [one for one in found.checks if one.command not in chosen]
        self._setup = found.setup[:1]
        self._written = written
        self._kept = kept
        self._next = f"bridle run {PLAN}"

    def document(self) -> dict[str, object]:
        """For programs."""
        return {
            "repository": str(self._top),
            "checks": [_shown(one) for one in self._checks],
            "others": [_shown(one) for one in self._others],
            "setup": [_shown(one) for one in self._setup],
            "written": [str(self._top / name) for name in self._written],
            "kept": [str(self._top / name) for name in self._kept],
            "next": self._next,
        }

    def lines(self) -> list[str]:
        """For people."""
        lines = [_told("check", one) for one in self._checks]
        lines += [_told("also found", one) for one in self._others]
        lines += [_told("setup", one) for one in self._setup]
        if not self._checks:
            lines.append("check       none was found: without one, work ends as unverified. Name it with --check.")
        lines += [f"kept        {self._top / name} (it was there)" for name in self._kept]
        lines += [f"wrote       {self._top / name}" for name in self._written]
        if not self._is_repository:
            lines.append("note        this is no git repository yet: `git init` before the first run")
        return [*lines, f"next        edit {PLAN}, then: {self._next}"]


def _shown(one: Candidate) -> dict[str, object]:
    return {"command": one.command, "reason": one.reason, "is_here": one.is_installed}


def _told(what: str, one: Candidate) -> str:
    missing = "" if one.is_installed else "; its program is not on PATH"
    return f"{what:<11} {one.command}  ({one.reason}{missing})"


def _refuse(top: Path, kept: list[str], given: Sequence[str]) -> None:
    """Say what is there, rather than overwrite it or leave out what was asked for."""
    from bridle.loop.settings.bridle_toml import FILE_NAME

    if len(kept) == 2:
        raise UsageError(
            f"{kept[0]} and {kept[1]} are in {top} already, and nothing was written",
            remedy=f"Edit them, or move one away. `bridle run {PLAN}` begins.",
        )
    if given and FILE_NAME in kept:
        raise UsageError(
            f"{top / FILE_NAME} is there already, so --check was not written into it",
            remedy="Write the command into its `checks`, or move the file away.",
        )


def _chosen(top: Path, given: Sequence[str], found: DetectedCommands, *, has_settings: bool) -> list[Candidate]:
    """The commands to take: those given, those of a bridle.toml that is there, or the likeliest that was found."""
    from bridle.ground.home import bridle_home
    from bridle.loop.onboarding.candidates import Candidate
    from bridle.loop.settings.bridle_toml import FILE_NAME, load_settings
    from bridle.loop.settings.value_kinds import TEXTS

    if given:
        try:
            return [Candidate(one, "given by --check") for one in TEXTS.read(list(given))]
        except ValueError as error:
            raise UsageError(f"--check must be a command, {error}") from error
    if has_settings:
        settings = load_settings(top, bridle_home(os.environ))
        return [Candidate(one, f"{FILE_NAME} says so") for one in settings.checks]
    return [found.check] if found.check is not None else []


def _look(top: Path, here: Path) -> DetectedCommands:
    """What the repository says about itself; where its top says nothing, what this folder in it says."""
    from bridle.loop.onboarding.candidates import Candidate, DetectedCommands
    from bridle.loop.onboarding.detect import detect

    found = detect(top)
    if found.checks or here == top:
        return found
    below = here.relative_to(top)
    inside = detect(here)

    def moved(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
        import shlex

        lead = f"cd {shlex.quote(str(below))} && "
        return tuple(Candidate(lead + one.command, f"{below}: {one.reason}", one.is_installed) for one in candidates)

    return DetectedCommands(moved(inside.checks), moved(inside.setup))


def _write(top: Path, kept: list[str], checks: Sequence[Candidate], found: DetectedCommands) -> list[str]:
    """Write the files that are missing; gives their names."""
    from bridle.ground import disk
    from bridle.loop.onboarding.templates import first_plan, first_settings
    from bridle.loop.settings.bridle_toml import FILE_NAME

    others = [one for one in found.checks if one.command not in {chosen.command for chosen in checks}]
    has_agents_file = (top / "AGENTS.md").exists()
    texts = {
        FILE_NAME: first_settings(checks, others, found.setup[0] if found.setup else None, _agent()),
        PLAN: first_plan(
            top.name or "This repository", [one.command for one in checks], has_agents_file=has_agents_file
        ),
    }
    written = [name for name in texts if name not in kept]
    for name in written:
        disk.write_new(top / name, texts[name].encode("utf-8"), mode=0o644)
    return written


def _agent() -> str | None:
    """The agent to name in the file: the first that is installed, unless it is the default or there is none."""
    from bridle.loop.settings.model import AGENTS
    from bridle.run.locate import locate

    for name in AGENTS:
        if name == "bridle-agent":
            continue  # it is always here, and says nothing about what the person uses
        try:
            locate(name, os.environ)
        except AgentError:
            continue
        return None if name == AGENTS[0] else name
    return None
