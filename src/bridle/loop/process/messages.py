"""What the user sends to a run: limits, tasks to try again and hints."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from bridle.ground.json_fields import JsonFields
from bridle.loop import effects
from bridle.loop.effect_results import PauseResult, UserMessages
from bridle.loop.plan.model import Plan
from bridle.loop.process import decisions
from bridle.loop.process.effect_requests import EffectRequests
from bridle.loop.process.task_state import ACCEPTED, RunState
from bridle.loop.settings.limits import Limits

# Recorded with each pause: a replay compares it. The command line maps the status instead (`loop_runs.EXIT_CODES`).
EXIT_CODES = {
    effects.WHY_LIMIT: 3,
    effects.WHY_USAGE: 3,
    effects.WHY_BUDGET: 3,
    effects.WHY_UNUSABLE: 5,
    effects.WHY_SETUP: 1,
    effects.WHY_PLAN: 2,
    effects.WHY_ENDED: 1,
    effects.WHY_QUESTIONS: 4,
}


class Messages:
    """The limits as the user has changed them, and the messages that were applied."""

    def __init__(
        self, state: RunState, requests: EffectRequests, limits: Limits, replan: Callable[[Plan], None]
    ) -> None:
        self.limits = limits
        self.agents: tuple[str, ...] | None = None
        """The agents that the user has chosen instead of those of the settings."""
        self.after = 0
        """The last journal entry whose messages an iteration or a pause has delivered."""
        self._state, self._requests, self._replan = state, requests, replan
        self._plan_after = 0
        self._retries_after = 0
        self._wait: asyncio.Task[PauseResult] | None = None
        """Waits for retries and limits beside open questions."""
        self._wait_after = 0
        """The last journal entry whose retries and limits such a wait has delivered."""

    @property
    def waiting(self) -> list[asyncio.Task[PauseResult]]:
        """What the process awaits for messages beside open questions."""
        return [] if self._wait is None else [self._wait]

    async def pause(self, why: str, reason: str, receipt: dict[str, Any]) -> None:
        """Wait for `resume` or `retry`, and apply what the user sent with it."""
        args = effects.PauseArgs(why=why, reason=reason, exit_code=EXIT_CODES[why], receipt=receipt, after=self.after)
        sent = await self._requests.pause(args)
        self._state.hints += sent.kept_hints
        self.apply(sent)

    def wait_beside_questions(self) -> None:
        """Start to wait for a task to try again, or for other limits, while questions are open."""
        if self._wait is not None:
            return
        args = effects.PauseArgs(
            why=effects.WHY_QUESTIONS,
            reason="questions are open",
            exit_code=EXIT_CODES[effects.WHY_QUESTIONS],
            after=max(self.after, self._wait_after),
        )
        self._wait = asyncio.create_task(self._requests.pause(args))

    def receive(self) -> None:
        """Apply the retries and limits that arrived beside open questions; iterations read the hints."""
        if self._wait is not None and self._wait.done():
            sent, self._wait = self._wait.result(), None
            self._wait_after = max(self._wait_after, sent.after)
            self.apply(msgspec.structs.replace(sent, after=0))

    def cancel_wait(self) -> None:
        """Stop waiting: the run ends."""
        if self._wait is not None:
            self._wait.cancel()

    def apply(self, messages: UserMessages) -> None:
        """Apply the limits and retries that the user sent."""
        self.after = max(self.after, messages.after)
        self.limits = self.limits.changed(messages.limits)
        if messages.plan is not None and messages.plan_at > self._plan_after:
            self._plan_after = messages.plan_at
            self._replan(Plan.from_json(messages.plan))
            decisions.unblock(self._state)
        if (agents := JsonFields(messages.limits).texts("agents")) is not None:
            self.agents = agents
        for title in self._new_retries(messages):
            task = self._state.tasks.get(title)
            if task is not None and task.verdict not in ACCEPTED:
                task.restore_tries()
                decisions.unblock(self._state)

    def _new_retries(self, messages: UserMessages) -> list[str]:
        """Return the tasks to try again that no other worker has reported yet."""
        if not messages.retries_at:
            return list(messages.retries)
        numbered = zip(messages.retries, messages.retries_at, strict=True)
        new = [title for title, number in numbered if number > self._retries_after]
        self._retries_after = max(self._retries_after, *messages.retries_at)
        return new
