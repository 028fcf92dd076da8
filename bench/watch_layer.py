"""`bridle watch`: when an event of an agent is at a page, how long a long conversation takes to open, and the memory.

The page is a client of the stream, as the real one is. Peers in the same run: `tail -f` of the same log for the time,
and reading the log with `json.loads` for the opening.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.measure import Target
from tests.fixtures.bridle_program import BRIDLE
from tests.loop.fixtures.fake_agent import Project, make_project
from tests.run.fixtures.fake_agent import wait_until
from tests.views.web.fixtures.watch_server import WatchServer, wait_for, watching_project

EVENTS = 300
PAUSE_SECONDS = 0.02
SIZES = (10_000, 100_000)
RUNS, EVENTS_EACH = 20, 2_000
WANTED_MEDIAN_MS = 250.0  # a user sees no delay
WANTED_LAST_MS = 1000.0
WANTED_OF_JSON = 40.0  # the transcript does much more than decode, in the same order of time
WANTED_MB = 300.0
PLAN = "# T\n\n## One\nCheck: `test -f One`\n"
# Each call says when it was printed, by a clock that all processes share.
AGENT = f"""
for index in range({EVENTS}):
    call = {{"type": "tool_use", "id": f"t{{index}}", "name": "Bash"}}
    call["input"] = {{"command": f"at {{time.monotonic_ns()}}"}}
    message = {{"id": f"m{{index}}", "role": "assistant", "content": [call]}}
    show(type="assistant", parent_tool_use_id=None, message=message)
    time.sleep({PAUSE_SECONDS})
