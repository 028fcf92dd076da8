"""Requests to the clouds, as the official client makes and signs them, to a server on loopback.

What a cloud itself makes of them cannot be tried here.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import struct
import subprocess
import sys
import urllib.parse
import zlib
from base64 import b64encode
from typing import Any

import pytest

from bridle.agent.model.api.endpoint import selected_cloud
from bridle.agent.model.api.stream_pieces import AnswerRestarted, AnswerStarted, Retrying, StreamFrame
from bridle.agent.model.client import RetryingClient, connect
from bridle.agent.model.clouds import clients
from bridle.errors import ModelFailure, UsageError
from tests.agent.fixtures.loopback_server import (
    PATIENCE_SECONDS,
    Peer,
    Request,
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
from tests.agent.fixtures.model_answers import CollectedAnswer

pytestmark = pytest.mark.real

SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
BEDROCK = {
    "CLAUDE_CODE_USE_BEDROCK": "1",
    "AWS_REGION": "eu-west-1",
    "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "AWS_SESSION_TOKEN": "a-session",
}
VERTEX = {
    "CLAUDE_CODE_USE_VERTEX": "1",
    "CLOUD_ML_REGION": "europe-west1",
    "ANTHROPIC_VERTEX_PROJECT_ID": "my-project",
    "CLAUDE_CODE_SKIP_VERTEX_AUTH": "1",
}


def eventstream(*frames: bytes) -> bytes:
    """Frames in the envelopes that Bedrock sends them in."""
    return b"".join(_envelope(frame.partition(b"data: ")[2].strip()) for frame in frames)


def _envelope(data: bytes) -> bytes:
    headers = b"".join(
        bytes([len(name)]) + name + b"\x07" + struct.pack(">H", len(value)) + value
        for name, value in (
            (b":event-type", b"chunk"),
            (b":content-type", b"application/json"),
            (b":message-type", b"event"),
        )
    )
    payload = json.dumps({"bytes": b64encode(data).decode()}).encode()
    start = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    start += struct.pack(">I", zlib.crc32(start))
    body = start + headers + payload
    return body + struct.pack(">I", zlib.crc32(body))


def bedrock_stream(*frames: bytes) -> bytes:
    return ok(eventstream(*frames), "application/vnd.amazon.eventstream")


async def hear(environment: dict[str, str], **fields: Any) -> CollectedAnswer:
    """Ask one question through a cloud's client; waits pass at once."""
    heard = CollectedAnswer()

    async def sleep(seconds: float) -> None:
        if seconds:
            heard.waits.append(seconds)

    cloud = selected_cloud(environment)
    assert cloud is not None
    client = RetryingClient(clients.cloud_endpoint(cloud, environment), environment, sleep=sleep, chance=lambda: 0.0)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            async for piece in client.answer(question(**fields)):
                heard.pieces.append(piece)
    except ModelFailure as failure:
        heard.failure = failure
    finally:
        await client.close()
    return heard


