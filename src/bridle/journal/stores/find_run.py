"""Which run is meant: its folder, its id, the beginning of its id, or the last one made."""

from __future__ import annotations

import os

from bridle.errors import RunNotFound, UsageError
from bridle.ground.light.abc_names import Mapping
from bridle.ground.light.quick_path import Path
from bridle.journal.format import layout

LAST = "last"

_DOUBLED = r"((?:^|/)\.a5c/runs)(?:/\.a5c/runs)+(?=/|$)"
_DOUBLED_FOLDER = r"(/\.a5c)(?:/\.a5c)+(?=/)"


def runs_folder(flag: str | None, environment: Mapping[str, str]) -> Path:
    """The folder that runs are in."""
    return Path(collapse(os.path.abspath(flag or environment.get(layout.RUNS_FOLDER_VARIABLE) or layout.RUNS_FOLDER)))


def run_folder(argument: str, runs: Path) -> Path:
    """The folder that an agent or a hook means: a path, or an id in the folder of runs; it need not exist."""
    if not argument:
        raise UsageError("the run is missing", remedy="Give its folder or its id.")
    if os.path.isabs(argument):
        return Path(collapse(os.path.normpath(argument)))
    inside, here = collapse(os.path.join(runs, argument)), collapse(os.path.abspath(argument))
    # `.a5c/runs/x` given where `.a5c/runs` is the folder of runs: the path from here, not the folder twice.
    is_path_from_here = here == str(runs) or here.startswith(f"{runs}/")
    return Path(here if is_path_from_here or (not os.path.exists(inside) and os.path.exists(here)) else inside)


def choose_run(argument: str, runs: Path) -> Path:
    """The folder that a person means, who may also give the beginning of an id, or `last`."""
    exact = run_folder(argument, runs)
    if (exact / layout.RUN_FILE).is_file():
        return exact
    known = sorted(_runs_in(runs), key=lambda run: os.stat(run / layout.RUN_FILE).st_mtime_ns)
    if argument == LAST:
        if not known:
            raise RunNotFound(
                f"there is no run in {runs}",
                remedy="`bridle run PLAN.md` begins one; `bridle run:create` makes one of another process.",
            )
        return known[-1]
    matching = [run for run in known if run.name.startswith(argument)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        names = ", ".join(sorted(run.name for run in matching[:5]))
        raise RunNotFound(f"{argument!r} could be any of {len(matching)} runs: {names}", remedy="Give more of the id.")
    raise RunNotFound(f"there is no run {argument!r} in {runs}", remedy="Give its folder, its id, or `last`.")


def collapse(path: str) -> str:
    """A path in which agents doubled the folder of runs, as it was meant."""
    if path.count(".a5c") < 2:
        return path
    import re  # late: hardly a path has it, and every hook comes by here

    return re.sub(_DOUBLED_FOLDER, r"\1", re.sub(_DOUBLED, r"\1", path))


def _runs_in(runs: Path) -> list[Path]:
    try:
        names = os.listdir(runs)
    except OSError:
        return []
    return [runs / name for name in names if not name.startswith(".") and (runs / name / layout.RUN_FILE).is_file()]
