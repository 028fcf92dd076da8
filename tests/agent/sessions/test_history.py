"""What is read back from a transcript, whoever wrote it and however it was damaged."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.agent.sessions import read_transcript
from bridle.agent.sessions.api_messages import History, blocks_of
from bridle.agent.sessions.history import NotInTranscript, load
from bridle.agent.sessions.valid_history import NO_RESULT
from bridle.errors import DiskError
from tests.agent.fixtures.recorded_transcripts import FOLDER, RECORDED, Line, is_sendable, recorded

# What a summary leaves of a long conversation must not depend on how long it was.
SMALL_BYTES = 8_000_000


COMMAND = """\
<command-message>cmd</command-message>
<command-name>/cmd</command-name>
<command-args>abc def</command-args>"""


def text(content: str) -> list[Line]:
    return [{"type": "text", "text": content}]


def user(uuid: str, parent: str | None, content: Any, **more: Any) -> Line:
    message = {"role": "user", "content": content}
    return {"type": "user", "uuid": uuid, "parentUuid": parent, "isSidechain": False, "message": message, **more}


def assistant(uuid: str, parent: str | None, block: Line, message_id: str = "m", **more: Any) -> Line:
    message = {"role": "assistant", "id": message_id, "model": "claude-x", "content": [block]}
    return {"type": "assistant", "uuid": uuid, "parentUuid": parent, "isSidechain": False, "message": message, **more}


def call(call_id: str) -> Line:
    return {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": "ls"}}


def result(call_id: str, content: Any = "ok") -> list[Line]:
    return [{"type": "tool_result", "tool_use_id": call_id, "content": content}]


def text_block(content: str) -> Line:
    return {"type": "text", "text": content}


def boundary(uuid: str, *, anchor: str, preserved: list[str]) -> Line:
    metadata = {"preservedMessages": {"anchorUuid": anchor, "uuids": preserved, "allUuids": preserved}}
    line = {"type": "system", "subtype": "compact_boundary", "uuid": uuid, "parentUuid": None}
    return line | {"compactMetadata": metadata}


def write(path: Path, *lines: Line | bytes) -> Path:
    parts = (line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
    path.write_bytes(b"".join(parts))
    return path


def summarise(loaded: History) -> list[tuple[str, list[str]]]:
    """The roles and texts of a conversation."""
    short = []
    for message in loaded.messages:
        words = [
            block.get("text") or block.get("name") or str(block.get("content"))
            for block in blocks_of(message["content"])
        ]
        short.append((message["role"], words))
    return short


# Transcripts of Claude Code


def test_a_conversation_of_claude_code_is_read_as_it_was() -> None:
    loaded = load(FOLDER / "tools.jsonl")
    assert loaded.messages == [
        {"role": "user", "content": text("one")},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "toolu_0001_0", "name": "Bash", "input": {"command": "echo hi"}},
            ],
        },
        {
            "role": "user",
            "content": [{"tool_use_id": "toolu_0001_0", "type": "tool_result", "content": "hi", "is_error": False}],
        },
        {"role": "assistant", "content": text("first reply")},
    ]
    assert loaded.leaf == recorded("tools.jsonl")[-1]["leafUuid"]
    assert loaded.usage["output_tokens"] == 20


def test_messages_in_mid_turn_skills_and_commands_stay_and_failures_of_the_program_do_not() -> None:
    loaded = load(FOLDER / "conversation.jsonl")
    assert summarise(loaded) == [
        ("user", ["first"]),
        ("assistant", ["r1"]),
        ("user", ["second"]),
        ("assistant", ["r2"]),
        ("user", ["third"]),
        ("assistant", ["Bash"]),
        ("user", ["hi", "midturn"]),
        ("assistant", ["r3"]),
        ("user", ["use skill"]),
        ("assistant", ["Skill"]),
        (
            "user",
            [
                "Launching skill: greet",
                "Base directory for this skill: /workspace/demo/.claude/skills/greet\n\nHello Bob",
            ],
        ),
        ("assistant", ["r4"]),
        (
            "user",
            [
                "fail",
                COMMAND,
                "Do abc def",
            ],
        ),
        ("assistant", ["x", "rest"]),
    ]


def test_only_a_summary_its_preserved_lines_and_what_follows_are_read() -> None:
    loaded = load(FOLDER / "compacted.jsonl")
    first = blocks_of(loaded.messages[0]["content"])[0]["text"]
    assert first.startswith("This session is being continued from a previous conversation")
    assert [message["role"] for message in loaded.messages] == ["user", "assistant", "user", "assistant"]
    assert loaded.messages[1]["content"] == text("done")
    assert loaded.messages[2]["content"][-1] == text_block("after compact")
    assert loaded.dropped_tokens == 18450
    assert "one" not in str(summarise(loaded))[:4]


def test_results_of_parallel_calls_are_all_read(tmp_path: Path) -> None:
    lines = recorded("compacted.jsonl")
    before = lines[: next(at for at, line in enumerate(lines) if line.get("subtype") == "compact_boundary")]
    loaded = load(write(tmp_path / "before.jsonl", *before))
    thinking, words, bash, read = blocks_of(loaded.messages[7]["content"])
    assert thinking == {"type": "thinking", "thinking": "hm", "signature": "sig=="}
    assert (words["text"], bash["name"], read["name"]) == ("text", "Bash", "Read")
    assert [block["tool_use_id"] for block in blocks_of(loaded.messages[8]["content"])] == [read["id"], bash["id"]]


@pytest.mark.parametrize("name", RECORDED)
def test_a_transcript_cut_anywhere_still_gives_a_valid_conversation(name: str, tmp_path: Path) -> None:
    data = (FOLDER / name).read_bytes()
    for end in range(0, len(data), max(1, len(data) // 300)):
        torn = tmp_path / "torn.jsonl"
        torn.write_bytes(data[:end])
        assert is_sendable(load(torn).messages)


@pytest.mark.parametrize("name", RECORDED)
def test_a_transcript_without_any_one_line_still_gives_a_valid_conversation(name: str, tmp_path: Path) -> None:
    lines = (FOLDER / name).read_bytes().splitlines(keepends=True)
    for missing in range(len(lines)):
        broken = write(tmp_path / "broken.jsonl", *lines[:missing], b"\x00garbage{\n", *lines[missing + 1 :])
        assert is_sendable(load(broken).messages)


# Damage


def test_a_missing_line_does_not_lose_what_came_before_it(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.jsonl",
        user("u1", None, "one"),
        assistant("a1", "u1", text_block("two"), "m1"),
        b'{"type":"user","uuid":"u2","parentUuid":"a1","mess\n',
        assistant("a2", "u2", text_block("four"), "m2"),
        user("u3", "a2", "five"),
    )
    assert summarise(load(path)) == [("user", ["one"]), ("assistant", ["two", "four"]), ("user", ["five"])]


def test_a_call_without_a_result_gets_one_that_says_so(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", user("u1", None, "one"), assistant("a1", "u1", call("c1")))
    assert load(path).messages[-1] == {
        "role": "user",
        "content": [{"type": "tool_result", "content": NO_RESULT, "is_error": True, "tool_use_id": "c1"}],
    }
    more = write(
        tmp_path / "m.jsonl",
        user("u1", None, "one"),
        assistant("a1", "u1", call("c1")),
        assistant("a2", "a1", call("c2")),
        user("r2", "a2", result("c2"), sourceToolAssistantUUID="a2"),
        user("u2", "r2", "two"),
    )
    assert summarise(load(more))[-1] == ("user", ["ok", NO_RESULT, "two"])


@pytest.mark.parametrize(
    "line",
    [
        user("x", "a1", result("nobody-called")),
        user("x", "a1", []),
        user("x", "a1", ""),
        user("x", "a1", None),
        user("x", "a1", {"type": "text"}),
        user("x", "a1", [None, 1, {"type": 5}, {"type": "text", "text": "  \n"}]),
        assistant("x", "a1", {"type": "thinking", "thinking": "hm"}),
        assistant("x", "a1", {"type": "thinking", "thinking": "hm", "signature": "s"}),
        assistant("x", "a1", {"type": "tool_use", "name": "Bash"}),
        assistant("x", "a1", text_block("API Error"), isApiErrorMessage=True),
        {"type": "user", "uuid": "x", "parentUuid": "a1"},
        {"type": "user", "uuid": "x", "parentUuid": "a1", "message": {"role": "assistant", "content": "no"}},
        {"type": "user", "uuid": 7, "parentUuid": "a1", "message": {"role": "user", "content": "no"}},
        {"type": "from-the-future", "uuid": "x", "parentUuid": "a1", "message": "?"},
        {"no": "type"},
        user("s1", None, "a helper's own words", isSidechain=True),
    ],
)
def test_invalid_blocks_are_left_out(line: Line, tmp_path: Path) -> None:
    before = [user("u1", None, "one"), assistant("a1", "u1", text_block("two"), "m1")]
    path = write(tmp_path / "t.jsonl", *before, line)
    assert summarise(load(path)) == [("user", ["one"]), ("assistant", ["two"])]
    again = write(tmp_path / "again.jsonl", *before, line, user("u2", "x", "three"))
    assert summarise(load(again)) == [("user", ["one"]), ("assistant", ["two"]), ("user", ["three"])]


@pytest.mark.parametrize(
    "junk",
    [
        b"",
        b"\n\n",
        b"null\n",
        b"[]\n",
        b"\xff\xfe\n",
        b"{" * 50_000 + b"\n",
        b'{"type":"user"\n',
        b'"text"\n',
        b"\x00\n",
    ],
)
def test_junk_between_lines_is_ignored(junk: bytes, tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", user("u1", None, "one"), junk, assistant("a1", "u1", text_block("two")), junk)
    assert summarise(load(path)) == [("user", ["one"]), ("assistant", ["two"])]


def test_a_lone_surrogate_becomes_a_question_mark(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", user("u1", None, "a\ud83d b"))
    assert summarise(load(path)) == [("user", ["a? b"])]


def test_a_cycle_of_parents_ends(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", user("u1", "a1", "one"), assistant("a1", "u1", text_block("two")))
    assert summarise(load(path)) == [("user", ["one"]), ("assistant", ["two"])]


def test_the_branch_that_was_written_last_is_the_conversation(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.jsonl",
        user("u1", None, "one"),
        assistant("a1", "u1", text_block("two"), "m1"),
        user("u2", "a1", "left behind"),
        assistant("a2", "u2", text_block("left behind too"), "m2"),
        user("u3", "a1", "three"),
    )
    assert summarise(load(path)) == [("user", ["one"]), ("assistant", ["two"]), ("user", ["three"])]
    assert load(path).chain == {"u1", "a1", "u3"}


def test_a_conversation_can_be_cut_at_a_line(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.jsonl",
        user("u1", None, "one"),
        assistant("a1", "u1", text_block("two"), "m1"),
        user("u2", "a1", "three"),
        assistant("a2", "u2", call("c1"), "m2"),
        user("r1", "a2", result("c1"), sourceToolAssistantUUID="a2"),
    )
    cut = load(path, until="a1")
    assert (summarise(cut), cut.leaf) == ([("user", ["one"]), ("assistant", ["two"])], "a1")
    assert summarise(load(path, until="a2"))[-1] == ("user", [NO_RESULT])
    with pytest.raises(NotInTranscript):
        load(path, until="nowhere")


def test_a_conversation_cannot_be_cut_before_its_summary() -> None:
    covered = recorded("compacted.jsonl")[2]["uuid"]
    with pytest.raises(NotInTranscript):
        load(FOLDER / "compacted.jsonl", until=covered)


def test_a_line_that_is_too_long_is_skipped(tmp_path: Path) -> None:
    long = b'{"type":"user","uuid":"u2","parentUuid":"u1","x":"' + b"x" * read_transcript.LINE_LIMIT_BYTES + b'"}\n'
    after = (assistant("a1", "u2", text_block("two")), user("u3", "a1", "three"))
    path = write(tmp_path / "t.jsonl", user("u1", None, "one"), long, *after)
    assert summarise(load(path)) == [("user", ["one"]), ("assistant", ["two"]), ("user", ["three"])]


def test_a_second_summary_counts_from_its_own_place(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.jsonl",
        user("u1", None, "one"),
        assistant("a1", "u1", text_block("kept"), "m1"),
        boundary("b1", anchor="s1", preserved=["a1"]),
        user("s1", "b1", "first summary"),
        boundary("b2", anchor="s2", preserved=["a1"]),
        user("s2", "b2", "second summary"),
        user("u2", "s2", 'what "compact_boundary" means'),
    )
    assert summarise(load(path)) == [
        ("user", ["second summary"]),
        ("assistant", ["kept"]),
        ("user", ['what "compact_boundary" means']),
    ]


@pytest.mark.parametrize("beyond", [-2, 0, 1, 9, 17, 18, 30])
def test_a_summary_is_found_at_any_offset(beyond: int, tmp_path: Path) -> None:
    """The file is searched from its end in parts; the mark may stand across two of them."""
    mark = b'"compact_boundary"'
    head = [user("u1", None, "one"), boundary("b", anchor="s", preserved=[]), user("s", "b", "summary")]
    path = write(tmp_path / "t.jsonl", *head)
    after_mark = len(path.read_bytes()) - path.read_bytes().index(mark)
    empty = len(json.dumps({"type": "x", "filler": ""})) + 1
    filler = "x" * (1024 * 1024 + beyond - after_mark - empty)
    write(path, *head, {"type": "x", "filler": filler})
    assert summarise(load(path)) == [("user", ["summary"])]


def test_an_unreadable_transcript_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(DiskError, match="cannot read the transcript"):
        load(tmp_path / "missing.jsonl")


def test_a_long_conversation_is_read_in_the_memory_that_its_last_part_needs(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    filler = "x" * 100_000
    with path.open("wb") as file:
        last = None
        for number in range(300):  # 60 MB, half of it in fields that are never sent
            line = user(f"u{number}", last, filler, toolUseResult=filler)
            file.write(json.dumps(line).encode() + b"\n")
            last = f"u{number}"
        cut = {"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None}
        for line in (cut, user("s", "b", "summary"), assistant("a", "s", text_block("two"))):
            file.write(json.dumps(line).encode() + b"\n")
    tracemalloc.start()
    try:
        loaded = load(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert summarise(loaded) == [("user", ["summary"]), ("assistant", ["two"])]
    assert path.stat().st_size > 60_000_000
    assert peak < SMALL_BYTES


# Anything at all

_IDS = st.sampled_from(["a", "b", "c", "d", "e", "f", ""])
_BLOCKS = st.one_of(
    st.builds(lambda words: {"type": "text", "text": words}, st.text(max_size=4)),
    st.builds(call, _IDS),
    st.builds(lambda call_id: result(call_id)[0], _IDS),
    st.builds(lambda call_id: {"type": "tool_result", "tool_use_id": call_id, "content": [text_block("")]}, _IDS),
    st.sampled_from(
        [{"type": "thinking", "thinking": "x", "signature": "s"}, {"type": "thinking"}, {}, {"type": "image"}]
    ),
)
_CONTENT = st.one_of(st.text(max_size=4), st.lists(_BLOCKS, max_size=4), st.none(), st.integers())
_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=6,
)
_LINES = st.one_of(
    st.builds(user, _IDS, st.one_of(st.none(), _IDS), _CONTENT),
    st.builds(
        lambda uuid, parent, block, name: assistant(uuid, parent, block, name),
        _IDS,
        st.one_of(st.none(), _IDS),
        _BLOCKS,
        _IDS,
    ),
    st.builds(
        lambda uuid, names: {
            "type": "system",
            "subtype": "compact_boundary",
            "uuid": uuid,
            "parentUuid": None,
            "compactMetadata": {"preservedMessages": {"anchorUuid": "a", "uuids": names}},
        },
        _IDS,
        st.lists(_IDS, max_size=3),
    ),
    st.builds(
        lambda uuid, more: {"type": "user", "uuid": uuid, **more}, _IDS, st.dictionaries(st.text(), _JSON, max_size=3)
    ),
)
_ANYTHING = st.lists(
    st.one_of(
        _LINES.map(lambda line: json.dumps(line).encode()),
        st.binary(max_size=40),
        _JSON.map(lambda value: json.dumps(value).encode()),
    ),
    max_size=14,
).map(b"\n".join)


@given(data=_ANYTHING)
def test_any_file_gives_a_valid_conversation(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "anything.jsonl"
    path.write_bytes(data)
    loaded = load(path)
    assert is_sendable(loaded.messages)
    read_transcript.title_of(path)
    read_transcript.holds_conversation(path)
