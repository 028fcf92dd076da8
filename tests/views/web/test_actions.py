"""What a user does on the page: each action is the command of its name, recorded by it and refused by it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from bridle.journal.stores.file_store import FileStore
from tests.cli.fixtures.machine_commands import bridle, create
from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.loop_commands import ONE_TASK, assert_replays, in_background, run_plan
from tests.run.fixtures.fake_agent import wait_until
from tests.views.web.fixtures.watch_server import WatchServer, wait_for, watching, watching_project

ASKS = """
if number == 1:
    answer |= {"question": "Which colour?", "done": False}
else:
    open("one", "w").write(prompt)
"""
FAILS_ONCE = """
if number > 1:
    open("one", "w").close()
"""
WAITS = """
while not os.path.exists("stop"):
    time.sleep(0.01)
"""
PROCESS = """
async def process(inputs, ctx):
    return await ctx.breakpoint({"question": "Ship it?", "version": "1.2", "options": ["now", "later"]})
"""


def only_run(server: WatchServer) -> dict[str, Any]:
    (card,) = server.get("/api/board")["runs"]
    found: dict[str, Any] = card
    return found


def is_done(board: dict[str, Any]) -> bool:
    return bool(board["runs"][0]["state"] == "done")


def test_a_question_is_answered_and_the_run_continues(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, ASKS)
    run_plan(here, 4)
    with watching_project(here) as server:
        board = server.get("/api/board")
        (need,) = board["needs"]
        assert (need["kind"], need["text"], need["takes_free_text"], need["task"]) == (
            "question",
            "Which colour?",
            True,
            "One",
        )
        assert board["runs"][0]["state"] == "waiting"
        done = server.act(action="answer", run=need["run"], effect=need["effect"], text="--blue $(id)", resume=True)
        assert done.status == 200, done.body
        assert done.json["command"][:3] == ["bridle", "answer", "--json"]
        board = wait_for(server, "/api/board", is_done)
        assert board["needs"] == []
    assert "--blue $(id)" in (here.folder / "one").read_text()
    assert_replays(here)


def test_an_answer_alone_only_records_it(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, ASKS)
    run_plan(here, 4)
    with watching_project(here) as server:
        (need,) = server.get("/api/board")["needs"]
        fields = {"run": need["run"], "effect": need["effect"]}
        for wrong in ({"text": ""}, {"text": "   "}, {}, {"text": "a\0b"}, {"text": "x" * 30_000}):
            assert server.act(action="answer", **fields, **wrong).status == 400
        assert len(server.get("/api/board")["needs"]) == 1
        assert server.act(action="answer", **fields, text="blue").json["ok"] is True
        assert wait_for(server, "/api/board", lambda board: not board["needs"])["runs"][0]["state"] != "done"
        assert len(here.calls()) == 1
        again = server.act(action="answer", **fields, text="red")
        assert (again.status, again.json["ok"]) == (400, False)
        assert "already" in again.json["message"]
        assert server.act(action="resume", run=need["run"]).json["ok"] is True
        wait_for(server, "/api/board", is_done)


@pytest.mark.parametrize(("action", "approved"), [("approve", True), ("reject", False)])
def test_a_breakpoint_is_approved_or_rejected_seeing_what_it_is_about(
    tmp_path: Path, action: str, approved: bool
) -> None:
    (tmp_path / "process.py").write_text(PROCESS, encoding="utf-8")
    assert create(tmp_path, "--run-id", "r1").code == 0
    bridle("run:iterate", "r1", "--json", cwd=tmp_path)
    with watching(tmp_path) as server:
        (need,) = server.get("/api/board")["needs"]
        assert (need["kind"], need["options"], need["payload"]["version"]) == ("permission", ["now", "later"], "1.2")
        assert only_run(server)["state"] == "waiting"
        assert server.act(action="answer", run="r1", effect=need["effect"], text="perhaps").status == 400
        assert server.act(action=action, run="r1", effect=need["effect"], resume=True).json["ok"] is True
        wait_for(server, "/api/board", is_done)
    store = FileStore(tmp_path / ".a5c/runs/r1")
    value: Any = store.result(store.state().effects[need["effect"]]).value
    assert (value["approved"], value["respondedBy"]) == (approved, "human")


def test_a_hint_is_in_the_journal_and_in_the_next_prompt(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, ASKS)
    run_plan(here, 4)
    with watching_project(here) as server:
        run = only_run(server)["run"]
        assert server.act(action="hint", run=run, text="use --force").json["ok"] is True
        entries = server.get(f"/api/runs/{run}/journal?from=-1")["entries"]
        assert (entries[0]["type"], entries[0]["data"]) == ("BRIDLE_LOOP_HINT", {"text": "use --force"})
        (need,) = server.get("/api/board")["needs"]
        server.act(action="answer", run=run, effect=need["effect"], text="blue", resume=True)
        wait_for(server, "/api/board", is_done)
    assert "use --force" in here.calls()[-1]["prompt"]


def test_a_failed_task_is_retried(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, FAILS_ONCE)
    run_plan(here, 1, "--tries", "1")
    with watching_project(here) as server:
        board = server.get("/api/board")
        assert (board["runs"][0]["state"], board["needs"][0]["kind"]) == ("failed", "failure")
        run = board["runs"][0]["run"]
        assert server.act(action="retry", run=run, task="Nothing").status == 400
        assert server.act(action="retry", run=run, task="One", resume=True).json["ok"] is True
        wait_for(server, "/api/board", is_done)
    assert_replays(here)


def test_a_run_is_stopped_and_survives_the_server(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, WAITS)
    with in_background(here, "run", "PLAN.md", "--json") as child:
        with watching_project(here) as server:
            wait_for(server, "/api/board", lambda board: board["runs"] and board["runs"][0]["state"] == "running")
            wait_until(here.calls)
            run = only_run(server)["run"]
            assert server.act(action="stop", run=run).json["ok"] is True
            assert child.wait() == 130
            assert wait_for(server, "/api/board", lambda board: board["runs"][0]["driver"] is None)
            assert server.act(action="resume", run=run).json == {
                "ok": True,
                "message": "started",
                "command": ["bridle", "resume", "--json", "--", str(run_folder(here, run))],
                "is_running": True,
            }
            driver = wait_for(server, "/api/board", lambda board: board["runs"][0]["driver"])["runs"][0]["driver"]
            server.kill()
        done = here.bridle("status", "--json")
        assert json.loads(done.stdout)["at_work"]["pid"] == driver["pid"]
        assert here.bridle("stop", run).returncode == 0


def run_folder(here: Project, run: str) -> Path:
    return here.folder / ".a5c/runs" / run


def test_a_limit_is_a_need_and_is_raised_on_the_page(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, FAILS_ONCE)
    run_plan(here, 3, "--max-iterations", "1")
    with watching_project(here) as server:
        board = server.get("/api/board")
        assert (board["runs"][0]["state"], board["needs"][0]["kind"]) == ("limit", "limit")
        run = board["runs"][0]["run"]
        for wrong in ({"tries": "5"}, {"max_iterations": -1}, {"--sandbox": 1}, [5], {"tries": True}):
            assert server.act(action="resume", run=run, limits=wrong).status == 400
        assert server.act(action="resume", run=run).status == 409
        assert server.act(action="resume", run=run, limits={"max_iterations": 5}).json["ok"] is True
        wait_for(server, "/api/board", is_done)


SESSION = """#!{python}
import json, sys
with open({calls!r}, "a") as file:
    file.write(json.dumps([*sys.argv[1:], sys.stdin.read()]) + "\\n")
