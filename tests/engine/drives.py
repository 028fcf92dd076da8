"""Runs to be driven: a real repository, a process, a scripted agent that does what its prompt says."""

from __future__ import annotations

import asyncio
import json
import subprocess
import textwrap
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bridle.engine.drive.driver import DriveOptions, DriveResult, drive
from bridle.engine.drive.performer import Performer
from bridle.engine.hooks.run_hooks import Hooks
from bridle.journal.format.entries import Entry
from bridle.journal.stores.create import NewRun, create_run
from bridle.journal.stores.file_reader import FileReader
from bridle.journal.stores.file_store import FileStore
from tests.engine.runs import PROOF, STAMP
from tests.fixtures.bridle_program import BRIDLE, run_bridle
from tests.run.agents import Agent, Script, init, result, says
from tests.workspace.repositories import git, repository

# A hang is a failure; a drive with a dozen git commands on a busy machine takes many seconds.
LIMIT_SECONDS = 120

PREAMBLE = """\
import asyncio
from datetime import datetime, timedelta

from bridle import EffectFailed, define_task

agent = define_task("agent", lambda args, task: {"kind": "agent", "title": "Agent", "agent": dict(args)})
shell = define_task("shell", lambda args, task: {
    "kind": "shell", "title": "Shell", "shell": {"command": args["command"]},
})
again = define_task("again", lambda args, task: {
    "kind": "shell", "title": "Again", "shell": {"command": args["command"]}, "idempotent": True,
})
free = define_task("free", lambda args, task: dict(args))

"""


def obedient() -> Script:
    """An agent that runs the lines of its prompt that begin with `$ `, and says so."""
    return Script().out(init()).obey().out(says("done as told"), result("done as told"))


@dataclass
class Drive:
    """One run in one repository."""

    folder: Path
    """The repository."""
    run: Path
    agent: Agent
    variables: dict[str, str] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        """What the driver and all that it starts see."""
        return {**self.agent.environment(), **self.variables}

    def drive(
        self, *, performers: Mapping[str, Performer] | None = None, hooks: bool = True, **manner: Any
    ) -> DriveResult:
        """Drive it in this process until it ends."""
        run_hooks = Hooks(self.folder, self.environment, enabled=hooks)

        async def main() -> DriveResult:
            async with asyncio.timeout(LIMIT_SECONDS):
                return await drive(
                    lambda: FileStore(self.run),
                    self.run,
                    run_hooks,
                    DriveOptions(**manner),
                    environment=self.environment,
                    say=self.said.append,
                    performers=performers,
                )

        return asyncio.run(main())

    def bridle(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the repository to its end."""
        return run_bridle(*arguments, cwd=self.folder, environment=self.environment, limit_seconds=LIMIT_SECONDS)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """The same, not waited for."""
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [str(BRIDLE), *arguments], cwd=self.folder, env=self.environment, stdout=pipe, stderr=pipe, text=True
        )

    def entries(self) -> list[Entry]:
        return list(FileReader(self.run).entries())

    def types(self) -> list[str]:
        """The types of all entries but the first, in short."""
        return [entry.type.removeprefix("BRIDLE_").removeprefix("EFFECT_") for entry in self.entries()[1:]]

    def output(self) -> Any:
        """What the process returned."""
        return FileReader(self.run).output()

    def effect(self, label: str) -> str:
        """The id of the effect with that label."""
        effects = FileReader(self.run).state().effects.values()
        return next(one.effect_id for one in effects if one.label == label)

    def result(self, label: str) -> dict[str, Any]:
        """The result.json of an effect."""
        document: dict[str, Any] = json.loads((self.run / "tasks" / self.effect(label) / "result.json").read_bytes())
        return document


def new_drive(
    folder: Path, source: str, *, script: Script | None = None, inputs: Any = None, has_git: bool = True
) -> Drive:
    """A run that was just created, in a repository with one commit."""
    place = folder / "repository"
    if has_git:
        repository(place)
        (place / ".git" / "info").mkdir(exist_ok=True)
        (place / ".git" / "info" / "exclude").write_text(".a5c/\n.ralph/\n")
    else:
        place.mkdir(parents=True)
    (place / ".a5c").mkdir()
    process = place / ".a5c" / "process.py"
    process.write_text(PREAMBLE + textwrap.dedent(source), encoding="utf-8")
    new = NewRun(run_id="r1", process_id="demo", entry=process, has_inputs=inputs is not None, inputs=inputs)
    run = create_run(place / ".a5c" / "runs", new, proof=PROOF, ulid="01M7EB7CMR70YKMF11ERZ6H9P6", created_at=STAMP)
    return Drive(place, run, (script or obedient()).install(folder / "bin"))


def worktrees(folder: Path) -> list[str]:
    """The working copies of a repository beside the first."""
    listed = git(folder, "worktree", "list", "--porcelain").split("\n\n")
    return [block for block in listed[1:] if block.strip()]


def refs(folder: Path) -> list[str]:
    """The refs that Bridle made."""
    return git(folder, "for-each-ref", "--format=%(refname)", "refs/bridle", "refs/heads/bridle").split()


def until(claim: Callable[[], object]) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while not claim():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.02)
