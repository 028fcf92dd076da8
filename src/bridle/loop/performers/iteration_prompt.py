"""The prompt of an iteration: sections in a fixed order, each with its cap, and a note of what was cut. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from bridle.loop.plan.model import Plan, Task
from bridle.loop.settings.model import Settings

HEAD = "head"
TAIL = "tail"

NO_AGENTS_FILE = (
    "There is no AGENTS.md in this repository. Look around first: the README, how it is built and tested, and the "
    "code near what you are going to change."
)

RULES = """\
You are one iteration of a loop. Nobody watches, and nobody answers while you work.
- Do the task named under "Task", all of it, and nothing else. Other tasks of the plan have their own iterations.
- Leave your work in the working tree. Do not commit, branch, stash, reset or push: that is done for you once it is
  verified.
- Whether the task is done is decided by commands that are run after you end. Run them yourself before you end.
- These are protected, and a change to them is undone: files that the checks name, the plan, bridle.toml, .ralph/,
  and the parts of Makefile, package.json, pyproject.toml and conftest.py that define a check. Writing new tests is
  welcome. Never delete, skip, empty or weaken a test to make it pass.
- Start nothing that outlives you: no servers, no watchers, no work in the background.
- If you cannot go on without a decision that only a person can make, say exactly what you need to know in
  `question` and stop. Do not ask what you can find out."""

ANSWER = """\
End with the structured output: `summary` (what you did and what you saw, in a few sentences), `done` (whether the
task is done as far as you can tell), `question` (empty unless only a person can decide), `patterns` (facts about
this repository that whoever comes next should know, each one line; an empty list if there is nothing new)."""

SCHEMA = {
    "type": "object",
    "properties": {
        "summary": {"type": "string"},
        "done": {"type": "boolean"},
        "question": {"type": "string"},
        "patterns": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["summary", "done"],
}


@dataclass(frozen=True)
class Section:
    """One part of a prompt."""

    name: str
    text: str
    cap: int
    """In characters; what is above it is cut from the end that is of less use."""
    keeps: str = HEAD


@dataclass(frozen=True)
class Packed:
    """A prompt that is ready to be sent."""

    text: str
    cut: tuple[dict[str, object], ...]
    """What was left out: the section, and how many characters of how many."""


@dataclass(frozen=True)
class Surroundings:
    """What an iteration is told besides its task."""

    agents_file: str | None = None
    progress: str = ""
    failure: str = ""
    notes: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    answer: str | None = None


def sections(
    task: Task, plan: Plan, around: Surroundings, settings: Settings, checks: tuple[str, ...]
) -> list[Section]:
    """All parts of a prompt, the most important first."""
    hint = "\n".join(around.hints)
    return [
        Section("Rules", RULES, len(RULES)),
        Section("Task", _task(task, checks), settings.prompt_task),
        Section("A person's answer to your question", around.answer or "", settings.prompt_hint),
        Section("From the person who started this", hint, settings.prompt_hint),
        Section("What the last iteration ran into", "\n".join(around.notes), settings.prompt_failure),
        Section("Output of the checks that failed", around.failure, settings.prompt_failure, TAIL),
        Section("AGENTS.md", around.agents_file or NO_AGENTS_FILE, settings.prompt_agents),
        Section("Progress so far, and what was learned", around.progress, settings.prompt_progress, TAIL),
        Section("The whole plan, for context", plan.text, settings.prompt_plan),
        Section("Your answer", ANSWER, len(ANSWER)),
    ]


def pack(parts: list[Section]) -> Packed:
    """Put the parts together; empty ones are left out, long ones are cut."""
    shown: list[str] = []
    cut: list[dict[str, object]] = []
    for part in parts:
        text = part.text.strip()
        if not text or not part.cap:
            continue
        kept = _cut(text, part)
        if kept != text:
            cut.append({"section": part.name, "characters": len(text), "kept": len(kept)})
        shown.append(f"## {part.name}\n\n{kept}")
    return Packed("\n\n".join(shown) + "\n", tuple(cut))


def _cut(text: str, part: Section) -> str:
    if len(text) <= part.cap:
        return text
    left_out = len(text) - part.cap
    if part.keeps == TAIL:
        return f"[{left_out} characters before this are left out]\n{text[-part.cap :]}"
    return f"{text[: part.cap]}\n[{left_out} characters after this are left out]"


def _task(task: Task, checks: tuple[str, ...]) -> str:
    lines = [f"**{task.title}**", task.body.strip()]
    if task.checklist:
        lines.append("It is done when:\n" + "\n".join(f"- {item.text}" for item in task.checklist))
    if checks:
        lines.append("These commands must pass:\n" + "\n".join(f"- `{command}`" for command in checks))
    if task.may_edit:
        lines.append("Of the protected files you may change: " + ", ".join(task.may_edit))
    return "\n\n".join(line for line in lines if line)
