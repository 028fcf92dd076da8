"""Trouble inside the stream of an answer."""

from __future__ import annotations

import asyncio

import pytest

from bridle.agent.model.api.stream_pieces import AnswerBroken, AnswerRestarted, AnswerStarted, Retrying
from tests.agent.fixtures.loopback_server import (
    Peer,
    answering,
    chunked,
    frame,
    message,
    ok,
    serving,
    text_frames,
)
from tests.agent.fixtures.loopback_server import Server as Loopback
from tests.agent.fixtures.model_answers import (
    FINE,
    LONG,
    USAGE,
    ask_stage,
    collect,
    error,
    streams,
)


def test_a_stream_that_breaks_off_is_asked_for_whole_and_only_the_whole_answer_counts() -> None:
    broken = {"kind": "drop_connection", "blocks": [LONG], "after_events": 5, "usage": {"input_tokens": 9}}
    heard, stage = ask_stage(broken, FINE)
    assert heard.kinds == ["AnswerStarted", "AnswerRestarted", "AnswerStarted", "BlockFinished", "AnswerFinished"]
    assert streams(stage) == [True, False]
    assert (heard.texts, heard.waits) == (["fine"], [])
    assert (heard.finished.usage["input_tokens"], heard.finished.usage["output_tokens"]) == (100, 20)
    last = heard.only(AnswerStarted)[1]
    assert (last.final, last.message["stop_reason"], last.message["usage"]["output_tokens"]) == (True, "end_turn", 20)


