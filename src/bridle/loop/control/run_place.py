"""The repository that a run works in: whether it is still there, and git can use it."""

from __future__ import annotations

import os
from pathlib import Path

from bridle.errors import UsageError
from bridle.journal.format import layout
from bridle.loop.protection.git_files import git_metadata
from bridle.loop.run_inputs import RunInputs
from bridle.workspace.git_folder import damaged_files


def check_place(inputs: RunInputs, run: Path) -> None:
    """Check that the repository of a run exists and git can use it. Raises UsageError where it does not."""
    if not os.path.isdir(inputs.repository):
        raise UsageError(
            f"{inputs.repository}, where this run works, does not exist any more",
            remedy=f"Move the repository back, or move {run} into its {layout.RUNS_FOLDER} and resume the run there.",
        )
    for folder in (Path(inputs.repository), *map(Path, inputs.worktrees)):
        branch = f"{git_metadata.HEADS}{inputs.branch}"
        damaged_files.refuse(folder, branch, may_be_empty=branch, then=f"bridle resume {run.name}")
