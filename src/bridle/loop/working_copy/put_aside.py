"""Where the user's uncommitted changes are that were put aside for a run: a note in the run's folder."""

from __future__ import annotations

from pathlib import Path

import msgspec

from bridle.ground import disk

FILE = "bridle-uncommitted.json"


class PutAside(msgspec.Struct, frozen=True):
    """Where the user's uncommitted changes are."""

    number: int
    """How often changes were put aside."""
    is_restored: bool = False
    """Whether they are in the files again."""
    is_moving: bool = False
    """Whether a driver was killed while it put them aside or restored them."""
    modes: dict[str, int] = msgspec.field(default_factory=dict)
    """The permissions of these files, while they are put aside."""
    intended: tuple[str, ...] = ()
    """Files that the user marked with `git add -N`; no tree contains the mark."""

    def name(self, run: str) -> str:
        """Return the name of their snapshot; `bridle clean` removes those whose name begins with a run's id."""
        return f"{_prefix(run)}{self.number}"


def is_of(name: str, run: str) -> bool:
    """Return whether a snapshot of that name has changes that were put aside for the run."""
    return name.startswith(_prefix(run)) and name.removeprefix(_prefix(run)).isdigit()


def _prefix(run: str) -> str:
    return f"uncommitted-{run.lower()}-"


def find(run_folder: Path) -> PutAside | None:
    """Return where the changes are; None where none were put aside."""
    try:
        value = disk.read_json(run_folder / FILE)
        return None if value is None else msgspec.convert(value, PutAside)
    except msgspec.ValidationError:
        return None


def find_all(runs: Path) -> dict[str, PutAside]:
    """Return where changes are that runs have put aside and not restored, by the ids of the runs."""
    found = ((path.parent, find(path.parent)) for path in sorted(runs.glob(f"*/{FILE}")))
    return {folder.name: state for folder, state in found if state is not None and not state.is_restored}


def write(run_folder: Path, state: PutAside) -> None:
    disk.write_json_atomic(disk.make_private_folder(run_folder) / FILE, msgspec.to_builtins(state))


def remove(run_folder: Path) -> None:
    (run_folder / FILE).unlink(missing_ok=True)
