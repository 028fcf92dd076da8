"""The conversations in the recordings, against facts written down from reading them."""

from __future__ import annotations

import pytest

from bridle.wire.transcript.items import (
    Call,
    Denial,
    Failure,
    FileChange,
    Footer,
    Notice,
    NoticeKind,
    Option,
    Question,
    Questions,
    Speaker,
    State,
    SubAgent,
    TextItem,
    Thought,
    Todo,
    TodoList,
    Tokens,
)
from tests.wire.fixtures.conversations import RECORDINGS, calls, kinds, recorded, states


def change(call: Call) -> tuple[str, str, int, int]:
    assert isinstance(call.detail, FileChange)
    return call.detail.path, call.detail.action, call.detail.added, call.detail.removed


def footer(name: str, place: int = -1) -> Footer:
    return recorded(name).footers[place]


def test_a_sub_agent_is_a_thread_inside_its_call() -> None:
    transcript = recorded("12-subagent")
    assert kinds(transcript.items()) == ["Notice", "Call", "TextItem", "Footer"]
    agent = calls(transcript)[0]
    assert agent.state is State.OK
    assert agent.detail == SubAgent(
        kind="general-purpose",
        description="Look around",
        prompt="please look",
        report="Sub report.",
        model="claude-opus-4-8[1m]",
        tool_uses=1,
        tokens=120,
    )
    assert transcript.threads == (None, agent.call_id)
    inner = calls(transcript, agent.call_id)
    assert [(call.name, call.summary, call.output, call.state) for call in inner] == [
        ("Bash", "echo inside", "inside", State.OK)
    ]
    assert len(transcript.items(agent.call_id)) == 1, "the prompt is shown once, by the call"


def test_parallel_sub_agents_each_have_their_own_report() -> None:
    transcript = recorded("12b-subagent-parallel")
    assert states(transcript) == [("Agent", "ok"), ("Task", "ok")]
    details = [call.detail for call in calls(transcript)]
    assert [(d.kind, d.prompt, d.report) for d in details if isinstance(d, SubAgent)] == [
        ("Explore", "AAAONE", "rep A"),
        ("general-purpose", "BBBTWO", "rep B"),
    ]


def test_a_custom_agent_names_its_model() -> None:
    detail = calls(recorded("12c-custom-agents"))[0].detail
    assert isinstance(detail, SubAgent)
    assert (detail.kind, detail.report, detail.model) == ("rev", "rev says ok", "claude-haiku-4-5-20251001")


def test_parallel_tools_keep_the_order_of_their_calls_and_get_their_own_results() -> None:
    transcript = recorded("03-parallel-tools")
    assert [(call.name, call.summary, call.output) for call in calls(transcript)] == [
        ("Read", "/workspace/demo/README.md", "1\t# demo\n2\t\n3\tA tiny demo.\n4\t"),
        ("Bash", "sleep 0.3; echo b1", "b1"),
        ("Bash", "echo b2", "b2"),
    ]
    assert {call.message_id for call in calls(transcript)} == {"msg_0001"}
    text = [item.text for item in transcript.items() if isinstance(item, TextItem)]
    assert text == ["Both.", "ok"]


def test_denied_calls_are_denied_and_the_allowed_one_is_ok() -> None:
    transcript = recorded("05-permission-denied")
    assert states(transcript) == [("Bash", "denied"), ("Write", "denied"), ("Read", "denied"), ("Bash", "ok")]
    end = transcript.footers[0]
    assert end.denials == (
        Denial(tool="Bash", call_id="toolu_0001_0"),
        Denial(tool="Write", call_id="toolu_0002_0"),
        Denial(tool="Read", call_id="toolu_0003_0"),
    )
    assert (end.cost_usd, end.turns, end.seconds, end.failed) == (0.005, 5, 0.631, False)
    assert end.tokens == Tokens(input=500, output=100)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("05b-permission-dontask", [("Bash", "denied")]),
        ("05d-plan", [("Write", "denied"), ("ExitPlanMode", "error")]),
        ("05c-acceptEdits", [("Write", "ok"), ("Bash", "ok"), ("Write", "denied")]),
        ("18d-can-use-tool", [("Bash", "ok"), ("Write", "denied"), ("Read", "ok"), ("Edit", "denied")]),
    ],
)
def test_the_result_decides_which_calls_were_denied(name: str, expected: list[tuple[str, str]]) -> None:
    assert states(recorded(name)) == expected


