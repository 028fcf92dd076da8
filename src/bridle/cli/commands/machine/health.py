"""`bridle health`: check whether the machine interface works here."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from bridle import __version__
from bridle.cli.machine_interface.light_command import RUNS_DIR, Arguments, LightCommand, print_json
from bridle.cli.machine_interface.run_argument import check_runs_folder, runs_dir
from bridle.errors import DiskError, LockHeld
from bridle.ground.light.moments import iso

PASS, WARN, FAIL = "pass", "warn", "fail"
_VERDICTS = {PASS: "healthy", WARN: "degraded", FAIL: "unhealthy"}
_OLDEST_PYTHON = (3, 11)


class Check:
    """The result of one check."""

    __slots__ = ("description", "details", "message", "name", "status")

    def __init__(self, name: str, description: str, status: str, message: str, details: dict[str, object]) -> None:
        self.name = name
        self.description = description
        self.status = status
        self.message = message
        self.details = details

    def document(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in ("name", "description", "status", "message", "details")}


def _run(args: Arguments) -> int:
    checks = [_version(), _python(), _runs(runs_dir(args)), _variables()]
    worst = max((check.status for check in checks), key=list(_VERDICTS).index)
    if args.has("--json"):
        document = {"status": _VERDICTS[worst], "timestamp": iso(time.time_ns())}
        print_json({**document, "checks": [check.document() for check in checks]}, pretty=True)
    else:
        print(f"[health] status={_VERDICTS[worst]}")
        for check in checks:
            print(f"- {check.status}: {check.name}: {check.message}")
    return 1 if worst == FAIL else 0


def _version() -> Check:
    return Check("version", "The version of Bridle", PASS, f"Bridle {__version__}", {"version": __version__})


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    status = PASS if sys.version_info[:2] >= _OLDEST_PYTHON else FAIL
    return Check("python", "Python is 3.11 or later", status, f"Python {version}", {"version": version})


def _runs(runs: Path) -> Check:
    """Check that runs can be created."""
    description, details = "Runs can be created and locked", {"path": str(runs), "exists": runs.is_dir()}
    try:
        check_runs_folder(runs)
    except (DiskError, LockHeld) as error:
        return Check("runs-folder", description, FAIL, error.message, dict(details))
    if not runs.is_dir():
        message = f"{runs} does not exist yet; it is created with the first run"
        return Check("runs-folder", description, WARN, message, dict(details))
    return Check("runs-folder", description, PASS, f"{runs} is ready", dict(details))


def _variables() -> Check:
    names = ("BABYSITTER_RUNS_DIR", "BABYSITTER_STATE_DIR", "BABYSITTER_MAX_ITERATIONS", "BABYSITTER_ALLOW_SECRET_LOGS")
    variables = {name: os.environ[name] for name in names if os.environ.get(name)}
    limit = variables.get("BABYSITTER_MAX_ITERATIONS", "0")
    if not (limit.isascii() and limit.isdigit()):
        message = f"BABYSITTER_MAX_ITERATIONS must be an integer, got {limit!r}"
        return Check("environment", "Environment variables have valid values", WARN, message, dict(variables))
    message = f"{len(variables)} variables set" if variables else "no variable set; defaults are used"
    return Check("environment", "Environment variables have valid values", PASS, message, dict(variables))


command = LightCommand("Check whether the machine interface works here.", _run, options=(RUNS_DIR,))
