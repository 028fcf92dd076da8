"""The file beside the log of an attempt: what was started, and how it ended."""

from __future__ import annotations

import os
from collections.abc import Mapping

from bridle.errors import DiskError
from bridle.ground import clock
from bridle.run.attempt import Attempt
from bridle.run.locate import Program
from bridle.run.log_meta import PROMPT_CHARACTERS, EndMeta, StartMeta, write_meta
from bridle.run.policy import rules_of
from bridle.run.request import Permission
from bridle.run.sandbox import detect_sandbox


def start_meta(
    attempt: Attempt, program: Program, number: int, *, expected: str | None, inherited: Mapping[str, str]
) -> StartMeta:
    """Return what the file beside the log holds before the agent starts; `inherited` is Bridle's own environment."""
    request, command = attempt.request, attempt.command
    return StartMeta(
        agent=request.agent,
        program=program.path,
        program_found=program.found,
        argv=list(command.argv),
        cwd=str(request.cwd),
        mode=request.mode,
        task=request.task,
        prompt=request.prompt[:PROMPT_CHARACTERS],
        purpose=request.purpose,
        model=request.model,
        driver=request.driver,
        driver_seconds=round(request.driver_seconds, 3),
        attempt=number,
        auth=command.auth,
        permission_mode=request.permission,
        permissions_bypassed=request.permission is Permission.BYPASS,
        sandbox=request.sandbox.name if request.sandbox.is_on else detect_sandbox(inherited),
        policy=request.policy,
        hang_heuristic=request.hang_heuristic,
        background_heuristic=rules_of(request, command.environment).background_heuristic,
        denials_fail=request.denials_fail,
        expected_session=expected,
        started=clock.iso(clock.now()),
        pid=os.getpid(),
    )


def close_log(attempt: Attempt, start: StartMeta, more: Mapping[str, object]) -> None:
    """Finish and close the log; where the disk is full, that is a fault of the run and not an exception."""
    try:
        try:
            write_meta(attempt.log.meta_path, start, _end_meta(attempt), **more)
        finally:
            attempt.log.close()
    except DiskError as error:
        attempt.fault = attempt.fault or f"the log could not be written: {error.message}"


def _end_meta(attempt: Attempt) -> EndMeta:
    record = attempt.record
    return EndMeta(
        ended=clock.iso(clock.now()),
        seconds=round(attempt.seconds, 3),
        exit_code=attempt.exit_code,
        timed_out=attempt.timed_out,
        ended_by_us=attempt.ended_by_us,
        killed_after_result=attempt.killed_after_result,
        limit=attempt.limit,
        limit_seconds=attempt.limit_seconds or None,
        fault=attempt.fault,
        fault_category=attempt.fault_category,
        corrections=attempt.corrections,
        agent_version=record.version,
        session_id=record.session_id,
        reported_permission_mode=record.permission_mode,
    )
