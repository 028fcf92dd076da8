"""Servers over HTTP that send no answer, another page, or refuse in the middle of a session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agent.fixtures.mcp_runs import config, init, results, run_with, statuses
from tests.agent.fixtures.raw_host import calls, raw_host, says
from tests.agent.fixtures.raw_http_mcp_server import raw_http_server

DO: tuple[str, dict[str, Any]] = ("mcp__e__do", {})
ALLOW = ("--allowedTools", "mcp__e")


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("page", "the server sent no answer (HTTP 200) but text/html"),
        ("broken", "the server did not answer the request (HTTP 200)"),
        ("nothing", "the server sent no answer (HTTP 204)"),
        ("accepted", "the server sent no answer (HTTP 202)"),
        ("no-event", "the server did not answer the request (HTTP 200)"),
    ],
)
def test_a_response_without_an_answer_fails_the_call(kind: str, reason: str, tmp_path: Path) -> None:
    with (
        raw_http_server() as url,
        run_with(tmp_path, DO, flags=(*config(e={"type": "http", "url": f"{url}/{kind}"}), *ALLOW)) as host,
    ):
        [found] = results(host)
        assert (found["content"], found["is_error"]) == (reason, True)


def test_a_server_that_redirects_is_used_where_it_is(tmp_path: Path) -> None:
    with (
        raw_http_server() as url,
        run_with(tmp_path, DO, flags=(*config(e={"type": "http", "url": f"{url}/redirect"}), *ALLOW)) as host,
    ):
        assert statuses(host) == {"e": "connected"}
        assert results(host)[0]["content"] == [{"type": "text", "text": "done"}]


def test_a_server_that_asks_for_a_login_in_the_middle_needs_one_from_then_on(tmp_path: Path) -> None:
    with raw_http_server() as url:
        flags = (*config(e={"type": "http", "url": f"{url}/login"}), *ALLOW)
        with raw_host(tmp_path, calls(DO), says("One."), says("Two."), flags=flags) as host:
            host.prompt("one")
            host.result()
            assert results(host)[0]["content"] == "the server requires authorization (HTTP 401)"
            host.prompt("two")
            host.result()
            assert statuses(host) == {"e": "needs-auth"}
            assert "mcp__e__do" not in init(host)["tools"]
