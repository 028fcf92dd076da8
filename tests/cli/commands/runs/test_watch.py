"""`bridle watch`: its link, its port, its end, and what it says where it cannot serve."""

from __future__ import annotations

import json
import os
import signal
import socket
from pathlib import Path

import pytest

from bridle.views.web.serve import PORT
from tests.fixtures.bridle_program import LIMIT_SECONDS, run_bridle
from tests.views.web.fixtures.watch_server import watching


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_with_success_while_a_page_is_open(tmp_path: Path, number: signal.Signals) -> None:
    with watching(tmp_path) as server:
        assert server.url == f"http://127.0.0.1:{server.port}/?token={server.token}"
        with server.stream("") as events:
            assert events.response.readline() == b": bridle\n"
            server.process.send_signal(number)
            assert server.process.wait(LIMIT_SECONDS) == 0
            assert server.process.stderr is not None
            assert b"Traceback" not in server.process.stderr.read()


def test_a_named_port_that_is_taken_is_an_error(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run_bridle("watch", "--no-open", "--json", "--port", port, cwd=tmp_path)
    assert done.returncode == 2
    assert f"the port {port} is taken" in json.loads(done.stderr)["message"]
    assert done.stdout == ""


def test_the_next_free_port_is_used_where_the_usual_one_is_taken(tmp_path: Path) -> None:
    from bridle.views.web import serve

    with serve.bind(None) as first, serve.bind(None) as second:
        assert PORT <= first.getsockname()[1] < second.getsockname()[1] < PORT + 50
        assert {first.getsockname()[0], second.getsockname()[0]} == {"127.0.0.1"}


def test_without_its_packages_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "missing/starlette").mkdir(parents=True)
    fault = "raise ModuleNotFoundError(\"No module named 'starlette'\", name='starlette')\n"
    (tmp_path / "missing/starlette/__init__.py").write_text(fault)
    variables = {"PYTHONPATH": str(tmp_path / "missing")}
    done = run_bridle("watch", "--no-open", "--json", cwd=tmp_path, variables=variables)
    assert done.returncode == 2
    document = json.loads(done.stderr)
    assert document["message"] == "the web page needs a package that is not installed: starlette"
    assert document["remedy"] == "Run: pip install 'bridle-cli[web]'"
    assert not Path(os.environ["BRIDLE_HOME"], "watch-token").exists()


def test_a_folder_without_runs_has_an_empty_board(tmp_path: Path) -> None:
    with watching(tmp_path) as server:
        board = server.get("/api/board")
        assert (board["runs"], board["needs"], board["sessions"]) == ([], [], [])


def test_all_runs_of_the_user_are_shown_on_request(tmp_path: Path) -> None:
    from tests.cli.fixtures.machine_commands import create

    for name in ("here", "there"):
        (tmp_path / name / ".git").mkdir(parents=True)
        (tmp_path / name / "process.py").write_text("async def process(inputs, ctx):\n    return 1\n")
        assert create(tmp_path / name, "--run-id", name).code == 0
    with watching(tmp_path / "here") as server:
        assert [card["run"] for card in server.get("/api/board")["runs"]] == ["here"]
    with watching(tmp_path / "here", options=("--all",)) as server:
        assert {card["run"] for card in server.get("/api/board")["runs"]} == {"here", "there"}
