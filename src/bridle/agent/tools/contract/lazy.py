"""A tool that is loaded when it is first called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bridle.agent.tools.contract.declarations import Declaration
from bridle.agent.tools.contract.tool import Answer, Tool


class Late:
    """Introduces a tool, and makes it at the first call."""

    def __init__(self, declaration: Declaration, make: Callable[[], Tool]) -> None:
        self.name, self.description, self.schema = declaration
        self._make = make
        self._tool: Tool | None = None

    async def run(self, arguments: Mapping[str, Any], *, call_id: str) -> Answer:
        """Hand the call to the tool."""
        if self._tool is None:
            self._tool = self._make()
        return await self._tool.run(arguments, call_id=call_id)
