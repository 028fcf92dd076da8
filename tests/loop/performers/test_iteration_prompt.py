"""A prompt has its sections in a fixed order, without empty ones, and long ones are cut at one end."""

from __future__ import annotations

from bridle.loop.effect_results import PromptCut
from bridle.loop.effects import AnsweredQuestion
from bridle.loop.performers.iteration_prompt import (
    NO_AGENTS_FILE,
    TAIL,
    PromptContent,
    Section,
    build,
    sections,
)
from bridle.loop.plan.model import Item, Plan, Task
from bridle.loop.settings.model import Settings

TASK = Task("Parse", body="Do it.", checklist=(Item("it works"),), may_edit=("tests/a.py",))
PLAN = Plan("P", "# P\n## Parse", (TASK,))


def names(text: str) -> list[str]:
    return [line[3:] for line in text.splitlines() if line.startswith("## ")]


def test_the_sections_of_a_first_iteration() -> None:
    prompt = build(sections(TASK, PLAN, PromptContent(), Settings(), ("make test",)))
    assert names(prompt.text) == [
        "Rules",
        "Task",
        "AGENTS.md",
        "The whole plan, for context",
        "Parse",
        "Your answer",
    ]
    for part in ("**Parse**", "Do it.", "- it works", "- `make test`", "tests/a.py", NO_AGENTS_FILE):
        assert part in prompt.text
    assert prompt.cut == ()


def test_what_happened_before_stands_above_what_is_always_there() -> None:
    content = PromptContent(
        agents_file="Use tabs.",
        progress="Much.",
        failure="1 failed",
        notes=("note",),
        hints=("hint",),
        answer="yes",
        answered=(AnsweredQuestion(question="Which?", answer="blue"),),
    )
    prompt = build(sections(TASK, PLAN, content, Settings(), ()))
    assert names(prompt.text)[2:9] == [
        "The user's answer to your question",
        "Earlier questions and their answers",
        "Hints from the user",
        "Notes on the last iteration",
        "Output of the checks that failed",
        "AGENTS.md",
        "Progress so far",
    ]
    assert NO_AGENTS_FILE not in prompt.text
    assert "These commands must pass" not in prompt.text


def test_a_long_section_is_cut_and_the_cut_is_reported() -> None:
    prompt = build([Section("A", "abcdef", 4), Section("B", "abcdef", 4, TAIL), Section("C", "abcd", 4)])
    assert prompt.text == (
        "## A\n\nabcd\n[2 characters after this are left out]\n\n"
        "## B\n\n[2 characters before this are left out]\ncdef\n\n"
        "## C\n\nabcd\n"
    )
    assert [(cut.section, cut.characters) for cut in prompt.cut] == [("A", 6), ("B", 6)]
    assert all(isinstance(cut, PromptCut) for cut in prompt.cut)


def test_empty_sections_and_those_without_a_limit_are_left_out() -> None:
    assert build([Section("A", " \n", 4), Section("B", "text", 0), Section("C", "c", 1)]).text == "## C\n\nc\n"


def test_above_the_limit_the_body_is_cut_and_never_what_decides() -> None:
    task = Task(
        "Long", body="words " * 100, checklist=(Item("it works"),), checks=("make own",), may_edit=("tests/a.py",)
    )
    plan = Plan("P", "", (task,), guard=("make all",))
    parts = sections(task, plan, PromptContent(), Settings(prompt_task=100), ("make own", "make all"))
    prompt = build(parts)
    shown = prompt.text.split("## AGENTS.md")[0]
    for needed in ("**Long**", "- it works", "- `make own`", "- `make all`", "tests/a.py", "characters after this are"):
        assert needed in shown
    assert shown.count("words") < 10
    (cut,) = prompt.cut
    assert (cut.section, cut.characters > 600, cut.kept < cut.characters) == ("Task", True, True)


def test_a_long_question_leaves_room_for_its_answer() -> None:
    content = PromptContent(question="q" * 9000 + "?", answer="BLUE", answered=())
    prompt = build(sections(TASK, PLAN, content, Settings(prompt_hint=400), ()))
    assert f"The question was: {'q' * 199}?\n\nThe answer:\n\nBLUE\n" in prompt.text
    resumed = build(sections(TASK, PLAN, PromptContent(answer="BLUE"), Settings(), ()))
    assert "## The user's answer to your question\n\nBLUE\n" in resumed.text


def test_of_earlier_answers_the_newest_is_first_and_the_oldest_is_cut() -> None:
    pairs = tuple(AnsweredQuestion(question=f"Q{number}" * 500, answer=f"A{number}") for number in range(9))
    prompt = build(sections(TASK, PLAN, PromptContent(answered=pairs), Settings(prompt_hint=500), ()))
    text = prompt.text.split("## Earlier questions and their answers\n\n", 1)[1].split("\n## ", 1)[0]
    assert "The answer: A8" in text
    assert "A0" not in text
    assert len(text) < 600
    assert [cut.section for cut in prompt.cut] == ["Earlier questions and their answers"]
