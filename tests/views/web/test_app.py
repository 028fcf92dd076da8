"""What the server of `bridle watch` answers about a real run: board, run, journal, commits, conversations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.fixtures.bridle_program import run_bridle
from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.loop_commands import run_plan
from tests.views.web.fixtures.watch_server import WatchServer, watching_project

PLAN = "# Colours\n" + "".join(f"\n## {task}\nCheck: `test -f {task}.txt`\n" for task in ("Red", "Blue"))
AGENT = """
def say(**block):
    show(type="assistant", message={"id": f"m{number}", "role": "assistant", "content": [block]},
         parent_tool_use_id=None)
def result(call, text, **more):
    show(type="user", message={"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": call, "content": text, **more}]}, parent_tool_use_id=None)
say(type="text", text=f"I work on **{task}** with " + os.environ["MY_TOKEN"])
say(type="tool_use", id=f"b{number}", name="Bash", input={"command": "false"})
result(f"b{number}", "no such thing", is_error=True)
say(type="tool_use", id=f"w{number}", name="Write", input={"file_path": f"{task}.txt", "content": "one\\ntwo\\n"})
open(f"{task}.txt", "w").write("one\\ntwo\\n")
result(f"w{number}", "written")
"""
SECRET = "correct-horse-battery"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    here = make_project(tmp_path_factory.mktemp("watch"), PLAN, AGENT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MY_TOKEN", SECRET)
        run_plan(here, 0)
    return here


@pytest.fixture(scope="module")
def server(project: Project) -> Iterator[WatchServer]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MY_TOKEN", SECRET)
        with watching_project(project) as started:
            yield started


@pytest.fixture(scope="module")
def run(server: WatchServer) -> str:
    (card,) = server.get("/api/board")["runs"]
    return str(card["run"])


@pytest.fixture(scope="module")
def log(server: WatchServer, run: str) -> str:
    return str(server.get(f"/api/runs/{run}")["logs"][0]["log"])


def test_the_board_has_the_card_of_the_run(server: WatchServer, project: Project) -> None:
    board = server.get("/api/board")
    assert board["repository"] == {"path": str(project.folder), "name": "repository"}
    (card,) = board["runs"]
    assert (card["plan"], card["state"], card["verdict"], card["driver"]) == ("Colours", "done", "done", None)
    assert [(task["number"], task["title"], task["verdict"]) for task in card["tasks"]] == [
        (1, "Red", "done"),
        (2, "Blue", "done"),
    ]
    assert card["cost_usd"] == pytest.approx(0.02)
    assert board["needs"] == []


def test_the_page_of_the_run_has_the_receipt_of_bridle_status(server: WatchServer, project: Project, run: str) -> None:
    document = server.get(f"/api/runs/{run}")
    status = json.loads(run_bridle("status", "--json", cwd=project.folder, environment=server.environment).stdout)
    assert document["receipt"] == status
    assert document["receipt_markdown"].startswith("# PLAN.md: done")
    assert document["journal"]["count"] == status["journal"]["sequence"]
    assert [(check["task"], check["command"], check["passed"]) for check in document["checks"]][:1] == [
        ("Red", "test -f Red.txt", False)
    ]
    assert [(log["task"], log["number"], log["iteration"], log["exit_code"]) for log in document["logs"]] == [
        ("Red", 1, 1, 0),
        ("Blue", 2, 1, 0),
    ]
    assert [chart["task"] for chart in document["charts"]["cost"]] == ["Red", "Blue"]


def test_commits_of_the_run_have_files_trailers_and_a_diff(server: WatchServer, run: str) -> None:
    commits = server.get(f"/api/runs/{run}")["commits"]
    assert [commit["subject"] for commit in commits] == ["Red", "Blue"]
    assert commits[0]["trailers"]["Bridle-Task"] == "Red"
    assert commits[0]["files"] == [{"path": "Red.txt", "old_path": None, "status": "added", "added": 2, "removed": 0}]
    (file,) = server.get(f"/api/runs/{run}/commits/{commits[0]['commit']}/diff")["files"]
    assert (file["path"], file["status"]) == ("Red.txt", "added")
    assert file["hunks"][0]["lines"] == [["+", None, 1, "one"], ["+", None, 2, "two"]]


def test_a_commit_of_the_repository_that_is_not_the_runs_is_not_shown(
    server: WatchServer, project: Project, run: str
) -> None:
    first = project.git("rev-list", "--max-parents=0", "HEAD")
    assert server.request("GET", f"/api/runs/{run}/commits/{first}/diff").status == 404


def test_the_journal_is_read_in_windows(server: WatchServer, run: str) -> None:
    whole = server.get(f"/api/runs/{run}/journal?count=1000")
    assert [entry["seq"] for entry in whole["entries"]] == list(range(1, whole["count"] + 1))
    window = server.get(f"/api/runs/{run}/journal?from=3&count=2")
    assert window["entries"] == whole["entries"][2:4]
    assert server.get(f"/api/runs/{run}/journal?from=-2")["entries"] == whole["entries"][-2:]
    worked = next(entry for entry in whole["entries"] if entry["kind"] == "bridle.work")
    assert (worked["task"], worked["iteration"], worked["summary"]) == ("Red", 1, "agent: Red: iteration 1")


def test_an_earlier_state_has_its_receipt_and_the_files_of_then(server: WatchServer, run: str) -> None:
    entries = server.get(f"/api/runs/{run}/journal?count=1000")["entries"]
    committed = next(e["seq"] for e in entries if e["kind"] == "bridle.commit" and e["type"] == "EFFECT_RESOLVED")
    then = server.get(f"/api/runs/{run}/at/{committed}")
    assert {task["title"]: task["verdict"] for task in then["tasks"]} == {"Red": "done", "Blue": "pending"}
    assert [file["path"] for file in then["diff"]["files"]] == ["Red.txt"]
    first = server.get(f"/api/runs/{run}/at/1")
    assert (first["diff"], first["why"]) == (None, "no state of the working copy is recorded before this entry")
    assert server.request("GET", f"/api/runs/{run}/at/{len(entries) + 1}").status == 404


def items_of(server: WatchServer, run: str, log: str, query: str = "") -> dict[str, Any]:
    document: dict[str, Any] = server.get(f"/api/runs/{run}/logs/{log}/items?{query}")
    return document


def test_a_conversation_is_read_in_windows(server: WatchServer, run: str, log: str) -> None:
    whole = items_of(server, run, log)
    assert [item["type"] for item in whole["items"]] == ["notice", "text", "call", "call", "footer"]
    assert [item["index"] for item in whole["items"]] == [0, 1, 2, 3, 4]
    assert whole["total"] == 5
    assert whole["is_running"] is False
    assert items_of(server, run, log, "start=1&count=2")["items"] == whole["items"][1:3]
    last = items_of(server, run, log, "start=-2")
    assert (last["start"], last["items"]) == (3, whole["items"][3:])
    one = server.get(f"/api/runs/{run}/logs/{log}/items/{whole['items'][2]['id']}")
    assert one == whole["items"][2]
    positions = [item["position"] for item in whole["items"]]
    assert positions == sorted(positions)


def test_a_file_change_has_its_rows_side_by_side(server: WatchServer, run: str, log: str) -> None:
    write = items_of(server, run, log)["items"][3]
    assert write["detail"]["rows"] == [[None, None, 1, "one", "add"], [None, None, 2, "two", "add"]]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("tool:Bash", ["Bash"]),
        ("tool:bash,error", ["Bash"]),
        ("error", ["Bash"]),
        ("tool:Write,error", []),
        ("text:no%20such", ["Bash"]),
        ("kind:call", ["Bash", "Write"]),
        ("nonsense", []),
    ],
)
def test_a_conversation_is_filtered(server: WatchServer, run: str, log: str, wanted: str, found: list[str]) -> None:
    answer = items_of(server, run, log, f"filter={quote(wanted)}")
    assert [item["name"] for item in answer["items"]] == found
    assert answer["total"] == len(found)


def test_the_raw_lines_of_an_item_are_those_of_the_log(server: WatchServer, run: str, log: str) -> None:
    lines = server.get(f"/api/runs/{run}/logs/{log}/items/3/raw")["lines"]
    assert len(lines) == 2
    assert '"tool_use"' in lines[0]
    assert '"tool_result"' in lines[1]


def test_no_secret_is_in_any_answer(server: WatchServer, run: str, log: str) -> None:
    assert "***" in items_of(server, run, log)["items"][1]["text"]
    for path in (f"/api/runs/{run}", f"/api/runs/{run}/logs/{log}/items", f"/api/runs/{run}/logs/{log}/items/2/raw"):
        assert SECRET.encode() not in server.request("GET", path).body, path


def test_a_session_of_no_run_is_on_the_board(server: WatchServer, project: Project, run: str) -> None:
    folder = Path(project.folder, ".ralph/logs/claude")
    name = "20260101T000000.000Z-coder-ask"
    (folder / f"{name}.ndjson").write_text('{"type":"system","subtype":"init","session_id":"s-1","model":"m"}\n')
    (folder / f"{name}.meta.json").write_text('{"agent": "claude", "ended": "2026-01-01T00:00:01Z", "exit_code": 0}')
    board = server.get("/api/board")
    while not board["sessions"]:
        board = server.get("/api/board")
    assert [(session["log"], session["session_id"]) for session in board["sessions"]] == [(name, "s-1")]
    assert server.get(f"/api/runs/-/logs/{name}/items")["items"][0]["kind"] == "session"
