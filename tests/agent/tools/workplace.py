"""A session's shell, its background and its tools in a folder that nobody else has, and eyes for what they leave."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridle.agent.tools.contract.tool import Tool, ToolResult, run_tool
from bridle.agent.tools.shell.background import BackgroundTasks
from bridle.agent.tools.shell.limits import limits_from_environment
from bridle.agent.tools.shell.shell import Shell
from bridle.agent.tools.shell_tools import shell_tools

# A test that takes longer than this has hung.
HANG_SECONDS = 60.0
RECORDINGS = Path(__file__).parents[2] / "recordings" / "claude-2.1.197"

_POLL_SECONDS = 0.01


@dataclass(frozen=True)
class Workplace:
    """Where commands run."""

    project: Path
    results: Path
    outputs: Path
    mark: str
    """What every process that was started here carries in its environment."""
    shell: Shell
    background: BackgroundTasks
    tools: dict[str, Tool]

    async def call(self, tool: str, call_id: str = "call_1", **arguments: Any) -> ToolResult:
        """Call a tool."""
        return await run_tool(self.tools[tool], arguments, call_id=call_id)

    async def bash(self, command: str, **arguments: Any) -> ToolResult:
        """Run a command."""
        return await self.call("Bash", command=command, **arguments)

    def processes(self) -> list[str]:
        """What was started here and lives, by its command line."""
        return list(_processes_with(f"BRIDLE_TEST_MARK={self.mark}".encode()))


@contextlib.asynccontextmanager
async def workplace(folder: Path, **environment: str) -> AsyncIterator[Workplace]:
    """Open a workplace; at its end everything is stopped and nothing may be left."""
    project = Path(os.path.realpath(folder)) / "project"
    project.mkdir()
    mark = f"{os.getpid()}-{os.urandom(8).hex()}"
    variables = {**os.environ, **environment, "BRIDLE_TEST_MARK": mark}
    limits = limits_from_environment(variables)
    shell = Shell(project, environment=variables, session_id="session-1")
    outputs = project.parent / "tasks"
    background = BackgroundTasks(shell, outputs, tail_characters=limits.task_output_characters)
    results = project.parent / "tool-results"
    tools = {tool.name: tool for tool in shell_tools(shell, background, results_folder=results, limits=limits)}
    place = Workplace(project, results, outputs, mark, shell, background, tools)
    try:
        yield place
    finally:
        await background.stop_all()
        await shell.close()
    assert place.processes() == []


def play(story: Callable[[], Awaitable[None]]) -> None:
    """Run a story in a loop of its own."""

    async def main() -> None:
        async with asyncio.timeout(HANG_SECONDS):
            await story()

    asyncio.run(main())


def open_files() -> set[str]:
    """What this process has open, by descriptor and target; sockets to the keeper come and go."""
    found: set[str] = set()
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            target = os.readlink(f"/proc/self/fd/{name}")
            if not target.startswith("socket:"):
                found.add(f"{name} {target}")
    return found


async def until(condition: Callable[[], object], what: str) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + HANG_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"there was no {what}"
        await asyncio.sleep(_POLL_SECONDS)


def recorded(name: str, *tools: str) -> Iterator[tuple[dict[str, Any], dict[str, Any], Any]]:
    """The calls of these tools in a recording: the call, its result block and its `tool_use_result`."""
    calls: dict[str, dict[str, Any]] = {}
    for line in (RECORDINGS / f"{name}.ndjson").read_text("utf-8").splitlines():
        event = json.loads(line)
        if event["type"] not in ("assistant", "user"):
            continue
        for block in event["message"]["content"]:
            if block["type"] == "tool_use" and block["name"] in tools:
                calls[block["id"]] = block
            elif block["type"] == "tool_result" and block["tool_use_id"] in calls:
                yield calls[block["tool_use_id"]], block, event["tool_use_result"]


def _processes_with(mark: bytes) -> Iterator[str]:
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if mark in (entry / "environ").read_bytes():
                yield (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            pass  # it has ended; a zombie has no environment
