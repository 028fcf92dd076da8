"""`bridle session:check-iteration`: whether a session may go round once more."""

from __future__ import annotations

import time

from bridle.cli.programs.light_command import Given, Light, print_json
from bridle.cli.programs.session_argument import WHICH, chosen_file, warn_of_faults
from bridle.hosts.sessions import session_file
from bridle.hosts.sessions.session import SessionFile, moment

NOT_FOUND = "session_not_found"
LIMIT_REACHED = "max_iterations_reached"
INACTIVE = "session_inactive"


def _run(given: Given) -> int:
    path = chosen_file(given)
    file = session_file.read(path)
    if file is not None and file.session.is_spent and file.session.active:
        file = session_file.changed(path, _ended, holder="session:check-iteration")
    if file is not None:
        warn_of_faults(path, file.faults)
    document = _answer(file, moment(time.time_ns()))
    if given.has("--json"):
        print_json(document, pretty=True)
    else:
        shown = {name: document[name] for name in ("shouldContinue", "reason", "nextIteration") if name in document}
        print("[session:check-iteration] " + " ".join(f"{name}={value}" for name, value in shown.items()))
    return 0


def _ended(found: SessionFile | None) -> SessionFile | None:
    """The session that has reached its limit, inactive: whoever changed it meanwhile is heard."""
    if found is None or not found.session.is_spent or not found.session.active:
        return found
    return found.with_session(found.session.changed(active=False))


def _answer(file: SessionFile | None, now: str) -> dict[str, object]:
    if file is None:
        return _stop(None, NOT_FOUND, "there is no such session")
    session = file.session
    if session.is_spent:
        return _stop(file, LIMIT_REACHED, f"the limit of {session.max_iterations} iterations is reached")
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


def _stop(file: SessionFile | None, reason: str, words: str) -> dict[str, object]:
    session = file.session if file is not None else None
    times = session.iteration_times if session is not None else ()
    return {
        "found": file is not None,
        "shouldContinue": False,
        "reason": reason,
        # For people who look: nothing is decided by it.
        **({"averageTime": round(sum(times) / len(times), 1)} if times else {}),
        "iteration": session.iteration if session is not None else 0,
        "maxIterations": session.max_iterations if session is not None else 0,
        "runId": session.run_id if session is not None else "",
        "prompt": file.prompt if file is not None else "",
        "stopMessage": words,
    }


command = Light("Whether a session may go round once more.", _run, options=WHICH)
