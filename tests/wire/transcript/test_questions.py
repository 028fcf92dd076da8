"""Questions to the user, and the answers that a result reports beside its text or in it."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.wire.transcript.items import Questions
from tests.wire.fixtures.conversations import assistant_line, calls, result, transcript_of, use, user_line


def answers(output: str, *asked: str, is_error: bool = False, **fields: Any) -> list[str | None]:
    """The answers to questions after a result."""
    questions = [{"question": text, "options": [{"label": "A"}, {"label": "B"}]} for text in asked]
    transcript = transcript_of(
        assistant_line(use("a", "AskUserQuestion", questions=questions)),
        user_line(result("a", output, is_error=is_error), **fields),
    )
    detail = calls(transcript)[0].detail
    assert isinstance(detail, Questions)
    return [question.answer for question in detail.questions]


END = ". You can now continue with these answers in mind."


@pytest.mark.parametrize(
    ("output", "found"),
    [
        (f'Your questions have been answered: "Which?"="B", "Where?"="here"{END}', ["B", "here"]),
        (f'User has answered your questions: "Where?"="here", "Which?"="A, B"{END}', ["A, B", "here"]),
        (
            f'Your questions have been answered: "Which?"="say "no", then go", "Where?"=""{END}',
            ['say "no", then go', ""],
        ),
        (f'Your questions have been answered: "Which?"="B"{END}', ["B", None]),
        ("The user is away.", [None, None]),
    ],
)
def test_answers_are_read_from_the_text_where_nothing_is_beside_it(output: str, found: list[str | None]) -> None:
    assert answers(output, "Which?", "Where?") == found


def test_what_is_beside_the_text_counts_before_the_text() -> None:
    beside = {"answers": {"Which?": ["A", "B"]}}
    assert answers(f'"Which?"="wrong"{END}', "Which?", tool_use_result=beside) == ["A, B"]


def test_any_answer_to_a_single_question_is_its_answer_but_an_error_is_not() -> None:
    assert answers("B, please\n", "Which?") == ["B, please"]
    assert answers("not enabled in this context", "Which?", is_error=True) == [None]
    assert answers("", "Which?") == [None]
