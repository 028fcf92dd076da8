"""Control requests of a client: each is asserted by its effect, not only by its answer."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.real.fixtures.claude_on_stage import Answer, calls, says, wait_for
from tests.real.fixtures.sdk_session import Acts, Message, inits, of_class, results, steps, texts

pytestmark = pytest.mark.real

CHECKPOINTS: dict[str, Any] = {"enable_file_checkpointing": True, "extra_args": {"replay-user-messages": None}}
HAIKU = "claude-haiku-4-5-20251001"


def slept(pids: Path) -> Answer:
    """A command with a child, which writes both process ids before it waits."""
    return calls("Bash", command=f"sleep 60 & echo $$ $! > {pids}.new; mv {pids}.new {pids}; sleep 60")


def is_dead(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def prompts(messages: list[Message]) -> list[str]:
    """The ids of the prompts, in their order."""
    users = of_class(messages, "UserMessage")
    return [user["uuid"] for user in users if isinstance(user["content"], str) and not user["content"].startswith("<")]


def test_a_client_has_two_turns_in_one_session(acts: Acts) -> None:
    with acts(says("First."), says("Second.")) as drive:
        messages = drive.client("one", "two")
        first, second = results(messages)
        assert (first["result"], second["result"]) == ("First.", "Second.")
        assert first["session_id"] == second["session_id"]
        assert second["total_cost_usd"] > first["total_cost_usd"]
        assert len(inits(messages)) == 2


def test_a_client_learns_about_the_session(acts: Acts) -> None:
    with acts(says("ok")) as drive:
        info = drive.client("go")[-1]
        assert {"commands", "agents", "models", "account", "output_style", "available_output_styles"} <= info.keys()
        assert "default" in [model["value"] for model in info["models"]]
        assert info["account"]["apiKeySource"] == "ANTHROPIC_API_KEY"


def test_an_interrupt_kills_the_command_with_its_children_and_the_session_continues(acts: Acts, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    with acts(slept(pids), says("Second.")) as drive:
        turns = ({"prompt": "one", "when": str(pids), "during": [["interrupt"]]}, "two")
        first, second = results(drive.client(*turns, allowed_tools=["Bash"]))
        assert (first["subtype"], first["is_error"]) == ("error_during_execution", True)
        assert (second["result"], second["is_error"]) == ("Second.", False)
        for pid in pids.read_text().split():
            wait_for(partial(is_dead, int(pid)), f"end of process {pid}")


def test_a_new_model_answers_the_next_request(acts: Acts) -> None:
    with acts(says("one"), says("two"), says("three")) as drive:
        turns = ("one", {"prompt": "two", "before": [["set_model", "haiku"]]}, "three")
        messages = drive.client(*turns, model="sonnet")
        assert [body["model"] for body in drive.bodies()] == ["claude-sonnet-5", HAIKU, HAIKU]
        assert [init["model"] for init in inits(messages)] == ["claude-sonnet-5", HAIKU, HAIKU]


def test_a_new_mode_decides_the_next_call(acts: Acts) -> None:
    write = calls("Write", file_path="a.txt", content="x")
    with acts(write, says("denied"), write, says("done")) as drive:
        turns = ("one", {"prompt": "two", "before": [["set_permission_mode", "acceptEdits"]]})
        first, second = results(drive.client(*turns))
        assert [denial["tool_name"] for denial in first["permission_denials"]] == ["Write"]
        assert second["permission_denials"] in ([], None)
        assert (drive.workspace / "a.txt").read_text() == "x"


def test_a_mode_that_the_session_may_not_have_is_refused(acts: Acts) -> None:
    with acts(says("ok")) as drive:
        messages = drive.client({"prompt": "go", "before": [["set_permission_mode", "bypassPermissions"]]})
        assert steps(messages, "set_permission_mode")[0]["error"]
        assert inits(messages)[0]["permissionMode"] == "default"


def test_a_stopped_task_is_dead_and_reported(acts: Acts, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    command = f"echo $$ > {pids}.new; mv {pids}.new {pids}; sleep 60"
    start = calls("Bash", command=command, run_in_background=True)
    with acts(start, says("Started."), says("Second."), says("Third.")) as drive:
        stop = {"prompt": "one", "when": str(pids), "after": [["stop_task", "$task"]]}
        messages = drive.client(stop, "two", allowed_tools=["Bash"])
        assert steps(messages, "stop_task")[0]["error"] is None
        wait_for(partial(is_dead, int(pids.read_text())), "end of the command")
        assert any(message.get("status") == "stopped" for message in messages)


def test_stopping_a_task_that_does_not_exist_leaves_the_session_alone(acts: Acts) -> None:
    with acts(says("ok")) as drive:
        messages = drive.client({"prompt": "go", "after": [["stop_task", "nothing"]]})
        assert steps(messages, "stop_task")[0]["error"] is None
        assert results(messages)[0]["result"] == "ok"


def test_context_usage_has_totals_and_categories(acts: Acts) -> None:
    with acts(says("ok")) as drive:
        (drive.workspace / "CLAUDE.md").write_text("Count to seven. " * 50)
        usage_step = [["get_context_usage"]]
        messages = drive.client({"prompt": "go", "after": usage_step}, model="haiku", setting_sources=["project"])
        usage = steps(messages, "get_context_usage")[0]["answer"]
        tokens = {category["name"]: category["tokens"] for category in usage["categories"]}
        assert {"System tools", "Memory files", "Messages", "Free space"} <= tokens.keys()
        assert usage["totalTokens"] == sum(tokens.values()) - tokens["Free space"]
        assert (usage["maxTokens"], usage["model"]) == (200_000, HAIKU)
        assert [Path(file["path"]).name for file in usage["memoryFiles"]] == ["CLAUDE.md"]
        assert usage["apiUsage"]["input_tokens"] > 0


def test_files_are_rewound_to_a_message(acts: Acts) -> None:
    """The id of a message is known only while the session runs, so a second session resumes and rewinds."""
    edit = calls("Edit", file_path="kept.sh", old_string="one", new_string="two")
    answers = (
        calls("Read", file_path="kept.sh"),
        edit,
        calls("Write", file_path="made.txt", content="x"),
        says("done"),
    )
    with acts(*answers, says("again")) as drive:
        kept = drive.workspace / "kept.sh"
        kept.write_bytes(b"one\r\n\xff")
        kept.chmod(0o755)
        first = drive.client("change it", permission_mode="acceptEdits", **CHECKPOINTS)
        assert kept.read_bytes().startswith(b"two")
        (prompt,) = prompts(first)
        session = results(first)[0]["session_id"]
        rewind = {"prompt": "go", "after": [["rewind_files", prompt]]}
        second = drive.client(rewind, resume=session, **CHECKPOINTS)
        assert steps(second, "rewind_files")[0]["error"] is None
        assert (kept.read_bytes(), kept.stat().st_mode & 0o777) == (b"one\r\n\xff", 0o755)
        assert not (drive.workspace / "made.txt").exists()


def test_a_rewind_without_checkpoints_is_an_error(acts: Acts) -> None:
    with acts(says("ok")) as drive:
        step = ["rewind_files", "00000000-0000-4000-8000-000000000000"]
        messages = drive.client({"prompt": "go", "after": [step]})
        assert "not enabled" in steps(messages, "rewind_files")[0]["error"]


def test_a_rewind_to_an_unknown_message_is_an_error(acts: Acts) -> None:
    with acts(says("ok")) as drive:
        step = ["rewind_files", "00000000-0000-4000-8000-000000000000"]
        messages = drive.client({"prompt": "go", "after": [step]}, **CHECKPOINTS)
        assert "No file checkpoint found" in steps(messages, "rewind_files")[0]["error"]


def test_messages_are_shown_again_with_their_ids(acts: Acts) -> None:
    with acts(says("one"), says("two")) as drive:
        messages = drive.client("first", "second", extra_args={"replay-user-messages": None})
        shown = [user["content"] for user in of_class(messages, "UserMessage")]
        assert shown == ["first", "second"]
        assert len(set(prompts(messages))) == 2
        assert texts(messages) == ["one", "two"]
