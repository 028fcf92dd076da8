"""The real Claude Code when things go wrong: refused permissions, limits, overload, no login, no answer in form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures import sandbox
from tests.real.fixtures.claude_on_stage import Answer, calls, offered, says, scene, user_texts

pytestmark = pytest.mark.real

SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}


def error(status: int, **fields: Any) -> Answer:
    return {"kind": "error", "status": status, **fields}


@pytest.mark.parametrize("allowed", [False, True])
def test_a_refused_permission_fails_the_run_unless_refusals_are_allowed(allowed: bool, tmp_path: Path) -> None:
    with scene(tmp_path, calls("Bash", command="touch made.txt"), says("I was not let.")) as set_up:
        flags = ("--allow-denials",) if allowed else ()
        asked = set_up.ask("make it", "--allowed-tools", "Read,Bash(git status)", *flags)
        document = asked.document
        assert not (set_up.workspace / "made.txt").exists()
        assert [denial["tool_name"] for denial in document["permission_denials"]] == ["Bash"]
        assert document["permission_denials"][0]["tool_input"]["command"] == "touch made.txt"
        assert (document["run_error"], asked.exit_code) == ((False, 0) if allowed else (True, 1))
        assert document["error_category"] == (None if allowed else "permission")
        assert (document["final_text"], document["attempts"]) == ("I was not let.", 1)
        assert ("failed (permission): permission was refused for Bash" in asked.stderr) is not allowed


def test_the_bypass_is_reported_and_written_down(tmp_path: Path) -> None:
    with scene(tmp_path, calls("Bash", command="touch made.txt"), says("Made.")) as set_up:
        asked = set_up.ask("make it", "--allowed-tools", "Bash(git status)", "--permission", "bypass")
        assert (asked.exit_code, asked.document["permission_mode"]) == (0, "bypassPermissions")
        assert (set_up.workspace / "made.txt").exists()
        name = "bwrap" if sandbox.is_on() else "IS_SANDBOX"
        assert f"bridle: permissions are bypassed; sandbox: {name}" in asked.stderr.splitlines()
        meta = json.loads(asked.log.with_suffix(".meta.json").read_text("utf-8"))
        assert (meta["permissions_bypassed"], meta["sandbox"]) == (True, name)


def test_a_rate_limit_that_passes_is_waited_for_and_counted(tmp_path: Path) -> None:
    with scene(tmp_path, error(429, headers={"retry-after": "1"}), says("Here I am.")) as set_up:
        asked = set_up.ask("hello")
        assert (asked.exit_code, asked.document["final_text"]) == (0, "Here I am.")
        assert (asked.document["api_retries"], asked.document["succeeded_cleanly"]) == (1, True)
        retries = [event for event in asked.events() if event.get("subtype") == "api_retry"]
        assert [(retry["error_status"], retry["retry_delay_ms"]) for retry in retries] == [(429, 1000)]


@pytest.mark.parametrize(
    ("status", "category", "retries"), [(429, "rate_limit", 1), (529, "api", 1), (500, "api", 1), (400, "api", 0)]
)
def test_an_api_error_that_stays_is_named_by_its_category(
    status: int, category: str, retries: int, tmp_path: Path
) -> None:
    answer = error(status, times="forever", headers={"retry-after": "0"})
    with scene(tmp_path, answer) as set_up:
        asked = set_up.ask("hello")
        document = asked.document
        assert (asked.exit_code, document["error_category"]) == (1, category)
        assert (document["run_error"], document["succeeded"], document["exit_code"]) == (True, False, 1)
        assert (document["api_retries"], document["attempts"]) == (retries, 1)
        assert "API Error" in document["error"]
        assert f"bridle: failed ({category}): " in asked.stderr
        assert len(set_up.bodies()) == retries + 1


def test_an_overload_inside_the_stream_is_survived(tmp_path: Path) -> None:
    broken = {"kind": "overloaded_in_stream", "blocks": ["Half"], "after_events": 3}
    with scene(tmp_path, broken, says("Whole.")) as set_up:
        asked = set_up.ask("hello")
        assert (asked.exit_code, asked.document["final_text"]) == (0, "Whole.")


def test_a_dropped_connection_is_survived(tmp_path: Path) -> None:
    broken = {"kind": "drop_connection", "blocks": ["Half a sentence"], "after_events": 4}
    with scene(tmp_path, broken, says("A whole sentence.")) as set_up:
        asked = set_up.ask("hello")
        assert (asked.exit_code, asked.document["final_text"]) == (0, "A whole sentence.")


def test_a_wrong_key_is_reported_in_one_line_with_the_remedy(tmp_path: Path) -> None:
    with scene(tmp_path, error(401, times="forever")) as set_up:
        asked = set_up.ask("hello")
        assert (asked.exit_code, asked.document["error_category"]) == (5, "auth")
        assert (asked.document["attempts"], asked.document["api_error_status"]) == (1, 401)
        [line] = [line for line in asked.stderr.splitlines() if "Invalid API key" in line]
        assert line.startswith("bridle: claude cannot log in: the API rejected ANTHROPIC_API_KEY")
        assert "Set a valid ANTHROPIC_API_KEY" in line


def test_no_key_and_no_login_is_reported_in_one_line_with_the_remedy(tmp_path: Path) -> None:
    with scene(tmp_path, says("never")) as set_up:
        asked = set_up.ask("hello", ANTHROPIC_API_KEY="")
        assert (asked.exit_code, asked.document["error_category"]) == (5, "auth")
        assert "auth: login" in asked.stderr.splitlines()[0]
        [line] = [line for line in asked.stderr.splitlines() if "not logged in" in line]
        assert line.startswith("bridle: claude is not logged in")
        assert "Run claude and log in" in line
        assert set_up.bodies() == []


def test_an_inherited_key_is_not_used_against_the_login(tmp_path: Path) -> None:
    with scene(tmp_path, says("never")) as set_up:
        asked = set_up.ask("hello", "--auth", "login")
        assert (asked.exit_code, asked.document["api_key_source"]) == (5, "none")
        assert "ANTHROPIC_API_KEY is set but not used" in asked.stderr.splitlines()[0]
        assert set_up.bodies() == []


def test_a_session_that_does_not_exist_is_a_clear_failure(tmp_path: Path) -> None:
    with scene(tmp_path, says("never")) as set_up:
        asked = set_up.ask("hello", "--resume", "0199a213-81c0-7800-8aa1-bbab2a035a53")
        assert (asked.exit_code, asked.document["attempts"]) == (1, 1)
        assert "No conversation found with session ID" in asked.document["error"]
        assert set_up.bodies() == []


def test_an_answer_in_form_is_taken_at_once(tmp_path: Path) -> None:
    with scene(tmp_path, calls("StructuredOutput", n=7)) as set_up:
        asked = set_up.ask("a number", "--json-schema", json.dumps(SCHEMA), "--allowed-tools", "Read")
        assert (asked.exit_code, asked.document["structured_output"]) == (0, {"n": 7})
        assert (asked.document["corrections"], asked.document["results"]) == (0, 1)
        assert offered(set_up.bodies()[0]) == {"Read", "StructuredOutput"}


def test_an_answer_without_form_is_corrected_in_the_same_conversation(tmp_path: Path) -> None:
    answers = (says("Seven."), says("I said seven."), calls("StructuredOutput", n=7))
    with scene(tmp_path, *answers) as set_up:
        asked = set_up.ask("a number", "--json-schema", json.dumps(SCHEMA))
        document = asked.document
        assert (asked.exit_code, document["structured_output"]) == (0, {"n": 7})
        assert (document["corrections"], document["attempts"], document["results"]) == (1, 1, 2)
        last = user_texts(set_up.bodies()[-1])
        assert "a number" in last
        assert last[-1].startswith("Your last turn cannot be used: there was no structured output.")
        assert json.dumps(SCHEMA) in last[-1]
        assert len({event["session_id"] for event in asked.events() if "session_id" in event}) == 1


def test_an_answer_that_never_has_the_form_is_a_clear_failure(tmp_path: Path) -> None:
    with scene(tmp_path, otherwise=says("Seven, I say.")) as set_up:
        asked = set_up.ask("a number", "--json-schema", json.dumps(SCHEMA))
        document = asked.document
        assert (asked.exit_code, document["error_category"], document["attempts"]) == (1, "parse", 1)
        assert document["error"] == "there was no structured output, after 3 corrections"
        assert (document["corrections"], document["structured_output"]) == (3, None)
        asked_again = [text for text in user_texts(set_up.bodies()[-1]) if text.startswith("Your last turn")]
        assert len(asked_again) == 3


def test_wrong_data_until_the_agent_gives_up_is_a_failure_of_the_agent(tmp_path: Path) -> None:
    with scene(tmp_path, otherwise=calls("StructuredOutput", wrong=True)) as set_up:
        asked = set_up.ask("a number", "--json-schema", json.dumps(SCHEMA))
        document = asked.document
        assert (asked.exit_code, document["run_error"], document["structured_output"]) == (1, True, None)
        assert document["result_subtype"] == "error_max_structured_output_retries"
        assert "structured output" in document["error"]
