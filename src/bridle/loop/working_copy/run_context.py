"""The context: what the loop's performers work with. Made once for a working copy, and changed by nobody."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bridle.engine.hooks.run_hooks import Hooks
from bridle.loop.plan.model import Plan
from bridle.loop.progress_events import Listener, unwatched
from bridle.loop.settings.model import Settings
from bridle.run.direnv import workspace_variables
from bridle.wire.mask import Mask, secret_values
from bridle.workspace.git import Git

Say = Callable[[str], None]


def _say_nothing(_line: str) -> None:
    """Where nobody listens."""


@dataclass(frozen=True)
class RunContext:
    """One working copy, the run that works in it, and what both were given."""

    git: Git
    """In `folder`."""
    folder: Path
    """The top of the working copy: agents and checks work here."""
    environment: Mapping[str, str]
    """The whole environment of what is started; nothing is inherited besides."""
    settings: Settings
    plan: Plan
    base: str
    """The commit that the run began at."""
    run_folder: Path
    """Where the run keeps its journal; its name is the run's id."""
    mask: Mask
    """Takes out what must be in no prompt, journal, receipt or commit."""
    home: Path | None = None
    """The workspace that keeps logs and progress, where the working copy is only lent; None: that copy."""
    repository: Path | None = None
    """The person's own working copy, where this one is a worktree of the run's; None: it is that."""
    worker: int | None = None
    """Whose worktree it is, where several work side by side; None: the run's own."""
    came_from: str | None = None
    """The branch that was checked out when the run began."""
    hooks: Hooks | None = None
    """The native hooks; None where none are to run."""
    say: Say = _say_nothing
    """A line for the person who watches."""
    watch: Listener = unwatched
    """What happens, as it happens, for whoever shows it."""

    @property
    def run(self) -> str:
        """The run's id."""
        return self.run_folder.name

    @property
    def workspace(self) -> Path:
        """The folder whose `.ralph` this context writes to."""
        return self.home or self.folder

    @property
    def progress_folder(self) -> Path:
        """The folder whose `.ralph` keeps what was learned, for whoever works in this repository next."""
        return self.repository or self.workspace

    def in_working_copy(self, folder: Path) -> RunContext:
        """The same run in another working copy; its logs stay where they are."""
        return replace(self, git=Git(folder, self.environment), folder=folder, home=self.workspace)

    def with_variables(self, variables: Mapping[str, str | None]) -> RunContext:
        """The same with more variables, or without some (None); what is secret among them is masked too."""
        if not variables:
            return self
        merged = {**self.environment, **variables}
        environment = {name: value for name, value in merged.items() if value is not None}
        known = [*secret_values(self.environment), *secret_values(environment)]
        return replace(self, environment=environment, mask=Mask(known))


def run_context(
    folder: Path,
    *,
    environment: Mapping[str, str],
    settings: Settings,
    plan: Plan,
    base: str,
    run_folder: Path,
    say: Say = _say_nothing,
    watch: Listener = unwatched,
) -> RunContext:
    """The context of a working copy, whose top folder this is."""
    mask = Mask(secret_values(environment))
    git = Git(folder, environment)
    return RunContext(git, folder, environment, settings, plan, base, run_folder, mask, say=say, watch=watch)


async def with_direnv(given: RunContext) -> RunContext:
    """The same with what direnv sets in its folder, where the person has it and allows it."""
    return given.with_variables(await workspace_variables(given.folder, given.environment, given.say))
