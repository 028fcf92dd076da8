from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from bridle.agent.tools.shell.bash import Bash, BashInput
from bridle.agent.tools.shell.limits import CommandLimits
from bridle.agent.tools.shell.shell import Shell
from tests.agent.fixtures.shell_session import recorded, run_story, shell_session, wait_until

# Calls whose answer depends on the machine, or that are told otherwise on purpose (see the tests that name them).
OTHERWISE = {"kill -9 $$", "seq 1 20000", "sleep 5"}


@pytest.mark.parametrize("name", ["02-tools-basic", "23-tool-shapes"])
def test_commands_are_answered_as_recorded(tmp_path: Path, name: str) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            (place.project / "src").mkdir()
            seen = 0
            for call, block, detail in recorded(name, "Bash"):
                if call["input"]["command"] in OTHERWISE or call["input"].get("run_in_background"):
                    continue
                answer = await place.bash(**call["input"])
                home = json.dumps([answer.content, answer.detail]).replace(str(place.project), "/workspace/demo")
                assert json.loads(home) == [block["content"], detail]
                assert answer.is_error is block["is_error"]
                assert answer.names_success is not answer.is_error
                seen += 1
            assert seen >= 3

    run_story(story)


def test_the_keys_of_the_detail_come_in_the_recorded_order(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            answer = await place.bash("grep nothing /dev/null")
            assert list(answer.detail) == [
                "stdout",
                "stderr",
                "interrupted",
                "isImage",
                "returnCodeInterpretation",
                "noOutputExpected",
            ]

    run_story(story)


def test_a_folder_is_kept_for_the_next_command_and_variables_are_not(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            (place.project / "a b'c").mkdir()
            await place.bash("""cd "a b'c"; export KEPT=1""")
            answer = await place.bash("pwd; echo ${KEPT-gone}")
            assert answer.content == f"{place.project}/a b'c\ngone"
            assert place.shell.cwd == place.project / "a b'c"

    run_story(story)


def test_a_command_that_fails_does_not_move_the_next_one(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            (place.project / "sub").mkdir()
            await place.bash("cd sub && false")
            await place.bash("cd sub; exit 3")
            assert (await place.bash("pwd")).content == str(place.project)

    run_story(story)


def test_leaving_the_allowed_directories_is_reported_and_reverted(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            (place.project / "sub").mkdir()
            await place.bash("cd sub")
            (place.project / "out").symlink_to("/usr")
            for command, said in (("cd / && pwd", "/\n"), ("cd ../out", "")):
                answer = await place.bash(command)
                assert answer.content == f"{said}Shell cwd was reset to {place.project}"
                assert answer.detail["stderr"] == f"\nShell cwd was reset to {place.project}"
                assert (await place.bash("pwd")).content == str(place.project)
                await place.bash("cd sub")

    run_story(story)


def test_an_added_folder_can_be_entered(tmp_path: Path) -> None:
    async def story() -> None:
        added = tmp_path / "added"
        (added / "deep").mkdir(parents=True)
        async with shell_session(tmp_path) as place:
            shell = Shell(place.project, environment={}, session_id="s", folders=[added])
            bash = Bash(shell, place.background, results_folder=place.results, limits=CommandLimits())
            try:
                answer = await bash.run(BashInput(f"cd {added}/deep"), call_id="c")
                assert "reset" not in str(answer.content)
                answer = await bash.run(BashInput("/bin/pwd"), call_id="c")
                assert answer.content == str(added.resolve() / "deep")
            finally:
                await shell.close()

    run_story(story)


def test_a_folder_that_a_command_removed_is_left_for_the_project(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            (place.project / "gone").mkdir()
            await place.bash("cd gone")
            await place.bash("rmdir ../gone")
            assert (await place.bash("pwd")).content == str(place.project)

    run_story(story)


def test_a_project_that_is_gone_is_a_clear_failure(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            await place.bash("rmdir ../project")
            answer = await place.bash("echo hi")
            assert answer.is_error
            assert "working folder" in str(answer.content)

    run_story(story)


def test_commands_see_where_they_run(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path, OWN="mine", CLAUDE_CODE_ENTRYPOINT="sdk-py", SHELL="/bin/zsh") as place:
            answer = await place.bash(
                "echo $CLAUDECODE $GIT_EDITOR $CLAUDE_CODE_SESSION_ID $SHELL $OWN $CLAUDE_CODE_ENTRYPOINT $AI_AGENT"
            )
            assert answer.content == "1 true session-1 /bin/bash mine sdk-py bridle-agent"
            assert (await place.bash("cat; echo end")).content == "end"

    run_story(story)


def test_a_command_keeps_its_line_numbers(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            answer = await place.bash("echo it\\'s\nnosuchcommand")
            assert answer.content == "Exit code 127\nit's\n/bin/bash: line 2: nosuchcommand: command not found"

    run_story(story)


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        ("echo 'it'\\''s' \"$((1+1))\"", "it's 2"),
        ("cat <<'EOF'\n$HOME `x` \\\nEOF", "$HOME `x` \\"),
        ("echo a\\\nb", "ab"),
        ("printf '%s\\n' \"a\nb\"", "a\nb"),
        ("f() { echo in; }; f", "in"),
        ("trap 'echo bye' EXIT; echo hi", "hi\nbye"),
        ("set -eu; echo one; true", "one"),
        ("echo out; echo err >&2; echo out2", "out\nerr\nout2"),
        ("# only a comment", "(Bash completed with no output)"),
        ("", "(Bash completed with no output)"),
        ("echo é ü 漢字 🎉", "é ü 漢字 🎉"),
        ("printf '\\xff\\xfe ok'", "\ufffd\ufffd ok"),
        ("printf 'a\\0b'", "a\0b"),
        ("printf '\\n \\n  a\\nb  \\n\\n'", "  a\nb"),
        ("exec echo replaced", "replaced"),
        ("ls -l /proc/self/fd | wc -l", "5"),
    ],
)
def test_a_command_means_what_bash_means_by_it(tmp_path: Path, command: str, printed: str) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            assert (await place.bash(command)).content == printed

    run_story(story)


@pytest.mark.parametrize(
    ("command", "code"), [("kill -9 $$", 137), ("kill -TERM $$", 143), ("exit 3", 3), ("(exit 256)", None)]
)
def test_an_exit_code_is_the_shells(tmp_path: Path, command: str, code: int | None) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            answer = await place.bash(command)
            assert answer.content == (f"Exit code {code}" if code else "(Bash completed with no output)")

    run_story(story)


@pytest.mark.parametrize("command", ["echo \0", "echo \ud800"])
def test_a_command_that_no_process_can_take_is_an_error(tmp_path: Path, command: str) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            answer = await place.bash(command)
            assert answer.is_error
            assert str(answer.content).startswith("the command contains")

    run_story(story)


def test_a_command_longer_than_an_argument_may_be_runs(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            data = "x" * 300_000
            answer = await place.bash(f"cat > big.txt <<'EOF'\n{data}\nEOF\nwc -c < big.txt; ls /proc/self/fd | wc -l")
            assert answer.content == "300001\n4"

    run_story(story)


def test_an_image_as_a_data_url_is_an_image_and_a_broken_one_is_text(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            answer = await place.bash("printf 'data:image/png;base64,%s\\n' iVBORw0KGgo=")
            source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
            assert answer.content == [{"type": "image", "source": source}]
            assert answer.detail["isImage"] is True
            assert not answer.names_success
            broken = await place.bash("printf 'data:image/png;base64,%s\\n' iVBORw0KGg")
            assert broken.content == "data:image/png;base64,iVBORw0KGg"
            assert broken.detail["isImage"] is False

    run_story(story)


def test_a_hundred_commands_run_side_by_side(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            command = "touch here.{0}; until [ -e go ]; do sleep 0.2; done; echo {0}"
            calls = asyncio.gather(*(place.bash(command.format(number)) for number in range(100)))
            # They are let go only when all of them are there at once.
            await wait_until(lambda: len(list(place.project.glob("here.*"))) == 100, "hundred commands")
            (place.project / "go").touch()
            assert [answer.content for answer in await calls] == [str(number) for number in range(100)]

    run_story(story)


def test_a_timeout_moves_a_command_to_the_background(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            answer = await place.bash("echo early; until [ -e go ]; do sleep 0.02; done; echo late", timeout=200)
            task_id = answer.detail["backgroundTaskId"]
            assert str(answer.content).startswith(f"Command running in background with ID: {task_id}. Output is ")
            output = place.outputs / f"{task_id}.output"
            assert output.read_text() == "early\n"
            (place.project / "go").touch()
            ended = await place.call("TaskOutput", task_id=task_id, block=True, timeout=30000)
            assert "<output>\nearly\nlate\n</output>" in str(ended.content)
            assert output.read_text() == "early\nlate\n"

    run_story(story)


@pytest.mark.parametrize(
    ("command", "environment"),
    [("sleep 60 && echo no", {}), ("echo part; sleep 60", {"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1"})],
)
def test_a_timeout_ends_what_cannot_go_on_in_the_background(
    tmp_path: Path, command: str, environment: dict[str, str]
) -> None:
    async def story() -> None:
        async with shell_session(tmp_path, **environment) as place:
            answer = await place.bash(command, timeout=1000)
            part = "\npart" if "part" in command else ""
            assert answer.content == f"Exit code 143\nCommand timed out after 1s{part}"
            assert answer.detail == f"Error: {answer.content}"
            assert place.processes() == []

    run_story(story)


def test_background_is_refused_where_the_environment_says_so(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path, CLAUDE_CODE_DISABLE_BACKGROUND_TASKS="true") as place:
            answer = await place.bash("echo here", run_in_background=True)
            assert answer.content == "here"

    run_story(story)


@pytest.mark.parametrize(
    "daemon",
    [
        "sleep 300 &",
        "nohup sleep 300 >/dev/null 2>&1 &",
        "setsid sleep 300 &",
        "(setsid sh -c 'sleep 300 & exit' &)",
        "( ( sleep 300 & ) & )",
        "setsid nohup bash -c 'trap \"\" TERM HUP INT; while :; do sleep 0.1; done' </dev/null >/dev/null 2>&1 &",
        "coproc sleep 300",
        "sleep 300 | cat &",
        "while :; do echo chatter; done &",
    ],
)
def test_a_command_ends_with_its_shell_and_its_daemons_end_with_the_session(tmp_path: Path, daemon: str) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            answer = await place.bash(f"{daemon}\necho started")
            assert str(answer.content).endswith("started") or "chatter" in str(answer.content)
            await wait_until(lambda: place.processes() != [], "start of the daemon")
            assert (await place.bash("echo next")).content == "next"
        assert place.processes() == []

    run_story(story)


def test_a_server_left_by_one_command_can_still_print_while_the_next_one_uses_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            await place.bash("(while [ ! -e stop ]; do echo line; sleep 0.01; done; touch stopped) &")
            # Without a reader its pipe would break it at the next line.
            await place.bash("sleep 0.2; touch stop")
            await wait_until((place.project / "stopped").exists, "end of the server by its own will")

    run_story(story)


def test_what_a_filter_prints_after_the_command_belongs_to_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            assert (await place.bash("echo hi > >(sed s/hi/filtered/)")).content == "filtered"

    run_story(story)