def signature(request: Request) -> str:
    """The signature of a request, worked out from what came over the wire (AWS Signature Version 4)."""
    method, target, _ = request.line.split()
    path, _, query = target.partition("?")
    date = request.headers["x-amz-date"]
    fields = dict(part.strip().split("=", 1) for part in request.headers["authorization"].partition(" ")[2].split(","))
    _, day, region, service, ending = fields["Credential"].split("/")
    names = fields["SignedHeaders"].split(";")
    canonical = "\n".join(
        [
            method,
            urllib.parse.quote(path, safe="/~"),
            query,
            *(f"{name}:{request.headers[name]}" for name in names),
            "",
            ";".join(names),
            hashlib.sha256(request.body).hexdigest(),
        ]
    )
    scope = f"{day}/{region}/{service}/{ending}"
    to_sign = "\n".join(["AWS4-HMAC-SHA256", date, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{SECRET}".encode()
    for part in (day, region, service, ending):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()


def test_bedrock_is_asked_in_its_shape_and_the_request_is_signed() -> None:
    async def main() -> None:
        async with serving(answering(bedrock_stream(*text_frames("from the cloud")))) as server:
            environment = {**BEDROCK, "ANTHROPIC_BEDROCK_BASE_URL": server.url}
            system = ({"role": "system", "content": "news"}, {"role": "user", "content": "hello"})
            heard = await hear(environment, model="haiku", messages=system)
            assert (heard.texts, heard.failure) == (["from the cloud"], None)
            [request] = server.requests
            line = "POST /model/eu.anthropic.claude-haiku-4-5-20251001-v1:0/invoke-with-response-stream HTTP/1.1"
            assert urllib.parse.unquote(request.line) == line
            body = request.document
            assert body["anthropic_version"] == "bedrock-2023-05-31"
            assert body["anthropic_beta"] == ["interleaved-thinking-2025-05-14"]
            assert ("model" in body, "stream" in body, body["max_tokens"]) == (False, False, 32_000)
            assert [entry["role"] for entry in body["messages"]] == ["user"]
            assert request.headers["user-agent"].startswith("bridle-agent/")
            told = request.headers["authorization"]
            assert told.startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
            assert "/eu-west-1/bedrock/aws4_request" in told
            assert request.headers["x-amz-security-token"] == "a-session"
            assert f"Signature={signature(request)}" in told

    asyncio.run(main())


def test_the_pieces_of_a_cloud_are_those_of_the_plain_endpoint() -> None:
    async def main() -> None:
        frames = text_frames("fine", output_tokens=9)
        async with serving(answering(bedrock_stream(*frames))) as server:
            heard = await hear({**BEDROCK, "ANTHROPIC_BEDROCK_BASE_URL": server.url})
        assert heard.kinds == ["AnswerStarted", "BlockFinished", "AnswerFinished"]
        kinds = [piece.data["type"] for piece in heard.only(StreamFrame)]
        assert kinds == [json.loads(one.partition(b"data: ")[2])["type"] for one in frames]
        assert heard.finished.usage == {"input_tokens": 3, "output_tokens": 9}
        assert heard.finished.stop_reason == "end_turn"

    asyncio.run(main())


def test_bedrock_takes_a_bearer_token_or_none_at_all() -> None:
    async def main() -> None:
        for more, told in (
            ({"AWS_BEARER_TOKEN_BEDROCK": "b-token"}, "Bearer b-token"),
            ({"CLAUDE_CODE_SKIP_BEDROCK_AUTH": "1"}, "Bearer none"),
        ):
            async with serving(answering(bedrock_stream(*text_frames("x")))) as server:
                environment = {"CLAUDE_CODE_USE_BEDROCK": "1", "ANTHROPIC_BEDROCK_BASE_URL": server.url, **more}
                assert (await hear(environment)).texts == ["x"]
                assert server.requests[0].headers["authorization"] == told
                assert "/us.anthropic.claude-opus-4-8/" in server.requests[0].line

    asyncio.run(main())


def test_vertex_is_asked_in_its_shape() -> None:
    async def main() -> None:
        async with serving(answering(chunked(*text_frames("from the cloud")))) as server:
            environment = {**VERTEX, "ANTHROPIC_VERTEX_BASE_URL": f"{server.url}/v1"}
            heard = await hear(environment, model="haiku")
            assert (heard.texts, heard.failure) == (["from the cloud"], None)
            [request] = server.requests
            place = "/v1/projects/my-project/locations/europe-west1/publishers/anthropic/models"
            line = f"POST {place}/claude-haiku-4-5@20251001:streamRawPredict HTTP/1.1"
            assert urllib.parse.unquote(request.line) == line
            body = request.document
            assert (body["anthropic_version"], body["stream"], "model" in body) == ("vertex-2023-10-16", True, False)
            assert request.headers["authorization"] == "Bearer none"
            assert request.headers["anthropic-beta"] == "interleaved-thinking-2025-05-14"
            assert request.headers["user-agent"].startswith("bridle-agent/")

    asyncio.run(main())


def test_errors_of_a_cloud_are_handled_like_those_of_the_http_endpoint() -> None:
    async def main() -> None:
        document = json.dumps({"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}).encode()
        answers = (
            status(429, document, retry_after="7"),
            status(503),
            chunked(*text_frames("half")[:3], frame("error", error={"type": "overloaded_error", "message": "Busy"})),
            ok(message("whole")),
        )
        async with serving(answering(*answers)) as server:
            heard = await hear({**VERTEX, "ANTHROPIC_VERTEX_BASE_URL": server.url})
            assert [(piece.attempt, piece.status, piece.error) for piece in heard.only(Retrying)] == [
                (1, 429, "rate_limit"),
                (2, 503, "server_error"),
            ]
            assert heard.waits == [7.0, 1.0]
            assert (heard.texts, AnswerRestarted() in heard.pieces) == (["whole"], True)
            assert heard.only(AnswerStarted)[-1].final
            assert server.requests[-1].line.partition(" HTTP")[0].endswith(":rawPredict")

    asyncio.run(main())


@pytest.mark.parametrize("code", [400, 403, 404])
def test_a_refusal_of_a_cloud_ends_the_turn(code: int) -> None:
    async def main() -> None:
        body = json.dumps({"type": "error", "error": {"type": "x", "message": "no such thing"}}).encode()
        async with serving(answering(status(code, body), status(code, body))) as server:
            heard = await hear({**VERTEX, "ANTHROPIC_VERTEX_BASE_URL": server.url})
            assert heard.failure is not None
            assert heard.failure.status == code
            assert "no such thing" in heard.failure.text or code == 404

    asyncio.run(main())


def test_a_stream_of_a_cloud_that_breaks_off_is_asked_for_whole() -> None:
    async def main() -> None:
        async def play(peer: Peer, server: Loopback) -> None:
            await peer.request()
            first = chunked(*text_frames("half")[:3], ends=False)
            await peer.send(first if peer.number == 1 else ok(message("whole")))

        async with serving(play) as server:
            heard = await hear({**VERTEX, "ANTHROPIC_VERTEX_BASE_URL": server.url})
            assert (heard.texts, AnswerRestarted() in heard.pieces) == (["whole"], True)

    asyncio.run(main())


def test_an_unreachable_cloud_is_an_error() -> None:
    environment = {**VERTEX, "ANTHROPIC_VERTEX_BASE_URL": "http://127.0.0.1:9", "CLAUDE_CODE_MAX_RETRIES": "1"}
    heard = asyncio.run(hear(environment))
    assert [(piece.status, piece.error) for piece in heard.only(Retrying)] == [(None, "unknown")]
    assert heard.failure is not None
    assert heard.failure.text == "API Error: Unable to connect to API (ConnectionRefused)"


def test_leaving_in_mid_answer_leaves_no_connection() -> None:
    async def main() -> None:
        reached = asyncio.Event()

        async def play(peer: Peer, server: Loopback) -> None:
            await peer.request()
            await peer.send(chunked(*text_frames("half")[:3], ends=False))
            reached.set()
            await peer.left()

        async with serving(play) as server:
            task = asyncio.create_task(hear({**VERTEX, "ANTHROPIC_VERTEX_BASE_URL": server.url}))
            await reached.wait()
            task.cancel()
            await asyncio.wait([task], timeout=PATIENCE_SECONDS)
            assert task.cancelled()
            await server.all_left()

    asyncio.run(main())


@pytest.mark.parametrize("missing", ["CLOUD_ML_REGION", "ANTHROPIC_VERTEX_PROJECT_ID"])
def test_a_setting_that_vertex_needs_is_named(missing: str) -> None:
    environment = {name: value for name, value in VERTEX.items() if name != missing}
    with pytest.raises(UsageError, match=f"{missing} is not"):
        connect(None, environment)


def test_a_cloud_is_chosen_only_when_it_is_asked_for() -> None:
    assert selected_cloud({}) is None
    assert selected_cloud({"CLAUDE_CODE_USE_BEDROCK": "0", "CLAUDE_CODE_USE_VERTEX": ""}) is None
    assert selected_cloud({"CLAUDE_CODE_USE_VERTEX": "true"}) == "vertex"
    assert selected_cloud({"CLAUDE_CODE_USE_BEDROCK": "1"}) == "bedrock"


def test_without_the_official_client_the_remedy_is_to_install_it() -> None:
    code = (
        "import sys; sys.modules['anthropic'] = None\n"
        "from bridle.agent.model.client import connect\n"
        "connect(None, {'CLAUDE_CODE_USE_BEDROCK': '1'})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert "AgentNotReady: CLAUDE_CODE_USE_BEDROCK is set, but the client for it is not installed" in done.stderr
    assert "pip install 'bridle-cli[cloud]'" in done.stderr
