from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Mapping
from pathlib import Path

import pytest

from bridle.agent.model.http.address import parse_address
from bridle.agent.model.http.http_client import HttpClient, Timeouts
from bridle.errors import NetworkError, UsageError
from tests.agent.fixtures.loopback_server import (
    AUTHORITY,
    CERTIFICATES,
    PATIENCE_SECONDS,
    Peer,
    answering,
    chunked,
    ok,
    serving,
    status,
)
from tests.agent.fixtures.loopback_server import Server as Loopback

QUICK = Timeouts(connect_seconds=PATIENCE_SECONDS, headers_seconds=PATIENCE_SECONDS, idle_seconds=PATIENCE_SECONDS)


def client(url: str, environment: Mapping[str, str] | None = None, limits: Timeouts = QUICK) -> HttpClient:
    return HttpClient(parse_address(url), environment or {}, limits)


async def fetch(server: HttpClient, body: bytes = b"{}", path: str = "/x") -> tuple[int, bytes]:
    async with asyncio.timeout(PATIENCE_SECONDS), server.request("POST", path, {"a": "b"}, body) as response:
        return response.status, await response.read(1 << 30)


async def trouble(server: HttpClient) -> NetworkError:
    with pytest.raises(NetworkError) as caught:
        await fetch(server)
    return caught.value


def test_a_request_and_its_answer() -> None:
    async def main() -> None:
        async with serving(answering(ok(b"hello"))) as server:
            assert await fetch(client(server.url + "/prefix/"), b"the body") == (200, b"hello")
            [request] = server.requests
            assert (request.line, request.body) == ("POST /x HTTP/1.1", b"the body")
            assert request.headers == {"host": f"127.0.0.1:{server.port}", "a": "b", "content-length": "8"}

    asyncio.run(main())


def test_requests_one_after_the_other_share_a_connection() -> None:
    async def main() -> None:
        async with serving(answering(ok(b"1"), chunked(b"2"), status(500, b"3"), ok(b"4"))) as server:
            one = client(server.url)
            assert [(await fetch(one))[1] for _ in range(4)] == [b"1", b"2", b"3", b"4"]
            assert server.connections == 1
            one.close()
            await server.all_left()

    asyncio.run(main())


def test_requests_at_the_same_time_have_connections_of_their_own() -> None:
    async def main() -> None:
        async with serving(answering(ok(b"x"), ok(b"x"), ok(b"x"))) as server:
            one = client(server.url)
            async with one.request("POST", "/1", {}, b"") as first:
                assert await fetch(one) == (200, b"x")
                assert await first.read(10) == b"x"
            assert server.connections == 2
            one.close()

    asyncio.run(main())


def test_a_kept_connection_that_the_server_has_ended_is_replaced() -> None:
    async def once(peer: Peer, server: Loopback) -> None:
        request = await peer.request()
        assert request is not None
        await peer.send(ok(b"x"))

    async def main() -> None:
        async with serving(once) as server:
            one = client(server.url)
            assert [await fetch(one) for _ in range(3)] == [(200, b"x")] * 3
            assert server.connections == 3

    asyncio.run(main())


def test_a_kept_connection_that_ends_as_it_is_used_is_replaced_without_a_word() -> None:
    async def leaves_on_the_second(peer: Peer, server: Loopback) -> None:
        await peer.request()
        await peer.send(ok(b"x"))
        if peer.number == 1:
            await peer.request()
            peer.reset()

    async def main() -> None:
        async with serving(leaves_on_the_second) as server:
            one = client(server.url)
            assert [await fetch(one), await fetch(one)] == [(200, b"x")] * 2
            assert server.connections == 2

    asyncio.run(main())


