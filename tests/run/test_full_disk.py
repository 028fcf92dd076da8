"""A disk that takes no more while the log is written: the run is ended, said, and nothing is made up."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from bridle.run.attempt import Attempt
from bridle.run.command import build_command
from bridle.run.logs import RunLog
from bridle.run.request import Request
from bridle.wire.record.error_category import Category
from bridle.wire.record.outcome import judge
from tests.run.fixtures.agent_runs import logs_of
from tests.run.fixtures.fake_agent import HANG_SECONDS, Agent, Script, all_dead, init, result

LIMIT_BYTES = 64 * 1024

# The limit holds for every file that Bridle writes; SIGXFSZ is ignored by Python, so that the write itself fails.
LIMITED = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, ({LIMIT_BYTES}, {LIMIT_BYTES}))
from bridle.cli.main import main
main()
"""


def ask_limited(agent: Agent, cwd: Path) -> tuple[int, dict[str, Any]]:
    command = [sys.executable, "-c", LIMITED, "ask", "--json", "--cwd", str(cwd), "hello"]
    done = subprocess.run(command, env=agent.environment(), capture_output=True, timeout=HANG_SECONDS, check=False)
    return done.returncode, json.loads(done.stdout)


def test_a_log_that_cannot_grow_ends_the_run_and_keeps_what_fitted(tmp_path: Path) -> None:
    agent = Script().out(init()).numbered(20_000).sleep().install(tmp_path / "bin")
    code, document = ask_limited(agent, tmp_path)
    assert (code, document["error_category"], document["attempts"]) == (1, "process", 1)
    assert "its log could not be written" in document["error"]
    (log,) = logs_of(tmp_path)
    assert log.stat().st_size == LIMIT_BYTES
    printed = init() + "".join(f'{{"type": "numbered", "number": {number}}}\n' for number in range(20_000))
    assert printed.encode().startswith(log.read_bytes())
    assert all_dead([agent.starts[0]["pid"]])


def test_an_error_log_that_cannot_grow_ends_the_run_too(tmp_path: Path) -> None:
    code, document = ask_limited(Script().out(init()).err("e" * 200_000).sleep().install(tmp_path / "bin"), tmp_path)
    assert (code, document["error_category"]) == (1, "process")
    assert logs_of(tmp_path)[0].read_text() == init()


def test_an_error_log_that_fails_after_the_output_has_ended_is_not_passed_over(tmp_path: Path) -> None:
    agent = Script().out(init(), result()).close(1).sleep(1).err("e" * 200_000).install(tmp_path / "bin")
    code, document = ask_limited(agent, tmp_path)
    assert (code, document["error_category"], document["final_text"]) == (1, "process", "done")
    assert "its log could not be written" in document["error"]


def test_a_device_without_room_is_a_fault_and_the_events_are_still_read(tmp_path: Path) -> None:
    agent = Script().out(init(), result("the answer")).install(tmp_path / "bin")
    request = Request("hello", tmp_path)
    full, other = (os.open(path, os.O_WRONLY) for path in ("/dev/full", "/dev/null"))
    log = RunLog(tmp_path / "log", (full, other, os.dup(other)))
    attempt = Attempt(request, build_command(request, str(agent.path), agent.environment()), log)

    async def main() -> None:
        async with asyncio.timeout(HANG_SECONDS):
            async for _events in attempt.batches():
                pass

    asyncio.run(main())
    outcome = judge(attempt.record, attempt.ending(None))
    assert (outcome.failed, outcome.category) == (True, Category.PROCESS)
    assert "/dev/full" in (outcome.error or "")
    assert outcome.final_text == "the answer"
    for fd in (full, other):
        os.close(fd)
