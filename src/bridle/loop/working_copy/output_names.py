"""The untracked files that the output of a run's drivers went to, as in `bridle resume > new.log`.

They are the user's, also after the driver was killed: left alone, and in no commit.
"""

from __future__ import annotations

from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace.own_output import untracked_output

_FILE = "bridle-output.json"


async def record(context: RunContext) -> None:
    """Record the files that the output of this driver goes to, before anything looks at the working copy."""
    known = read(context)
    new = [name for name in await untracked_output(context.git) if name not in known]
    if new:
        context.records.write_json(context.run_folder / _FILE, [*known, *new], None)


def read(context: RunContext) -> tuple[str, ...]:
    """Return the recorded files, as paths in the working copy of the run."""
    names = context.records.read_json(context.run_folder / _FILE, None)
    return tuple(str(name) for name in names) if isinstance(names, list) else ()
