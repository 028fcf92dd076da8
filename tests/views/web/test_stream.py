"""A run watched live: what the stream sends, what is the same for an early and a late page, a killed server."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.loop_commands import ONE_TASK, in_background
from tests.views.web.fixtures.watch_server import EventReader, WatchServer, wait_for, watching_project

# It prints a step each time that the test opens a gate.
AGENT = """
gates = os.path.dirname(calls)
def wait_for_gate(name):
    while not os.path.exists(os.path.join(gates, name)):
        time.sleep(0.005)
def say(identity, **block):
    show(type="assistant", message={"id": identity, "role": "assistant", "content": [block]}, parent_tool_use_id=None)
say("m1", type="text", text="begun")
wait_for_gate("call")
say("m2", type="tool_use", id="t1", name="Bash", input={"command": "make"})
wait_for_gate("result")
show(type="user", message={"role": "user", "content": [
    {"type": "tool_result", "tool_use_id": "t1", "content": "made"}]}, parent_tool_use_id=None)
wait_for_gate("end")
say("m3", type="text", text="finished")
open("one", "w").close()
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return make_project(tmp_path, ONE_TASK, AGENT)


def open_gate(here: Project, name: str) -> None:
    (here.agent_folder / name).touch()


def running_log(server: WatchServer) -> tuple[str, str]:
    """Return run and log of the agent that runs."""
    board = wait_for(server, "/api/board", lambda board: board["runs"])
    run = board["runs"][0]["run"]
    document = wait_for(server, f"/api/runs/{run}", lambda document: document["logs"])
    return run, document["logs"][0]["log"]


def items_of(server: WatchServer, run: str, log: str) -> dict[str, Any]:
    document: dict[str, Any] = server.get(f"/api/runs/{run}/logs/{log}/items")
    return document


class Page:
    """What a page holds: the newest version of each item."""

    def __init__(self, first: dict[str, Any]) -> None:
        self.items = {item["id"]: item for item in first["items"]}

    def take(self, data: dict[str, Any]) -> None:
        self.items |= {item["id"]: item for item in data["items"]}
        for item_id in data["removed"]:
            self.items.pop(item_id, None)

    def shown(self) -> list[dict[str, Any]]:
        return [self.items[item_id] for item_id in sorted(self.items)]


def read_until(page: Page, events: EventReader, accepts: Any) -> None:
    while not any(accepts(item) for item in page.items.values()):
        page.take(events.until("items"))


def is_call(state: str) -> Any:
    return lambda item: item["type"] == "call" and item["state"] == state


def is_text(text: str) -> Any:
    return lambda item: item["type"] == "text" and text in item["text"]


def test_a_run_is_seen_live_and_a_late_page_shows_the_same(project: Project) -> None:
    with in_background(project, "run", "PLAN.md", "--json") as child, watching_project(project) as server:
        run, log = running_log(server)
        wait_for(server, f"/api/runs/{run}/logs/{log}/items", lambda page: any(map(is_text("begun"), page["items"])))
        card = server.get("/api/board")["runs"][0]
        assert (card["state"], card["now"]["task"], card["now"]["iteration"]) == ("running", "One", 1)
        with server.stream(f"run={run}&log={log}") as events:
            page = Page(items_of(server, run, log))
            open_gate(project, "call")
            read_until(page, events, is_call("running"))
            open_gate(project, "result")
            read_until(page, events, is_call("ok"))
            open_gate(project, "end")
            read_until(page, events, lambda item: item["type"] == "footer")
            while events.next()[0] != "end":
                pass
        assert child.wait() == 0
        late = Page(items_of(server, run, log))
        assert page.shown() == late.shown()
        assert [item["type"] for item in late.shown()] == ["notice", "text", "call", "text", "footer"]


def test_a_killed_server_continues_a_page_where_it_was(project: Project) -> None:
    with in_background(project, "run", "PLAN.md", "--json") as child:
        with watching_project(project) as first:
            run, log = running_log(first)
            with first.stream(f"run={run}&log={log}") as events:
                page = Page(items_of(first, run, log))
                open_gate(project, "call")
                read_until(page, events, is_call("running"))
                last = events.last_id
            first.kill()
        open_gate(project, "result")
        with watching_project(project, port=first.port) as second:
            assert second.token == first.token
            with second.stream(f"run={run}&log={log}", last) as events:
                before = len(page.items)
                assert events.next()[0] == "board"
                read_until(page, events, is_call("ok"))
                sent = [item["id"] for name, data in events.seen if name == "items" for item in data["items"]]
                assert len(page.items) == before
                assert len(set(sent)) == 1, "only what changed since is sent again"
                open_gate(project, "end")
                while events.next()[0] != "end":
                    pass
            for name, data in events.seen:
                if name == "items":
                    page.take(data)
            assert child.wait() == 0
            assert page.shown() == Page(items_of(second, run, log)).shown()


