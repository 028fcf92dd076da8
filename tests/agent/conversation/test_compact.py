"""After a compaction the model can read and edit files whose content the summary has replaced."""

from __future__ import annotations

from pathlib import Path

from tests.agent.fixtures.raw_host import calls, raw_host, says

READING = ("Read", {"file_path": "a.txt"})


def test_a_file_can_be_read_and_edited_again_after_a_compaction(tmp_path: Path) -> None:
    edit = ("Edit", {"file_path": "a.txt", "old_string": "one", "new_string": "two"})
    answers = (calls(READING), says("read"), says("<summary>A file was read.</summary>"), calls(READING), calls(edit))
    with raw_host(tmp_path, *answers, says("done"), flags=("--permission-mode", "acceptEdits")) as host:
        (host.workspace / "a.txt").write_text("one\n")
        for text in ("go", "/compact", "again"):
            host.prompt(text)
            host.result()
        contents = [
            block["content"]
            for body in host.bodies()[3:]
            for message in body["messages"]
            if message["role"] == "user" and isinstance(message["content"], list)
            for block in message["content"]
            if block["type"] == "tool_result"
        ]
        assert (host.workspace / "a.txt").read_text() == "two\n"
    assert "1\tone\n2\t" in contents
    assert not [content for content in contents if "unchanged" in content]
