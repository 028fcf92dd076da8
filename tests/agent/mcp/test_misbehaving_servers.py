"""Servers that fail, hang, die, or send what nothing should send: the session continues, and nothing is left behind."""

from __future__ import annotations

import json
import os
import signal
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from tests.agent.fixtures.mcp_runs import RAW, config, init, program, results, run_with, statuses
from tests.agent.fixtures.raw_host import calls, raw_host, says
from tests.real.fixtures.claude_on_stage import wait_for

ALLOW = ("--allowedTools", "mcp__raw")
CLOSED = "MCP error -32000: Connection closed"


def do(kind: str) -> tuple[str, dict[str, Any]]:
    return ("mcp__raw__do", {"kind": kind})


def texts(content: Any) -> Any:
    return content if isinstance(content, str) else [block.get("text") for block in content]


@pytest.mark.parametrize(
    ("kind", "content", "is_error"),
    [
        ("two", ["one", "two"], False),
        ("link", ["[Resource link: x] file:///x.txt (the x)"], False),
        ("embedded", ["[Resource from raw at mem://a] inner"], False),
        ("data", '{"n":1}', False),
        ("nothing", "(mcp__raw__do completed with no output)", False),
        ("wrong", "it went wrong", True),
        ("error", "MCP error -32602: bad params", True),
        ("garbage", ["after garbage"], False),
        ("die", CLOSED, True),
        ("textid", ["by a text"], False),
        ("surrogate", ["a\ufffdb\u2028c"], False),
        ("blank", "(mcp__raw__do completed with no output)", False),
        ("no picture", "the content of type image/png is not base64: *", True),
        ("odd flag", "*malformed result*isError must be true or false", True),
    ],
)
def test_each_result_has_its_form(kind: str, content: Any, is_error: bool, tmp_path: Path) -> None:
    with run_with(tmp_path, do(kind), flags=(*config(raw=program(RAW)), *ALLOW)) as host:
        [found] = results(host)
        read = texts(found["content"])
        assert read == content or fnmatchcase(str(read), str(content))
        assert found.get("is_error", False) is is_error


def test_pictures_are_shown_and_other_content_is_saved(tmp_path: Path) -> None:
    with run_with(tmp_path, do("picture"), do("sound"), flags=(*config(raw=program(RAW)), *ALLOW)) as host:
        picture, sound = results(host)
        assert picture["content"][0]["source"]["media_type"] == "image/png"
        [text] = texts(sound["content"])
        assert text.startswith("[Audio from raw] Binary content (audio/wav, 3 bytes) saved to ")
        assert Path(text.partition("saved to ")[2]).read_bytes() == b"\0\0\0"


def test_saved_content_has_the_ending_of_its_type(tmp_path: Path) -> None:
    with run_with(tmp_path, do("files"), flags=(*config(raw=program(RAW)), *ALLOW)) as host:
        [found] = results(host)
        assert [Path(text).suffix for text in texts(found["content"])] == [".txt", ".svg", ".bin", ".bin"]


def test_large_results_are_saved_to_files(tmp_path: Path) -> None:
    with run_with(tmp_path, do("long"), do("longer"), flags=(*config(raw=program(RAW)), *ALLOW)) as host:
        long, longer = (block["content"] for block in results(host))
        assert "<persisted-output>" in long
        head, _, rest = longer.partition(" Output has been saved to ")
        assert head == "Error: result (200,000 characters across 1 line) exceeds maximum allowed tokens."
        assert Path(rest.partition(".\n")[0]).read_text() == "word " * 40_000


def test_a_large_resource_is_saved_to_a_file_and_a_malformed_one_is_an_error(tmp_path: Path) -> None:
    wanted = [("ReadMcpResourceTool", {"server": "raw", "uri": f"mem://{name}"}) for name in ("large", "broken")]
    with run_with(tmp_path, *wanted, flags=config(raw=program(RAW, "resources"))) as host:
        large, broken = results(host)
        head, _, rest = large["content"].partition(" Full output saved to: ")
        assert head == "<persisted-output>\nOutput too large (195.4KB)."
        assert Path(rest.partition("\n")[0]).stat().st_size > 200_000
        assert broken["is_error"]