@pytest.mark.parametrize("name", ["15c-sigint-in-bash", "18c-interrupt-bash"])
def test_an_interrupted_command_is_neither_denied_nor_failed(name: str) -> None:
    transcript = recorded(name)
    assert states(transcript) == [("Bash", "interrupted")]
    assert [item.kind for item in transcript.items() if isinstance(item, Notice)].count(NoticeKind.INTERRUPT) == 1
    assert transcript.footers[0].subtype == "error_during_execution"
    assert transcript.footers[0].terminal_reason == "aborted_tools"


def test_a_turn_after_an_interruption_has_a_footer_of_its_own() -> None:
    transcript = recorded("18b-interrupt-api")
    assert [(end.failed, end.turns, end.cost_usd) for end in transcript.footers] == [(True, 2, None), (False, 1, 0.001)]
    assert kinds(transcript.items()) == ["Notice", "Notice", "Footer", "TextItem", "Footer"]


def test_a_background_command_ends_when_its_task_does() -> None:
    transcript = recorded("13a-bg-bash")
    call = calls(transcript)[0]
    assert (call.background, call.state) == (True, State.OK)
    assert [end.from_background for end in transcript.footers] == [False, True]
    notices = [(item.kind, item.text) for item in transcript.items() if isinstance(item, Notice)]
    assert (NoticeKind.TASK, 'Background command "bg" completed (exit code 0)') in notices


def test_a_background_agent_keeps_its_text_and_late_results_repeat_no_answer() -> None:
    transcript = recorded("13b-bg-agent")
    agent = calls(transcript)[0]
    assert (agent.background, agent.state) == (True, State.OK)
    assert [item.text for item in transcript.items(agent.call_id) if isinstance(item, TextItem)] == ["sub result text"]
    assert [end.text for end in transcript.footers] == ["", ""], "both results were said before they came"


def test_a_todo_list_is_read_from_the_call_that_writes_it() -> None:
    assert calls(recorded("25a-todowrite"))[0].detail == TodoList((Todo("Do x", "in_progress"),))


def test_partial_messages_are_replaced_by_the_finished_blocks() -> None:
    transcript = recorded("11-partial")
    assert kinds(transcript.items()) == ["Notice", "Thought", "TextItem", "Call", "TextItem", "Footer"]
    _, thought, text, call, last, _ = transcript.items()
    assert isinstance(thought, Thought)
    assert (thought.text, thought.live) == ("hm", False)
    assert isinstance(text, TextItem)
    assert (text.text, text.live) == ("abcdef", False)
    assert isinstance(call, Call)
    assert (call.state, call.output) == (State.OK, "hi")
    assert isinstance(last, TextItem)
    assert last.text == "x"


def test_a_compaction_and_its_inserted_summary_are_marked() -> None:
    transcript = recorded("25b-compact")
    notices = [item.text for item in transcript.items() if isinstance(item, Notice)]
    assert notices[0] == "started"
    assert notices[2].endswith("replaced by a summary (manual): 124 tokens before, 576 after")
    text = [item for item in transcript.items() if isinstance(item, TextItem)]
    assert [item.speaker for item in text] == [Speaker.PROGRAM, Speaker.PROGRAM]


