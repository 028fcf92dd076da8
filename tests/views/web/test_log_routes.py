"""Images, whole items, links in the place of logs, and search, over HTTP."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.loop_commands import MAKES_FILE, ONE_TASK, run_plan
from tests.views.web.fixtures.watch_server import WatchServer, wait_for, watching_project

PNG = b"\x89PNG\r\n\x1a\n" + bytes(50)
SVG = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
NAME = "20260101T000000.000Z-coder-ask"
LOG = f"/api/runs/-/logs/{NAME}"
LONG = "long text " * 3000


def image(kind: str, data: bytes) -> dict[str, Any]:
    source = {"type": "base64", "media_type": kind, "data": base64.b64encode(data).decode()}
    return {"type": "image", "source": source}


def event(kind: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "parent_tool_use_id": None, "message": {"id": "m", "role": kind, "content": list(blocks)}}


EVENTS = [
    event("assistant", {"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": "a.png"}}),
    event(
        "user",
        {
            "type": "tool_result",
            "tool_use_id": "t",
            "content": [
                image("image/png", PNG),
                image("image/svg+xml", SVG),
                image("image/png", SVG),
                image("text/html", b"<script>alert(1)</script>"),
            ],
        },
    ),
    event("assistant", {"type": "text", "text": LONG}),
    event("user", image("image/gif", b"GIF89a" + bytes(20))),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    here = make_project(tmp_path_factory.mktemp("logs"), ONE_TASK, MAKES_FILE)
    run_plan(here, 0)
    folder = here.folder / ".ralph/logs/claude"
    (folder / f"{NAME}.ndjson").write_text("".join(json.dumps(line) + "\n" for line in EVENTS))
    (folder / f"{NAME}.meta.json").write_text(json.dumps({"agent": "claude", "ended": "2026-01-01T00:00:00Z"}))
    secret = here.agent_folder / "secret"
    secret.write_text(json.dumps(event("assistant", {"type": "text", "text": "the user's own"})) + "\n")
    (folder / "20260102T000000.000Z-coder-ask.ndjson").symlink_to(secret)
    return here


@pytest.fixture(scope="module")
def server(project: Project) -> Iterator[WatchServer]:
    with watching_project(project) as started:
        yield started


def test_an_image_is_served_as_what_it_is(server: WatchServer) -> None:
    call = server.get(f"{LOG}/items")["items"][0]
    assert [image.get("href") for image in call["images"]] == [
        f"{LOG}/images/1/0",
        None,  # an SVG is a document that can contain scripts
        f"{LOG}/images/1/2",
        None,
    ]
    answer = server.request("GET", call["images"][0]["href"])
    assert (answer.status, answer.headers["content-type"], answer.body) == (200, "image/png", PNG)
    assert answer.headers["x-content-type-options"] == "nosniff"
    gif = server.get(f"{LOG}/items")["items"][-2]
    assert server.request("GET", gif["images"][0]["href"]).headers["content-type"] == "image/gif"


@pytest.mark.parametrize("address", ["1/1", "1/2", "1/3", "1/4", "1/99", "2/0", "99/0"])
def test_what_is_no_image_is_never_served_as_one(server: WatchServer, address: str) -> None:
    answer = server.request("GET", f"{LOG}/images/{address}")
    assert (answer.status, answer.headers["content-type"]) == (404, "application/json")
    assert b"<svg" not in answer.body


def test_a_long_text_is_cut_in_a_window_and_whole_alone(server: WatchServer) -> None:
    text = server.get(f"{LOG}/items")["items"][1]
    assert len(text["text"]) == 10_000
    assert text["omitted_characters"] == len(LONG) - 10_000
    whole = server.get(f"{LOG}/items/{text['id']}")
    assert (whole["text"], whole["omitted_characters"]) == (LONG, 0)
    assert (whole["index"], whole["position"]) == (text["index"], text["position"])


def test_a_link_in_the_place_of_a_log_is_not_read(server: WatchServer) -> None:
    assert [log["log"] for log in server.get("/api/board")["sessions"]] == [NAME]
    assert server.request("GET", "/api/runs/-/logs/20260102T000000.000Z-coder-ask/items").status == 404
    assert server.get("/api/search?q=user%27s")["hits"] == []


def test_search_finds_texts_and_tasks(server: WatchServer) -> None:
    assert [hit["item"] for hit in server.get("/api/search?q=LONG+text")["hits"]] == [2]
    found = server.get("/api/search?q=one")
    assert {(hit["log"] is None, hit["task"]) for hit in found["hits"]} >= {(True, "One")}
    assert found["truncated"] is False
    assert server.get("/api/search?q=long&run=nothing")["hits"] == []
    assert server.get("/api/search?q=long&kind=call")["hits"] == []
    assert {hit["task"] for hit in server.get("/api/search?q=one&task=One")["hits"]} == {"One"}
    assert server.get("/api/search?q=one&task=Two")["hits"] == []
    assert server.get("/api/search?q=")["hits"] == []


def test_a_run_that_cannot_be_read_is_on_the_board(project: Project, server: WatchServer) -> None:
    broken = project.folder / ".a5c/runs/broken"
    (broken / "journal").mkdir(parents=True)
    (broken / "run.json").write_text('{"runId": "broken", "processId": "bridle/loop"}')
    (broken / "journal/000001.01M7P80EJD1E0RME9FGB6FFKFP.json").write_bytes(b"\xff\0{[")
    cards = {card["run"]: card["state"] for card in server.get("/api/board")["runs"]}
    while "broken" not in cards:
        cards = {card["run"]: card["state"] for card in server.get("/api/board")["runs"]}
    assert cards.pop("broken") == "unreadable"
    assert set(cards.values()) == {"done"}
    page = server.get("/api/runs/broken")
    assert (page["receipt"], page["logs"]) == (None, [])
    assert page["card"]["reason"]
    assert server.request("GET", "/api/runs/broken/journal").status == 404


def test_the_file_of_the_log_may_vanish(project: Project, server: WatchServer) -> None:
    path = Path(project.folder, ".ralph/logs/claude/20250101T000000.000Z-coder-ask.ndjson")
    path.write_text(json.dumps(EVENTS[2]) + "\n")
    while not any(log["log"].startswith("2025") for log in server.get("/api/board")["sessions"]):
        pass
    path.unlink()
    status = server.request("GET", "/api/runs/-/logs/20250101T000000.000Z-coder-ask/items").status
    assert status in (200, 404, 500)
    assert server.request("GET", "/api/board").status == 200


def test_half_a_secret_at_the_cut_of_a_raw_line_is_masked(server: WatchServer, project: Project) -> None:
    cut = 256 * 1024
    before = json.dumps(event("assistant", {"type": "text", "text": "@"})).index("@")
    words = "y" * (cut - before - 11) + " sk-" + "a" * 40  # ten characters of the secret are before the cut
    line = json.dumps(event("assistant", {"type": "text", "text": words}))
    assert line.index("sk-") == cut - 10
    name = "20260101T000001.000Z-coder-ask"
    path = project.folder / ".ralph/logs/claude" / f"{name}.ndjson"
    path.write_text(line + "\n")
    try:
        wait_for(server, "/api/board", lambda board: name in [log["log"] for log in board["sessions"]])
        (item, *_) = server.get(f"/api/runs/-/logs/{name}/items")["items"]
        (raw,) = server.get(f"/api/runs/-/logs/{name}/items/{item['id']}/raw")["lines"]
        assert raw[-20:].count("*") == 3
        assert "sk-" not in raw
    finally:
        path.unlink()
