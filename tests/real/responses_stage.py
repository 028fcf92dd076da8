"""A scripted model for Codex: the little of its API that a session needs, on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# What the model does next, by what the request tells it: a command to run, or words.
Move = Callable[[str], dict[str, Any]]

_USAGE = {
    "input_tokens": 1,
    "input_tokens_details": None,
    "output_tokens": 1,
    "output_tokens_details": None,
    "total_tokens": 2,
}


def say(text: str | Callable[[str], str]) -> Move:
    """The model says something and ends its turn."""

    def move(told: str) -> dict[str, Any]:
        words = text if isinstance(text, str) else text(told)
        return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": words}]}

    return move


def execute(command: str | Callable[[str], str]) -> Move:
    """The model runs a command."""

    def move(told: str) -> dict[str, Any]:
        line = command if isinstance(command, str) else command(told)
        arguments = json.dumps({"cmd": line, "yield_time_ms": 30_000})
        return {"type": "function_call", "name": "exec_command", "arguments": arguments}

    return move


class ResponsesStage:
    """Plays its moves in order; a request too many is answered with a remark that a test would see."""

    def __init__(self, moves: Sequence[Move]) -> None:
        self.told: list[str] = []
        """The texts in each request, what people, commands and hooks said, as one text."""
        self._moves = list(moves)
        self._lock = threading.Lock()

    def answer(self, body: bytes) -> bytes:
        with self._lock:
            number = len(self.told)
            self.told.append(_texts(json.loads(body)["input"]))
            move = self._moves[number] if number < len(self._moves) else say("nothing is left to say")
            item = {"id": f"item_{number}", "call_id": f"call_{number}", **move(self.told[-1])}
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": {"id": f"r{number}"}},
            {"type": "response.output_item.done", "item": item},
            {"type": "response.completed", "response": {"id": f"r{number}", "usage": _USAGE}},
        ]
        return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


@contextmanager
def playing(stage: ResponsesStage) -> Iterator[str]:
    """The address of the stage's API, while the block lasts."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Say nothing: the requests are kept."""

        def do_GET(self) -> None:  # the name is the library's
            self._send("application/json", b'{"data": [], "models": []}')

        def do_POST(self) -> None:  # the name is the library's
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            self._send("text/event-stream", stage.answer(body))

        def _send(self, kind: str, body: bytes) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _texts(value: object) -> str:
    """Every text in a request."""
    if isinstance(value, str):
        return value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return "\n".join(_texts(one) for one in inner)
