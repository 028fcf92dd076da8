"""Word at the end of a run: sent by the real library to a server of the test's own."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from bridle.cli.user_interface import notify
from bridle.errors import UsageError
from tests.fixtures.sandbox import write_user_settings
from tests.loop.fixtures.fake_agent import make_project
from tests.views.fixtures.sample_receipts import receipt, task

# The library asks for a module that Python is about to drop.
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")

PLAN = "# Two\n\n## One\nCheck: `test -f one`\n\n## Two\nCheck: `test -f two`\n"


@contextmanager
def server(status: int = 200) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """An address to send to, and what arrived there."""
    arrived: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            arrived.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"json://127.0.0.1:{listening.server_port}/s3cr3t-token", arrived
        finally:
            listening.shutdown()
            thread.join()


def sent(address: str, reason: str = "") -> list[str]:
    said: list[str] = []
    document = receipt(task("One"), task("Two", "failed"), verdict="failed")
    asyncio.run(notify.send([address], document, reason, said.append))
    return said


def test_the_notice_says_how_it_ended_which_tasks_and_how_to_go_on() -> None:
    with server() as (address, arrived):
        assert sent(address) == []
    assert arrived[0]["title"] == "Bridle: PLAN.md: 1 of 2 tasks verified (failed)"
    assert arrived[0]["message"] == "One: done\nTwo: failed\ncost: 0.2500 USD\ncontinue: bridle resume 01RUN"


def test_a_notice_that_does_not_arrive_is_reported_without_the_address() -> None:
    with server(status=500) as (address, _):
        said = sent(address)
    assert said == ["cannot notify json://…: not delivered"]


def test_many_tasks_are_counted_and_not_all_listed() -> None:
    _, body = notify.notification(receipt(*(task(f"T{number}") for number in range(30))), "")
    assert body.endswith("T19: done\n… and 10 more\ncost: 0.2500 USD")


def test_a_cost_that_is_not_known_is_called_unknown() -> None:
    _, body = notify.notification(receipt(task("One"), cost_usd=None, known_cost_usd=0.0), "")
    assert body == "One: done\ncost: unknown"
    _, body = notify.notification(receipt(task("One"), cost_usd=None, known_cost_usd=0.125), "")
    assert body == "One: done\ncost: at least 0.1250 USD"


@pytest.mark.parametrize("address", ["nonsense", "nosuchservice://x/s3cr3t-token"])
def test_an_unknown_address_is_refused_without_showing_it(address: str) -> None:
    with pytest.raises(UsageError) as refusal:
        notify.check_addresses([address])
    assert "s3cr3t" not in str(refusal.value)


def test_a_run_sends_word_when_it_is_over_and_keeps_the_address_to_itself(tmp_path: Path) -> None:
    with server() as (address, arrived):
        here = make_project(tmp_path, PLAN, "open(task.lower(), 'w').close()")
        write_user_settings(f'notify = "{address}"\n')
        done = here.bridle("run", "--json")
    assert done.returncode == 0, done.stderr
    assert [one["title"] for one in arrived] == ["Bridle: PLAN.md: 2 of 2 tasks verified"]
    kept = [path for path in (here.folder / ".a5c").rglob("*") if path.is_file()]
    assert kept
    assert not [path for path in kept if b"s3cr3t-token" in path.read_bytes()]


def test_a_finished_run_that_is_resumed_sends_no_second_word(tmp_path: Path) -> None:
    with server() as (address, arrived):
        here = make_project(tmp_path, PLAN, "open(task.lower(), 'w').close()")
        write_user_settings(f'notify = "{address}"\n')
        assert here.bridle("run").returncode == 0
        assert here.bridle("resume").returncode == 0
    assert len(arrived) == 1


def test_a_wrong_address_is_refused_before_anything_begins(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, "")
    write_user_settings('notify = "nosuchservice://x"\n')
    done = here.bridle("run")
    assert done.returncode == 2, done.stderr
    assert "nosuchservice://…" in done.stderr
    assert here.calls() == []
    assert not (here.folder / ".a5c").exists()


def test_without_the_library_the_message_names_the_extra(tmp_path: Path) -> None:
    """A folder before all others, in which the library is a module that cannot be imported."""
    (tmp_path / "without").mkdir()
    (tmp_path / "without/apprise.py").write_text("raise ImportError('not here')\n")
    here = make_project(tmp_path, PLAN, "")
    write_user_settings('notify = "json://localhost"\n')
    done = here.bridle("run", PYTHONPATH=str(tmp_path / "without"))
    assert done.returncode == 2, done.stderr
    assert "pip install 'bridle-cli[notify]'" in done.stderr
