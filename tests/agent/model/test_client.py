"""Questions to the stage: what an answer is made of, and who leaves before its end."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing

import pytest

from bridle.agent.model.api.stream_pieces import (
    AnswerFinished,
    AnswerPiece,
    AnswerStarted,
    BlockFinished,
    StreamFrame,
    ThinkingProgress,
)
from bridle.agent.model.client import connect
from bridle.errors import ModelFailure, UsageError
from bridle.stage.script import load_script
from bridle.stage.thread import running
from tests.agent.fixtures.loopback_server import (
    PATIENCE_SECONDS,
    Peer,
    answering,
    chunked,
    frame,
    message,
    ok,
    question,
    serving,
    status,
    text_frames,
)
from tests.agent.fixtures.loopback_server import Server as Loopback
from tests.agent.fixtures.model_answers import (
    CALL,
    FINE,
    USAGE,
    CollectedAnswer,
    ask_stage,
    client_for,
    collect,
    collect_from,
)


def test_an_answer_comes_in_pieces_and_each_block_before_the_frame_that_ends_it() -> None:
    blocks = [{"type": "thinking", "thinking": "x" * 30, "signature": "c2ln"}, "Hello.", CALL]
    heard, stage = ask_stage({"blocks": blocks, "usage": USAGE, "id": "msg_x"})
    order = [piece.data["type"] if isinstance(piece, StreamFrame) else type(piece).__name__ for piece in heard.pieces]
    assert order == [
        "AnswerStarted",
        "message_start",
        "content_block_start",
        *("ThinkingProgress", "content_block_delta") * 2,
        "content_block_delta",
        "BlockFinished",
        "content_block_stop",
        "content_block_start",
        "content_block_delta",
        "BlockFinished",
        "content_block_stop",
        "content_block_start",
        *("content_block_delta",) * 2,
        "BlockFinished",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "AnswerFinished",
    ]
    begun = heard.only(AnswerStarted)[0]
    assert (begun.message["id"], begun.message["content"], begun.message["usage"]["output_tokens"]) == ("msg_x", [], 1)
    assert (begun.request_id, begun.final) == (stage.requests[0].request_id, False)
    assert heard.only(ThinkingProgress) == [ThinkingProgress(5, 5), ThinkingProgress(8, 3)]
    done = heard.only(BlockFinished)
    assert [piece.index for piece in done] == [0, 1, 2]
    assert done[0].block == {"type": "thinking", "thinking": "x" * 30, "signature": "c2ln"}
    assert done[1].block == {"type": "text", "text": "Hello."}
    assert (done[2].block["name"], done[2].block["input"]) == ("Bash", {"command": "ls"})
    assert (heard.finished.stop_reason, heard.finished.stop_sequence, heard.finished.stop_details) == (
        "tool_use",
        None,
        None,
    )


def test_the_final_usage_joins_what_was_counted_at_the_beginning_and_at_the_end() -> None:
    heard, _ = ask_stage({"blocks": ["x"], "usage": {**USAGE, "cache_read_input_tokens": 7}})
    usage = heard.finished.usage
    assert (usage["input_tokens"], usage["output_tokens"], usage["cache_read_input_tokens"]) == (100, 20, 7)
    assert usage["cache_creation"] == {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0}
    assert usage["service_tier"] == "standard"


def test_a_request_says_honestly_who_makes_it_and_carries_what_the_endpoint_needs() -> None:
    _, stage = ask_stage(FINE, model="default", ANTHROPIC_CUSTOM_HEADERS="X-One: 1\n\nx-two:  two words ")
    [request] = stage.requests
    assert (request.method, request.path, request.query) == ("POST", "/v1/messages", "beta=true")
    headers = dict(request.headers)
    assert headers["user-agent"].startswith("bridle-agent/")
    assert headers["anthropic-version"] == "2023-06-01"
    assert headers["x-claude-code-session-id"] == "s-1"
    assert (headers["x-one"], headers["x-two"]) == ("1", "two words")
    assert "x-api-key" in headers
    assert "authorization" not in headers
    assert headers["anthropic-beta"].split(",") == [
        "context-1m-2025-08-07",
        "interleaved-thinking-2025-05-14",
        "mid-conversation-system-2026-04-07",
        "effort-2025-11-24",
    ]


def test_one_connection_serves_many_questions() -> None:
    async def main() -> None:
        async with serving(answering(*[chunked(*text_frames(str(number))) for number in range(5)])) as server:
            heard = CollectedAnswer()
            client = client_for(server.url, heard)
            for _ in range(5):
                heard.pieces += [piece async for piece in client.answer(question())]
            assert (heard.texts, server.connections) == (["0", "1", "2", "3", "4"], 1)
            await client.close()
            await server.all_left()

    asyncio.run(main())


def test_a_caller_that_stops_at_the_end_of_an_answer_keeps_the_connection() -> None:
    async def main() -> None:
        async with serving(answering(*[chunked(*text_frames("x"))] * 3)) as server:
            client = client_for(server.url, CollectedAnswer())
            for _ in range(3):
                async with aclosing(client.answer(question())) as pieces:
                    async for piece in pieces:
                        if isinstance(piece, AnswerFinished):
                            break
            assert server.connections == 1
            await client.close()

    asyncio.run(main())


def test_an_answer_is_over_with_its_last_frame_although_the_server_keeps_sending_nothing() -> None:
    async def main() -> None:
        async def play(peer: Peer, server: Loopback) -> None:
            await peer.request()
            await peer.send(chunked(*text_frames("x"), ends=False))
            await peer.left()

        async with serving(play) as server:
            heard = await collect(server.url)
            assert (heard.texts, heard.finished.stop_reason) == (["x"], "end_turn")
            await server.all_left()

    asyncio.run(main())


def test_an_answer_cut_into_two_parts_at_any_byte_gives_the_same_pieces() -> None:
    whole = chunked(*text_frames("Grüße, 世界 🌍"))

    async def main() -> None:
        parts: list[bytes] = []

        async def play(peer: Peer, server: Loopback) -> None:
            while await peer.request() is not None:
                first, second = parts
                await peer.send(first)
                await asyncio.sleep(0)
                await peer.send(second)

        async with serving(play) as server:
            client = client_for(server.url, CollectedAnswer())
            expected: list[AnswerPiece] = []
            for cut in range(len(whole)):
                parts[:] = [whole[:cut], whole[cut:]]
                pieces = [piece async for piece in client.answer(question())]
                expected = expected or pieces
                assert pieces == expected, cut
            await client.close()

    asyncio.run(main())


def test_a_server_that_answers_in_one_document_although_a_stream_was_asked_for_is_understood() -> None:
    async def main() -> None:
        async with serving(answering(ok(message("whole"), request_id="req_7"))) as server:
            heard = await collect(server.url)
            assert (heard.kinds, heard.texts) == (["AnswerStarted", "BlockFinished", "AnswerFinished"], ["whole"])
            assert (heard.only(AnswerStarted)[0].final, heard.only(AnswerStarted)[0].request_id) == (True, "req_7")

    asyncio.run(main())


@pytest.mark.parametrize("raw", ['{"command": "ech', "[1, 2]", "7", "{", "nonsense", '{"a": NaN}', "[" * 5000])
def test_an_input_that_is_not_a_json_object_is_kept_unparsed(raw: str) -> None:
    heard, _ = ask_stage({"blocks": [{**CALL, "raw_input": raw}]})
    [done] = heard.only(BlockFinished)
    assert done.block["input"] == {"__unparsedToolInput": {"raw": raw, "len": len(raw)}}


@pytest.mark.parametrize(
    ("raw", "value"),
    [('{"a": "\\ud800"}', {"a": "\ud800"}), ('{"n": 123456789012345678901}', {"n": 123456789012345678901}), ("{}", {})],
)
def test_an_input_that_is_json_by_the_letter_is_read(raw: str, value: object) -> None:
    heard, _ = ask_stage({"blocks": [{**CALL, "raw_input": raw}]})
    assert heard.only(BlockFinished)[0].block["input"] == value


def test_a_refusal_ends_the_answer_with_its_details() -> None:
    async def main() -> None:
        details = {"type": "refusal", "category": "cyber", "explanation": "no"}
        frames = text_frames("I cannot.")
        frames[4] = frame(
            "message_delta", delta={"stop_reason": "refusal", "stop_details": details}, usage={"output_tokens": 2}
        )
        async with serving(answering(chunked(*frames))) as server:
            heard = await collect(server.url)
            assert (heard.finished.stop_reason, heard.finished.stop_details) == ("refusal", details)

    asyncio.run(main())


def test_unknown_frames_are_passed_on_and_ignored() -> None:
    async def main() -> None:
        frames = text_frames("fine")
        frames[2:2] = [
            frame("content_block_delta", index=0, delta={"type": "new_delta", "x": 1}),
            frame("new_frame", y=2),
            frame("content_block_delta", index=9, delta={"type": "text_delta", "text": "to no block"}),
            b": a comment\n\n",
            b'event: ping\ndata: {"type": "ping"}\n\n',
        ]
        async with serving(answering(chunked(*frames))) as server:
            heard = await collect(server.url)
            assert heard.texts == ["fine"]
            kinds = [piece.data["type"] for piece in heard.only(StreamFrame)]
            assert ("new_frame" in kinds, "ping" in kinds) == (True, False)

    asyncio.run(main())


@pytest.mark.parametrize("how", ["cancel", "close", "failure"])
def test_a_caller_that_stops_during_an_answer_leaves_no_connection(how: str) -> None:
    async def main() -> None:
        async def play(peer: Peer, server: Loopback) -> None:
            await peer.request()
            await peer.send(chunked(*text_frames("half")[:3], ends=False))
            await peer.left()

        async with serving(play) as server:
            client = client_for(server.url, CollectedAnswer())
            reached = asyncio.Event()

            async def listen() -> None:
                async with aclosing(client.answer(question())) as pieces:
                    async for piece in pieces:
                        if isinstance(piece, StreamFrame) and piece.data["type"] == "content_block_delta":
                            reached.set()
                            if how == "close":
                                return
                            if how == "failure":
                                raise KeyError(how)

            task = asyncio.create_task(listen())
            await reached.wait()
            if how == "cancel":
                task.cancel()
            await asyncio.wait([task], timeout=PATIENCE_SECONDS)
            await server.all_left()
            assert task.cancelled() is (how == "cancel")
            assert how != "failure" or isinstance(task.exception(), KeyError)

    asyncio.run(main())


def test_cancelling_a_wait_between_tries_leaves_no_connection() -> None:
    async def main() -> None:
        async with serving(answering(status(500), status(500))) as server:
            heard = CollectedAnswer()
            client = client_for(server.url, heard)
            waiting = asyncio.Event()

            async def sleep(_: float) -> None:
                waiting.set()
                await asyncio.Event().wait()

            client._sleep = sleep

            async def listen() -> None:
                async for piece in client.answer(question()):
                    heard.pieces.append(piece)

            task = asyncio.create_task(listen())
            await waiting.wait()
            task.cancel()
            await asyncio.wait([task], timeout=PATIENCE_SECONDS)
            await client.close()
            await server.all_left()
            assert task.cancelled()
            assert heard.kinds == ["Retrying"]

    asyncio.run(main())


@pytest.mark.parametrize(
    ("name", "value"),
    [("ANTHROPIC_BASE_URL", "localhost:8080"), ("ANTHROPIC_CUSTOM_HEADERS", "no colon"), ("HTTP_PROXY", "ftp://x")],
)
def test_a_setting_that_is_wrong_is_named(name: str, value: str) -> None:
    environment = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "ANTHROPIC_API_KEY": "k", name: value}

    async def main() -> None:
        async for _ in client_for(environment["ANTHROPIC_BASE_URL"], CollectedAnswer(), **environment).answer(
            question()
        ):
            pass

    with pytest.raises(UsageError, match=name):
        asyncio.run(main())


def test_half_characters_in_the_conversation_are_sent_as_text() -> None:
    half = ({"role": "user", "content": "a\ud800b"}, {"role": "user", "content": json.dumps(10**30)})
    with running(load_script({"answers": [FINE]})) as stage:
        heard = collect_from(stage.url, question(messages=half))
        assert heard.texts == ["fine"]
        assert "a?b" in json.dumps(stage.requests[0].body)


def test_connect_gives_a_client_for_the_plain_endpoint() -> None:
    async def main(url: str) -> list[object]:
        client = connect(None, {"ANTHROPIC_BASE_URL": url})
        return [piece async for piece in client.answer(question())]

    with running(load_script({"answers": [FINE]})) as stage, pytest.raises(ModelFailure, match="Not logged in"):
        asyncio.run(main(stage.url))


def test_an_end_is_the_last_piece() -> None:
    heard, _ = ask_stage(FINE)
    assert isinstance(heard.pieces[-1], AnswerFinished)
