"""Content of 3 MB with the official Python SDK, which ends the session at a line of more than 1 MiB."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.real.fixtures.claude_on_stage import Answer, calls, says
from tests.real.fixtures.sdk_session import (
    bridle_agent,
    drive_on_stage,
    hook_inputs,
    of_class,
    requested,
    results,
    texts,
)

pytestmark = pytest.mark.real

MUCH = "0123456789\n" * 300_000


def in_few_pieces(answer: Answer) -> Answer:
    return answer | {"chunk_chars": 200_000}


def test_a_long_text_reaches_the_client_in_pieces_and_its_message_is_shortened(tmp_path: Path) -> None:
    answers = (in_few_pieces(says(MUCH)), says("Second."))
    with drive_on_stage(tmp_path, bridle_agent(), "py", *answers) as drive:
        messages = drive.client("one", "two", include_partial_messages=True)
        frames = [message["event"] for message in of_class(messages, "StreamEvent")]
        pieces = [frame["delta"].get("text", "") for frame in frames if frame["type"] == "content_block_delta"]
        assert "".join(pieces) == f"{MUCH}Second."
        assert "characters left out here" in texts(messages)[0]
        assert [result["is_error"] for result in results(messages)] == [False, False]
        [answer] = [message for message in drive.bodies()[-1]["messages"] if message["role"] == "assistant"]
        assert answer["content"][0]["text"] == MUCH


def test_an_input_that_the_host_approves_is_written_whole(tmp_path: Path) -> None:
    answers = (in_few_pieces(calls("Write", file_path="much.txt", content=MUCH)), says("Written."))
    with drive_on_stage(tmp_path, bridle_agent(), "py", *answers) as drive:
        messages = drive.client(
            "go",
            permissions=[{"behavior": "allow"}],
            hooks={"PreToolUse": [{}], "PostToolUse": [{}]},
            include_partial_messages=True,
        )
        assert len(requested(messages)[0]["input"]["content"]) < len(MUCH)
        assert [len(hook_inputs(messages, event)) for event in ("PreToolUse", "PostToolUse")] == [1, 1]
        assert (drive.workspace / "much.txt").read_text() == MUCH
        assert [result["is_error"] for result in results(messages)] == [False]
