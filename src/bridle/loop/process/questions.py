"""Questions of agents, which wait for the user's answer while other tasks continue. A part of the loop's process."""

from __future__ import annotations

import asyncio
from typing import Any

from bridle.engine.inbox import ASKS_FOR, BY_POLICY, FREE_TEXT
from bridle.ground.json_fields import JsonFields
from bridle.loop.effect_results import WorkResult
from bridle.loop.effects import AnsweredQuestion
from bridle.loop.process.task_state import RunState, TaskState, Verdict

# The author and the text of the answer where the user retries a task instead.
BY_RETRY = "retry"
RETRY_ANSWER = "The user did not answer, but wants you to try the task again. Decide it yourself."
# The answer that an agent gets where a policy answers questions.
POLICY_ANSWER = "No user is available to answer. Decide it yourself, and write in your summary what you assumed."
# How much of a task's earlier answers goes into the arguments of each later iteration, the newest first.
ANSWERED_CHARACTERS = 16_000


class Questions:
    """The questions that wait for an answer, by the title of the task."""

    def __init__(self, ctx: Any, state: RunState) -> None:
        self._ctx, self._state = ctx, state
        self.waiting: dict[str, asyncio.Future[Any]] = {}

    def park(self, task: TaskState, work: WorkResult, agent: str) -> None:
        """Let a task wait until the user answers its agent's question."""
        question = work.question or work.message or "the agent waits for an answer"
        task.verdict, task.question, task.session_id = Verdict.NEEDS_YOU, question, work.session_id
        task.session_agent, task.last_question, task.reason = agent, question, "the agent asked a question"
        payload = {"question": question, "task": task.title, ASKS_FOR: FREE_TEXT}
        self.waiting[task.title] = self._ctx.breakpoint(payload, label=f"needs-you: {task.title}")

    def receive_answers(self) -> None:
        """Reopen the tasks whose answers have arrived."""
        for title, promise in list(self.waiting.items()):
            if promise.done():
                del self.waiting[title]
                answer = promise.result()
                fields, task = JsonFields(answer), self._state.tasks[title]
                text = fields.value("response") if isinstance(answer, dict) else answer
                if fields.text("respondedBy") == BY_POLICY:
                    text = POLICY_ANSWER
                    task.policy_answers += 1
                elif fields.text("respondedBy") == BY_RETRY:
                    task.restore_tries()
                    task.session_id = None
                task.verdict, task.question, task.answer = Verdict.PENDING, None, str(text or "")
                task.reason = ""


def remember_answer(task: TaskState) -> None:
    """Keep an answer that an iteration has read for the prompts of all later ones, which are other sessions."""
    if task.answer is None:
        return
    answered = AnsweredQuestion(question=task.last_question or "", answer=task.answer[:ANSWERED_CHARACTERS])
    task.answered.append(answered)
    task.answer = None
    while len(task.answered) > 1 and sum(map(_length, task.answered)) > ANSWERED_CHARACTERS:
        del task.answered[0]


def _length(answered: AnsweredQuestion) -> int:
    return len(answered.question) + len(answered.answer)
