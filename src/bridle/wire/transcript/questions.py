"""Questions of an agent to its user, and their answers."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from bridle.wire.events.decode_tolerant import convert
from bridle.wire.events.loose_json import JsonObject
from bridle.wire.transcript.items import Option, Question, Questions
from bridle.wire.transcript.tool_details import ListArguments, OptionEntry, QuestionEntry

KEPT_QUESTIONS = 20  # the tool itself accepts four
KEPT_OPTIONS = 20
KEPT_CHARACTERS = 4000


def parse_questions(arguments: JsonObject) -> Questions:
    """Return the questions in a call's input."""
    entries = convert(arguments, ListArguments).questions
    if entries is None:
        entries = [arguments] if "question" in arguments else []
    return Questions(tuple(_question(entry) for entry in entries[:KEPT_QUESTIONS] if isinstance(entry, dict)))


def with_answers(questions: Questions, answers: JsonObject) -> Questions:
    """Return the questions with the answers that the call's result reports."""
    return Questions(
        tuple(
            replace(question, answer=_answer(answers[question.text])) if question.text in answers else question
            for question in questions.questions
        )
    )


def _question(value: JsonObject) -> Question:
    entry = convert(value, QuestionEntry)
    return Question(
        text=_text(entry.question),
        header=_text(entry.header),
        options=tuple(_option(option) for option in entry.options[:KEPT_OPTIONS]),
        several=entry.multi_select,
    )


def _option(value: Any) -> Option:
    if isinstance(value, dict):
        option = convert(value, OptionEntry)
        return Option(_text(option.label), _text(option.description))
    return Option(_text(value))


def _answer(value: Any) -> str:
    return ", ".join(_text(item) for item in value) if isinstance(value, list) else _text(value)


def _text(value: Any) -> str:
    return value[:KEPT_CHARACTERS] if isinstance(value, str) else "" if value is None else str(value)[:KEPT_CHARACTERS]
