"""Ends of the real Claude Code: limits, interruption and background work, with no process left behind."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest

from bridle.run.finished import Finished
from bridle.run.request import Limits, Request
from bridle.run.runner import run
from bridle.run.watchdog import Watchdog
from tests.fixtures.bridle_program import BRIDLE
from tests.real.fixtures.claude_on_stage import (
    LIMIT_SECONDS,
    Answer,
    Scene,
    calls,
    processes_with,
    says,
    scene,
    wait_for,
)

pytestmark = pytest.mark.real

# Silence of a command that has been started: long enough for a shell to start on a busy machine.
SILENT_SECONDS = 4.0


@dataclass(frozen=True)
class Sleeper:
    """A shell command that would take hours, and the ways to recognise what is left of it."""

    mark: str
    command: str

    @classmethod
    def made(cls, *ways: str) -> Sleeper:
        """Sleep in each of these ways, then in the foreground; the run's token is written down first."""
        mark = f"left-behind-{uuid.uuid4().hex}"
        sleep = f"bash -c 'sleep 9000; true' {mark}"
        lines = [way.replace("SLEEP", sleep) for way in ways]
        return cls(mark, "\n".join(['echo "$BRIDLE_RUN_TOKEN" > token.txt', *lines, "touch started", sleep]))

    def answer(self) -> Answer:
        """The model asks for it."""
        return calls("Bash", command=self.command, timeout=600_000)

    def left(self, set_up: Scene) -> list[int]:
        """Processes of the run that are still there: by the token in their environment, by their arguments."""
        token = (set_up.workspace / "token.txt").read_text("utf-8").strip()
        assert len(token) >= 16
        return processes_with(token) + processes_with(self.mark)


DAEMONS = (
    "nohup SLEEP > /dev/null 2>&1 &",
    "setsid SLEEP < /dev/null > /dev/null 2>&1 &",
    "setsid -f SLEEP < /dev/null > /dev/null 2>&1",
    '(setsid sh -c \'trap "" HUP INT TERM; (setsid "$@" &) &\' sh SLEEP > /dev/null 2>&1 < /dev/null &)',
)


def run_silently(set_up: Scene) -> Finished:
    limits = Limits(tool_idle_seconds=SILENT_SECONDS)
    request = Request(prompt="take your time", cwd=set_up.workspace, limits=limits)
    return asyncio.run(run(request, environment=set_up.environment()))


@pytest.mark.parametrize("ways", [(), DAEMONS], ids=["in the foreground", "with daemons"])
def test_a_limit_during_a_command_leaves_no_process(ways: tuple[str, ...], tmp_path: Path) -> None:
    sleeper = Sleeper.made(*ways)
    with scene(tmp_path, sleeper.answer(), says("never")) as set_up:
        finished = run_silently(set_up)
        assert (set_up.workspace / "started").exists(), "the limit struck before the command had begun"
        assert sleeper.left(set_up) == []
        assert (finished.limit, finished.attempts) == (Watchdog.TOOL_IDLE, 1)
        outcome = finished.outcome
        assert (outcome.error, outcome.category, outcome.exit_code) == ("timeout", "timeout", -1)
        assert (outcome.run_error, finished.killed_after_result) == (True, False)
        assert finished.record.tool_uses == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_during_a_command_leaves_no_process_and_keeps_the_log(
    number: signal.Signals, tmp_path: Path
) -> None:
    sleeper = Sleeper.made("setsid SLEEP < /dev/null > /dev/null 2>&1 &")
    with scene(tmp_path, sleeper.answer(), says("never")) as set_up:
        asking = subprocess.Popen(
            [str(BRIDLE), "ask", "take your time"],
            cwd=set_up.workspace,
            env=set_up.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            wait_for((set_up.workspace / "started").exists, "command that had begun")
            assert len(processes_with(sleeper.mark)) >= 2
            asking.send_signal(number)
            _, stderr = asking.communicate(timeout=LIMIT_SECONDS)
        finally:
            asking.kill()
            asking.wait()
        assert asking.returncode == 130
        assert sleeper.left(set_up) == []
        [log] = (set_up.workspace / ".ralph" / "logs" / "claude").glob("*.ndjson")
        lines = stderr.decode().splitlines()
        assert [line for line in lines if "interrupted" in line] == [f"bridle: interrupted; log: {log}"]
        assert lines[-1].startswith("bridle: it cost 0.0")
        assert '"tool_use"' in log.read_text("utf-8")
        meta = json.loads(log.with_suffix(".meta.json").read_text("utf-8"))
        assert meta["interrupted"] is True
        assert set_up.inspect(log)["run_error"] is True


def test_work_in_the_background_that_ends_in_time_adds_a_result(tmp_path: Path) -> None:
    background = calls("Bash", command="sleep 1; echo finished > done.txt", run_in_background=True)
    answers = (background, says("It is on its way."), says("Now it is done."))
    with scene(tmp_path, *answers) as set_up:
        asked = set_up.ask("start it")
        document = asked.document
        assert (asked.exit_code, document["results"], document["final_text"]) == (0, 2, "Now it is done.")
        assert (document["error_category"], document["run_error"], document["warnings"]) == (None, False, [])
        assert (set_up.workspace / "done.txt").read_text("utf-8") == "finished\n"
        assert document["killed_after_result"] is False


def test_work_in_the_background_that_does_not_end_is_reported_and_ended(tmp_path: Path) -> None:
    sleeper = Sleeper.made()
    background = calls("Bash", command=sleeper.command, run_in_background=True)
    with scene(tmp_path, background, says("It is still in progress.")) as set_up:
        asked = set_up.ask("start it")
        document = asked.document
        assert sleeper.left(set_up) == []
        assert (document["results"], document["final_text"]) == (1, "It is still in progress.")
        assert document["exit_code"] == 0