def test_a_version_that_nobody_knows_and_a_list_without_end_have_their_limits(tmp_path: Path) -> None:
    flags = config(old=program(RAW, "old"), endless=program(RAW, "endless"))
    with run_with(tmp_path, flags=flags) as host:
        assert statuses(host) == {"old": "failed", "endless": "connected"}
        assert sum(name.startswith("mcp__endless__") for name in init(host)["tools"]) == 20
        host.request("s", subtype="mcp_status")
        old, _ = host.response("s")["response"]["mcpServers"]
        assert old["error"] == "Server's protocol version is not supported: 1999-01-01"


def test_the_limit_of_results_can_be_set(tmp_path: Path) -> None:
    flags = (*config(raw=program(RAW)), *ALLOW)
    with run_with(tmp_path, do("long"), flags=flags, MAX_MCP_OUTPUT_TOKENS="100") as host:
        assert results(host)[0]["content"].startswith("Error: result (52,000 characters across 4,000 lines)")


def test_a_server_that_died_is_started_again(tmp_path: Path) -> None:
    with run_with(tmp_path, do("die"), do("two"), flags=(*config(raw=program(RAW)), *ALLOW)) as host:
        died, again = results(host)
        assert died["content"] == CLOSED
        assert texts(again["content"]) == ["one", "two"]


def test_a_line_of_fifty_megabytes_fails_the_call_and_not_the_session(tmp_path: Path) -> None:
    with run_with(tmp_path, do("huge"), do("two"), flags=(*config(raw=program(RAW)), *ALLOW)) as host:
        huge, after = results(host)
        assert huge["content"] == "the server sent a message of more than 32 MB"
        assert texts(after["content"]) == ["one", "two"]


def test_answers_in_the_wrong_order_reach_their_calls(tmp_path: Path) -> None:
    both = calls(("mcp__raw__see", {"kind": "late"}), ("mcp__raw__see", {"kind": "x"}))
    flags = (*config(raw=program(RAW)), *ALLOW)
    with raw_host(tmp_path, both, says("Done."), flags=flags) as host:
        host.prompt("go")
        host.result()
        called = {block["tool_use_id"]: texts(block["content"]) for block in results(host)}
        assert sorted(called.values()) == [["the first"], ["the second"]]
        [first, second] = [
            block["id"] for block in host.bodies()[1]["messages"][-2]["content"] if block["type"] == "tool_use"
        ]
        assert (called[first], called[second]) == (["the first"], ["the second"])


def test_a_server_that_asks_back_is_answered(tmp_path: Path) -> None:
    with run_with(tmp_path, do("back"), flags=(*config(raw=program(RAW)), *ALLOW)) as host:
        [text] = texts(results(host)[0]["content"])
        ping, roots, sampling, elicitation = json.loads(text)
        assert (ping, elicitation) == ({}, {"action": "cancel"})
        assert roots == {"roots": [{"uri": host.workspace.as_uri()}]}
        assert sampling["code"] == -32601


def test_new_tools_are_offered_with_the_next_request(tmp_path: Path) -> None:
    wanted = (do("change"), ("mcp__raw__new", {"kind": "two"}))
    with run_with(tmp_path, *wanted, flags=(*config(raw=program(RAW)), *ALLOW)) as host:
        offered = [{tool["name"] for tool in body["tools"]} for body in host.bodies()]
        assert ["mcp__raw__new" in names for names in offered] == [False, True, True]
        assert texts(results(host)[1]["content"]) == ["one", "two"]


