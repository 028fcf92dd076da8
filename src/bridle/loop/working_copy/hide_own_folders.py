"""Hide the folders of a run from git: a look at the files would show its journal, and a rollback would remove it."""

from __future__ import annotations

from bridle.ground import disk
from bridle.ground.git_exclude import ignore_contents
from bridle.loop.working_copy.run_context import RunContext


def hide_own_folders(context: RunContext) -> None:
    """Hide `.ralph` of the working copy, and the folder of runs, whatever rules the repository has.

    Before every look at files that the user, an agent or a check could have changed: each of them can show the folders.
    """
    runs = context.run_folder.parent
    for folder in dict.fromkeys((context.progress_folder, context.workspace)):
        if not (folder / ".ralph").is_symlink():
            disk.make_private_folder(folder / ".ralph")
        ignore_contents(folder, runs)
