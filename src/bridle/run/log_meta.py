"""What is written down beside a log: what was run and under which rules, and how it ended."""

from __future__ import annotations

import os
from collections.abc import Mapping

from bridle.ground import clock
from bridle.run.attempt import Attempt
from bridle.run.locate import Program
from bridle.run.policy import rules_of
from bridle.run.request import Permission
from bridle.run.sandbox import detect


def begun(
    attempt: Attempt, program: Program, number: int, *, expected: str | None, inherited: Mapping[str, str]
) -> dict[str, object]:
    """What is known before the agent starts; `inherited` is our own environment."""
    request, command = attempt.request, attempt.command
    return {
        "agent": request.agent,
        "program": program.path,
        "program_found": program.found,
        "argv": list(command.argv),
        "cwd": str(request.cwd),
        "mode": request.mode,
        "task": request.task,
        "purpose": request.purpose,
        "attempt": number,
        "auth": command.auth,
        "permission_mode": request.permission,
        "permissions_bypassed": request.permission is Permission.BYPASS,
        "sandbox": detect(inherited),
        "policy": request.policy,
        "hang_heuristic": request.hang_heuristic,
        "background_heuristic": rules_of(request, command.environment).background_heuristic,
        "denials_fail": request.denials_fail,
        "expected_session": expected,
        "started": clock.iso(clock.now()),
        "pid": os.getpid(),
    }


def ended(attempt: Attempt) -> dict[str, object]:
    """What is known once it has ended."""
    record = attempt.record
    return {
        "ended": clock.iso(clock.now()),
        "seconds": round(attempt.seconds, 3),
        "exit_code": attempt.exit_code,
        "timed_out": attempt.timed_out,
        "ended_by_us": attempt.ended_by_us,
        "killed_after_result": attempt.killed_after_result,
        "limit": attempt.bite,
        "limit_seconds": attempt.bite_seconds or None,
        "fault": attempt.fault,
        "fault_category": attempt.fault_category,
        "corrections": attempt.corrections,
        "agent_version": record.version,
        "session_id": record.session_id,
        "reported_permission_mode": record.permission_mode,
    }
