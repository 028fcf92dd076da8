"""The baseline: every check of the plan runs once before the first agent. A part of the loop's process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from bridle.loop import effects
from bridle.loop.effect_results import CheckResult
from bridle.loop.effects import Check
from bridle.loop.process.baseline_faults import describe_faults, failed_setup
from bridle.loop.process.effect_requests import EffectRequests
from bridle.loop.process.merge_queue import setup_failure
from bridle.loop.process.required_checks import RequiredChecks
from bridle.loop.process.task_state import RunState

Pause = Callable[[str, str], Awaitable[None]]
"""Waits for the user, with the kind of the pause and its reason."""


class BaselineChecks:
    """Runs the checks before any work, and knows how they ended."""

    def __init__(
        self, requests: EffectRequests, checks: RequiredChecks, state: RunState, *, knows_missing_files: bool
    ) -> None:
        self._requests, self._checks, self._state = requests, checks, state
        self._knows_missing_files = knows_missing_files

    async def run(self, pause: Pause) -> None:
        """Run every check; pause where one cannot start or the setup fails, since no agent could fix that."""
        while checks := self._checks.baseline():  # the user may have corrected the plan
            checked = await self._requests.baseline(checks)
            failed = failed_setup(checked.results, checks)
            self._state.setup = failed
            self._state.baseline = () if failed is not None else checked.results
            if failed is not None:
                await pause(effects.WHY_SETUP, setup_failure(failed))
            elif reason := describe_faults(checked.results, self._checks.wanted if self._knows_missing_files else None):
                await pause(effects.WHY_PLAN, reason)
            else:
                return

    def failed(self, checks: tuple[Check, ...], *, is_parallel: bool) -> tuple[CheckResult, ...]:
        """Return how these checks ended, if one failed and no file has changed since; else nothing."""
        if self._state.iterations or self._state.changes_known or is_parallel:
            return ()
        found = {result.command: result for result in self._state.baseline}
        known = [found[check.command] for check in checks if check.command in found]
        if len(known) < len(checks) or all(result.passed for result in known):
            return ()
        return tuple(msgspec.structs.replace(result, owner=effects.OF_TASK) for result in known)
