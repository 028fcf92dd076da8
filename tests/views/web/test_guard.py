"""Which requests the server refuses: other hosts, other pages, no token, wrong ids, large bodies, agents."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bridle.ground.descendants import proc_files
from tests.fixtures.bridle_program import LIMIT_SECONDS
from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.loop_commands import MAKES_FILE, ONE_TASK, run_plan
from tests.views.web.fixtures.watch_server import WatchServer, watching_project

JSON = {"Content-Type": "application/json"}
HINT = json.dumps({"action": "hint", "text": "hello"}).encode()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    here = make_project(tmp_path_factory.mktemp("guard"), ONE_TASK, MAKES_FILE)
    run_plan(here, 0)
    return here


@pytest.fixture(scope="module")
def server(project: Project) -> Iterator[WatchServer]:
    with watching_project(project) as started:
        yield started


@pytest.fixture(scope="module")
def run(server: WatchServer) -> str:
    return str(server.get("/api/board")["runs"][0]["run"])


@pytest.fixture(scope="module")
def log(server: WatchServer, run: str) -> str:
    return str(server.get(f"/api/runs/{run}")["logs"][0]["log"])


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:{port}", ""])
@pytest.mark.parametrize("path", ["/api/board", "/?token={token}", "/static/index.html"])
def test_another_host_name_is_refused_even_with_the_token(server: WatchServer, host: str, path: str) -> None:
    headers = {"Host": host.format(port=server.port)}
    assert server.request("GET", path.format(token=server.token), headers=headers).status == 421


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_the_names_of_loopback_are_accepted(server: WatchServer, host: str) -> None:
    assert server.request("GET", "/api/board", headers={"Host": f"{host}:{server.port}"}).status == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}"])
@pytest.mark.parametrize(("method", "path"), [("GET", "/api/board"), ("POST", "/api/actions")])
def test_another_page_is_refused_even_with_the_token(server: WatchServer, origin: str, method: str, path: str) -> None:
    headers = {"Origin": origin.format(port=server.port), **JSON}
    assert server.request(method, path, headers=headers, body=HINT).status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_request_that_a_browser_marks_as_from_elsewhere_is_refused(server: WatchServer, site: str) -> None:
    assert server.request("GET", "/api/board", headers={"Sec-Fetch-Site": site}).status == 403


def test_a_change_must_name_the_page_that_sends_it(server: WatchServer) -> None:
    assert server.request("POST", "/api/actions", headers=JSON, body=HINT).status == 403


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_a_change_must_be_json(server: WatchServer, kind: str) -> None:
    headers = {"Origin": server.origin, "Content-Type": kind}
    assert server.request("POST", "/api/actions", headers=headers, body=HINT).status == 415


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"action": "nonsense"}', b'{"action": "hint", "text": 3}'])
def test_a_body_that_is_no_action_is_refused(server: WatchServer, body: bytes) -> None:
    answer = server.request("POST", "/api/actions", headers={"Origin": server.origin, **JSON}, body=body)
    assert answer.status == 400
    assert answer.json["ok"] is False


def test_a_large_body_is_refused(server: WatchServer) -> None:
    headers = {"Origin": server.origin, **JSON}
    assert server.request("POST", "/api/actions", headers=headers, body=b" " * 65_537).status == 413


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer wrong", "Basic {token}", "Bearer {token}x", "Bearer ü"])
def test_without_the_token_nothing_is_answered(server: WatchServer, given: str, run: str, log: str) -> None:
    headers = {"Authorization": given.format(token=server.token).encode("utf-8").decode("latin-1")}
    for path in ("/api/board", f"/api/runs/{run}", f"/api/runs/{run}/logs/{log}/items", "/api/stream", "/api/search"):
        answer = server.request("GET", path, headers=headers, is_allowed=False)
        assert (answer.status, answer.json["error"]) == (401, "no token"), path
        assert run.encode() not in answer.body


def test_the_page_itself_needs_the_token_and_says_where_it_is(server: WatchServer) -> None:
    assert server.request("GET", f"/?token={server.token}", is_allowed=False).status == 200
    for path in ("/", "/?token=wrong", f"/?token={server.token}&token=x"):
        answer = server.request("GET", path, is_allowed=False)
        assert answer.status == 401
        assert b"bridle watch" in answer.body


def test_the_token_in_the_address_opens_no_data(server: WatchServer) -> None:
    assert server.request("GET", f"/api/board?token={server.token}", is_allowed=False).status == 401


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
def test_other_methods_are_refused(server: WatchServer, method: str) -> None:
    answer = server.request(method, "/api/board", headers={"Origin": server.origin})
    assert answer.status == 405
    assert "access-control-allow-origin" not in answer.headers


def test_head_has_headers_and_no_body(server: WatchServer) -> None:
    answer = server.request("HEAD", "/api/board")
    assert (answer.status, answer.body) == (200, b"")
    assert server.request("HEAD", "/api/board", is_allowed=False).status == 401


WRONG_IDS = [
    "..",
    "%2e%2e",
    "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "..%5c..",
    "%2fetc%2fpasswd",
    "%00",
    "a%00b",
    "x" * 4000,
    "%ff",
    "-",
    "*",
    "~root",
    ".a5c",
]


@pytest.mark.parametrize("wrong", WRONG_IDS)
def test_no_id_becomes_a_path(server: WatchServer, run: str, log: str, wrong: str) -> None:
    for path in (
        f"/api/runs/{wrong}",
        f"/api/runs/{wrong}/journal",
        f"/api/runs/{run}/at/{wrong}",
        f"/api/runs/{run}/commits/{wrong}/diff",
        f"/api/runs/{run}/logs/{wrong}/items",
        f"/api/runs/{wrong}/logs/{log}/items",
        f"/api/runs/{run}/logs/{log}/items/{wrong}",
        f"/api/runs/{run}/logs/{log}/images/{wrong}/0",
        f"/static/{wrong}",
    ):
        answer = server.request("GET", path)
        assert answer.status == 404, path
        assert b"root:" not in answer.body


@pytest.mark.parametrize("name", ["../guard.py", "..%2fguard.py", "%2e%2e/routes.py", "/etc/passwd", "x.py"])
def test_only_files_of_the_page_are_served(server: WatchServer, name: str) -> None:
    assert server.request("GET", f"/static/{name}", is_allowed=False).status == 404


@pytest.mark.parametrize("query", ["start=x", "start=1e9", "count=99999999999999", "from=--1"])
def test_a_number_that_is_none_is_refused(server: WatchServer, run: str, log: str, query: str) -> None:
    path = f"journal?{query}" if "from" in query else f"logs/{log}/items?{query}"
    assert server.request("GET", f"/api/runs/{run}/{path}").status == 400


@pytest.mark.parametrize("path", ["/", "/api/board", "/static/index.html", "/nothing", "/api/nothing"])
@pytest.mark.parametrize("is_allowed", [True, False])
def test_every_answer_has_the_headers_that_protect_the_page(server: WatchServer, path: str, is_allowed: bool) -> None:
    headers = server.request("GET", path, is_allowed=is_allowed).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "require-trusted-types-for 'script'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cache-control"] == ("no-cache" if path.startswith("/static") else "no-store")
    assert "access-control-allow-origin" not in headers
    assert "set-cookie" not in headers


def test_the_token_file_is_private_and_kept(server: WatchServer) -> None:
    path = Path(server.environment["BRIDLE_HOME"], "watch-token")
    assert path.read_text().strip() == server.token
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_slow_client_stops_no_other(server: WatchServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT_SECONDS) as slow:
        slow.sendall(b"POST /api/actions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n")
        assert server.request("GET", "/api/board").status == 200
        slow.sendall(b"X-More: 1\r\n")
        assert server.request("GET", "/api/board").status == 200


SENDER = """
import http.client, json, sys
port, token = sys.argv[1:]
connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)
connection.request("POST", "/api/actions", body=json.dumps({"action": "start", "prompt": "x"}), headers={
    "Authorization": f"Bearer {token}", "Origin": f"http://127.0.0.1:{port}", "Content-Type": "application/json"})
answer = connection.getresponse()
print(answer.status, json.loads(answer.read())["error"])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the process at the other end is found on Linux only")
def test_a_request_of_an_agent_is_refused_even_with_the_token(server: WatchServer) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SENDER, str(server.port), server.token],
        env={**os.environ, proc_files.TOKEN_VARIABLE: "0" * 32},
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=True,
    )
    assert done.stdout == "403 inside an agent\n"


def test_the_server_does_not_start_inside_an_agent(project: Project) -> None:
    done = project.bridle("watch", "--no-open", "--json", **{proc_files.TOKEN_VARIABLE: "0" * 32})
    assert done.returncode != 0
    assert "an agent or a check of a run called it" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("digits", [13, 5000])
def test_a_number_that_no_entry_has_is_not_found(server: WatchServer, run: str, log: str, digits: int) -> None:
    number = "9" * digits
    logs = f"/api/runs/{run}/logs/{log}"
    for path in (
        f"/api/runs/{run}/at/{number}",
        f"{logs}/items/{number}",
        f"{logs}/items/{number}/raw",
        f"{logs}/images/{number}/0",
        f"{logs}/images/0/{number}",
    ):
        answer = server.request("GET", path)
        assert (answer.status, answer.json["error"]) == (404, "not found"), path
