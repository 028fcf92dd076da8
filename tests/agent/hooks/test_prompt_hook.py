"""Hooks of type prompt: the question, the answer, and answers that decide nothing."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from bridle.agent.hooks.definitions import PromptHook
from bridle.agent.hooks.outcome import Condition
from bridle.agent.hooks.prompt_hook import question, run_prompt
from bridle.errors import ModelFailure
from tests.agent.fixtures.raw_host import raw_host, says

PAYLOAD = {"hook_event_name": "PreToolUse"}
DATA = '{"hook_event_name":"PreToolUse"}'


@pytest.mark.parametrize(
    ("prompt", "event", "asked"),
    [
        ("Is $ARGUMENTS fine?", "PreToolUse", f"Is {DATA} fine?"),
        ("Fine?", "PreToolUse", f"Fine?\n\nARGUMENTS: {DATA}"),
    ],
)
def test_the_event_is_in_the_question(prompt: str, event: str, asked: str) -> None:
    assert question(PromptHook(prompt), event, PAYLOAD) == asked


def test_the_question_at_the_end_of_a_turn_is_about_the_conversation() -> None:
    asked = question(PromptHook("Done?"), "Stop", PAYLOAD)
    assert asked.startswith("Does the conversation above")
    assert asked.endswith(f"Condition: Done?\n\nARGUMENTS: {DATA}")


@pytest.mark.parametrize(
    ("answer", "condition"),
    [
        ('{"ok": true, "reason": "so"}', Condition(True, "so")),
        (' {"ok": false, "reason": "no"}\n', Condition(False, "no")),
        ('{"ok": false, "impossible": true, "reason": "never"}', Condition(True, "never")),
        ('{"ok": false}', Condition(False)),
        ('{"ok": "no"}', None),
        ("no", None),
        ("", None),
    ],
)
def test_an_answer_is_a_condition_or_decides_nothing(answer: str, condition: Condition | None) -> None:
    async def main() -> None:
        async def ask(_hook: PromptHook, _event: str, _text: str) -> str:
            return answer

        output = await run_prompt(PromptHook("Fine?"), "PreToolUse", PAYLOAD, ask)
        assert output.condition == condition
        assert bool(output.stderr) == (condition is None)

    asyncio.run(main())


def test_a_model_that_fails_or_is_late_decides_nothing() -> None:
    async def main() -> None:
        async def fails(_hook: PromptHook, _event: str, _text: str) -> str:
            raise ModelFailure("API Error: 500", error="server_error")

        async def is_late(_hook: PromptHook, _event: str, _text: str) -> str:
            raise TimeoutError

        assert (await run_prompt(PromptHook("?"), "Stop", PAYLOAD, fails)).condition is None
        late = await run_prompt(PromptHook("?", timeout_seconds=7), "Stop", PAYLOAD, is_late)
        assert (late.condition, late.stderr) == (None, "no answer within 7 s")

    asyncio.run(main())


def test_no_model_is_asked_at_the_start_and_the_end_of_a_session() -> None:
    async def main() -> None:
        async def ask(_hook: PromptHook, _event: str, _text: str) -> str:
            raise AssertionError("asked")

        output = await run_prompt(PromptHook("?"), "SessionStart", PAYLOAD, ask)
        assert "use type command" in output.stderr

    asyncio.run(main())


def test_a_short_name_of_a_model_is_the_one_that_the_environment_names(tmp_path: Path) -> None:
    table = {"UserPromptSubmit": [{"hooks": [{"type": "prompt", "prompt": "Fine?", "model": "haiku"}]}]}
    answers = says('{"ok": true, "reason": "so"}'), says("Done.")
    flags, environment = ("--settings", json.dumps({"hooks": table})), {"ANTHROPIC_DEFAULT_HAIKU_MODEL": "own-model"}
    with raw_host(tmp_path, *answers, flags=flags, environment=environment) as host:
        host.prompt("go")
        host.result()
        assert host.bodies()[0]["model"] == "own-model"
        assert host.end() == 0