def test_an_answer_whose_end_comes_late_is_complete_before_the_next_request_on_its_connection() -> None:
    async def main() -> None:
        late = asyncio.Event()

        async def play(peer: Peer, server: Loopback) -> None:
            await peer.request()
            await peer.send(chunked(b"first", ends=False))
            await late.wait()
            await peer.send(b"0\r\n\r\n")
            if await peer.request() is not None:
                await peer.send(ok(b"second"))

        async with serving(play) as server:
            one = client(server.url)
            async with one.request("POST", "/", {}, b"") as response:
                assert await response.next() == b"first"
            late.set()
            assert await fetch(one) == (200, b"second")
            assert server.connections == 1
            one.close()

    asyncio.run(main())


def test_an_answer_that_was_not_read_to_its_end_does_not_come_up_in_the_next() -> None:
    async def play(peer: Peer, server: Loopback) -> None:
        while await peer.request() is not None:
            await peer.send(chunked(b"first", b"left over"))

    async def main() -> None:
        async with serving(play) as server:
            one = client(server.url)
            async with one.request("POST", "/", {}, b"") as response:
                assert await response.next() == b"first"
            assert await fetch(one) == (200, b"firstleft over")
            assert server.connections == 2
            one.close()

    asyncio.run(main())


def test_what_a_server_sends_unasked_is_not_taken_for_the_next_answer() -> None:
    async def main() -> None:
        async with serving(answering(ok(b"1") + ok(b"unasked"), ok(b"2"))) as server:
            one = client(server.url)
            assert [await fetch(one), await fetch(one)] == [(200, b"1"), (200, b"2")]
            assert server.connections == 2
            one.close()

    asyncio.run(main())