def test_calls_have_titles_for_clients_and_descriptions_are_cut(tmp_path: Path) -> None:
    with run_with(tmp_path, do("two"), flags=(*config(raw=program(RAW)), *ALLOW)) as host:
        [meta] = [line["tool_use_meta"] for line in host.lines if "tool_use_meta" in line]
        assert [(entry["display_name"], entry["server_display_name"]) for entry in meta] == [("Do it now", "raw")]
        [see] = [tool for tool in host.bodies()[0]["tools"] if tool["name"] == "mcp__raw__see"]
        assert len(see["description"]) < 2100


def test_failed_servers_are_reported_and_not_fatal(tmp_path: Path) -> None:
    servers = {
        "missing": {"command": "/no/such/program"},
        "ends": {"command": "true"},
        "refuses": {"type": "http", "url": "http://127.0.0.1:9/mcp"},
        "stream": {"type": "sse", "url": "http://127.0.0.1:9/sse"},
        "wrong": {"type": "http", "url": "not an address"},
        "header": {"type": "http", "url": "http://127.0.0.1:9/", "headers": {"A": "b\nc"}},
        "unknown": {"type": "other"},
        "in-host": {"type": "sdk"},
        "raw": program(RAW),
    }
    with raw_host(tmp_path, says("Done."), flags=config(**servers)) as host:
        asked = host.until
        host.prompt("go")
        request = asked(lambda line: line["type"] == "control_request")
        host.fail(request["request_id"], "no such server")
        assert host.result()["is_error"] is False
        assert statuses(host) == {**dict.fromkeys(servers, "failed"), "raw": "connected"}
        host.request("s", subtype="mcp_status")
        errors = {server["name"]: server.get("error") for server in host.response("s")["response"]["mcpServers"]}
        assert all(errors[name] for name in servers if name != "raw")
        assert "No such file" in errors["missing"]
        assert host.end() == 0


def test_a_server_that_does_not_answer_fails_after_the_limit(tmp_path: Path) -> None:
    flags = config(raw=program(RAW, "never"))
    with run_with(tmp_path, flags=flags, MCP_TIMEOUT="300") as host:
        assert statuses(host) == {"raw": "failed"}
        assert host.end() == 0


def test_a_call_that_does_not_end_fails_after_the_limit(tmp_path: Path) -> None:
    flags = (*config(raw=program(RAW)), *ALLOW)
    with run_with(tmp_path, do("hang"), do("two"), flags=flags, MCP_TOOL_TIMEOUT="1200") as host:
        hung, after = results(host)
        assert hung["content"] == 'MCP server "raw" tool "do" timed out after 1s'
        assert texts(after["content"]) == ["one", "two"]


@pytest.mark.parametrize("ending", ["input", "terminated"])
def test_servers_and_what_they_started_end_with_the_agent(ending: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    flags = (*config(raw=program(RAW, "stays", RAW_MCP_LOG=str(log))), *ALLOW)
    with run_with(tmp_path, do("child"), flags=flags) as host:
        [pid] = texts(results(host)[0]["content"])
        if ending == "terminated":
            host.process.send_signal(signal.SIGTERM)
        assert host.end() == (143 if ending == "terminated" else 0)
        wait_for(lambda: not is_running(int(pid)), "end of the server's child")


def test_the_server_hears_of_an_interrupted_call(tmp_path: Path) -> None:
    log = tmp_path / "log"
    flags = (*config(raw=program(RAW, RAW_MCP_LOG=str(log))), *ALLOW)
    with raw_host(tmp_path, calls(do("hang")), says("Done."), flags=flags) as host:
        host.prompt("go")
        wait_for(lambda: log.exists() and "tools/call" in log.read_text(), "call")
        host.request("i", subtype="interrupt")
        assert host.result()["subtype"] == "error_during_execution"
        wait_for(lambda: "notifications/cancelled" in log.read_text(), "cancellation")
        assert "mcp__raw__do" in init(host)["tools"]


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return "(zombie)" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
