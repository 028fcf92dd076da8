"""A planning conversation: the agent asks its questions in the terminal, in one continued session."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, field

from bridle.cli.exit_codes import FAILED, INTERRUPTED, SUCCESS, WAITING
from bridle.cli.user_interface.terminal import clean, run_interruptible, say
from bridle.cli.user_interface.worktree_costs import count_worktrees
from bridle.errors import UsageError
from bridle.ground.user_environment import user_environment
from bridle.loop.plan import drafting
from bridle.loop.plan.model import Plan
from bridle.loop.settings.model import Settings
from bridle.run.finished import Finished
from bridle.run.isolation.sandbox_rules import ChosenSandbox
from bridle.run.policy import asks_without_output, describe_end
from bridle.run.request import Auth, Limits, Mode, Permission, Reasoning, Request
from bridle.run.runner import AgentRun
from bridle.views.terminal.run_lines import AgentLines
from bridle.wire.events.events import Event
from bridle.wire.mask import Mask, secret_values


class Planner(Struct):
    """One conversation, from the goal to a valid plan."""

    goal: str
    path: Path
    settings: Settings
    agent: str
    may_ask: bool
    sandbox: ChosenSandbox = field(default_factory=ChosenSandbox)
    result: Plan | None = None
    text: str = ""
    known_cost_usd: float = 0.0
    is_cost_known: bool = True
    session_id: str | None = None
    unanswered: list[str] = field(default_factory=list)
    """The questions that the user did not answer."""
    fault: str | None = None

    def plan(self) -> int:
        """Talk to the agent until it has a valid plan, fails, or gets no answer; return the exit code."""
        rounds, corrections = drafting.ROUNDS, drafting.CORRECTIONS
        prompt = drafting.first_prompt(self.goal, may_ask=self.may_ask)
        while True:
            if self.known_cost_usd >= self.settings.max_cost_usd:
                return self._fail(f"{self.known_cost_usd:.4f} of {self.settings.max_cost_usd:g} USD spent")
            finished = self._ask(prompt)
            if finished is None:
                return INTERRUPTED
            record, outcome = finished.record, finished.outcome
            is_asking = asks_without_output(record, outcome)
            if is_asking and not self.may_ask:
                self.unanswered = [record.answer.question]
                return self._fail(f"the agent still asks: {' '.join(record.answer.question.split())}")
            if is_asking:
                answer: drafting.Answer = drafting.Questions((record.answer.question,))
            elif outcome.failed:
                return self._fail(describe_end(record, outcome))
            else:
                answer = drafting.read_answer(record.structured_output, self.path.name, may_ask=self.may_ask)
            if isinstance(answer, drafting.Draft):
                self.result, self.text = answer.plan, answer.text
                return SUCCESS
            if isinstance(answer, drafting.Unusable):
                if not corrections:
                    return self._fail(f"the agent's plan cannot be used: {answer.problems}")
                corrections -= 1
                prompt = answer.prompt
                continue
            self.unanswered = list(answer.texts)
            try:
                replies = _ask_user(answer.texts)
            except KeyboardInterrupt:
                say("interrupted; no plan was written: the questions were not answered")
                return INTERRUPTED
            if replies is None:
                for question in self.unanswered:
                    say(f"question: {question}")
                say("no plan was written: the questions were not answered. With --no-questions the agent decides.")
                return WAITING
            self.unanswered = []
            rounds -= 1
            self.may_ask = rounds > 0
            prompt = drafting.answers_prompt(answer.texts, replies, may_ask=self.may_ask)

    @property
    def cost_usd(self) -> float | None:
        """The cost of all turns; None where that of one is not known."""
        return round(self.known_cost_usd, 6) if self.is_cost_known else None

    def document(self) -> dict[str, object]:
        """Return the result as a JSON document."""
        tasks = () if self.result is None else self.result.tasks
        return {
            "plan": str(self.path) if self.result is not None else None,
            "tasks": [{"title": task.title, "checks": list(task.checks)} for task in tasks],
            "questions": self.unanswered,
            "session_id": self.session_id,
            "cost_usd": self.cost_usd,
            "known_cost_usd": round(self.known_cost_usd, 6),
            "error": self.fault,
        }

    def _ask(self, prompt: str) -> Finished | None:
        """Run one turn of the conversation; return None if the user interrupted it."""
        settings = self.settings
        request = Request(
            prompt=prompt,
            cwd=Path.cwd(),
            agent=self.agent,
            mode=Mode.PLANNER,
            task="plan",
            resume=self.session_id,
            model=settings.model,
            reasoning=Reasoning(settings.reasoning),
            json_schema=drafting.SCHEMA,
            auth=Auth(settings.auth),
            permission=Permission(settings.permission),
            limits=Limits(
                run_seconds=settings.agent_seconds,
                idle_seconds=settings.idle_seconds,
                tool_idle_seconds=settings.tool_idle_seconds,
                after_result_seconds=settings.after_result_seconds,
            ),
            hang_heuristic=False,  # a planner is expected to ask
            denials_fail=False,
            sandbox=self.sandbox,
        )
        is_announced = self.session_id is None

        agent_run = AgentRun(request, environment=user_environment(os.environ), say=say, is_announced=is_announced)

        async def turn() -> Finished:
            await count_worktrees(request.workspace, say)
            return await agent_run.to_end(_printer())

        finished = run_interruptible(turn())
        if finished is not None and finished.unusable is not None:
            raise finished.unusable
        if agent_run.finished is not None:  # of an interrupted one too
            self.known_cost_usd += agent_run.finished.known_cost_usd
            self.is_cost_known = self.is_cost_known and agent_run.finished.total_cost_usd is not None
        if finished is None:
            return None
        self.session_id = finished.session_id or self.session_id
        return finished

    def _fail(self, fault: str) -> int:
        self.fault = fault
        say(f"no plan was written: {fault}")
        return FAILED


def _ask_user(questions: tuple[str, ...]) -> list[str] | None:
    """Ask the user each question; return None when standard input ends."""
    replies: list[str] = []
    print("\nThe agent has questions. An empty answer leaves the decision to the agent.", file=sys.stderr)
    for number, question in enumerate(questions, start=1):
        print(f"\n{number}/{len(questions)} {clean(question)}\n> ", end="", file=sys.stderr, flush=True)
        try:
            line = sys.stdin.readline()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read the answer: {error}") from error
        if not line:
            print(file=sys.stderr)
            return None
        replies.append(line.strip())
    print(file=sys.stderr)
    return replies


def _printer() -> Callable[[Event], None]:
    lines = AgentLines(Path.cwd(), mask=Mask(secret_values(os.environ)))

    def show(event: Event) -> None:
        for line in lines.from_event(event):
            print(f"  {clean(line)}", file=sys.stderr, flush=True)

    return show
