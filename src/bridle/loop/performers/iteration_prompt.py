"""The prompt of an iteration: sections in a fixed order, each with a size limit. Pure."""

from __future__ import annotations

from msgspec import Struct

from bridle.loop.effect_results import PromptCut
from bridle.loop.effects import AnsweredQuestion
from bridle.loop.plan.model import Plan, Task
from bridle.loop.settings.model import Settings
from bridle.loop.settings.prompt_template import OPTIONAL, PLACEHOLDER, SECTIONS

HEAD = "head"
TAIL = "tail"

NO_AGENTS_FILE = (
    "This repository has no AGENTS.md. First read the README, find out how the project is built and tested, and read "
    "the code near what you are going to change."
)

RULES = """\
You are one iteration of an unattended loop. No user watches, and no user answers while you work.
- Do the task named under "Task", all of it, and nothing else. Other tasks of the plan have their own iterations.
- Leave your work in the working tree. Do not commit, branch, stash, reset or push: that is done for you once your work
  is verified.
- Commands that run after you end decide whether the task is done. Run them yourself before you end.
- These are protected, and a change to them is undone unless the task's `May edit:` names them: files that the checks
  execute or compare with, the plan, bridle.toml, .ralph/, the settings of the programs that the checks run, and the
  parts of Makefile, package.json, pyproject.toml and conftest.py that define a check. Writing new tests is welcome.
  Never delete, skip, empty or weaken a test to make it pass.
- Start nothing that outlives you: no servers, no watchers, no background work.
- If you cannot continue without a decision that only the user can make, write exactly what you need to know in
  `question` and stop. Do not ask what you can find out."""

ANSWER = """\
End with the structured output: `summary` (what you did and found, in a few sentences), `done` (whether the task is
done as far as you can tell), `question` (empty unless only the user can decide), `patterns` (facts about this
repository that the next iteration should know, one line each; an empty list if there is nothing new)."""

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


class Section(Struct, frozen=True):
    """One section of a prompt."""

    name: str
    text: str
    limit: int
    """In characters; a longer text is cut."""
    keeps: str = HEAD
    """Which end of a longer text stays."""
    before: str = ""
    """Comes before the text, and is never cut."""
    after: str = ""
    """Comes after the text, and is never cut."""

    @property
    def whole(self) -> str:
        """All of it."""
        return self.around(self.text.strip())

    def around(self, text: str) -> str:
        """Return a text with what comes before and after it."""
        return "\n\n".join(part for part in (self.before, text, self.after) if part)


class Prompt(Struct, frozen=True):
    """A prompt that is ready to be sent."""

    text: str
    cut: tuple[PromptCut, ...]
    """The sections that were longer than their limit."""


class PromptContent(Struct, frozen=True):
    """What a prompt contains besides the task."""

    agents_file: str | None = None
    progress: str = ""
    failure: str = ""
    notes: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    question: str | None = None
    """What `answer` belongs to; None where the session that asked is resumed."""
    answer: str | None = None
    answered: tuple[AnsweredQuestion, ...] = ()
    """Earlier questions with their answers, the oldest first."""


def sections(
    task: Task, plan: Plan, content: PromptContent, settings: Settings, checks: tuple[str, ...]
) -> list[Section]:
    """Return the sections of a prompt, the most important first."""
    hint = "\n".join(content.hints)
    return [
        Section("Rules", RULES, len(RULES)),
        Section("Task", task.body, settings.prompt_task, before=f"**{task.title}**", after=_requirements(task, checks)),
        _answer_section(content, settings.prompt_hint),
        Section(
            "Earlier questions and their answers", _earlier_answers(content, settings.prompt_hint), settings.prompt_hint
        ),
        Section("Hints from the user", hint, settings.prompt_hint),
        Section("Notes on the last iteration", "\n".join(content.notes), settings.prompt_failure),
        Section("Output of the checks that failed", content.failure, settings.prompt_failure, TAIL),
        Section("AGENTS.md", content.agents_file or NO_AGENTS_FILE, settings.prompt_agents),
        Section("Progress so far", content.progress, settings.prompt_progress, TAIL),
        Section("The whole plan, for context", plan.text, settings.prompt_plan),
        Section("Your answer", ANSWER, len(ANSWER)),
    ]


def _answer_section(content: PromptContent, limit: int) -> Section:
    asked = _asked(content.question, limit) if content.question and content.answer else ""
    return Section("The user's answer to your question", content.answer or "", limit, before=asked)


def _earlier_answers(content: PromptContent, limit: int) -> str:
    """Return the earlier questions and answers, the newest first: the limit cuts the oldest."""
    return "\n\n".join(
        f"{_asked(answered.question, limit)} {answered.answer}" for answered in reversed(content.answered)
    )


def _asked(question: str, limit: int) -> str:
    """Return a question before its answer; a long one leaves room for the answer."""
    return f"The question was: {question[-limit // 2 :]}\n\nThe answer:"


def build(parts: list[Section], template: str = "") -> Prompt:
    """Join the sections, in the form of a template if there is one; empty ones are left out, long ones are cut."""
    texts: dict[str, str] = {}
    cut: list[PromptCut] = []
    for section in parts:
        whole = section.whole
        if not whole or not section.limit:
            continue
        kept = section.around(_cut(section))
        if kept != whole:
            cut.append(PromptCut(section=section.name, characters=len(whole), kept=len(kept)))
        texts[section.name] = kept
    return Prompt(_join(texts, template) + "\n", tuple(cut))


def _join(texts: dict[str, str], template: str) -> str:
    """Fill a template; what it must not leave out follows it."""
    if not template:
        return "\n\n".join(f"## {name}\n\n{text}" for name, text in texts.items())
    names = {*PLACEHOLDER.findall(template)}
    filled = PLACEHOLDER.sub(lambda found: texts.get(SECTIONS[found[1]], ""), template).strip()
    missing = [SECTIONS[name] for name in SECTIONS if name not in names | OPTIONAL]
    return "\n\n".join([filled, *(f"## {name}\n\n{texts[name]}" for name in missing if name in texts)])


def _cut(section: Section) -> str:
    """Return as much of the text as the limit leaves, with a note about the rest."""
    text, limit = section.text.strip(), max(0, section.limit - len(section.around("")))
    if len(text) <= limit:
        return text
    omitted = len(text) - limit
    if section.keeps == TAIL:
        return f"[{omitted} characters before this are left out]\n{text[-limit:] if limit else ''}".rstrip()
    return f"{text[:limit]}\n[{omitted} characters after this are left out]".lstrip()


def _requirements(task: Task, checks: tuple[str, ...]) -> str:
    """Return what decides about a task, and what it may change."""
    lines = []
    if task.checklist:
        lines.append("It is done when:\n" + "\n".join(f"- {item.text}" for item in task.checklist))
    if checks:
        lines.append("These commands must pass:\n" + "\n".join(f"- `{command}`" for command in checks))
    if task.may_edit:
        lines.append("Of the protected files you may change: " + ", ".join(task.may_edit))
    return "\n\n".join(lines)
