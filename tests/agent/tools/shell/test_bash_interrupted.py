from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agent.fixtures.shell_session import HANG_SECONDS, open_files, run_story, shell_session, wait_until
from tests.sizes import SIZES

STUBBORN = "trap '' TERM INT HUP; touch ready; setsid sleep 300 & sleep 300 & while :; do sleep 0.05; done"


@pytest.mark.parametrize(
    "command", ["touch ready; sleep 300", STUBBORN, "touch ready; yes", "touch ready; setsid -w sleep 300"]
)
def test_a_cancelled_command_is_gone_with_all_it_started(tmp_path: Path, command: str) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            task = asyncio.create_task(place.bash(command))
            await wait_until((place.project / "ready").exists, "start of the command")
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert place.processes() == []
            assert not place.results.exists() or list(place.results.iterdir()) == []

    run_story(story)


def test_a_command_cancelled_at_any_moment_leaves_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            await place.bash("true")
            before = open_files()
            for step in range(SIZES.kill_points):
                background = step % 3 == 0
                call = place.bash("echo a; sleep 0.01; echo b; (sleep 300 &); seq 20000", run_in_background=background)
                task = asyncio.create_task(call)
                await asyncio.sleep(0.03 * step / SIZES.kill_points)
                task.cancel()
                await asyncio.wait({task})
                if not task.cancelled() and (task_id := task.result().detail.get("backgroundTaskId")):
                    await place.call("TaskStop", task_id=task_id)
                if task.cancelled():
                    assert place.processes() == []
                await place.shell.close()
                assert place.processes() == []
                assert open_files() == before

    run_story(story, limit_seconds=HANG_SECONDS + SIZES.kill_points)


def test_a_second_cancellation_does_not_cut_the_ending_short(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            task = asyncio.create_task(place.bash(STUBBORN))
            await wait_until((place.project / "ready").exists, "start of the command")
            while not task.done():
                task.cancel()
                await asyncio.sleep(0.01)
            assert place.processes() == []

    run_story(story)


def test_the_interrupted_command_has_a_moment_to_clean_up(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            task = asyncio.create_task(place.bash("trap 'rm lock; exit' TERM; touch lock ready; sleep 300 & wait"))
            await wait_until((place.project / "ready").exists, "start of the command")
            task.cancel()
            await asyncio.wait({task})
            assert not (place.project / "lock").exists()

    run_story(story)


KILLED = """
import asyncio, os, sys
from pathlib import Path
from bridle.agent.tools.shell.background import BackgroundTasks
from bridle.agent.tools.shell.bash import Bash, BashInput
from bridle.agent.tools.shell.limits import CommandLimits
from bridle.agent.tools.shell.shell import Shell

async def main():
    folder = Path(sys.argv[1])
    shell = Shell(folder, environment=dict(os.environ), session_id="s")
    background = BackgroundTasks(shell, folder / "tasks", tail_characters=100)
    bash = Bash(shell, background, results_folder=folder / "results", limits=CommandLimits())
    await bash.run(BashInput("setsid sleep 300 >/dev/null 2>&1 & sleep 300 &"), call_id="a")
    await bash.run(BashInput("sleep 300", run_in_background=True), call_id="b")
    await bash.run(BashInput("touch ready; sleep 300"), call_id="c")

asyncio.run(main())
"""


def test_a_killed_session_takes_its_commands_with_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            variables = {**os.environ, "BRIDLE_TEST_MARK": place.mark}
            session = subprocess.Popen([sys.executable, "-c", KILLED, str(place.project)], env=variables)
            await wait_until((place.project / "ready").exists, "command in the foreground")
            assert len(place.processes()) >= 5
            session.send_signal(signal.SIGKILL)
            session.wait(HANG_SECONDS)
            await wait_until(lambda: not place.processes(), "end of what the session had started")

    run_story(story)


WATCHED = """
import asyncio, os, sys
from pathlib import Path
from bridle.agent.tools.shell.background import BackgroundTasks
from bridle.agent.tools.shell.bash import Bash, BashInput
from bridle.agent.tools.shell.limits import CommandLimits
from bridle.agent.tools.shell.shell import Shell

async def main():
    folder = Path(sys.argv[1])
    shell = Shell(folder, environment=dict(os.environ), session_id="s")
    background = BackgroundTasks(shell, folder / "tasks", tail_characters=100)
    bash = Bash(shell, background, results_folder=folder / "results", limits=CommandLimits())
    answer = await bash.run(BashInput("echo $BRIDLE_RUN_TOKEN"), call_id="a")
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    await shell.close()
    print(len(children), answer.content)

asyncio.run(main())
"""


@pytest.mark.parametrize(("outer", "keepers"), [(None, 1), ("0123abcd", 0)])
def test_inside_a_run_of_bridle_its_keeper_is_enough(tmp_path: Path, outer: str | None, keepers: int) -> None:
    variables = {**os.environ, **({"BRIDLE_RUN_TOKEN": outer} if outer else {})}
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, str(tmp_path)],
        env=variables,
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=True,
    )
    children, tokens = done.stdout.split()
    assert int(children) == keepers
    session, own = tokens.split(":")[-2:]
    assert own.startswith(f"{session}-")
    assert tokens.startswith(f"{outer}:" if outer else session)