def test_the_board_and_the_run_are_sent_when_they_change(project: Project) -> None:
    with watching_project(project) as server, server.stream("") as events:
        with in_background(project, "run", "PLAN.md", "--json") as child:
            card = events.until("board")["runs"][0]
            while card["state"] != "running":
                card = events.until("board")["runs"][0]
            with server.stream(f"run={card['run']}") as of_run:
                open_gate(project, "call")
                open_gate(project, "result")
                open_gate(project, "end")
                changed = of_run.until("run")
                while not any(check["passed"] for check in changed["checks"]):
                    changed = of_run.until("run")
                assert changed["card"]["run"] == card["run"]
                assert changed["journal"]["count"] > 0
            assert child.wait() == 0
        while card["state"] != "done":
            card = events.until("board")["runs"][0]


def test_any_cursor_is_accepted_or_ignored(tmp_path: Path) -> None:
    with watching_project(make_project(tmp_path, ONE_TASK, "")) as server:
        for cursor in ("x", "e30", "bnVsbA", "eyJsIjp7ImEiOiJiIn19", "%00", "A" * 20000):
            with server.stream(f"log=nothing&last={cursor}") as events:
                assert events.response.readline() == b": bridle\n"
        assert server.request("GET", "/api/board").status == 200


def test_a_log_that_is_replaced_is_sent_again(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, "")
    folder = here.folder / ".ralph/logs/claude"
    folder.mkdir(parents=True)
    log = folder / "20260101T000000.000Z-coder-ask.ndjson"
    long = json.dumps({"type": "system", "subtype": "init", "session_id": "s" * 100, "model": "m"})
    log.write_text(f"{long}\n{long}\n")

    (folder / "20260101T000000.000Z-coder-ask.meta.json").write_text(
        json.dumps({"agent": "claude", "pid": os.getpid()})
    )
    with watching_project(here) as server:
        wait_for(server, "/api/board", lambda board: board["sessions"])
        with server.stream("run=-&log=20260101T000000.000Z-coder-ask") as events:
            assert wait_for(server, "/api/runs/-/logs/20260101T000000.000Z-coder-ask/items", lambda page: page["items"])
            log.write_text("{}\n")
            assert events.until("reset") == {"log": "20260101T000000.000Z-coder-ask"}


def test_a_page_that_does_not_read_loses_nothing_and_stops_no_other(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, "")
    folder = here.folder / ".ralph/logs/claude"
    folder.mkdir(parents=True)
    name = "20260101T000000.000Z-coder-ask"
    log, meta = folder / f"{name}.ndjson", folder / f"{name}.meta.json"
    log.touch()
    meta.write_text(json.dumps({"agent": "claude", "pid": os.getpid()}))
    with watching_project(here) as server:
        wait_for(server, "/api/board", lambda board: board["sessions"])
        with server.stream(f"run=-&log={name}", "e30") as slow:
            for number in range(200):
                block = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": "x" * 9000}}
                with log.open("a") as file:
                    file.write(json.dumps({"type": "assistant", "message": {"content": [block]}}) + "\n")
                assert server.request("GET", "/api/board").status == 200
            meta.write_text(json.dumps({"agent": "claude", "pid": os.getpid(), "ended": "2026-01-01T00:00:00Z"}))
            page = Page({"items": []})
            while (event := slow.next())[0] != "end":
                if event[0] == "items":
                    page.take(event[1])
        whole = server.get(f"/api/runs/-/logs/{name}/items?count=1000")
        assert page.shown() == Page(whole).shown()
        assert len(page.items) >= 200


def test_what_is_printed_right_after_the_stream_has_answered_is_sent(tmp_path: Path) -> None:
    """A page asks for a window after the stream has answered: what comes after the window must be in the stream."""
    here = make_project(tmp_path, ONE_TASK, "")
    folder = here.folder / ".ralph/logs/claude"
    folder.mkdir(parents=True)
    name = "20260101T000000.000Z-coder-ask"
    line = json.dumps({"type": "system", "subtype": "init", "session_id": "s", "model": "m"}) + "\n"
    (folder / f"{name}.ndjson").write_text(line)
    (folder / f"{name}.meta.json").write_text(json.dumps({"agent": "claude", "pid": os.getpid()}))
    with watching_project(here) as server:
        wait_for(server, "/api/board", lambda board: board["sessions"])
        with server.stream(f"run=-&log={name}") as events:
            with (folder / f"{name}.ndjson").open("a") as file:
                file.write(
                    json.dumps({"type": "assistant", "message": {"content": [{"type": "text", "text": "x"}]}}) + "\n"
                )
            assert [item["type"] for item in events.until("items")["items"]] == ["text"]
