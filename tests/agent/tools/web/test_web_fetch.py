from __future__ import annotations

import asyncio
import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bridle.agent.tools.web.fetch_tool import QUESTION_ABOUT_PAGE
from bridle.agent.tools.web.html_text import html_text, page_text
from tests.agent.fixtures.file_tool_calls import FileToolCalls

PAGE = b"""<!doctype html><html><head><title>T</title><style>x{}</style><script>bad("</p>")</script></head><body>
<h1>Head</h1><p>Para <b>bold</b>
 &amp; <a href="/l">link</a></p><ul><li>one</li><li>two<ul><li>inner</li></ul></li></ul>
<pre>code
  x</pre><table><tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table></body></html>"""
READ = "T\n\n# Head\n\nPara bold & [link](/l)\n\n- one\n- two\n\n  - inner\n\n```\ncode\n  x\n```\n\na | b\nc | d"
BOMB = gzip.compress(b"0" * 50_000_000)


class _Site(BaseHTTPRequestHandler):
    """A small site with everything that can go wrong."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        name = self.path.partition("?")[0].strip("/")
        answers: dict[str, tuple[int, bytes, dict[str, str]]] = {
            "page": (200, PAGE, {"Content-Type": "text/html; charset=utf-8"}),
            "text": (200, "schön".encode("latin-1"), {"Content-Type": "text/plain; charset=latin-1"}),
            "packed": (200, gzip.compress(b"unpacked"), {"Content-Type": "text/plain", "Content-Encoding": "gzip"}),
            "bomb": (200, BOMB, {"Content-Type": "text/plain", "Content-Encoding": "gzip"}),
            "damaged": (200, b"\x1f\x8bnothing", {"Content-Type": "text/plain", "Content-Encoding": "gzip"}),
            "large": (200, b"0" * 11_000_000, {"Content-Type": "text/plain"}),
            "long": (200, b"word " * 30_000, {"Content-Type": "text/plain"}),
            "here": (302, b"", {"Location": "/page"}),
            "there": (302, b"", {"Location": "http://198.51.100.7/page"}),
            "port": (302, b"", {"Location": "http://127.0.0.1:1/page"}),
            "secret": (302, b"", {"Location": "file:///etc/passwd"}),
            "round": (302, b"", {"Location": "/round"}),
            "gone": (404, b"not here", {}),
            "pdf": (200, b"%PDF-1.4", {"Content-Type": "application/pdf"}),
            "empty": (200, b"", {"Content-Type": "text/html"}),
            "unknown": (200, b"plain", {}),
        }
        status, body, headers = answers.get(name, (200, self.path.encode(), {"Content-Type": "text/plain"}))
        self.send_response(status)
        for header, value in headers.items():
            self.send_header(header, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Say nothing."""


@contextmanager
def _site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Site)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


ALLOWED = {"BRIDLE_WEB_PRIVATE_HOSTS": "other.test, 127.0.0.1"}


def test_the_question_about_a_page_is_answered_by_the_small_model(tmp_path: Path) -> None:
    asked: list[str] = []

    async def answer_question(question: str) -> str:
        asked.append(question)
        return "the answer"

    with _site() as site:
        answer = FileToolCalls(tmp_path, environment=ALLOWED, ask_small_model=answer_question).call(
            "WebFetch", url=f"{site}/page", prompt="what?"
        )
    assert answer.content == "the answer"
    assert asked == [QUESTION_ABOUT_PAGE.format(page=READ, question="what?")]
    del answer.detail["durationMs"]
    assert answer.detail == {
        "bytes": len(PAGE),
        "code": 200,
        "codeText": "OK",
        "result": "the answer",
        "url": f"{site}/page",
    }


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("page", READ),
        ("here", READ),
        ("text", "schön"),
        ("packed", "unpacked"),
        ("unknown", "plain"),
        ("empty", "The page has no text."),
        ("q?a=b c&d=%20ü#frag", "/q?a=b%20c&d=%20%C3%BC"),
        ("a b/ü", "/a%20b/%C3%BC"),
    ],
)
def test_without_a_small_model_the_text_itself_is_the_answer(tmp_path: Path, path: str, said: str) -> None:
    with _site() as site:
        assert FileToolCalls(tmp_path, environment=ALLOWED).text("WebFetch", url=f"{site}/{path}", prompt="x") == said


def test_a_long_text_is_clipped(tmp_path: Path) -> None:
    with _site() as site:
        said = FileToolCalls(tmp_path, environment=ALLOWED).text("WebFetch", url=f"{site}/long", prompt="x")
    assert said.endswith("\n\n[120000 more characters omitted]")
    assert len(said) < 30_100