def test_changes_carry_the_diff_and_failed_tools_are_not_completed() -> None:
    transcript = recorded("02-tools-basic")
    assert [state for _, state in states(transcript)] == [
        *("ok", "ok", "ok", "ok", "ok", "error", "ok", "error", "ok", "ok"),
        *("error", "error", "ok", "error", "error", "error", "error", "error"),
    ]
    result = calls(transcript)
    assert change(result[1]) == ("/workspace/demo/src/app.py", "edit", 1, 1)
    assert change(result[2]) == ("/workspace/demo/new.txt", "create", 2, 0)
    assert change(result[3]) == ("/workspace/demo/new.txt", "write", 1, 1)
    assert change(result[12]) == ("/workspace/demo/src/app.py", "edit", 2, 2)
    assert isinstance(result[1].detail, FileChange)
    assert result[1].detail.lines == (
        "@@ -1,5 +1,5 @@",
        " def add(a, b):",
        "-    return a - b",
        "+    return a + b",
        " ",
        " ",
        " print(add(1, 2))",
    )
    assert result[10].output == "String to replace not found in file.\nString: not there"


def test_every_shape_of_tool_result_finds_its_call() -> None:
    transcript = recorded("23-tool-shapes")
    result = calls(transcript)
    assert len(result) == 32
    assert [call.call_id for call in result if call.state is State.ERROR] == [
        f"toolu_00{number}_0" for number in ("06", "13", "15", "21", "23", "31", "32")
    ]
    assert result[6].output == "[image]"
    assert change(result[11]) == ("/workspace/demo/brandnew.txt", "create", 1, 0)
    assert change(result[13]) == ("/workspace/demo/deep/er/x.txt", "create", 1, 0)
    assert change(result[23]) == ("/workspace/demo/nb.ipynb", "edit", 1, 1)
    assert [call.detail for call in result[24:29]] == [
        TodoList((Todo("Do A", "pending", "1"),)),
        TodoList((Todo("Do A", "in_progress", "1"),)),
        TodoList((Todo("Do A", "in_progress", "1"),)),
        None,
        TodoList((Todo("Do A", "completed", "1"),)),
    ]
    assert (result[29].background, result[29].state) == (True, State.INTERRUPTED), "the process ended it"
    assert (footer("23-tool-shapes").turns, footer("23-tool-shapes").seconds) == (33, 7.463)


def test_a_question_is_open_until_it_is_answered() -> None:
    options = (Option("A", "a"), Option("B", "b"))
    unanswered = Question(text="Which?", header="Pick", options=options)
    assert calls(recorded("14-askuser"))[0].detail == Questions((unanswered,))
    answered = Question(text="Which?", header="Pick", options=options, answer="B")
    assert calls(recorded("18e-askuser-stdio"))[0].detail == Questions((answered,))


def test_a_failed_request_is_an_error_that_the_result_does_not_repeat() -> None:
    transcript = recorded("07-full-529")
    assert kinds(transcript.items()) == ["Notice", "Notice", "Notice", "Failure", "Footer"]
    failure = transcript.items()[3]
    assert isinstance(failure, Failure)
    assert failure.name == "server_error"
    assert (transcript.footers[0].failed, transcript.footers[0].text) == (True, "")


def test_hooks_are_notices_with_a_state() -> None:
    items = recorded("19b-include-hook-events").items()
    hooks = [item for item in items if isinstance(item, Notice) and item.kind is NoticeKind.HOOK]
    assert [item.text.split(": ")[0] for item in hooks] == ["SessionStart:startup", "PreToolUse:Bash", "Stop"]
    assert {item.state for item in hooks} == {State.OK}


def test_a_structured_answer_is_not_repeated_by_the_result() -> None:
    assert footer("08a-json-schema-ok").text == ""


@pytest.mark.parametrize("path", sorted(RECORDINGS.glob("*.ndjson")), ids=lambda path: path.stem)
def test_nothing_is_left_running_or_unknown_in_any_recording(path: object) -> None:
    transcript = recorded(getattr(path, "stem", ""))
    for thread in transcript.threads:
        for item in transcript.items(thread):
            assert not (isinstance(item, Call) and (item.state is State.RUNNING or not item.name))
            assert not (isinstance(item, TextItem | Thought) and item.live)
            assert type(item).__name__ != "UnknownItem" or "17l" in getattr(path, "stem", "")
