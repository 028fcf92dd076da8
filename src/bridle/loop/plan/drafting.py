"""How a plan is made with an agent: what it is asked, what it may answer, and what it is told next. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from bridle.errors import PlanError
from bridle.loop.plan.markdown import parse_markdown
from bridle.loop.plan.model import Plan

# Rounds of questions; whoever has not understood by then writes down what is assumed.
ROUNDS = 5
# Corrections of a plan that cannot be read.
CORRECTIONS = 3
# More questions than a person answers at once.
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
A person wants this done in this repository:

<goal>
{goal}
</goal>

Make a plan for it. Others carry it out: for each task a fresh agent, which sees the plan and its own task and nothing
of this conversation. Change no file.

First read: AGENTS.md and the README if they are there, how the repository is built and tested, and the code that the
goal is about. Then decide whether you know enough. Ask only what no file can tell you and what would change the plan.

{answering}

The plan is Markdown of this form:

    # A title for the whole

    A paragraph on what is wanted and why, with what was decided.

    Checks: `a command that must pass after every task`

    ## The title of the first task
    What is to be done, and where.
    - [ ] something that must be true when it is done
    Check: `a command that fails now and passes once the task is done`

    ## The title of the second task
    Needs: The title of the first task
    Check: `another command`

- A task is what one agent does in one sitting: a change with its tests. Between two and twelve of them are usual.
- Titles are short and all different. `Needs:` names titles exactly, and no two tasks wait for each other.
- Each task has a `Check:` of its own wherever one can be written: a shell line, run at the top of the repository, that
  ends by itself. One that runs tests which the task has yet to write is fine; say in the task that it writes them.
- A file that a check names is protected. A task that must change such a file has the line `May edit: the/file`.
- `Checks:` above the first task is for what must never break. It must pass before any work; run it to see. Leave it out
  if there is nothing of the kind."""

_MAY_ASK = """\
Answer with the structured output: either `questions` (each one sentence with its possible answers, at most ten) and an
empty `plan`, or no questions and the whole `plan`. The person's answers come in the next message."""

_MAY_NOT_ASK = """\
Nobody is there to answer questions: where something is open, decide it and write down in the plan's first paragraph
what you assumed. Answer with the structured output: `questions` empty, and the whole `plan`."""

_ANSWERED = """\
The answers:

{answers}

{answering}"""

_WRONG = """\
The plan cannot be used as it is:

{problems}

Answer with the structured output again: `questions` empty, and the whole corrected `plan`."""

_EMPTY = """\
There was neither a question nor a plan in your answer. Answer with the structured output: `questions` and `plan`, one
of them not empty."""


@dataclass(frozen=True)
class Questions:
    """The agent wants to know these."""

    texts: tuple[str, ...]


@dataclass(frozen=True)
class Draft:
    """The agent has written a plan that can be worked on."""

    text: str
    plan: Plan


@dataclass(frozen=True)
class Unusable:
    """Neither: what to tell the agent."""

    problems: str
    prompt: str


Answer: TypeAlias = Questions | Draft | Unusable


def first_prompt(goal: str, *, may_ask: bool) -> str:
    """What the agent is asked first."""
    return _BEGIN.format(goal=goal.strip(), answering=_answering(may_ask=may_ask))


def answers_prompt(questions: Sequence[str], answers: Sequence[str], *, may_ask: bool) -> str:
    """What a person said to the questions."""
    said = "\n\n".join(
        f"{question}\n-> {answer.strip() or 'no answer; decide it yourself and write down what you assumed'}"
        for question, answer in zip(questions, answers, strict=True)
    )
    return _ANSWERED.format(answers=said, answering=_answering(may_ask=may_ask))


def read_answer(structured: object, name: str, *, may_ask: bool) -> Answer:
    """What the agent's answer is; a plan that cannot be read is told with everything that is wrong with it."""
    given: Mapping[str, Any] = structured if isinstance(structured, Mapping) else {}
    listed = given.get("questions")
    questions = listed if isinstance(listed, list) else []
    asked = [" ".join(one.split()) for one in questions if isinstance(one, str) and one.strip()]
    text = given.get("plan")
    if isinstance(text, str) and text.strip():
        whole = _unfenced(text.strip()) + "\n"
        try:
            return Draft(whole, parse_markdown(whole, name))
        except PlanError as error:
            return Unusable(error.message, _WRONG.format(problems=error.message))
    if asked and may_ask:
        return Questions(tuple(asked[:QUESTIONS]))
    return Unusable("it has neither a question nor a plan in it", _EMPTY if may_ask else _MAY_NOT_ASK)


def _answering(*, may_ask: bool) -> str:
    return _MAY_ASK if may_ask else _MAY_NOT_ASK


def _unfenced(text: str) -> str:
    """Markdown that an agent put into a fence of its own, as some do."""
    lines = text.splitlines()
    is_fenced = len(lines) > 2 and lines[0].startswith("```") and lines[-1].strip() == "```"
    return "\n".join(lines[1:-1]) if is_fenced and lines[0].strip("`").strip() in ("", "markdown", "md") else text