open(task, "w").close()
"""


def run() -> dict[str, Any]:
    """Measure; the result holds rows for a table, targets, and remarks."""
    with tempfile.TemporaryDirectory(prefix="bridle-bench-") as name:
        folder = Path(name)
        page, tail = _latency(folder / "live")
        opened = [_opening(folder / f"log-{size}", size) for size in SIZES]
        memory = _memory(folder / "many")
    rows: list[dict[str, Any]] = [
        {"what": f"event to page: {EVENTS} events", "median": f"{page[0]:.0f} ms", "99th": f"{page[1]:.0f} ms"},
        {"what": f"event to `tail -f`: {EVENTS} events", "median": f"{tail[0]:.0f} ms", "99th": f"{tail[1]:.0f} ms"},
        *(
            {
                "what": f"open {size:,} events",
                "first": f"{first:.2f} s",
                "again": f"{again * 1000:.0f} ms",
                "json.loads": f"{peer:.2f} s",
            }
            for size, (first, again, peer) in zip(SIZES, opened, strict=True)
        ),
        {"what": f"memory of the server: {RUNS} runs of {EVENTS_EACH:,} events watched", "MB": round(memory)},
    ]
    columns = dict.fromkeys(column for row in rows for column in row)
    first, _, peer = opened[-1]
    targets = [
        Target(claim="event to page, median", found=page[0], wanted=WANTED_MEDIAN_MS, at_least=False, unit=" ms"),
        Target(claim="event to page, 99th of 100", found=page[1], wanted=WANTED_LAST_MS, at_least=False, unit=" ms"),
        Target(
            claim=f"open {SIZES[-1]:,} events against json.loads",
            found=first / peer,
            wanted=WANTED_OF_JSON,
            at_least=False,
        ),
        Target(claim="memory of the server", found=memory, wanted=WANTED_MB, at_least=False, unit=" MB"),
    ]
    return {
        "rows": [{column: row.get(column, "") for column in columns} for row in rows],
        "targets": targets,
        "remarks": [],
    }


def _latency(folder: Path) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return median and 99th of 100 in milliseconds, for the stream and for `tail -f`."""
    here = make_project(folder, PLAN, AGENT)
    arrivals: dict[int, int] = {}
    tailed: dict[int, int] = {}
    with watching_project(here) as server:
        child = subprocess.Popen(
            [str(BRIDLE), "run", "PLAN.md", "--json"],
            cwd=here.folder,
            env=here.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        run = wait_for(server, "/api/board", lambda board: board["runs"])["runs"][0]["run"]
        log = wait_for(server, f"/api/runs/{run}", lambda page: page["logs"])["logs"][0]["log"]
        path = here.folder / ".ralph/logs/claude" / f"{log}.ndjson"
        tail = subprocess.Popen(["tail", "-n", "+1", "-f", str(path)], stdout=subprocess.PIPE)
        reader = threading.Thread(target=_read_tail, args=(tail, tailed), daemon=True)
        reader.start()
        with server.stream(f"run={run}&log={log}") as events:
            began = time.monotonic_ns()
            while True:
                name, data = events.next()
                now = time.monotonic_ns()
                if name == "end":
                    break
                for stamp in _stamps(data.get("items", ())) if name == "items" else ():
                    if stamp > began:  # what was printed before is not sent, but asked for
                        arrivals.setdefault(stamp, now)
        child.wait()
        wait_until(lambda: len(tailed) >= EVENTS)
        tail.kill()
        tail.wait()
    return _figures(arrivals), _figures(tailed)


def _stamps(items: list[dict[str, Any]]) -> Iterator[int]:
    for item in items:
        if item["type"] == "call" and item["summary"].startswith("at "):
            yield int(item["summary"][3:])


def _read_tail(tail: subprocess.Popen[bytes], seen: dict[int, int]) -> None:
    assert tail.stdout is not None
    for line in tail.stdout:
        now = time.monotonic_ns()
        _, found, rest = line.partition(b'"command": "at ')
        if found:
            seen.setdefault(int(rest.partition(b'"')[0]), now)


def _figures(arrivals: dict[int, int]) -> tuple[float, float]:
    delays = sorted((arrived - printed) / 1e6 for printed, arrived in arrivals.items())
    assert len(delays) > EVENTS // 2, f"only {len(delays)} events arrived live"
    return statistics.median(delays), delays[int(len(delays) * 0.99) - 1]


def _opening(folder: Path, size: int) -> tuple[float, float, float]:
    """Return the seconds of the first and the second look at the end of a conversation, and those of `json.loads`."""
    here = make_project(folder, PLAN, "")
    log = _write_session(here, "20260101T000000.000Z-coder-ask", size)
    with watching_project(here) as server:
        wait_for(server, "/api/board", lambda board: board["sessions"])
        path = "/api/runs/-/logs/20260101T000000.000Z-coder-ask/items?start=-100&count=100"
        seconds = []
        for _ in range(2):
            began = time.monotonic()
            assert len(server.get(path)["items"]) == 100
            seconds.append(time.monotonic() - began)
    began = time.monotonic()
    with log.open("rb") as file:
        for line in file:
            json.loads(line)
    return seconds[0], seconds[1], time.monotonic() - began


def _write_session(here: Project, name: str, size: int) -> Path:
    folder = here.folder / ".ralph/logs/claude"
    folder.mkdir(parents=True, exist_ok=True)
    meta = {"agent": "claude", "started": "2026-01-01T00:00:00Z", "ended": "2026-01-01T01:00:00Z", "exit_code": 0}
    (folder / f"{name}.meta.json").write_text(json.dumps(meta))
    return _write_log(folder / f"{name}.ndjson", size)


def _write_log(path: Path, size: int) -> Path:
    """Write a log of calls with results, and of texts."""
    with path.open("w") as file:
        for index in range(size // 2):
            call = {"type": "tool_use", "id": f"t{index}", "name": "Bash", "input": {"command": f"echo {index}"}}
            result = {"type": "tool_result", "tool_use_id": f"t{index}", "content": f"line {index}\n" * 20}
            if index % 4 == 0:
                call = {"type": "text", "text": f"Step **{index}** follows. " * 5}
                result = {"type": "text", "text": f"Do step {index}."}
            for kind, block in (("assistant", call), ("user", result)):
                message = {"id": f"m{index}", "role": kind, "content": [block]}
                file.write(json.dumps({"type": kind, "parent_tool_use_id": None, "message": message}) + "\n")
    return path


def _memory(folder: Path) -> float:
    """Return the resident megabytes of a server that many pages watch, each another run."""
    here = make_project(folder, PLAN, "open(task, 'a').write('x')")
    for _ in range(RUNS):
        here.git("checkout", "-q", "main")
        done = here.bridle("run", "PLAN.md", "--json")
        assert done.returncode == 0, done.stderr
    for log in (here.folder / ".ralph/logs/claude").glob("*.ndjson"):
        _write_log(log, EVENTS_EACH)
        log.with_suffix(".times").unlink()
    with watching_project(here) as server, ExitStack() as streams:
        runs = [card["run"] for card in server.get("/api/board")["runs"]]
        assert len(runs) == RUNS
        for run in runs:
            log = server.get(f"/api/runs/{run}")["logs"][0]["log"]
            events = streams.enter_context(server.stream(f"run={run}&log={log}"))
            items = server.get(f"/api/runs/{run}/logs/{log}/items?start=-100")
            assert items["total"] > EVENTS_EACH // 4
            assert events.until("end") == {"log": log}
        return _resident_mb(server)


def _resident_mb(server: WatchServer) -> float:
    text = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(text.partition("VmRSS:")[2].split()[0]) / 1024


if __name__ == "__main__":
    os.environ.setdefault("BRIDLE_HOME", tempfile.mkdtemp())
    print(json.dumps(run()["rows"], indent=1))
