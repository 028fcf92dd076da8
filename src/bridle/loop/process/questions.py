"""Questions that agents asked: parked until a person answers, while other tasks go on. A part of the loop's process."""

from __future__ import annotations

import asyncio
from typing import Any

from bridle.engine.inbox import ASKS_FOR, BY_POLICY, FREE_TEXT
from bridle.loop.process.task_state import NEEDS_YOU, PENDING, RunState, TaskState

# What an agent hears in the place of an answer where a policy answers questions.
NOBODY_ANSWERS = "Nobody is there to answer. Decide it yourself, and say in your summary what you assumed."


class Questions:
    """Those that wait for their answer, by the title of the task."""

    def __init__(self, ctx: Any, ledger: RunState) -> None:
        self._ctx, self._ledger = ctx, ledger
        self.waiting: dict[str, asyncio.Future[Any]] = {}

    def park(self, task: TaskState, work: dict[str, Any], agent: str) -> None:
        """The agent asked something: a person answers, and meanwhile the other tasks go on."""
        question = str(work.get("question") or work.get("said") or "the agent waits for an answer")
        task.verdict, task.question, task.session_id = NEEDS_YOU, question, work.get("session_id")
        task.session_agent, task.asked, task.reason = agent, question, "the agent asks"
        payload = {"question": question, "task": task.title, ASKS_FOR: FREE_TEXT}
        self.waiting[task.title] = self._ctx.breakpoint(payload, label=f"needs-you: {task.title}")

    def hear(self) -> None:
        """Take the answers that have come; their tasks go on."""
        for title, promise in list(self.waiting.items()):
            if promise.done():
                del self.waiting[title]
                answer = promise.result()
                task = self._ledger.tasks[title]
                words = answer.get("response") if isinstance(answer, dict) else answer
                if isinstance(answer, dict) and answer.get("respondedBy") == BY_POLICY:
                    words = NOBODY_ANSWERS
                task.verdict, task.question, task.answer = PENDING, None, str(words or "")
