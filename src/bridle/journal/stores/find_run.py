"""Find a run by its folder, its id, a prefix of its id, or `last`."""

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
    return Path(collapse(os.path.abspath(flag or environment.get(layout.RUNS_FOLDER_VARIABLE) or layout.RUNS_FOLDER)))


def runs_folders(flag: str | None, environment: Mapping[str, str]) -> list[Path]:
    """Return the folders of runs that a user means, nearest first.

    As configured, else those from the current folder up to the repository's top: a run is where its command was called.
    """
    if flag or environment.get(layout.RUNS_FOLDER_VARIABLE):
        return [runs_folder(flag, environment)]
    from pathlib import Path as FullPath

    from bridle.ground.git_folder import folders_up_to_top  # hooks, which import this module, do not need it

    *below, top = (folder / layout.RUNS_FOLDER for folder in folders_up_to_top(FullPath.cwd()))
    return [Path(collapse(str(folder))) for folder in (*filter(os.path.isdir, below), top)]


def run_folder(argument: str, runs: Path) -> Path:
    """Return the folder of a run for agents and hooks: a path, or an id; it need not exist."""
    if not argument:
        raise UsageError("RUN is missing", remedy="Pass its folder or its id.")
    if os.path.isabs(argument):
        return Path(collapse(os.path.normpath(argument)))
    inside, here = collapse(os.path.join(runs, argument)), collapse(os.path.abspath(argument))
    # `.a5c/runs/x` while `.a5c/runs` is the folder of runs: a path from here, not an id in it.
    is_path_from_here = here == str(runs) or here.startswith(f"{runs}/")
    return Path(here if is_path_from_here or (not os.path.exists(inside) and os.path.exists(here)) else inside)


def choose_run(argument: str, *folders: Path) -> Path:
    """Return the folder of a run for users: also a prefix of an id, or `last`, which is the newest of all folders."""
    searched = " or ".join(map(str, folders))
    if argument == LAST and not any((run_folder(LAST, runs) / layout.RUN_FILE).is_file() for runs in folders):
        known = newest_runs(*folders)
        if not known:
            raise RunNotFound(
                f"no runs in {searched}",
                remedy="Start one with: bridle run PLAN.md (a process: bridle run:create)",
            )
        return known[0]
    matching = matching_runs(argument, *folders)
    if len(matching) == 1:
        return matching[0]
    if matching:
        names = ", ".join(run.name for run in matching[:5])
        raise RunNotFound(f"{argument!r} could be any of {len(matching)} runs: {names}", remedy="Pass more of the id.")
    raise RunNotFound(
        f"no run {argument!r} in {searched}",
        remedy="`bridle runs` lists the runs here. Pass an id of it, `last`, or the folder of a run.",
    )


def newest_runs(*folders: Path) -> list[Path]:
    """Return the runs of all folders, newest first."""
    known = [run for runs in folders for run in _runs_in(runs)]
    return sorted(known, key=lambda run: os.stat(run / layout.RUN_FILE).st_mtime_ns, reverse=True)


def matching_runs(argument: str, *folders: Path) -> list[Path]:
    """Return the run of that folder or id, else those whose id begins with it, by id; of the first folder with any."""
    for runs in folders:
        exact = run_folder(argument, runs)
        if (exact / layout.RUN_FILE).is_file():
            return [exact]
    matching = (sorted((run for run in _runs_in(runs) if run.name.startswith(argument)), key=str) for runs in folders)
    return next(filter(None, matching), [])


def collapse(path: str) -> str:
    """Return the path with a doubled folder of runs, a common mistake of agents, collapsed."""
    if path.count(".a5c") < 2:
        return path
    import re  # imported late: few paths need it, and every hook runs this

    return re.sub(_DOUBLED_FOLDER, r"\1", re.sub(_DOUBLED, r"\1", path))


def _runs_in(runs: Path) -> list[Path]:
    try:
        names = os.listdir(runs)
    except OSError:
        return []
    return [runs / name for name in names if not name.startswith(".") and (runs / name / layout.RUN_FILE).is_file()]
