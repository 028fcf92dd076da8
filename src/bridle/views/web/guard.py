"""Which requests the server answers: those of its own page on this machine, with the token of the link.

A request passes the checks in this order: host, origin, method, token, body, sender. Each answer has the headers that
keep a page from loading, sending or showing anything but its own. Requests that change something must come from the
page itself: a browser says so in `Origin` or `Sec-Fetch-Site`.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from bridle.views.web.peer import Sender, find_sender

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
OnAgent = Callable[[bytes], Awaitable[None]]
"""Records that an agent sent this body."""

IS_ALLOWED = "bridle.is_known"
"""Whether a request had the token: in its state, which its connection knows too."""
# An answer to a question is a few kilobytes.
BODY_LIMIT_BYTES = 64 * 1024
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = (
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), microphone=(), geolocation=()"),
)
_HINT = """<!doctype html><meta charset="utf-8"><title>Bridle</title>
<p>This page needs the token of its link. Run <code>bridle watch</code> again: it prints the link.</p>
"""


class Refused(Exception):
    """A request that is not answered."""

    def __init__(self, status: int, error: str, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.document = {"ok": False, "error": error, "message": message, "remedy": remedy}


class Guard:
    """The checks in front of the server's answers."""

    def __init__(self, app: App, token: str, port: int, on_agent: OnAgent) -> None:
        self._app = app
        self._token = token.encode()
        self._hosts = frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]"))
        self._origins = frozenset(f"http://{host}" for host in self._hosts)
        self._on_agent = on_agent

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            return
        answer = _with_headers(send, is_static=scope["path"].startswith("/static/"))
        try:
            self._check(scope)
            body = await _read_body(scope, receive)
            await self._check_sender(scope, body)
        except Refused as refused:
            await _refuse(scope, answer, refused)
            return
        await self._app(scope, _replay(body, receive), answer)

    def _check(self, scope: Scope) -> None:
        headers = _headers(scope)
        if headers.get("host", "") not in self._hosts:
            raise Refused(421, "wrong host", "this server answers only to 127.0.0.1, localhost and [::1]")
        self._check_origin(scope["method"], headers)
        path: str = scope["path"]
        if path.startswith("/static/"):
            return
        if path.startswith("/api/"):
            given = headers.get("authorization", "").removeprefix("Bearer ").encode("utf-8", "replace")
        else:
            given = _token_in_query(scope["query_string"])
        if not hmac.compare_digest(given, self._token):
            raise Refused(401, "no token", "the token is missing or wrong", "Open the link that bridle watch prints.")
        scope.get("state", {})[IS_ALLOWED] = True

    async def _check_sender(self, scope: Scope, body: bytes) -> None:
        if scope["path"].startswith("/static/"):
            return
        is_change = scope["method"] == "POST"
        sender = await find_sender(scope.get("client"), scope.get("server"), among_processes=is_change)
        match sender:
            case Sender.OTHER_USER:
                raise Refused(403, "another user", "another user of this machine sent this request")
            case Sender.GONE:
                raise Refused(403, "no sender", "the connection was closed before the answer, so its sender is unknown")
            case Sender.AGENT:
                await self._on_agent(body)
                raise Refused(403, "inside an agent", "an agent or a check of a run sent this request")

    def _check_origin(self, method: str, headers: dict[str, str]) -> None:
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is not None and origin not in self._origins:
            raise Refused(403, "wrong origin", "the request comes from another page")
        if site is not None and site not in ("same-origin", "none"):
            raise Refused(403, "wrong origin", "the request comes from another page")
        if method in ("GET", "HEAD"):
            return
        if method != "POST":
            raise Refused(405, "wrong method", f"{method} is not answered")
        if origin is None and site != "same-origin":
            raise Refused(403, "no origin", "a request that changes something must say which page sends it")
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Refused(415, "wrong type", "the body must be application/json")


def _headers(scope: Scope) -> dict[str, str]:
    """Return the headers; of one that is sent twice neither counts, so that no check sees another than the answer."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        found[key] = "\0" if key in found else value.decode("latin-1")
    return found


def _token_in_query(query: bytes) -> bytes:
    from urllib.parse import parse_qs

    values = parse_qs(query.decode("latin-1")).get("token", [])
    return values[0].encode("utf-8", "replace") if len(values) == 1 else b""


async def _read_body(scope: Scope, receive: Receive) -> bytes:
    """Return the body of a request that may have one."""
    if scope["method"] != "POST":
        return b""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise Refused(400, "incomplete", "the request was not complete")
        body += message.get("body", b"")
        if len(body) > BODY_LIMIT_BYTES:
            raise Refused(413, "too large", f"the body has more than {BODY_LIMIT_BYTES} bytes")
        if not message.get("more_body"):
            return bytes(body)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a function that returns the body once, and then what the client does."""
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> dict[str, Any]:
        return left.pop() if left else await receive()

    return next_message


def _with_headers(send: Send, *, is_static: bool) -> Send:
    # Code of the page is asked for again after each update of Bridle; data is never kept.
    cache = "no-cache" if is_static else "no-store"
    more = [(name.encode(), value.encode()) for name, value in (*HEADERS, ("cache-control", cache))]

    async def answer(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", []), *more]}
        await send(message)

    return answer


async def _refuse(scope: Scope, send: Send, refused: Refused) -> None:
    is_page = scope["path"] == "/" and refused.status == 401
    body = _HINT.encode() if is_page else msgspec.json.encode(refused.document)
    kind = b"text/html; charset=utf-8" if is_page else b"application/json"
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
