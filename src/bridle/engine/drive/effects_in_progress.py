"""Notes of the effects that a driver is executing, in BRIDLE_HOME, by which a forged result is found after its death.

The note of an effect is removed before its result is written. So an effect with both a note and a result has one that
no driver wrote: a program of the effect has killed the driver and written it. Only a program without a sandbox can.

A note of an earlier boot says nothing: after a power cut, files that were removed may be there again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from bridle.errors import DiskError, JournalBroken
from bridle.ground import disk
from bridle.ground.home import bridle_home
from bridle.journal.format import layout
from bridle.journal.format.entries import Effect
from bridle.journal.format.state import State, file_name

FOLDER = "executing"
FORGED = "the driver was killed while that effect was still being executed"
_BOOT = "/proc/sys/kernel/random/boot_id"
_LIMIT_BYTES = 1024


class EffectsInProgress:
    """The notes of one run. A failed write is not an error: nothing is found then."""

    def __init__(self, run: Path, environment: Mapping[str, str]) -> None:
        name = sha256(os.fsencode(os.path.realpath(run))).hexdigest()[:16]
        self._folder = bridle_home(environment) / FOLDER / name
        self._boot = _read_boot()

    def begin(self, effect_id: str) -> None:
        """Note that an effect is being executed."""
        if self._boot is None:
            return
        with suppress(DiskError):
            disk.make_private_folder(self._folder)
            disk.write_private(self._folder / effect_id, self._boot)

    def end(self, effect_id: str) -> None:
        """Remove the note, before the result is written."""
        with suppress(OSError):
            os.unlink(self._folder / effect_id)

    def close(self) -> None:
        with suppress(OSError):
            os.rmdir(self._folder)

    def find_forged(self, state: State) -> dict[str, Effect]:
        """Return the effects that have a note and a result, by the file of the entry with the result."""
        noted = [effect for name in self._names() if (effect := state.effects.get(name)) is not None]
        forged = [effect for effect in noted if effect.resolution is not None and self._is_of_this_boot(effect)]
        return {_entry_file(effect): effect for effect in forged}

    def check(self, state: State) -> None:
        """Raise JournalBroken if a result is forged."""
        for file, effect in self.find_forged(state).items():
            raise JournalBroken(
                f"{file} has a result of {effect.kind} that no driver wrote: {FORGED}",
                remedy="Nothing was changed. Read the logs of the agent, then start the plan again: bridle run PLAN",
            )

    def forget(self) -> None:
        """Remove the notes of effects that a killed driver did not finish, which begin again."""
        for name in self._names():
            self.end(name)

    def _names(self) -> list[str]:
        try:
            return sorted(os.listdir(self._folder))
        except OSError:
            return []

    def _is_of_this_boot(self, effect: Effect) -> bool:
        try:
            note = disk.read_if_exists(self._folder / effect.effect_id, _LIMIT_BYTES)
        except DiskError:
            return False
        return self._boot is not None and note == self._boot


def _entry_file(effect: Effect) -> str:
    entry = effect.resolution or effect.request
    return f"{layout.JOURNAL}/{file_name(entry.seq, entry.ulid)}"


def _read_boot() -> bytes | None:
    """Return what differs after each start of this machine; None where that is not known."""
    try:
        return Path(_BOOT).read_bytes()
    except OSError:
        return None
