"""Requests that change a session: each has an effect on what follows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.agent.fixtures.raw_host import calls, raw_host, says


def test_a_new_model_answers_the_next_request(tmp_path: Path) -> None:
    with raw_host(tmp_path, says("one"), says("two")) as host:
        host.prompt("a")
        host.result()
        host.request("1", subtype="set_model", model="haiku")
        assert host.response("1") == {"subtype": "success", "request_id": "1"}
        host.prompt("b")
        host.result()
        assert [body["model"] for body in host.bodies()] == ["claude-opus-4-8", "claude-haiku-4-5-20251001"]


def test_a_new_mode_decides_the_next_call_and_is_announced_after_the_response(tmp_path: Path) -> None:
    write = ("Write", {"file_path": "a.txt", "content": "x"})
    with raw_host(tmp_path, calls(write), says("one"), calls(write), says("two")) as host:
        host.prompt("a")
        assert len(host.result()["permission_denials"]) == 1
        host.request("1", subtype="set_permission_mode", mode="acceptEdits")
        assert host.response("1")["response"] == {"mode": "acceptEdits"}
        assert host.until(lambda line: line.get("subtype") == "status")["permissionMode"] == "acceptEdits"
        host.prompt("b")
        assert host.result()["permission_denials"] == []
        assert (host.workspace / "a.txt").read_text() == "x"


def test_a_wrong_value_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    wrong: list[dict[str, Any]] = [
        {"subtype": "set_model", "model": 5},
        {"subtype": "set_permission_mode", "mode": "yolo"},
        {"subtype": "set_permission_mode", "mode": "bypassPermissions"},
        {"subtype": "set_max_thinking_tokens", "max_thinking_tokens": -1},
    ]
    with raw_host(tmp_path, says("one")) as host:
        for number, request in enumerate(wrong):
            host.request(str(number), **request)
            assert host.response(str(number))["subtype"] == "error"
        host.prompt("a")
        host.result()
        init = next(line for line in host.lines if line.get("subtype") == "init")
        assert (init["model"], init["permissionMode"]) == ("claude-opus-4-8[1m]", "default")


def test_thinking_is_switched_off_for_the_next_request(tmp_path: Path) -> None:
    with raw_host(tmp_path, says("one"), says("two")) as host:
        host.prompt("a")
        host.result()
        host.request("1", subtype="set_max_thinking_tokens", max_thinking_tokens=0)
        assert host.response("1")["subtype"] == "success"
        host.prompt("b")
        host.result()
        assert [body["thinking"]["type"] for body in host.bodies()] == ["adaptive", "disabled"]
