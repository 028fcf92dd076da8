"""AskUserQuestion: the host's answers become one sentence for the model."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from bridle.agent.tools.interaction.ask_user_question import AskUserQuestion, AskUserQuestionInput
from bridle.agent.tools.interaction.plan_mode import EnterPlanMode, ExitPlanMode, ModeSwitch
from tests.agent.fixtures.raw_host import calls, raw_host, says

QUESTION = {
    "question": "Which?",
    "header": "Pick",
    "options": [{"label": "A", "description": "a"}, {"label": "B", "description": "b"}],
    "multiSelect": False,
}


def test_the_answers_are_one_sentence() -> None:
    asked = AskUserQuestionInput(questions=[QUESTION], answers={"Which?": "B", "Why?": "so"})
    done = asyncio.run(AskUserQuestion().run(asked, call_id="t"))
    assert done.content == (
        'Your questions have been answered: "Which?"="B", "Why?"="so". You can now continue with these answers in mind.'
    )
    assert done.detail == {"questions": [QUESTION], "answers": {"Which?": "B", "Why?": "so"}}


def test_an_approval_without_answers_answers_nothing() -> None:
    done = asyncio.run(AskUserQuestion().run(AskUserQuestionInput(questions=[QUESTION]), call_id="t"))
    assert not done.is_error
    assert done.detail == {"questions": [QUESTION], "answers": {}}


def test_questions_are_offered_only_with_a_host(tmp_path: Path) -> None:
    with raw_host(tmp_path / "without", calls(("AskUserQuestion", {"questions": [QUESTION]})), says("no")) as host:
        host.prompt("ask")
        host.result()
        assert "AskUserQuestion" not in json.dumps(host.bodies()[0]["tools"])
        assert "not enabled in this context" in host.last_results()[0] or "No such tool" in host.last_results()[0]


def test_plan_mode_returns_to_the_mode_before_it() -> None:
    modes = ["acceptEdits"]
    switch = ModeSwitch(lambda: modes[-1], modes.append)
    asyncio.run(EnterPlanMode(switch).run(EnterPlanMode.input_type(), call_id="t"))
    asyncio.run(EnterPlanMode(switch).run(EnterPlanMode.input_type(), call_id="t"))
    done = asyncio.run(ExitPlanMode(switch).run(ExitPlanMode.input_type(plan="do it"), call_id="t"))
    assert modes == ["acceptEdits", "plan", "acceptEdits"]
    assert "do it" in str(done.content)