print(json.dumps({{"type": "system", "subtype": "init", "session_id": "s-1", "model": "m"}}))
print(json.dumps({{"type": "result", "subtype": "success", "is_error": False, "result": "ok", "session_id": "s-1"}}))
"""


def test_a_session_is_started_and_continued(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, "")
    calls = here.agent_folder / "calls"
    (here.agent_folder / "claude").write_text(SESSION.format(python=sys.executable, calls=str(calls)))
    with watching_project(here) as server:
        for wrong in ({"prompt": ""}, {"prompt": "x", "agent": "nonsense"}, {"prompt": "x", "model": 3}):
            assert server.act(action="start", **wrong).status == 400
        begun = server.act(action="start", prompt="--help me", model="haiku", allowed_tools="Read")
        assert begun.status == 200, begun.body
        ended = wait_for(server, "/api/board", lambda board: any(log["ended_at"] for log in board["sessions"]))
        assert ended["sessions"][0]["session_id"] == "s-1"
        assert server.act(action="message", session="../x", text="more").status == 404
        assert server.act(action="message", session="s-1", text="more").status == 200
        wait_for(server, "/api/board", lambda board: len(board["sessions"]) == 2)
    first, second = (json.loads(line) for line in calls.read_text().splitlines())
    for word, call in (("--help me", first), ("haiku", first), ("more", second), ("s-1", second)):
        assert any(word in part for part in call), (word, call)


def test_an_action_of_an_unknown_run_is_refused(tmp_path: Path) -> None:
    with watching_project(make_project(tmp_path, ONE_TASK, "")) as server:
        for run in ("nothing", "../x", "/etc", 3, ["a"]):
            assert server.act(action="stop", run=run).status == 404
        assert server.act(action="stop").status == 400


def test_no_module_that_an_agent_left_in_the_repository_is_imported(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, ASKS)
    run_plan(here, 4)
    witness = tmp_path / "witness"
    for name in ("json", "bridle", "click", "sitecustomize", "msgspec"):
        (here.folder / f"{name}.py").write_text(f"open({str(witness)!r}, 'w').close()\n")
    with watching_project(here) as server:
        assert server.act(action="hint", run=only_run(server)["run"], text="x").json["ok"] is True
        assert server.act(action="start", prompt="x").status in (200, 409)
    assert not witness.exists()
