"""One run through the runner, in this process, for the tests to look at."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridle.run.request import Limits, Request
from bridle.run.runner import Finished, run
from bridle.wire.events.events import Event
from tests.run.agents import HANG_SECONDS, Agent

SCHEMA = {"type": "object", "properties": {"summary": {"type": "string"}}, "required": ["summary"]}


@dataclass(frozen=True)
class Run:
    """What came of it: the verdict, the events, and the lines for a person."""

    finished: Finished
    events: list[Event]
    said: list[str]

    @property
    def log(self) -> Path:
        """The log of the last attempt."""
        assert self.finished.log_path is not None
        return self.finished.log_path

    @property
    def meta(self) -> dict[str, Any]:
        """What stands beside the log."""
        return meta_of(self.log)


def run_agent(
    agent: Agent, cwd: Path, /, *, prompt: str = "hello", environment: Mapping[str, str] | None = None, **fields: Any
) -> Run:
    """Run a scripted agent to its end."""
    events: list[Event] = []
    said: list[str] = []
    variables = agent.environment() if environment is None else environment
    request = Request(prompt, cwd, **fields)

    async def main() -> Finished:
        async with asyncio.timeout(HANG_SECONDS):
            return await run(request, environment=variables, say=said.append, on_event=events.append)

    return Run(asyncio.run(main()), events, said)


def limits(**seconds: float) -> Limits:
    """Limits by their short names: run, idle, tool_idle, after_result."""
    return Limits(**{f"{name}_seconds": value for name, value in seconds.items()})


def logs_of(cwd: Path) -> list[Path]:
    """Every log of a workspace, oldest first."""
    return sorted((cwd / ".ralph" / "logs" / "claude").glob("*.ndjson"))


def meta_of(log: Path) -> dict[str, Any]:
    """What stands beside a log."""
    meta: dict[str, Any] = json.loads(log.with_name(log.name.removesuffix(".ndjson") + ".meta.json").read_bytes())
    return meta
