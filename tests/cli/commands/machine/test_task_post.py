"""`bridle task:post`: the shape of a breakpoint's answer, and numbers that JSON does not have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bridle.journal.stores.file_reader import FileReader
from tests.cli.fixtures.machine_commands import CommandResult, bridle, create, waiting_run
from tests.journal.fixtures.recorded_samples import contents


def post(run: Path, effect_id: str, value: str, *flags: str) -> CommandResult:
    return bridle("task:post", run, effect_id, "--status", "ok", "--value-inline", value, "--json", *flags)


@pytest.mark.parametrize(
    "answer",
    [
        {"approved": True},
        {"approved": True, "response": "Ship it", "respondedBy": "human", "option": "yes"},
        {"approved": False},
        {"approved": False, "response": ""},
        {"approved": False, "feedback": "not yet"},
    ],
    ids=str,
)
def test_an_approval_and_a_rejection_are_answers(tmp_path: Path, answer: dict[str, object]) -> None:
    run, effect_id = waiting_run(tmp_path, kind="breakpoint")
    assert post(run, effect_id, json.dumps(answer)).code == 0
    reader = FileReader(run)
    assert reader.result(reader.state().effects[effect_id]).value == answer


def test_anything_else_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    run, effect_id = waiting_run(tmp_path, kind="breakpoint")
    before = contents(run)
    values = ('"yes"', "true", "null", "[]", "{}", '{"approved": "true"}', '{"approved": 1}', '{"response": "yes"}')
    for value in (*values, '{"approved": true, "response": 1}', '{"approved": true, "response": null}'):
        done = post(run, effect_id, value)
        assert done.error == "USAGE"
        assert "must be an object with `approved`, true or false" in done.stderr
    assert post(run, effect_id, "1", "--dry-run").error == "USAGE"
    assert contents(run) == before


@pytest.mark.parametrize(
    "response", ["", " \n", "\u200b", "\ufeff \u2060", "\u2800", "\u3164\u115f", "\u034f\ufe0f", "\u0301"]
)
def test_an_empty_response_does_not_approve(tmp_path: Path, response: str) -> None:
    run, effect_id = waiting_run(tmp_path, kind="breakpoint")
    before = contents(run)
    done = post(run, effect_id, json.dumps({"approved": True, "response": response}))
    assert done.error == "USAGE"
    assert "an empty response does not approve" in done.stderr
    assert contents(run) == before


def test_a_breakpoint_can_fail_and_other_kinds_take_any_value(tmp_path: Path) -> None:
    run, effect_id = waiting_run(tmp_path, kind="breakpoint")
    assert bridle("task:post", run, effect_id, "--status", "error").code == 0
    run, effect_id = waiting_run(tmp_path / "other", kind="agent")
    assert post(run, effect_id, '{"approved": true, "response": ""}').code == 0


NUMBERS = ["1e999", "-1e999", "NaN", "Infinity", "-Infinity"]


@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_that_json_does_not_have_is_bad_input(tmp_path: Path, number: str) -> None:
    run, effect_id = waiting_run(tmp_path)
    before = contents(run)
    done = post(run, effect_id, number)
    assert done.error == "USAGE"
    assert "--value-inline: it is not JSON" in done.stderr
    assert contents(run) == before


@pytest.mark.parametrize("option", ["--value", "--error", "--metadata"])
def test_a_number_in_a_file_must_be_json_too(tmp_path: Path, option: str) -> None:
    run, effect_id = waiting_run(tmp_path)
    (run / "in.json").write_text('{"a": [1e999]}')
    status = ["error"] if option == "--error" else ["ok", "--value-inline", "1"] if option == "--metadata" else ["ok"]
    done = bridle("task:post", run, effect_id, "--status", *status, option, "in.json", "--json")
    assert done.error == "USAGE"
    assert f"{option}: it is not JSON" in done.stderr
    assert FileReader(run).position().pending.keys() == {"E2", effect_id}


def test_the_inputs_of_a_run_must_be_json(tmp_path: Path) -> None:
    (tmp_path / "process.py").write_text("async def process(inputs, ctx): return inputs\n")
    (tmp_path / "in.json").write_text("[1e999]")
    done = create(tmp_path, "--inputs", "in.json")
    assert done.error == "USAGE"
    assert "is not JSON" in done.stderr
    assert not (tmp_path / ".a5c").exists()


@pytest.mark.parametrize("depth", [600, 900, 100_000])
def test_a_value_that_is_nested_too_deeply_is_bad_input(tmp_path: Path, depth: int) -> None:
    run, effect_id = waiting_run(tmp_path)
    (run / "in.json").write_text("[" * depth + "]" * depth)
    done = bridle("task:post", run, effect_id, "--status", "ok", "--value", "in.json", "--json")
    assert done.error == "USAGE"
    assert "nested more than" in done.stderr
    failed = bridle("task:post", run, effect_id, "--status", "error", "--error", "in.json", "--json")
    assert failed.error == "USAGE"
    assert not (run / "tasks" / effect_id / "result.json").exists()
    (tmp_path / "process.py").write_text("async def process(inputs, ctx): return inputs\n")
    assert create(tmp_path, "--inputs", run / "in.json").error == "USAGE"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--stdout-ref", "../../../../etc/passwd"), "--stdout-ref must be a path in the run's folder"),
        (("--stderr-ref", "/etc/passwd"), "--stderr-ref must be a path in the run's folder"),
        (("--started-at", "garbage"), "--started-at must be an ISO 8601 time"),
        (("--finished-at", "2026-13-01"), "--finished-at must be an ISO 8601 time"),
        (("--metadata", "list.json"), "--metadata must be a JSON object"),
    ],
    ids=" ".join,
)
def test_what_would_make_the_run_invalid_is_refused(tmp_path: Path, flags: tuple[str, ...], message: str) -> None:
    run, effect_id = waiting_run(tmp_path)
    (run / "list.json").write_text("[1]")
    before = contents(run)
    done = post(run, effect_id, "1", *flags)
    assert done.error == "USAGE"
    assert message in done.stderr
    assert contents(run) == before


def test_a_byte_order_mark_is_ignored_and_a_number_of_many_digits_is_named(tmp_path: Path) -> None:
    run, effect_id = waiting_run(tmp_path)
    (run / "long.json").write_text("9" * 5000)
    long = bridle("task:post", run, effect_id, "--status", "ok", "--value", "long.json", "--json")
    assert long.error == "USAGE"
    assert "has too many digits: 5000" in long.stderr
    assert "sys." not in long.stderr
    (run / "marked.json").write_bytes(b"\xef\xbb\xbf[1]")
    assert bridle("task:post", run, effect_id, "--status", "ok", "--value", "marked.json").code == 0
    reader = FileReader(run)
    assert reader.result(reader.state().effects[effect_id]).value == [1]
