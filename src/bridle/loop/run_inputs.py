"""The inputs of a run of the loop, frozen into its journal when it is created."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from bridle.errors import JournalBroken, UsageError
from bridle.ground.json_fields import JsonFields
from bridle.journal.format import layout
from bridle.journal.stores.file_store import FileStore
from bridle.journal.stores.store import Store
from bridle.loop.settings.limits import Limits

if TYPE_CHECKING:  # slow to import; `bridle status` needs neither plan nor settings
    from bridle.loop.plan.model import Plan
    from bridle.loop.settings.model import Settings

PROCESS_ID = "bridle/loop"
# The entry with a plan that replaces that of the run.
REPLAN = "BRIDLE_LOOP_REPLAN"
# Raise it when a text changes that the process writes into arguments or the receipt. A replay compares such texts only
# in runs of the same wording; in others it compares what was decided. Runs of version 0.1.0 have none: 1.
WORDING = 9
# Since this one, the process decides as it does now: tasks whose merge was rejected get turns, summaries do not
# overlap, the work of a task that asked is set aside only before another task starts.
WORDING_OF_DECISIONS = 4
# Since this one, every check runs once before the first agent.
WORDING_OF_BASELINE = 7
# Since this one, an agent that cannot be used costs no iteration, and a guard that names a missing file is a fault.
WORDING_OF_WORK = 8


class RunPlace(Struct, frozen=True):
    """Where a run works and with which limits it began: its inputs without plan and settings."""

    repository: str
    """The top of the user's working copy."""
    base: str
    """The commit that the run starts from."""
    came_from: str | None
    """The branch that was checked out before."""
    worktrees: tuple[str, ...]
    """The run's own worktree, and one for each parallel worker; empty where it works in the user's copy."""
    limits: Limits
    recorded_repository: str | None = None
    """Where the user's working copy was when the run was created, if it is elsewhere now."""
    is_draft: bool = False
    """Whether the pull request of the run is to be a draft."""

    @property
    def workspaces(self) -> tuple[Path, ...]:
        """The folders in which its agents work and log."""
        return _workspaces(self.repository, self.worktrees)