def test_refused_reset_cut_and_garbled_are_distinguished() -> None:
    async def hangs_up(peer: Peer, server: Loopback) -> None:
        await peer.request()

    async def resets(peer: Peer, server: Loopback) -> None:
        await peer.request()
        peer.reset()

    async def main() -> list[str]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            kinds = [(await trouble(client(f"http://127.0.0.1:{free.getsockname()[1]}"))).kind]
        for play in (
            hangs_up,
            resets,
            answering(chunked(b"half", ends=False)),
            answering(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf"),
            answering(b"HTTP/1.1 200 OK\r\ncont"),
            answering(b"SSH-2.0-OpenSSH_9.6\r\n\r\n"),
            answering(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"),
        ):
            async with serving(play) as server:
                kinds.append((await trouble(client(server.url))).kind)
                await server.all_left()
        return kinds

    assert asyncio.run(main()) == ["refused", "reset", "reset", "cut", "cut", "reset", "garbled", "garbled"]


def test_a_head_without_end_is_refused() -> None:
    async def play(peer: Peer, server: Loopback) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\n")
        while True:
            await peer.send(b"x-more: " + b"y" * 10_000 + b"\r\n")

    async def main() -> None:
        async with serving(play) as server:
            assert (await trouble(client(server.url))).kind == "garbled"

    asyncio.run(main())


def test_an_unknown_name_is_unreachable() -> None:
    error = asyncio.run(trouble(client("http://no-such-host.invalid")))
    assert (error.kind, "no-such-host.invalid" in error.message) == ("unreachable", True)


@pytest.mark.parametrize("where", ["connect", "headers", "idle"])
def test_every_wait_has_its_limit(where: str) -> None:
    async def silent(peer: Peer, server: Loopback) -> None:
        await peer.request()
        if where == "idle":
            await peer.send(chunked(b"half", ends=False))
        await peer.left()

    async def main() -> None:
        limits = Timeouts(
            **{f"{name}_seconds": 0.05 if name == where else 30.0 for name in ("connect", "headers", "idle")}
        )
        async with serving(silent, tls=False) as server:
            # A plain server that says nothing never finishes the handshake of TLS, which is a part of connecting.
            scheme = "https" if where == "connect" else "http"
            error = await trouble(
                client(f"{scheme}://127.0.0.1:{server.port}", {"SSL_CERT_FILE": str(AUTHORITY)}, limits)
            )
            assert (error.kind, "0.05 seconds" in error.message) == ("slow", True)
            await server.all_left()

    asyncio.run(main())


def test_an_unread_body_waits_in_the_network_and_not_in_memory() -> None:
    sent = 0

    async def floods(peer: Peer, server: Loopback) -> None:
        nonlocal sent
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n")
        while True:
            await peer.send(b"x" * 65536)
            sent += 65536

    async def main() -> None:
        async with serving(floods) as server:
            one = client(server.url)
            async with one.request("POST", "/", {}, b"") as response:
                assert await response.next()
                before = -1
                while before != sent:  # until it is stuck
                    before = sent
                    await asyncio.sleep(0.05)
                assert sent < 50_000_000
                rest = 0
                while rest < 2 * before:  # and it comes on when it is read
                    part = await response.next()
                    assert part is not None, f"the body ended after {rest} bytes"
                    rest += len(part)
            one.close()
            await server.all_left()

    asyncio.run(main())


def test_a_large_request_is_sent_whole() -> None:
    async def main() -> None:
        async with serving(answering(ok(b"x"))) as server:
            body = bytes(range(256)) * 40_000
            assert await fetch(client(server.url), body) == (200, b"x")
            assert server.requests[0].body == body

    asyncio.run(main())


def test_cancelling_leaves_no_connection() -> None:
    async def main() -> None:
        reached = asyncio.Event()

        async def play(peer: Peer, server: Loopback) -> None:
            await peer.request()
            await peer.send(chunked(b"half", ends=False))
            reached.set()
            await peer.left()

        async with serving(play) as server:
            task = asyncio.create_task(fetch(client(server.url)))
            await reached.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await server.all_left()

    asyncio.run(main())


def test_a_secure_server_whose_authority_is_named_is_spoken_to() -> None:
    async def main() -> None:
        for name in ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"):
            async with serving(answering(ok(b"safe"), ok(b"again")), tls=True) as server:
                one = client(f"https://localhost:{server.port}", {name: str(AUTHORITY)})
                assert [await fetch(one), await fetch(one)] == [(200, b"safe"), (200, b"again")]
                assert server.connections == 1
                one.close()

    asyncio.run(main())


def test_an_untrusted_certificate_is_rejected_with_a_remedy() -> None:
    async def main() -> None:
        async with serving(answering(ok(b"x")), tls=True) as server:
            error = await trouble(client(f"https://localhost:{server.port}"))
            assert error.kind == "tls"
            assert "NODE_EXTRA_CA_CERTS" in str(error)
            assert server.requests == []

    asyncio.run(main())


def test_a_certificate_for_another_name_is_refused() -> None:
    async def main() -> None:
        async with serving(answering(ok(b"x")), tls=True, host="127.0.0.2") as server:
            error = await trouble(client(f"https://127.0.0.2:{server.port}", {"SSL_CERT_FILE": str(AUTHORITY)}))
            assert error.kind == "tls"

    asyncio.run(main())


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "CLAUDE_CODE_CLIENT_CERT"])
def test_an_invalid_certificate_file_is_reported_with_its_variable(name: str, tmp_path: Path) -> None:
    (tmp_path / "bad.pem").write_text("no certificate")
    for path in (tmp_path / "bad.pem", tmp_path / "missing.pem"):
        with pytest.raises(UsageError, match=name):
            asyncio.run(fetch(client("https://127.0.0.1:9", {name: str(path)})))


def test_a_client_certificate_is_shown() -> None:
    shown: list[object] = []

    async def play(peer: Peer, server: Loopback) -> None:
        shown.append(peer.writer.get_extra_info("peercert"))
        await answering(ok(b"x"))(peer, server)

    async def main() -> None:
        async with serving(play, tls=True) as server:
            environment = {
                "SSL_CERT_FILE": str(AUTHORITY),
                "CLAUDE_CODE_CLIENT_CERT": str(CERTIFICATES / "server.pem"),
                "CLAUDE_CODE_CLIENT_KEY": str(CERTIFICATES / "server.key"),
            }
            url = f"https://localhost:{server.port}"
            assert await fetch(client(url, environment)) == (200, b"x")
            assert await fetch(client(url, {"SSL_CERT_FILE": str(AUTHORITY)})) == (200, b"x")

    asyncio.run(main())
    assert [bool(certificate) for certificate in shown] == [True, False]