THINKING_FRAMES = [
    text_frames("")[0],
    frame("content_block_start", index=0, content_block={"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}),
    frame("content_block_stop", index=0),
]
UNFINISHED_CALL = [
    frame("content_block_start", index=1, content_block={"type": "tool_use", "id": "t", "name": "X", "input": {}}),
    frame("content_block_delta", index=1, delta={"type": "input_json_delta", "partial_json": '{"comm'}),
]


@pytest.mark.parametrize("first", [text_frames("Text.")[:4], THINKING_FRAMES])
def test_blocks_that_started_nothing_do_not_keep_a_broken_answer(first: list[bytes]) -> None:
    async def main() -> None:
        async def play(peer: Peer, server: Loopback) -> None:
            await peer.request()
            await peer.send(chunked(*first, *UNFINISHED_CALL, ends=False) if peer.number == 1 else ok(message("fine")))

        async with serving(play) as server:
            heard = await collect(server.url)
            assert heard.kinds == [
                "AnswerStarted",
                "BlockFinished",
                "AnswerRestarted",
                "AnswerStarted",
                "BlockFinished",
                "AnswerFinished",
            ]
            assert heard.texts[-1] == "fine"
            assert server.connections == 2

    asyncio.run(main())


TOOL_FRAMES = [
    *text_frames("Text.")[:4],
    frame("content_block_start", index=1, content_block={"type": "tool_use", "id": "t", "name": "Bash", "input": {}}),
    frame("content_block_delta", index=1, delta={"type": "input_json_delta", "partial_json": '{"command": "ls"}'}),
    frame("content_block_stop", index=1),
    frame("content_block_start", index=2, content_block={"type": "text", "text": ""}),
]


@pytest.mark.parametrize(
    ("ending", "text", "kind"),
    [
        (b"", "API Error: Connection closed mid-response. The response above may be incomplete.", "server_error"),
        (
            frame("error", error={"type": "overloaded_error", "message": "Overloaded"}),
            "API Error: Overloaded",
            "unknown",
        ),
        (b"data: {nonsense\n\n", "API Error: Failed to parse JSON", "unknown"),
        (b"data: [1]\n\n", "API Error: Failed to parse JSON", "unknown"),
    ],
)
@pytest.mark.parametrize("ends", [False, True])
def test_a_stream_that_breaks_off_after_a_call_leaves_the_call_standing(
    ending: bytes, text: str, kind: str, ends: bool
) -> None:
    async def main() -> None:
        parts = [*TOOL_FRAMES, *([ending] if ending else [])]
        async with serving(answering(chunked(*parts, ends=ends, request_id="req_1"))) as server:
            heard = await collect(server.url)
            assert heard.kinds == ["AnswerStarted", "BlockFinished", "BlockFinished", "AnswerBroken"]
            [broken] = heard.only(AnswerBroken)
            assert (broken.text, broken.error, broken.status) == (text, kind, None)
            assert broken.usage == {"input_tokens": 3, "output_tokens": 1}
            assert len(server.requests) == 1

    asyncio.run(main())


@pytest.mark.parametrize("missing", [1, 0])
def test_an_answer_that_lacks_only_its_last_frame_is_complete(missing: int) -> None:
    async def main() -> None:
        frames = text_frames("done", output_tokens=8)
        async with serving(answering(chunked(*frames[: len(frames) - missing], ends=False))) as server:
            heard = await collect(server.url)
            assert (heard.kinds, heard.texts) == (["AnswerStarted", "BlockFinished", "AnswerFinished"], ["done"])
            assert (heard.finished.stop_reason, heard.finished.usage["output_tokens"]) == ("end_turn", 8)

    asyncio.run(main())


def test_a_server_that_leaves_out_the_end_of_the_last_block_is_understood() -> None:
    async def main() -> None:
        frames = text_frames("done")
        del frames[3]
        async with serving(answering(chunked(*frames))) as server:
            assert (await collect(server.url)).texts == ["done"]

    asyncio.run(main())


def test_an_overload_in_mid_answer_is_asked_for_whole_at_once() -> None:
    broken = {"kind": "overloaded_in_stream", "blocks": [LONG], "after_events": 4, "usage": USAGE}
    heard, stage = ask_stage(broken, FINE)
    assert heard.kinds == ["AnswerStarted", "AnswerRestarted", "AnswerStarted", "BlockFinished", "AnswerFinished"]
    assert (streams(stage), heard.waits) == ([True, False], [])
    assert heard.finished.usage["input_tokens"] == 100


@pytest.mark.parametrize("after", [0, 1])
def test_an_overload_before_any_content_is_waited_for_in_silence(after: int) -> None:
    broken = {"kind": "overloaded_in_stream", "blocks": ["x"], "after_events": after, "times": 2, "usage": USAGE}
    heard, stage = ask_stage(broken, FINE)
    assert heard.kinds == [
        *(["AnswerStarted", "AnswerRestarted"] * 2 if after else []),
        "AnswerStarted",
        "BlockFinished",
        "AnswerFinished",
    ]
    assert (streams(stage), heard.waits) == ([True] * 3, [0.5, 1.0])
    assert heard.finished.usage["input_tokens"] == 100


def test_an_overload_that_stays_at_the_beginning_ends_with_whole_answers() -> None:
    broken = {"kind": "overloaded_in_stream", "blocks": ["x"], "after_events": 1, "times": "forever"}
    heard, stage = ask_stage(broken, CLAUDE_CODE_MAX_RETRIES="2")
    assert streams(stage) == [True] * 3 + [False] * 3
    assert [piece.attempt for piece in heard.only(Retrying)] == [1, 2]
    assert heard.failure is not None
    assert (heard.failure.status, heard.failure.error) == (529, "server_error")


@pytest.mark.parametrize(
    "text", ["data: {not json\n\n", "data: 7\n\n", "data: \n\n", "<html>no</html>", "", "data: {}\n\n"]
)
@pytest.mark.parametrize("after", [0, 3])
def test_a_stream_that_is_nonsense_is_asked_for_whole(text: str, after: int) -> None:
    broken = {"kind": "malformed", "text": text, "after_events": after, "blocks": [LONG]}
    heard, stage = ask_stage(broken, FINE)
    assert (heard.texts, streams(stage), heard.waits) == (["fine"], [True, False], [])
    assert (AnswerRestarted() in heard.pieces) is bool(after)


def test_a_stalled_stream_is_requested_again_without_streaming() -> None:
    broken = {"kind": "hang", "blocks": [LONG], "after_events": 4}
    heard, stage = ask_stage(broken, FINE, CLAUDE_STREAM_IDLE_TIMEOUT_MS="500")
    assert (heard.texts, streams(stage)) == (["fine"], [True, False])
    assert AnswerRestarted() in heard.pieces


def test_a_server_that_says_nothing_is_asked_again_and_then_given_up() -> None:
    heard, stage = ask_stage({"kind": "hang", "times": "forever"}, API_TIMEOUT_MS="50", CLAUDE_CODE_MAX_RETRIES="1")
    assert heard.only(Retrying) == [Retrying(1, 1, 500.0, None, "unknown")]
    assert heard.failure is not None
    assert (heard.failure.text, heard.failure.error, heard.failure.status) == (
        "Request timed out",
        "server_error",
        None,
    )
    assert streams(stage) == [True, True]


def test_a_server_that_does_not_stream_is_asked_for_whole_after_a_404() -> None:
    heard, stage = ask_stage(error(404, times=1), FINE)
    assert (heard.texts, streams(stage), heard.waits) == (["fine"], [True, False], [])


def test_an_answer_that_does_not_fit_is_asked_for_with_what_fits() -> None:
    words = (
        "input length and `max_tokens` exceed context limit: 190000 + 64000 > 200000, "
        "decrease input length or `max_tokens` and try again"
    )
    heard, stage = ask_stage(error(400, times=1, message=words), FINE)
    assert [request.body["max_tokens"] for request in stage.requests] == [64000, 9000]
    assert (heard.texts, heard.waits) == (["fine"], [])
    heard, stage = ask_stage(error(400, message=words))
    assert len(stage.requests) == 2
    assert heard.failure is not None
