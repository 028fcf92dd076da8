"""A desk for the tools of files: a folder, a memory, and calls as a model makes them."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bridle.agent.tools.arguments import validate_arguments
from bridle.agent.tools.contract.tool import Tool, ToolResult, run_tool
from bridle.agent.tools.file_tools import file_tools
from bridle.agent.tools.files.known_files import FileMemory
from bridle.agent.tools.web.fetch_tool import Digest

MEASURED = Path(__file__).parent / "measured"
# No call of these tests takes more than seconds: this is a hang.
HANG_SECONDS = 60.0


@dataclass
class Desk:
    """Where the calls are made."""

    folder: Path
    memory: FileMemory = field(default_factory=FileMemory)
    environment: Mapping[str, str] = field(default_factory=dict)
    results_folder: Path | None = None
    digest: Digest | None = None
    is_hidden: Callable[[str], bool] = lambda _path: False

    def __post_init__(self) -> None:
        """Make the tools once: they share the memory."""
        made = file_tools(
            lambda: self.folder,
            self.memory,
            environment=self.environment,
            results_folder=self.results_folder,
            digest=self.digest,
            is_hidden=self.is_hidden,
        )
        self.tools: dict[str, Tool] = {tool.name: tool for tool in made}

    def call(self, name: str, /, **arguments: Any) -> ToolResult:
        """Make one call, to its end."""
        return asyncio.run(self.calling(name, **arguments))

    async def calling(self, name: str, /, **arguments: Any) -> ToolResult:
        """Make one call inside a loop."""
        tool = self.tools[name]
        checked = validate_arguments(name, tool.schema, arguments)
        if isinstance(checked, ToolResult):
            return checked
        async with asyncio.timeout(HANG_SECONDS):
            return await run_tool(tool, checked, call_id="toolu_01")

    def text(self, name: str, /, **arguments: Any) -> str:
        """What the model reads."""
        content = self.call(name, **arguments).content
        assert isinstance(content, str)
        return content

    def error(self, name: str, /, **arguments: Any) -> str:
        """What the model reads of a call that must not work."""
        answer = self.call(name, **arguments)
        assert answer.is_error
        assert isinstance(answer.content, str)
        return answer.content


def lay_out(folder: Path, files: Mapping[str, Mapping[str, Any]]) -> None:
    """Make the files that a measurement began with."""
    for name, made in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if "link" in made:
            path.symlink_to(made["link"])
        elif "folder" in made:
            path.mkdir(exist_ok=True)
        else:
            path.write_bytes(base64.b64decode(made["base64"]) if "base64" in made else made["text"].encode())
            path.chmod(int(made.get("mode", "644"), 8))


def at_home(value: Any, folder: Path) -> Any:
    """A measured value with this test's folder in the place of the one that it was measured in."""
    return json.loads(json.dumps(value).replace("{cwd}", str(folder)).replace("/workspace/demo", str(folder)))


def do(folder: Path, act: str, name: str, text: str = "") -> None:
    """What somebody else did to a file between two calls."""
    path = folder / name
    if act == "append":
        path.write_bytes(path.read_bytes() + text.encode())
    elif act == "touch":
        state = path.stat()
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns + 1_000_000_000))
    else:
        path.unlink()


def left_behind(folder: Path) -> list[str]:
    """Temporary files of ours that are still there."""
    return [path.name for path in folder.rglob(".bridle-*")]
