"""Questions put to a stage or a loopback server, with waits that pass at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bridle.agent.model.api import credentials
from bridle.agent.model.api.endpoint import HttpEndpoint
from bridle.agent.model.api.models import resolve_model
from bridle.agent.model.api.question import Question
from bridle.agent.model.api.stream_pieces import AnswerFinished, AnswerPiece, BlockFinished, StreamFrame
from bridle.agent.model.client import RetryingClient
from bridle.errors import ModelFailure
from bridle.stage.script import load_script
from bridle.stage.server import Stage
from bridle.stage.thread import running
from tests.agent.model.servers import PATIENCE_SECONDS, question

NOWHERE = Path("/nonexistent")


@dataclass
class Heard:
    """What came of one question."""

    pieces: list[AnswerPiece] = field(default_factory=list)
    failure: ModelFailure | None = None
    waits: list[float] = field(default_factory=list)
    """The seconds of each wait that was asked for."""

    @property
    def told(self) -> list[AnswerPiece]:
        """Everything but the frames."""
        return [piece for piece in self.pieces if not isinstance(piece, StreamFrame)]

    @property
    def kinds(self) -> list[str]:
        """The names of everything but the frames."""
        return [type(piece).__name__ for piece in self.told]

    @property
    def texts(self) -> list[str]:
        """The texts of the blocks."""
        return [
            piece.block["text"] for piece in self.pieces if isinstance(piece, BlockFinished) and "text" in piece.block
        ]

    @property
    def ended(self) -> AnswerFinished:
        """The end of the answer."""
        [end] = [piece for piece in self.pieces if isinstance(piece, AnswerFinished)]
        return end

    def only(self, kind: type[Any]) -> list[Any]:
        """The pieces of one kind."""
        return [piece for piece in self.pieces if isinstance(piece, kind)]


def asker(url: str, heard: Heard, **environment: str) -> RetryingClient:
    """A client whose waits are written down and pass at once, and whose luck is always the least."""
    everything = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-dummy", **environment}

    async def sleep(seconds: float) -> None:
        if seconds:
            heard.waits.append(seconds)

    return RetryingClient(HttpEndpoint(_keys(everything), everything), everything, sleep=sleep, chance=lambda: 0.0)


async def hear(url: str, ask: Question | None = None, **environment: str) -> Heard:
    """Ask one question, and take down everything that comes."""
    heard = Heard()
    client = asker(url, heard, **environment)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS), aclosing(client.answer(ask or question())) as pieces:
            async for piece in pieces:
                heard.pieces.append(piece)
    except ModelFailure as failure:
        heard.failure = failure
    finally:
        await client.close()
    return heard


def heard_from(url: str, ask: Question | None = None, **environment: str) -> Heard:
    """The same for a test that is not asynchronous."""
    return asyncio.run(hear(url, ask, **environment))


def _keys(environment: Mapping[str, str]) -> credentials.Keys:
    return credentials.find(environment, home=NOWHERE) or credentials.Missing()


USAGE = {"input_tokens": 100, "output_tokens": 20}
FINE = {"blocks": ["fine"], "usage": USAGE}
LONG = "A text that is long enough to be cut into several deltas."
CALL = {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}
Answer = dict[str, Any]


def error(code: int, times: Any = "forever", **fields: Any) -> Answer:
    """An answer with an error status."""
    return {"kind": "error", "status": code, "times": times, **fields}


def place(stage: Stage) -> str:
    """Host and port, as the words of a failure name them."""
    return dict(stage.requests[0].headers)["host"]


def asked(*answers: Answer, model: str = "opus", fallbacks: str = "", **environment: str) -> tuple[Heard, Stage]:
    """Ask a stage that plays these answers."""
    others = tuple(resolve_model(name, {}) for name in fallbacks.split(",") if name)
    with running(load_script({"answers": list(answers)})) as stage:
        heard = heard_from(stage.url, question(model, fallbacks=others), **environment)
    assert stage.problems == ()
    return heard, stage


def streams(stage: Stage) -> list[bool]:
    """Which of the requests asked for a stream."""
    return [bool(request.body.get("stream")) for request in stage.requests]


def models(stage: Stage) -> list[str]:
    """Which models were asked."""
    return [request.body["model"] for request in stage.requests]