class RunInputs(Struct, frozen=True):
    """What a run works on."""

    run: str
    """The run's id."""
    repository: str
    """The top of the user's working copy."""
    base: str
    """The commit that the run starts from."""
    branch: str
    came_from: str | None
    """The branch that was checked out before."""
    plan: Plan
    settings: Settings
    worktrees: tuple[str, ...] = ()
    """The run's own worktree, and one for each parallel worker; empty where it works in the user's copy."""
    wording: int = WORDING
    """Which wording the run was created with."""
    is_draft: bool = False
    """Whether the pull request of the run is to be a draft."""
    recorded_repository: str | None = None
    """Where the user's working copy was when the run was created, if it is elsewhere now; not recorded."""

    @property
    def has_current_wording(self) -> bool:
        """Return whether this version writes the same texts."""
        return self.wording == WORDING

    @property
    def has_baseline(self) -> bool:
        """Whether the checks run before the first agent; runs of earlier versions have no such effect."""
        return self.wording >= WORDING_OF_BASELINE and self.settings.baseline

    @property
    def counts_only_work(self) -> bool:
        """Whether only agents that could work count, and only checks that can start are run."""
        return self.wording >= WORDING_OF_WORK

    @property
    def has_current_decisions(self) -> bool:
        """Whether its process decides as this version does; runs of wordings before 4 keep their own rules."""
        return self.wording >= WORDING_OF_DECISIONS

    @property
    def workspaces(self) -> tuple[Path, ...]:
        """The folders in which its agents work and log."""
        return _workspaces(self.repository, self.worktrees)

    def at(self, repository: Path) -> RunInputs:
        """Return the inputs with the paths that they have in a repository that was moved or copied there."""
        old, new = self.repository, str(repository)
        path = self.plan.path
        return replace(
            self,
            repository=new,
            recorded_repository=old,
            plan=replace(self.plan, path=None if path is None else move_path(path, old, new)),
            worktrees=tuple(move_path(folder, old, new) for folder in self.worktrees),
        )

    def as_json(self) -> dict[str, Any]:
        """Return the inputs as JSON values, without what is only the user's: notices and details of sandboxes.

        The addresses of notices contain tokens. What a sandbox allows is read anew by each driver, since a run may come
        with a repository.
        """
        return {
            "run": self.run,
            "repository": self.repository,
            "base": self.base,
            "branch": self.branch,
            "came_from": self.came_from,
            **({"worktrees": list(self.worktrees)} if self.worktrees else {}),
            "plan": self.plan.as_json(),
            "settings": _recorded(self.settings),
            "wording": self.wording,
            **({"draft": True} if self.is_draft else {}),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> RunInputs:
        """Decode recorded inputs."""
        from bridle.loop.plan.model import Plan
        from bridle.loop.settings.model import Settings

        fields = JsonFields(document)
        return cls(
            run=fields.text("run") or "",
            repository=fields.text("repository") or "",
            base=fields.text("base") or "",
            branch=fields.text("branch") or "",
            came_from=fields.text("came_from"),
            plan=Plan.from_json(document["plan"]),
            settings=Settings.from_json(document["settings"]),
            worktrees=fields.texts("worktrees") or (),
            wording=wording_of(document),
            is_draft=document.get("draft") is True,
        )


def _recorded(settings: Settings) -> dict[str, Any]:
    import dataclasses

    rules = type(settings)()
    return dataclasses.replace(
        settings,
        notify=(),
        sandbox_writable=rules.sandbox_writable,
        sandbox_hidden=rules.sandbox_hidden,
        sandbox_network=rules.sandbox_network,
        sandbox_environment=rules.sandbox_environment,
    ).as_json()


def move_path(path: str, old: str, new: str) -> str:
    """Return a path below the folder `old` as a path below `new`; any other as it is."""
    return new + path[len(old) :] if path == old or path.startswith(old.rstrip("/") + "/") else path


def wording_of(document: Mapping[str, Any]) -> int:
    """Return the wording that recorded inputs were written with."""
    wording = JsonFields(document).number("wording")
    return 1 if wording is None else int(wording)


def is_loop_run(store: Store) -> bool:
    """Return whether a run is one of the loop, not of another process."""
    return store.metadata().process_id == PROCESS_ID


def check_loop_run(store: Store) -> None:
    """Raise UsageError for a run of another process."""
    run_id, process_id = store.metadata().run_id, store.metadata().process_id
    if process_id != PROCESS_ID:
        raise UsageError(
            f"run {run_id} is not a run of the loop, but of the process {process_id}",
            remedy=f"Show it with: bridle run:status {run_id}. Continue it with: bridle drive {run_id}",
        )


def read_inputs(store: Store) -> RunInputs:
    """Decode the inputs of a run; raise UsageError if it is not one of the loop, JournalBroken without a plan."""
    recorded = RunInputs.from_json(_read_document(store))
    place = _moved_to(store, recorded.repository)
    return recorded if place is None else recorded.at(place)


def read_place(store: Store) -> RunPlace:
    """Decode where a run works and its limits; raise as `read_inputs` does."""
    document = _read_document(store)
    fields = JsonFields(document)
    repository, worktrees = fields.text("repository") or "", fields.texts("worktrees") or ()
    place = _moved_to(store, repository)
    new = repository if place is None else str(place)
    return RunPlace(
        repository=new,
        base=fields.text("base") or "",
        came_from=fields.text("came_from"),
        worktrees=tuple(move_path(folder, repository, new) for folder in worktrees),
        limits=Limits.from_settings(document["settings"]),
        recorded_repository=None if place is None else repository,
        is_draft=document.get("draft") is True,
    )


def plan_in_force(store: Store) -> Mapping[str, Any]:
    """Return the recorded plan that a run uses: its own, or the one that replaced it."""
    plan: Mapping[str, Any] = _read_document(store)["plan"]
    for entry in store.state().notes:
        if entry.type == REPLAN:
            plan = JsonFields(entry.data).object("plan") or plan
    return plan


def _read_document(store: Store) -> Mapping[str, Any]:
    """Return the recorded inputs of a run of the loop, verified."""
    check_loop_run(store)
    run_id = store.metadata().run_id
    inputs = store.inputs(store.state().created)
    if not isinstance(inputs, Mapping) or not {"plan", "settings"} <= inputs.keys():
        raise JournalBroken(
            f"{layout.INPUTS_FILE} of run {run_id} is missing, or has no plan or no settings",
            remedy=f"Restore it from a backup; bridle audit {run_id} lists all faults.",
        )
    return inputs


def _workspaces(repository: str, worktrees: tuple[str, ...]) -> tuple[Path, ...]:
    return (Path(repository), *(Path(folder) for folder in worktrees))


def _moved_to(store: Store, recorded: str) -> Path | None:
    """Return the repository that a run's folder is in now, if that is not the recorded one."""
    place = _repository_of(store)
    return None if place is None or _is_same(place, recorded) else place


def _repository_of(store: Store) -> Path | None:
    """Return the repository that a run's folder is in; None where runs are kept elsewhere."""
    if not isinstance(store, FileStore):
        return None
    folder = Path(os.path.abspath(store.run))
    top = next((above for above in folder.parents if above / layout.RUNS_FOLDER == folder.parent), None)
    return top if top is not None and os.path.lexists(top / ".git") else None


def _is_same(folder: Path, recorded: str) -> bool:
    return str(folder) == recorded or os.path.realpath(folder) == os.path.realpath(recorded)