def test_the_next_version_of_the_internet_works_too() -> None:
    async def main() -> None:
        async with serving(answering(ok(b"six")), host="::1") as server:
            assert await fetch(client(f"http://[::1]:{server.port}")) == (200, b"six")
            assert server.requests[0].headers["host"] == f"[::1]:{server.port}"

    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    asyncio.run(main())


async def relaying(peer: Peer, server: Loopback) -> None:
    """A proxy: CONNECT opens a tunnel; another request gets an answer of the proxy's own."""
    request = await peer.request()
    assert request is not None
    server.requests.append(request)
    if not request.line.startswith("CONNECT"):
        await peer.send(ok(b"through the proxy"))
        return
    if "refused" in request.line:
        await peer.send(status(403))
        return
    port = int(request.line.split()[1].rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    await peer.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
    back = asyncio.create_task(pump(reader, peer.writer))
    await pump(peer.reader, writer)
    writer.close()
    await back


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except (ConnectionError, ssl.SSLError):
        pass


def test_a_secure_request_goes_through_a_tunnel_of_the_proxy() -> None:
    async def main() -> None:
        async with serving(answering(ok(b"1"), ok(b"2")), tls=True) as server, serving(relaying) as proxy:
            environment = {
                "HTTPS_PROXY": f"http://user:pass%20word@127.0.0.1:{proxy.port}",
                "SSL_CERT_FILE": str(AUTHORITY),
            }
            one = client(f"https://localhost:{server.port}", environment)
            assert [await fetch(one), await fetch(one)] == [(200, b"1"), (200, b"2")]
            [asked] = proxy.requests
            assert asked.line == f"CONNECT localhost:{server.port} HTTP/1.1"
            assert asked.headers["proxy-authorization"] == "Basic dXNlcjpwYXNzIHdvcmQ="
            assert "proxy-authorization" not in server.requests[0].headers
            one.close()
            await proxy.all_left()

    asyncio.run(main())


def test_a_proxy_that_speaks_tls_itself_is_used_too() -> None:
    async def main() -> None:
        async with serving(answering(ok(b"1")), tls=True) as server, serving(relaying, tls=True) as proxy:
            environment = {"https_proxy": f"https://localhost:{proxy.port}", "SSL_CERT_FILE": str(AUTHORITY)}
            one = client(f"https://localhost:{server.port}", environment)
            assert await fetch(one) == (200, b"1")
            one.close()
            await proxy.all_left()

    asyncio.run(main())


def test_a_plain_request_is_given_to_the_proxy_whole() -> None:
    async def main() -> None:
        async with serving(relaying) as proxy:
            environment = {"http_proxy": f"u:p@127.0.0.1:{proxy.port}"}
            assert await fetch(client("http://example.invalid:81/v", environment)) == (200, b"through the proxy")
            [asked] = proxy.requests
            assert asked.line == "POST http://example.invalid:81/x HTTP/1.1"
            assert asked.headers["proxy-authorization"] == "Basic dTpw"

    asyncio.run(main())


def test_a_proxy_that_refuses_or_is_missing_is_an_error() -> None:
    async def main() -> None:
        async with serving(relaying) as proxy:
            environment = {"HTTPS_PROXY": f"http://127.0.0.1:{proxy.port}", "SSL_CERT_FILE": str(AUTHORITY)}
            error = await trouble(client("https://refused.invalid", environment))
            assert (error.kind, "refused.invalid:443: 403" in error.message) == ("proxy", True)
        error = await trouble(client("https://refused.invalid", environment))
        assert error.kind == "refused"

    asyncio.run(main())


def test_a_header_that_cannot_be_sent_is_refused_without_showing_it() -> None:
    for value in ("secret\nline", "sécrèt→"):
        with pytest.raises(UsageError, match="header") as caught:
            client("http://127.0.0.1:9").request("POST", "/", {"x-api-key": value}, b"")
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is None
