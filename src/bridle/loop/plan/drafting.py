"""Drafting a plan with an agent: the prompts of `bridle plan`, and its structured answers. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from bridle.errors import PlanError
from bridle.ground.json_fields import JsonFields
from bridle.loop.plan.markdown import parse_markdown
from bridle.loop.plan.model import Plan

# Rounds of questions; after the last one the agent writes down its assumptions.
ROUNDS = 5
# Attempts to correct an invalid plan.
CORRECTIONS = 3
# The most questions of one round.
QUESTIONS = 10
POST_PLANNING = "post-planning"

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "questions": {"type": "array", "items": {"type": "string"}},
        "plan": {"type": "string"},
    },
    "required": ["questions", "plan"],
}

_BEGIN = """\
The user wants this done in this repository:

<goal>
{goal}
</goal>

Write a plan for it. Each task is carried out by a fresh agent, which sees the plan and its own task but nothing of this
conversation. Change no file.

First read AGENTS.md and the README if they exist, find out how the repository is built and tested, and read the code
that the goal is about. Then decide whether you know enough. Ask only what no file answers and what would change the
plan.

{answering}

The plan is Markdown of this form:

    # A title for the whole

    A paragraph on the goal, its reasons and the decisions made.

    Checks: `a command that must pass after every task`

    ## The title of the first task
    What to do, and where.
    - [ ] something that must be true when the task is done
    Check: `a command that fails now and passes once the task is done`

    ## The title of the second task
    Needs: The title of the first task
    Check: `another command`

- A task is what one agent does in one session: a change with its tests. Two to twelve tasks are usual.
- Titles are short and unique. `Needs:` names titles exactly, without cycles.
- Give each task its own `Check:` wherever possible: a shell command that runs at the top of the repository and exits by
  itself. It may run tests that the task has yet to write; then the task must say that it writes them.
- A file that a check executes or takes as a test is protected, also from the task itself: its changes would be undone.
  A task that must change such a file, if it exists already, needs the line `May edit: the/file` below its `Check:`.
- `Checks:` above the first task is for what must never break. It must pass before any work; run it to make sure.
  Omit it if there is no such command."""

_MAY_ASK = """\
Answer with the structured output: either `questions` (each one sentence with its possible answers, at most ten) and an
empty `plan`, or no questions and the whole `plan`. The user's answers come in the next message."""

_MAY_NOT_ASK = """\
You cannot ask questions. Decide what is open, and write your assumptions into the plan's first paragraph. Answer with
the structured output: `questions` empty, and the whole `plan`."""

_ANSWERED = """\
The answers:

{answers}

{answering}"""

_WRONG = """\
The plan is invalid:

{problems}

Answer with the structured output again: `questions` empty, and the whole corrected `plan`."""

_EMPTY = """\
Your answer had neither questions nor a plan. Answer with the structured output: `questions` and `plan`, exactly
one of them not empty."""


class Questions(Struct, frozen=True):
    """The agent's questions."""

    texts: tuple[str, ...]


class Draft(Struct, frozen=True):
    """A valid plan."""

    text: str
    plan: Plan


class Unusable(Struct, frozen=True):
    """An invalid answer, and the prompt that asks for another."""

    problems: str
    prompt: str


Answer: TypeAlias = Questions | Draft | Unusable


def first_prompt(goal: str, *, may_ask: bool) -> str:
    return _BEGIN.format(goal=goal.strip(), answering=_answering(may_ask=may_ask))


def answers_prompt(questions: Sequence[str], answers: Sequence[str], *, may_ask: bool) -> str:
    """Return the prompt with the user's answers."""
    listed = "\n\n".join(
        f"{question}\n-> {answer.strip() or 'no answer; decide it and write down your assumption'}"
        for question, answer in zip(questions, answers, strict=True)
    )
    return _ANSWERED.format(answers=listed, answering=_answering(may_ask=may_ask))


def read_answer(structured: object, name: str, *, may_ask: bool) -> Answer:
    """Parse the agent's structured answer."""
    fields = JsonFields(structured)
    listed = fields.value("questions")
    texts = listed if isinstance(listed, list) else []
    questions = [" ".join(text.split()) for text in texts if isinstance(text, str) and text.strip()]
    text = (fields.text("plan") or "").strip()
    if text:
        whole = _strip_fence(text) + "\n"
        try:
            return Draft(whole, parse_markdown(whole, name))
        except PlanError as error:
            return Unusable(error.message, _WRONG.format(problems=error.message))
    if questions and may_ask:
        return Questions(tuple(questions[:QUESTIONS]))
    return Unusable("the answer has neither questions nor a plan", _EMPTY if may_ask else _MAY_NOT_ASK)


def _answering(*, may_ask: bool) -> str:
    return _MAY_ASK if may_ask else _MAY_NOT_ASK


def _strip_fence(text: str) -> str:
    """Return Markdown without the code fence that some agents put around it."""
    lines = text.splitlines()
    is_fenced = len(lines) > 2 and lines[0].startswith("```") and lines[-1].strip() == "```"
    return "\n".join(lines[1:-1]) if is_fenced and lines[0].strip("`").strip() in ("", "markdown", "md") else text
