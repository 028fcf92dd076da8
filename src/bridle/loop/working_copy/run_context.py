"""The context of a run: what performers, checks and protection work with. Immutable, one for a working copy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from bridle.engine.hooks.run_hooks import Hooks
from bridle.ground.git_folder import without_repository_variables
from bridle.loop.plan.model import Plan
from bridle.loop.progress_events import Listener, unwatched
from bridle.loop.run_inputs import move_path
from bridle.loop.settings.model import Settings
from bridle.loop.working_copy.run_records import RunRecords
from bridle.run.direnv import workspace_variables
from bridle.run.isolation.sandbox_rules import ChosenSandbox
from bridle.wire.mask import Mask, secret_values
from bridle.workspace.git import Git

Say = Callable[[str], None]


def _ignore(_line: str) -> None:
    """Discard a line."""


class RunContext(Struct, frozen=True):
    """One working copy and the run that works in it."""

    git: Git
    """Runs git in `folder`."""
    folder: Path
    """The top of the working copy, where agents and checks run."""
    environment: Mapping[str, str]
    """The whole environment of child processes; nothing else is inherited."""
    settings: Settings
    plan: Plan
    base: str
    """The commit at which the run began."""
    run_folder: Path
    """The folder of the journal; its name is the run's id."""
    mask: Mask
    """Removes secrets from prompts, journal, receipt and commits."""
    home: Path | None = None
    """The workspace of logs and progress, if `folder` is a temporary checkout; None: `folder` itself."""
    repository: Path | None = None
    """The user's working copy, if `folder` is a worktree of the run; None: `folder` itself."""
    worker: int | None = None
    """The worker that owns the worktree, in a parallel run; None: the run itself."""
    came_from: str | None = None
    """The branch that was checked out when the run began."""
    moved_from: tuple[str, str] | None = None
    """Where the user's working copy was when the run began, and where it is now, if it was moved or copied."""
    moved_back: tuple[str, ...] = ()
    """Files that a check had moved out of the working copy, and that this driver has put back."""
    changes_adopted: int = 0
    """How often changes of the user were added to the baseline; its newest record has this number."""
    journal_head: str | None = None
    """The sequence and head of the journal at the request of the commit that is made, such as `41 sha256:…`."""
    hooks: Hooks | None = None
    """The native hooks; None if hooks are off."""
    say: Say = _ignore
    """Prints a line for the user."""
    watch: Listener = unwatched
    """Receives progress events for display."""
    sandbox: ChosenSandbox = field(default_factory=ChosenSandbox)
    """Isolates agents, checks and setup commands."""
    records: RunRecords = field(default_factory=RunRecords)
    """What this driver recorded before agents; shared by all contexts of a run."""

    @property
    def run(self) -> str:
        """The run's id."""
        return self.run_folder.name

    @property
    def workspace(self) -> Path:
        """The folder whose `.ralph` holds the logs."""
        return self.home or self.folder

    @property
    def recorded_folder(self) -> str:
        """The path that `folder` had when the run began; records of the run are found by it."""
        return str(self.folder) if self.moved_from is None else move_path(str(self.folder), *self.moved_from[::-1])

    @property
    def progress_folder(self) -> Path:
        """The folder whose `.ralph` holds progress, for later agents in this repository."""
        return self.repository or self.workspace

    def in_working_copy(self, folder: Path) -> RunContext:
        """Return the context in another working copy; logs stay where they are."""
        return replace(self, git=self.git_in(folder), folder=folder, home=self.workspace)

    def git_in(self, folder: Path) -> Git:
        """Return a git for another working copy of the repository, which has the same configuration."""
        git = Git(folder, self.environment)
        git.named_files, git.known_trees = self.git.named_files, self.git.known_trees
        return git

    @property
    def read_only(self) -> tuple[Path, ...]:
        """What agents and checks must not change: the plan, journals, and programs that git starts outside."""
        plan = () if self.plan.path is None else (Path(self.plan.path),)
        return (*plan, self.run_folder.parent, *(self.folder / name for name in self.git.named_files))

    def with_variables(self, variables: Mapping[str, str | None]) -> RunContext:
        """Return the context with variables set or removed (None). Secrets among them are masked too."""
        if not variables:
            return self
        merged = {**self.environment, **variables}
        environment = without_repository_variables({name: value for name, value in merged.items() if value is not None})
        secrets = [*secret_values(self.environment), *secret_values(environment)]
        return replace(self, environment=environment, mask=Mask(secrets))


def run_context(
    folder: Path,
    *,
    environment: Mapping[str, str],
    settings: Settings,
    plan: Plan,
    base: str,
    run_folder: Path,
    came_from: str | None = None,
    moved_from: tuple[str, str] | None = None,
    hooks: Hooks | None = None,
    say: Say = _ignore,
    watch: Listener = unwatched,
    sandbox: ChosenSandbox | None = None,
) -> RunContext:
    """Return the context of the working copy whose top is `folder`."""
    environment = without_repository_variables(environment)
    return RunContext(
        Git(folder, environment),
        folder,
        environment,
        settings,
        plan,
        base,
        run_folder,
        Mask(secret_values(environment)),
        came_from=came_from,
        moved_from=moved_from,
        hooks=hooks,
        say=say,
        watch=watch,
        sandbox=sandbox or ChosenSandbox(),
    )


async def with_direnv(context: RunContext) -> RunContext:
    """Return the context with the variables of direnv, if it is installed and allowed in the folder."""
    variables = await workspace_variables(context.folder, context.environment, context.say, context.sandbox)
    context = context.with_variables(variables)
    return replace(context, sandbox=replace(context.sandbox, variables=frozenset(variables)))
