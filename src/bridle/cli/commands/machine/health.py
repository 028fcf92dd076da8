"""`bridle health`: whether the machine interface works here."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from bridle import __version__
from bridle.cli.programs.light_command import RUNS_DIR, Given, Light, print_json
from bridle.cli.programs.run_argument import chosen_runs
from bridle.errors import DiskError, LockHeld
from bridle.ground import disk
from bridle.ground.light.moments import iso
from bridle.ground.lock import FileLock

PASS, WARN, FAIL = "pass", "warn", "fail"
_VERDICTS = {PASS: "healthy", WARN: "degraded", FAIL: "unhealthy"}
_OLDEST_PYTHON = (3, 11)


class Check:
    """One thing that was looked at."""

    __slots__ = ("description", "details", "message", "name", "status")

    def __init__(self, name: str, description: str, status: str, message: str, details: dict[str, object]) -> None:
        self.name = name
        self.description = description
        self.status = status
        self.message = message
        self.details = details

    def document(self) -> dict[str, object]:
        """The check as part of the answer."""
        return {name: getattr(self, name) for name in ("name", "description", "status", "message", "details")}


def _run(given: Given) -> int:
    checks = [_version(), _python(), _runs(chosen_runs(given)), _variables()]
    worst = max((check.status for check in checks), key=list(_VERDICTS).index)
    if given.has("--json"):
        document = {"status": _VERDICTS[worst], "timestamp": iso(time.time_ns())}
        print_json({**document, "checks": [check.document() for check in checks]}, pretty=True)
    else:
        print(f"[health] status={_VERDICTS[worst]}")
        for check in checks:
            print(f"- {check.status}: {check.name}: {check.message}")
    return 1 if worst == FAIL else 0


def _version() -> Check:
    return Check("version", "Bridle says which version it is", PASS, f"Bridle {__version__}", {"version": __version__})


def _python() -> Check:
    found = ".".join(map(str, sys.version_info[:3]))
    status = PASS if sys.version_info[:2] >= _OLDEST_PYTHON else FAIL
    return Check("python", "Python is 3.11 or later", status, f"Python {found}", {"version": found})


def _runs(runs: Path) -> Check:
    """Whether runs can be made: a file can be written there, and the kernel locks it."""
    description, details = "Runs can be made and locked", {"path": str(runs), "exists": runs.is_dir()}
    if not runs.is_dir():
        place = next(above for above in (runs, *runs.parents) if os.path.lexists(above))
        can_be_made = place.is_dir() and os.access(place, os.W_OK | os.X_OK)
        word = f"it can be made in {place}" if can_be_made else f"it cannot be made: look at {place}"
        status = WARN if can_be_made else FAIL
        return Check("runs-folder", description, status, f"{runs} is not there yet; {word}", dict(details))
    probe = disk.temporary_name(runs)
    try:
        FileLock.hold(probe, holder="health").release()
    except (DiskError, LockHeld) as error:
        return Check("runs-folder", description, FAIL, error.message, dict(details))
    finally:
        probe.unlink(missing_ok=True)
    return Check("runs-folder", description, PASS, f"{runs} is ready", dict(details))


def _variables() -> Check:
    names = ("BABYSITTER_RUNS_DIR", "BABYSITTER_STATE_DIR", "BABYSITTER_MAX_ITERATIONS", "BABYSITTER_ALLOW_SECRET_LOGS")
    found = {name: os.environ[name] for name in names if os.environ.get(name)}
    limit = found.get("BABYSITTER_MAX_ITERATIONS", "0")
    if not (limit.isascii() and limit.isdigit()):
        message = f"BABYSITTER_MAX_ITERATIONS is {limit!r}, which is no whole number"
        return Check("environment", "Variables have values that can be used", WARN, message, dict(found))
    message = f"{len(found)} variables set" if found else "no variable set; defaults are used"
    return Check("environment", "Variables have values that can be used", PASS, message, dict(found))


command = Light("Whether the machine interface works here.", _run, options=(RUNS_DIR,))
