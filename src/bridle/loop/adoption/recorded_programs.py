"""Files that an interrupted iteration has recorded, to restore them after its agent: the user may change them since."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from bridle.loop.adoption.later_files import is_later
from bridle.loop.protection import baseline, programs_outside
from bridle.loop.protection.recorded import check_programs, startup_files
from bridle.loop.working_copy.run_context import RunContext


def carry_changes(
    context: RunContext, snapshots: Iterable[str], paths: Collection[str], ended_at: float | None
) -> None:
    """Record what the user changed again: these paths, and files that were written after all agents had ended.

    `snapshots` name the iterations. Git ignores most of these files, so `paths` does not have them.
    """

    def is_of_user(path: str) -> bool:
        return path in paths or (ended_at is not None and is_later(context.folder / path, ended_at))

    start = baseline.find(context)
    for name in dict.fromkeys(snapshots):
        if start is not None:
            check_programs.carry_changes(context, start.protected, name, is_of_user)
        startup_files.carry_changes(context, name, is_of_user)
        programs_outside.carry_changes(context, name, is_of_user)
