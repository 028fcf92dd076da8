"""`bridle session:check-iteration`: check whether a session may run another iteration."""

from __future__ import annotations

import time

from bridle.cli.machine_interface.light_command import Arguments, LightCommand, print_json
from bridle.cli.machine_interface.session_argument import SESSION_OPTIONS, find_session_file, warn_of_faults
from bridle.hosts.sessions import session_file
from bridle.hosts.sessions.session import SessionFile, moment

NOT_FOUND = "session_not_found"
LIMIT_REACHED = "max_iterations_reached"
INACTIVE = "session_inactive"


def _run(args: Arguments) -> int:
    path = find_session_file(args)
    file = session_file.read(path)
    if file is not None and file.session.is_spent and file.session.active:
        file = session_file.changed(path, _deactivate, holder="session:check-iteration")
    if file is not None:
        warn_of_faults(path, file.faults)
    document = _answer(file, moment(time.time_ns()))
    if args.has("--json"):
        print_json(document, pretty=True)
    else:
        fields = {name: document[name] for name in ("shouldContinue", "reason", "nextIteration") if name in document}
        print("[session:check-iteration] " + " ".join(f"{name}={value}" for name, value in fields.items()))
    return 0


def _deactivate(file: SessionFile | None) -> SessionFile | None:
    """Mark a session that is still at its limit as inactive."""
    if file is None or not file.session.is_spent or not file.session.active:
        return file
    return file.with_session(file.session.changed(active=False))


def _answer(file: SessionFile | None, now: str) -> dict[str, object]:
    if file is None:
        return _stop(None, NOT_FOUND, "no such session")
    session = file.session
    if session.is_spent:
        return _stop(file, LIMIT_REACHED, f"iteration limit of {session.max_iterations} reached")
    if not session.active:
        return _stop(file, INACTIVE, "the session is not active")
    return {
        "found": True,
        "shouldContinue": True,
        "nextIteration": session.iteration + 1,
        "updatedIterationTimes": list(session.times_until(now)),
        "iteration": session.iteration,
        "maxIterations": session.max_iterations,
        "runId": session.run_id,
        "prompt": file.prompt,
    }


def _stop(file: SessionFile | None, reason: str, message: str) -> dict[str, object]:
    session = file.session if file is not None else None
    times = session.iteration_times if session is not None else ()
    return {
        "found": file is not None,
        "shouldContinue": False,
        "reason": reason,
        # For information only.
        **({"averageTime": round(sum(times) / len(times), 1)} if times else {}),
        "iteration": session.iteration if session is not None else 0,
        "maxIterations": session.max_iterations if session is not None else 0,
        "runId": session.run_id if session is not None else "",
        "prompt": file.prompt if file is not None else "",
        "stopMessage": message,
    }


command = LightCommand("Check whether a session may run another iteration.", _run, options=SESSION_OPTIONS)
