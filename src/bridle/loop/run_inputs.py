"""The inputs of a run of the loop, frozen into its journal when it is created. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bridle.loop.plan.model import Plan
from bridle.loop.settings.model import Settings


@dataclass(frozen=True)
class RunInputs:
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

    def as_json(self) -> dict[str, Any]:
        """Return the inputs as JSON values, without the addresses of notices, which contain tokens."""
        return {
            "run": self.run,
            "repository": self.repository,
            "base": self.base,
            "branch": self.branch,
            "came_from": self.came_from,
            **({"worktrees": list(self.worktrees)} if self.worktrees else {}),
            "plan": self.plan.as_json(),
            "settings": replace(self.settings, notify=()).as_json(),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> RunInputs:
        """Decode recorded inputs."""
        return cls(
            run=str(document.get("run") or ""),
            repository=str(document.get("repository") or ""),
            base=str(document.get("base") or ""),
            branch=str(document.get("branch") or ""),
            came_from=document.get("came_from"),
            plan=Plan.from_json(document["plan"]),
            settings=Settings.from_json(document["settings"]),
            worktrees=tuple(str(folder) for folder in document.get("worktrees") or ()),
        )


def read_inputs(document: object) -> RunInputs | None:
    """Decode the inputs of a run; None where it is not a run of the loop."""
    return RunInputs.from_json(document) if isinstance(document, Mapping) and "plan" in document else None
