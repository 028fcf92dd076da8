"""Real repositories with a plan, and a bench in them: what the performers of the loop work with in tests."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bridle.loop.effects import CheckArgs, ProtectArgs
from bridle.loop.performers.check import check
from bridle.loop.performers.protect import protect
from bridle.loop.plan.model import Plan, Task
from bridle.loop.protection import baseline
from bridle.loop.settings.model import Settings
from bridle.loop.working_copy.run_context import RunContext, run_context
from bridle.run.logs import exclude_from_git
from tests.workspace.repositories import git, write

RUN = "01jrun"


@dataclass
class Scene:
    """One repository, its plan and its run."""

    context: RunContext
    heard: list[str] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return self.context.folder

    def read(self, name: str) -> str:
        return (self.folder / name).read_text()

    def write(self, files: Mapping[str, str | bytes]) -> None:
        write(self.folder, dict(files))

    def git(self, *words: str) -> str:
        return git(self.folder, *words)

    def start(self) -> baseline.Baseline:
        return asyncio.run(baseline.record(self.context))

    def protect(self, *, may_edit: Sequence[str] = (), iteration: int = 1, **more: object) -> dict[str, Any]:
        args = {"task": "T", "iteration": iteration, "snapshot": None, "may_edit": list(may_edit), **more}
        return asyncio.run(protect(ProtectArgs.from_json(args), self.context)).as_json()

    def check(self, *commands: str, task: str = "T", when: str = "after") -> dict[str, Any]:
        listed = [{"command": command, "of": "task"} for command in commands]
        args = CheckArgs.from_json({"task": task, "iteration": 1, "when": when, "checks": listed})
        return asyncio.run(check(args, self.context)).as_json()

    def commit(self, title: str = "T") -> str:
        """A commit as the harness makes it."""
        self.git("add", "-A")
        self.git("commit", "-q", "-m", f"{title}\n\nBridle-Run: {RUN}\nBridle-Task: {title}\nBridle-Iteration: 1")
        return self.git("rev-parse", "HEAD").strip()


def scene(
    folder: Path,
    files: Mapping[str, str | bytes],
    *,
    checks: Sequence[str] = (),
    guard: Sequence[str] = (),
    may_edit: Sequence[str] = (),
    setup: Sequence[str] = (),
    untracked: Mapping[str, str | bytes] | None = None,
    environment: Mapping[str, str] | None = None,
    plan_path: str | None = None,
    **settings: Any,
) -> Scene:
    """A repository with one commit of these files, and a plan of two tasks with these checks."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    write(folder, dict(files))
    for name in files:
        if name.endswith(".sh"):
            (folder / name).chmod(0o755)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    exclude_from_git(folder)
    write(folder, dict(untracked or {}))
    described = {
        "checks": list(checks),
        "guard": list(guard),
        "may_edit": list(may_edit),
        "setup": list(setup),
        "plan_path": plan_path,
        "environment": dict(environment or {}),
        "settings": settings,
    }
    (folder / ".git" / DESCRIPTION).write_text(json.dumps(described))
    return reopen(folder)


DESCRIPTION = "scene.json"


def reopen(folder: Path) -> Scene:
    """The same scene in another process, or in a copy of its folder."""
    described = json.loads((folder / ".git" / DESCRIPTION).read_text())
    tasks = (Task("T", checks=tuple(described["checks"])), Task("Other", may_edit=tuple(described["may_edit"])))
    path = str(folder / described["plan_path"]) if described["plan_path"] else None
    plan = Plan("P", "", tasks, guard=tuple(described["guard"]), setup=tuple(described["setup"]), path=path)
    settings: dict[str, Any] = {
        name: tuple(v) if isinstance(v, list) else v for name, v in described["settings"].items()
    }
    heard: list[str] = []
    made = run_context(
        folder,
        environment=dict(os.environ) | described["environment"],
        settings=Settings(**settings),
        plan=plan,
        base=git(folder, "rev-list", "--max-parents=0", "HEAD").strip(),
        run_folder=folder / ".a5c" / "runs" / RUN,
        say=heard.append,
    )
    return Scene(made, heard)
