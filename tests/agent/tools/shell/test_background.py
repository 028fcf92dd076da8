from __future__ import annotations

import asyncio
import json
import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest

from bridle.agent.tools.contract.tool import run_tool
from bridle.agent.tools.shell.background import (
    BackgroundTasks,
    TaskFinished,
    TaskStarted,
    new_task_id,
    notification_fields,
    notification_text,
    summary,
)
from bridle.agent.tools.shell.shell import Shell
from bridle.agent.tools.shell_tools import normalize_arguments
from tests.agent.fixtures.shell_session import ShellSession, recorded, run_story, shell_session, wait_until


def started_id(answer: Any) -> str:
    """The task of an answer."""
    return str(answer.detail["backgroundTaskId"])


async def has_printed(output: Path, text: str) -> None:
    """Wait until a task has printed this."""
    await wait_until(lambda: output.read_text() == text, f"output {text!r}")


async def begin(place: ShellSession, command: str, **arguments: Any) -> str:
    """Start a task and take the news of it."""
    task_id = started_id(await place.bash(command, run_in_background=True, **arguments))
    news = place.background.events.get_nowait()
    assert isinstance(news, TaskStarted)
    assert news.task_id == task_id
    return task_id


def test_a_task_goes_through_its_life_as_recorded(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            ours: dict[str, str] = {}
            seen = 0
            for call, block, detail in recorded(
                "24h-bg-taskoutput", "Bash", "TaskOutput", "TaskStop", "BashOutput", "KillShell"
            ):
                given = normalize_arguments(
                    call["name"], {key: ours.get(value, value) for key, value in call["input"].items()}
                )
                tool = {"BashOutput": "TaskOutput", "KillShell": "TaskStop"}.get(call["name"], call["name"])
                if given.get("block") is False:
                    # The recorded task had printed nothing yet; ours is faster.
                    block["content"] += "\n\n<output>\na\n</output>"
                    detail["task"]["output"] = "a\n"
                    await has_printed(place.outputs / f"{given['task_id']}.output", "a\n")
                answer = await run_tool(place.tools[tool], given, call_id=call["id"])
                if isinstance(detail, dict) and "backgroundTaskId" in detail:
                    ours[detail["backgroundTaskId"]] = started_id(answer)
                text = json.dumps([answer.content, answer.detail, answer.is_error, answer.names_success])
                for theirs, mine in ours.items():
                    text = text.replace(mine, theirs)
                text = re.sub(r"written to: /\S+/tasks/", "written to: TASKS/", text)
                content = re.sub(r"written to: /\S+/tasks/", "written to: TASKS/", block["content"])
                assert json.loads(text) == [content, detail, block.get("is_error", False), tool == "Bash"]
                seen += 1
            assert seen == 7

    run_story(story)


def test_news_come_in_order_and_say_how_a_task_ended(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            good = await begin(place, "echo fine", description="good & <nice>")
            ended = await place.background.events.get()
            assert isinstance(ended, TaskFinished)
            assert (ended.task_id, ended.status, ended.exit_code) == (good, "completed", 0)
            assert ended.output_file.read_text() == "fine\n"
            assert ended.end_time_ms > 1_600_000_000_000
            assert summary(ended) == 'Background command "good & <nice>" completed (exit code 0)'
            assert notification_text(ended) == (
                f"<task-notification>\n<task-id>{good}</task-id>\n<tool-use-id>call_1</tool-use-id>\n"
                f"<output-file>{ended.output_file}</output-file>\n<status>completed</status>\n"
                '<summary>Background command "good &amp; &lt;nice&gt;" completed (exit code 0)</summary>\n'
                "</task-notification>"
            )
            await begin(place, "exit 2", description="bad")
            ended = await place.background.events.get()
            assert isinstance(ended, TaskFinished)
            assert (ended.status, ended.exit_code) == ("failed", 2)
            assert summary(ended) == 'Background command "bad" failed with exit code 2'
            assert notification_fields(ended)["status"] == "failed"
            assert not place.background.is_reported(ended.task_id)

    run_story(story)


def test_a_task_that_was_returned_is_not_reported_again(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            task_id = await begin(place, "echo done")
            await place.call("TaskOutput", task_id=task_id, block=True, timeout=30000)
            assert place.background.is_reported(task_id)
            again = await place.call("TaskOutput", task_id=task_id, block=True, timeout=30000)
            assert again.content == f"<tool_use_error>No task found with ID: {task_id}</tool_use_error>"

    run_story(story)


def test_a_stopped_task_is_gone_with_all_it_started_and_is_reported_stopped(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            command = "setsid sleep 300 & sleep 300 & touch ready; wait"
            task_id = await begin(place, command)
            await wait_until((place.project / "ready").exists, "start of the task")
            answer = await place.call("TaskStop", task_id=task_id)
            assert json.loads(str(answer.content)) == answer.detail
            assert place.processes() == []
            ended = place.background.events.get_nowait()
            assert isinstance(ended, TaskFinished)
            assert (ended.status, ended.exit_code) == ("killed", None)
            assert notification_fields(ended) == {"status": "stopped", "output_file": "", "summary": command}

    run_story(story)


def test_a_task_stopped_before_it_was_ever_watched_is_gone_too(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            task = place.background.start("sleep 300", call_id="c", description="d")
            await place.background.stop(task)
            assert place.processes() == []
            assert [type(place.background.events.get_nowait()) for _ in range(2)] == [TaskStarted, TaskFinished]

    run_story(story)


def test_the_output_file_grows_while_the_task_runs_and_is_private(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            task_id = await begin(place, "echo one; until [ -e go ]; do sleep 0.02; done; echo two")
            output = place.outputs / f"{task_id}.output"
            await wait_until(lambda: output.read_text() == "one\n", "first line in the file")
            assert stat.S_IMODE(output.stat().st_mode) == 0o600
            asked = await place.call("TaskOutput", task_id=task_id, block=False, timeout=100)
            assert asked.detail["retrieval_status"] == "not_ready"
            assert asked.detail["task"]["output"] == "one\n"
            late = await place.call("TaskOutput", task_id=task_id, block=True, timeout=50)
            assert late.detail["retrieval_status"] == "timeout"
            (place.project / "go").touch()
            await wait_until(lambda: output.read_text() == "one\ntwo\n", "second line in the file")

    run_story(story)


def test_of_a_long_output_the_end_is_handed_out_with_the_place_of_the_rest(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            task_id = await begin(place, "seq 1 20000; echo END")
            answer = await place.call("TaskOutput", task_id=task_id, block=True, timeout=30000)
            output = answer.detail["task"]["output"]
            path = place.outputs / f"{task_id}.output"
            assert output.startswith(f"[Truncated. Full output: {path}]\n\n")
            assert output.endswith("20000\nEND\n")
            assert len(output) == 32_000
            assert path.read_text().startswith("1\n2\n3\n")

    run_story(story)


def test_a_task_does_not_move_the_shell(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            (place.project / "sub").mkdir()
            task_id = await begin(place, "cd sub")
            await place.call("TaskOutput", task_id=task_id, block=True, timeout=30000)
            assert (await place.bash("pwd")).content == str(place.project)

    run_story(story)


def test_all_running_tasks_can_be_stopped(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            for _ in range(10):
                await place.bash("sleep 300", run_in_background=True)
            assert len(place.background.running) == 10
            await place.background.stop_all()
            assert place.background.running == ()
            assert place.processes() == []

    run_story(story)


def test_an_event_loop_that_ends_without_notice_leaves_no_task(tmp_path: Path) -> None:
    pids: list[int] = []

    async def story() -> None:
        shell = Shell(tmp_path, environment=dict(os.environ), session_id="s")
        background = BackgroundTasks(shell, tmp_path / "tasks", tail_characters=100)
        background.start("echo $$ > pid.new; mv pid.new pid; sleep 300", call_id="c", description="d")
        await wait_until((tmp_path / "pid").exists, "start of the task")
        pids.append(int((tmp_path / "pid").read_text()))

    asyncio.run(story())
    assert not Path(f"/proc/{pids[0]}").exists()


def test_a_task_whose_file_cannot_be_made_runs_all_the_same(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            place.outputs.write_text("in the way")
            answer = await place.bash("echo still here", run_in_background=True)
            assert "cannot be written to a file" in str(answer.content)
            ended = await place.call("TaskOutput", task_id=started_id(answer), block=True, timeout=30000)
            assert ended.detail["task"]["output"] == "still here\n"

    run_story(story)


def test_a_task_that_cannot_start_leaves_no_file(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            answer = await place.bash("echo \0", run_in_background=True)
            assert answer.is_error
            assert list(place.outputs.iterdir()) == []
            assert place.background.events.empty()

    run_story(story)


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        (
            "TaskOutput",
            {"task_id": "../../etc/passwd", "block": True, "timeout": 100},
            "No task found with ID: ../../etc/passwd",
        ),
        ("TaskStop", {"task_id": "nosuch"}, "No task found with ID: nosuch"),
        ("TaskStop", {}, "Missing required parameter: task_id"),
    ],
)
def test_an_unknown_task_is_refused(tmp_path: Path, tool: str, arguments: dict[str, Any], said: str) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            answer = await place.call(tool, **arguments)
            assert (answer.content, answer.detail) == (f"<tool_use_error>{said}</tool_use_error>", f"Error: {said}")

    run_story(story)


@pytest.mark.parametrize(
    ("name", "given", "taken"),
    [
        ("BashOutput", {"bash_id": "b1"}, {"task_id": "b1", "block": True, "timeout": 30000}),
        ("BashOutput", {"bash_id": "b1", "filter": "x"}, {"task_id": "b1", "block": True, "timeout": 30000}),
        ("TaskOutput", {"task_id": "b1", "block": False}, {"task_id": "b1", "block": False, "timeout": 30000}),
        ("TaskOutput", {"task_id": "b1", "odd": 1}, {"task_id": "b1", "block": True, "timeout": 30000, "odd": 1}),
        ("KillShell", {"shell_id": "b1"}, {"shell_id": "b1"}),
        ("Bash", {"bash_id": "b1"}, {"bash_id": "b1"}),
    ],
)
def test_old_names_of_fields_become_the_new_ones(name: str, given: dict[str, Any], taken: dict[str, Any]) -> None:
    assert normalize_arguments(name, given) == taken


def test_ids_are_short_and_differ() -> None:
    made = {new_task_id() for _ in range(1000)}
    assert len(made) == 1000
    assert all(re.fullmatch(r"b[0-9a-z]{8}", one) for one in made)
