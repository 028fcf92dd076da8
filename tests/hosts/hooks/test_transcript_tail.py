"""The last words of a transcript, from its end: whatever its lines are, and wherever a block is cut."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.errors import DiskError
from bridle.hosts.hooks.stop_rules import promise_in
from bridle.hosts.hooks.transcript_tail import FIRST_BLOCK_BYTES, LOOK_BACK_BYTES, last_message, last_text
from tests.hosts.fixtures.hook_project import assistant_line

USER = json.dumps({"type": "user", "message": {"role": "user", "content": 'they said {"role": "assistant"}'}})


def transcript(path: Path, *lines: str | bytes, end: bytes = b"\n") -> str:
    data = b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines)
    path.write_bytes(data + end)
    return str(path)


def words(text: str) -> str:
    return json.dumps(assistant_line(text), ensure_ascii=False)


# Each is what comes behind the words that must be found.
BEHIND: dict[str, list[str | bytes]] = {
    "nothing": [],
    "a person's line": [USER],
    "a torn line": ['{"type": "assistant", "message": {"role": "assis'],
    "garbage with the word in it": ['"assistant" "assistant"', b'\xff\xfe"assistant"', "[" * 5000 + '"assistant"'],
    "blank lines": ["", "", "\r"],
    "a tool's call": [
        json.dumps({"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "Bash"}]}})
    ],
    "a thought": [json.dumps({"type": "assistant", "message": {"content": [{"type": "thinking", "thinking": "hm"}]}})],
    "an empty text": [words(" \n")],
    "a sub-agent's words": [json.dumps(assistant_line("from below", isSidechain=True))],
    "blocks that are none": [json.dumps({"type": "assistant", "message": {"content": [1, None, {"type": "text"}]}})],
    "a message that is none": [json.dumps({"type": "assistant", "message": "x"}), '["assistant"]', '"assistant"'],
}


@pytest.mark.parametrize("name", BEHIND)
def test_the_last_words_are_found_behind_whatever_comes_after_them(name: str, tmp_path: Path) -> None:
    path = transcript(tmp_path / "t", words("first"), USER, words("the last, ä"), *BEHIND[name])
    assert last_text(path) == "the last, ä"


@pytest.mark.parametrize("name", BEHIND)
def test_whether_a_message_followed_is_reported(name: str, tmp_path: Path) -> None:
    found = last_message(transcript(tmp_path / "t", USER, words("the last"), *BEHIND[name]))
    assert found is not None
    assert found.is_answered is (name == "a person's line")


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_the_results_of_a_tool_count_as_an_answer(separators: tuple[str, str], tmp_path: Path) -> None:
    result = {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "content": "x"}]}}
    lines = words("the last"), json.dumps(result, separators=separators), '{"type":"attachment"}'
    found = last_message(transcript(tmp_path / "t", *lines))
    assert found is not None
    assert (found.text, found.is_answered) == ("the last", True)


@pytest.mark.parametrize("end", [b"", b"\n", b"\n\n"])
def test_the_last_line_may_or_may_not_be_ended(end: bytes, tmp_path: Path) -> None:
    assert last_text(transcript(tmp_path / "t", USER, words("last"), end=end)) == "last"


def test_texts_of_one_line_are_joined(tmp_path: Path) -> None:
    line = {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
    assert last_text(transcript(tmp_path / "t", json.dumps(line))) == "a\nb"


@pytest.mark.parametrize("lines", [[], [USER], ["garbage"]])
def test_who_said_nothing_said_nothing(lines: list[str], tmp_path: Path) -> None:
    assert last_text(transcript(tmp_path / "t", *lines)) is None


@pytest.mark.parametrize("offset", range(-3, 4))
def test_a_block_may_end_anywhere_in_a_line(offset: int, tmp_path: Path) -> None:
    # The end of the file is at the same place; what lies before the last block is moved byte by byte.
    last = words("ä" * 20_000)
    padding = json.dumps({"type": "user", "message": "x" * (FIRST_BLOCK_BYTES - len(last.encode()) - 40 + offset)})
    assert last_text(transcript(tmp_path / "t", words("before"), last, padding)) == "ä" * 20_000


@given(st.lists(st.integers(0, 300), min_size=1, max_size=12), st.integers(0, 11))
def test_whatever_the_lengths_of_lines_and_blocks(lengths: list[int], place: int) -> None:
    place %= len(lengths)
    lines = [(words(f"w{n}" * length) if n <= place else "u" * length) for n, length in enumerate(lengths)]
    expected = next((f"w{n}" * lengths[n] for n in range(place, -1, -1) if lengths[n]), None)
    path = Path(os.environ["HOME"]) / "transcript"
    text = transcript(path, *lines)
    assert [last_text(text, block_bytes=size) for size in (1, 3, 16, 100)] == [expected] * 4


@pytest.mark.parametrize("is_the_agents", [True, False])
def test_a_line_of_twenty_megabytes_is_survived(is_the_agents: bool, tmp_path: Path) -> None:
    huge = "x" * 20_000_000
    line = words(huge) if is_the_agents else json.dumps({"type": "user", "message": {"content": huge}})
    text = last_text(transcript(tmp_path / "t", words("before"), line))
    assert text == (huge if is_the_agents else "before")


def test_what_lies_too_far_back_is_not_looked_for(tmp_path: Path) -> None:
    path = tmp_path / "t"
    transcript(path, words("long ago"))
    os.truncate(path, LOOK_BACK_BYTES + 1000)  # a hole of zeros behind it
    assert last_text(str(path)) is None


def test_what_is_cut_off_by_the_limit_is_no_line(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(b"x" * 1000 + words("in the midst of a line").encode() + b"\n")
    os.truncate(path, 1000 + LOOK_BACK_BYTES)
    assert last_text(str(path)) is None


def test_only_the_end_of_a_long_transcript_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t"
    with path.open("wb") as file:
        file.truncate(50_000_000)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + words("the end").encode() + b"\n")
    script = (
        "import os, sys; from bridle.hosts.hooks.transcript_tail import last_text; real, read = os.pread, []\n"
        "os.pread = lambda fd, count, place: (read.append(count), real(fd, count, place))[1]\n"
        "print(last_text(sys.argv[1]), sum(read))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == f"the end {FIRST_BLOCK_BYTES}\n"


@pytest.mark.parametrize("name", ["missing", ".", "a\0b"])
def test_what_is_no_file_is_reported(name: str, tmp_path: Path) -> None:
    with pytest.raises(DiskError, match="transcript"):
        last_text(os.path.join(tmp_path, name))


def test_a_pipe_is_no_transcript(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DiskError, match="not a regular file"):
        last_text(str(tmp_path / "pipe"))


PROMISES = [
    ("", None),
    ("<promise>a</promise>", "a"),
    ("x <promise> a \n\t b </promise> y", "a b"),
    ("<promise>a</promise><promise>b</promise>", "a"),
    ("</promise><promise>a</promise>", "a"),
    ("<promise>a", None),
    ("a</promise>", None),
    ("<promise></promise>", ""),
    ("<promise><promise>a</promise>", "<promise>a"),
    ("<PROMISE>a</PROMISE>", None),
]


@pytest.mark.parametrize(("text", "value"), PROMISES)
def test_a_promise_is_inside_the_first_whole_tag(text: str, value: str | None) -> None:
    assert promise_in(text) == value
