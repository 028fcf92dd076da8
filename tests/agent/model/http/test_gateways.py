"""Gateways between the agent and its endpoint: compressed bodies, and redirects that get no key of another host."""

from __future__ import annotations

import asyncio
import gzip
import sys
import zlib
from collections.abc import Callable

import pytest

from bridle.agent.model.http.content_coding import decode, decoder_for
from bridle.agent.model.http.redirect import MAX_REDIRECTS, Target, headers_for, redirected
from bridle.errors import NetworkError
from tests.agent.fixtures.loopback_server import answering, chunked, message, ok, serving, status, text_frames
from tests.agent.fixtures.model_answers import CollectedAnswer, collect

KEY = "sk-dummy"


def bare_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


CODINGS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("gzip", gzip.compress),
    ("GZIP", gzip.compress),
    ("deflate", zlib.compress),
    ("deflate", bare_deflate),
]


def asked(*answers: bytes) -> tuple[CollectedAnswer, list[dict[str, str]]]:
    """Ask one question of a server that answers with these bytes; return the answer and the headers it got."""

    async def main() -> tuple[CollectedAnswer, list[dict[str, str]]]:
        async with serving(answering(*answers)) as server:
            return await collect(server.url), [request.headers for request in server.requests]

    return asyncio.run(main())


@pytest.mark.parametrize(("coding", "pack"), CODINGS)
def test_a_compressed_stream_is_read_as_it_arrives(coding: str, pack: Callable[[bytes], bytes]) -> None:
    packed = pack(b"".join(text_frames("hello")))
    parts = [packed[at : at + 7] for at in range(0, len(packed), 7)]
    collected, _ = asked(chunked(*parts, content_encoding=coding))
    assert collected.texts == ["hello"]


@pytest.mark.parametrize(("coding", "pack"), CODINGS)
def test_a_compressed_error_is_readable(coding: str, pack: Callable[[bytes], bytes]) -> None:
    body = b'{"type": "error", "error": {"type": "invalid_request_error", "message": "no such thing"}}'
    collected, _ = asked(status(400, pack(body), content_encoding=coding))
    assert collected.failure is not None
    assert collected.failure.text == "API Error: 400 no such thing"


def test_a_coding_whose_library_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for coding, library in (("br", "brotli"), ("zstd", "zstandard")):
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(NetworkError, match=f"Install {library}"):
            decoder_for(coding)
    with pytest.raises(NetworkError, match="unknown content encoding 'rot13'"):
        decoder_for("rot13")


def test_a_damaged_body_is_an_error_of_the_network() -> None:
    decoder = decoder_for("gzip")
    assert decoder is not None
    with pytest.raises(NetworkError, match="damaged"):
        decode(decoder, b"not gzip at all")


@pytest.mark.parametrize("code", [307, 308])
def test_a_redirect_on_the_same_host_keeps_the_key(code: int) -> None:
    collected, headers = asked(status(code, location="/elsewhere?a=b"), ok(message("found")))
    assert collected.texts == ["found"]
    assert [sent.get("x-api-key") for sent in headers] == [KEY, KEY]


def test_a_redirect_to_another_host_gets_the_body_and_no_key() -> None:
    async def main() -> None:
        async with serving(answering(ok(message("found")))) as other:
            target = f"http://localhost:{other.port}/v1/messages"
            async with serving(answering(status(307, location=target))) as server:
                collected = await collect(server.url, ANTHROPIC_CUSTOM_HEADERS="x-secret: hush")
                [first], [second] = server.requests, other.requests
        assert (first.headers["x-api-key"], first.headers["x-secret"]) == (KEY, "hush")
        assert first.document["messages"] == second.document["messages"]
        assert {"x-api-key", "authorization", "x-secret", "x-claude-code-session-id"}.isdisjoint(second.headers)
        assert collected.texts == ["found"]

    asyncio.run(main())


def test_a_loop_of_redirects_ends_in_an_error() -> None:
    collected, headers = asked(*[status(308, location="/again")] * 20)
    assert collected.failure is not None
    assert f"redirects more than {MAX_REDIRECTS} times" in collected.failure.text
    assert len(headers) == MAX_REDIRECTS + 1


@pytest.mark.parametrize("location", ["", "ftp://x/", "http://u:p@x/", "http://[", "javascript:1"])
def test_a_redirect_to_nowhere_is_not_followed(location: str) -> None:
    assert redirected(307, {"location": location}, Target("http://a", "/p")) is None
    assert redirected(302, {"location": "/x"}, Target("http://a", "/p")) is None


def test_a_change_of_scheme_or_port_is_another_host() -> None:
    for origin in ("http://a:81", "https://a"):
        assert headers_for(Target(origin, "/"), "http://a", {"authorization": "x", "accept": "y"}) == {"accept": "y"}
