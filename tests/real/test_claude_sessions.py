"""Sessions of the real Claude Code: continued, resumed, and forked behind our back."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from bridle.run.request import Request
from bridle.run.runner import run
from bridle.run.sessions import session_file
from tests.real.fixtures.claude_on_stage import Scene, says, scene, user_texts

pytestmark = pytest.mark.real

OTHER = "0199a213-81c0-7800-8aa1-bbab2a035a53"


def remembered(set_up: Scene) -> dict[str, str]:
    value: dict[str, str] = json.loads(session_file(set_up.workspace).read_text("utf-8"))
    return value


def test_a_continued_session_keeps_its_id_and_its_memory(tmp_path: Path) -> None:
    with scene(tmp_path, says("One."), says("Two."), says("Three.")) as set_up:
        first = set_up.ask("first words").document
        second = set_up.ask("second words", "--continue").document
        third = set_up.ask("third words", "--continue").document
        assert first["session_id"] == second["session_id"] == third["session_id"]
        assert [document["session_forked"] for document in (first, second, third)] == [False, False, False]
        assert remembered(set_up)["coder_session_id"] == first["session_id"]
        assert {"first words", "second words", "third words"} <= set(user_texts(set_up.bodies()[-1]))


def test_a_planner_continues_its_own_session_although_a_coder_ran_in_between(tmp_path: Path) -> None:
    with scene(tmp_path, says("One."), says("Two."), says("Three.")) as set_up:
        first = set_up.ask("plan words", "--mode", "planner").document
        set_up.ask("code words")
        third = set_up.ask("more plan words", "--mode", "planner", "--continue").document
        assert (third["session_id"], third["session_forked"]) == (first["session_id"], False)
        sent = set(user_texts(set_up.bodies()[-1]))
        assert {"plan words", "more plan words"} <= sent
        assert "code words" not in sent


def test_a_session_that_is_gone_is_an_error_and_the_remembered_one_stays(tmp_path: Path) -> None:
    with scene(tmp_path, says("One.")) as set_up:
        first = set_up.ask("first words").document
        second = set_up.ask("second words", "--resume", OTHER)
        assert (second.exit_code, second.document["session_forked"]) == (1, False)
        assert second.document["error"] == f"No conversation found with session ID: {OTHER}"
        assert "forked" not in second.stderr
        assert remembered(set_up)["coder_session_id"] == first["session_id"]
        assert set_up.inspect(second.log)["session_forked"] is False


def test_a_resumed_session_goes_on_and_one_that_is_forked_is_seen(tmp_path: Path) -> None:
    with scene(tmp_path, says("One."), says("Two."), says("Three.")) as set_up:
        first = set_up.ask("first words").document
        second = set_up.ask("second words", "--resume", first["session_id"]).document
        assert (second["session_id"], second["session_forked"]) == (first["session_id"], False)
        request = Request(
            prompt="third words",
            cwd=set_up.workspace,
            resume=first["session_id"],
            extra_args=("--fork-session",),
        )
        third = asyncio.run(run(request, environment=set_up.environment()))
        assert third.outcome.session_forked
        assert third.record.session_id not in (None, first["session_id"])
        assert {"first words", "second words", "third words"} <= set(user_texts(set_up.bodies()[-1]))
