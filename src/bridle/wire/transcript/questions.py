"""Questions of an agent to its user, and their answers."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from bridle.wire.events.decode_tolerant import convert
from bridle.wire.events.loose_json import JsonObject
from bridle.wire.transcript.items import Option, Question, Questions
from bridle.wire.transcript.tool_details import OptionEntry, QuestionEntry

KEPT_QUESTIONS = 20  # the tool itself accepts four
KEPT_OPTIONS = 20
KEPT_CHARACTERS = 4000


def parse_questions(arguments: JsonObject) -> Questions | None:
    """Return the questions in a call's input, or None if it has something else instead, or too many."""
    entries = arguments.get("questions", [arguments])
    if not isinstance(entries, list) or not 0 < len(entries) <= KEPT_QUESTIONS:
        return None
    return Questions(tuple(map(_question, entries))) if all(map(_is_question, entries)) else None


def with_answers(questions: Questions, answers: JsonObject, output: str) -> Questions:
    """Return the questions with the answers that the call's result reports, else with those in its text."""
    answers = answers or _answers_in(output, [question.text for question in questions.questions])
    return Questions(
        tuple(
            replace(question, answer=_answer(answers[question.text])) if question.text in answers else question
            for question in questions.questions
        )
    )


def _answers_in(output: str, asked: list[str]) -> JsonObject:
    """Find the answers in the text for the model: `"Which?"="B", "Where?"="here"`, or the text alone for one question.

    Questions and answers may contain quotes and commas, so an answer ends at the last quote before the next question.
    """
    found = sorted((output.find(_answer_start(text)), text) for text in asked if _answer_start(text) in output)
    if not found:
        return {asked[0]: output.strip()} if len(asked) == 1 and output.strip() else {}
    ends = [start for start, _ in found[1:]] + [len(output)]
    answers = {}
    for (start, text), end in zip(found, ends, strict=True):
        span = output[start + len(_answer_start(text)) : end]
        answers[text] = span.rpartition('"')[0] if '"' in span else span
    return answers


def _answer_start(question: str) -> str:
    return f'"{question}"="'


def _is_question(value: Any) -> bool:
    match value:
        case {"question": str(text)} if text.strip():
            options = value.get("options", [])
            is_list = isinstance(options, list) and len(options) <= KEPT_OPTIONS
            return is_list and all("label" in option if isinstance(option, dict) else True for option in options)
    return False


def _question(value: JsonObject) -> Question:
    entry = convert(value, QuestionEntry)
    return Question(
        text=_text(entry.question),
        header=_text(entry.header),
        options=tuple(_option(option) for option in entry.options),
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
