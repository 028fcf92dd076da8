"""Questions that an agent asks its user, and their answers."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from bridle.wire.transcript.items import Option, Question, Questions

KEPT_QUESTIONS = 20  # the tool itself takes four
KEPT_OPTIONS = 20
KEPT_CHARACTERS = 4000


def parse_questions(arguments: dict[str, Any]) -> Questions:
    """The questions in a call's input."""
    entries = arguments.get("questions")
    entries = entries if isinstance(entries, list) else [arguments] if "question" in arguments else []
    return Questions(tuple(_question(entry) for entry in entries[:KEPT_QUESTIONS] if isinstance(entry, dict)))


def with_answers(questions: Questions, details: Any) -> Questions:
    """The same questions with the answers that the call's result reports."""
    answers = details.get("answers") if isinstance(details, dict) else None
    if not isinstance(answers, dict):
        return questions
    return Questions(
        tuple(
            replace(question, answer=_answer(answers[question.text])) if question.text in answers else question
            for question in questions.questions
        )
    )


def _question(entry: dict[str, Any]) -> Question:
    options = entry.get("options")
    return Question(
        text=_text(entry.get("question")),
        header=_text(entry.get("header")),
        options=tuple(_option(option) for option in (options if isinstance(options, list) else ())[:KEPT_OPTIONS]),
        several=entry.get("multiSelect") is True,
    )


def _option(value: Any) -> Option:
    if isinstance(value, dict):
        return Option(_text(value.get("label")), _text(value.get("description")))
    return Option(_text(value))


def _answer(value: Any) -> str:
    return ", ".join(_text(item) for item in value) if isinstance(value, list) else _text(value)


def _text(value: Any) -> str:
    return value[:KEPT_CHARACTERS] if isinstance(value, str) else "" if value is None else str(value)[:KEPT_CHARACTERS]