@pytest.mark.parametrize("path", ["there", "port"])
def test_a_redirect_to_another_host_is_reported_and_not_followed(tmp_path: Path, path: str) -> None:
    with _site() as site:
        answer = FileToolCalls(tmp_path, environment=ALLOWED).call("WebFetch", url=f"{site}/{path}", prompt="what?")
    said = str(answer.content)
    assert said.startswith("REDIRECT DETECTED: The URL redirects to a different host.\n\nOriginal URL: ")
    assert "Status: 302 Found" in said
    assert '- prompt: "what?"' in said
    assert (answer.detail["code"], answer.detail["codeText"]) == (302, "Found")
    assert answer.detail["bytes"] == len(said)


def test_a_page_that_is_not_there_is_no_error_of_the_call(tmp_path: Path) -> None:
    with _site() as site:
        answer = FileToolCalls(tmp_path, environment=ALLOWED).call("WebFetch", url=f"{site}/gone", prompt="x")
    assert str(answer.content).startswith("The server returned HTTP 404 Not Found.")
    assert not answer.is_error
    assert (answer.detail["bytes"], answer.detail["code"]) == (0, 404)


def test_a_download_goes_to_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    with _site() as site:
        desk = FileToolCalls(tmp_path, environment=ALLOWED, results_folder=folder)
        said = desk.text("WebFetch", url=f"{site}/pdf", prompt="x")
        unkept = FileToolCalls(tmp_path, environment=ALLOWED).text("WebFetch", url=f"{site}/pdf", prompt="x")
    (kept,) = folder.iterdir()
    assert said == f"[Binary content (application/pdf, 8 bytes) saved to {kept}]"
    assert kept.suffix == ".pdf"
    assert kept.read_bytes() == b"%PDF-1.4"
    assert "cannot be shown" in unkept


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("large", "larger than 10 MB"),
        ("bomb", "larger than 10 MB"),
        ("damaged", "the compressed response is damaged"),
        ("round", "redirects more than 10 times"),
        ("secret", "Invalid URL"),
    ],
)
def test_a_page_that_would_do_harm_is_refused(tmp_path: Path, path: str, said: str) -> None:
    with _site() as site:
        assert said in FileToolCalls(tmp_path, environment=ALLOWED).error("WebFetch", url=f"{site}/{path}", prompt="x")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "0", "127.1", "2130706433", "10.0.0.1"])
def test_nothing_is_fetched_from_this_machine_or_its_network_unless_it_is_named(tmp_path: Path, host: str) -> None:
    said = FileToolCalls(tmp_path).error("WebFetch", url=f"http://{host}:9/x", prompt="x")
    assert "BRIDLE_WEB_PRIVATE_HOSTS" in said or "ENOTFOUND" in said


@pytest.mark.parametrize(
    "url",
    ["ftp://example.com/x", "http://", "http://user:secret@example.com/", "http://a b/", "http://[::1", "http://x:99999/",
     "file:///etc/passwd", "http://" + "a" * 2000],
)  # fmt: skip
def test_what_is_no_address_of_the_web_is_refused(tmp_path: Path, url: str) -> None:
    said = FileToolCalls(tmp_path).error("WebFetch", url=url, prompt="x")
    assert "Invalid URL" in said
    assert "secret" not in said


def test_a_server_that_says_nothing_can_be_left(tmp_path: Path) -> None:
    async def story() -> None:
        arrived = asyncio.Event()

        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            arrived.set()
            await reader.read()
            writer.close()

        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        desk = FileToolCalls(tmp_path, environment=ALLOWED)
        task = asyncio.create_task(desk.calling("WebFetch", url=f"http://127.0.0.1:{port}/", prompt="x"))
        await asyncio.wait_for(arrived.wait(), 30)
        task.cancel()
        outcome = await asyncio.gather(task, return_exceptions=True)
        assert isinstance(outcome[0], asyncio.CancelledError)
        server.close()
        await server.wait_closed()

    asyncio.run(story())


@pytest.mark.parametrize(
    "html",
    ["", "<", "<<<>>>", "</p></p>", "<script>", "<pre>\n<pre>x", "&#x110000; &bogus;", "<a href>x</a>", "<li>" * 5000,
     "<table><td>x", "<svg><svg></svg>shown</svg>", "\0\ud800"],
    ids=range(12),
)  # fmt: skip
def test_broken_pages_are_read_as_far_as_they_go(html: str) -> None:
    assert isinstance(html_text(html), str)


def test_hidden_parts_stay_hidden_and_the_rest_is_shown() -> None:
    assert html_text("<p>a<style>p{}</style>b</p><noscript>no</noscript><template><p>no</p></template>c") == "ab\n\nc"
    assert html_text("<svg><g>no</g>no<svg></svg>no</svg>shown") == "shown"
    assert html_text("<p>one<br>two</p><hr><p> three  four </p>") == "one\ntwo\n\n---\n\nthree four"


def test_the_encoding_of_a_page_is_taken_from_its_head() -> None:
    page = '<html><head><meta charset="latin-1"></head><body>schön</body></html>'.encode("latin-1")
    assert page_text(page, "text/html") == "schön"
    assert page_text("schön".encode(), "text/plain; charset=bogus") == "schön"
