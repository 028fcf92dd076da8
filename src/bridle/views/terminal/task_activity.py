"""The effect that is running for one task, with its agent's last text and tool calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bridle.loop import effects
from bridle.loop.effects import WorkArgs
from bridle.loop.progress_events import EffectStarted
from bridle.views.format_amounts import format_clock, format_usd
from bridle.views.terminal.run_lines import STRUCTURED_OUTPUT, AgentLines
from bridle.wire.events.blocks import Text, ToolResult, ToolUse
from bridle.wire.events.events import Assistant, Event, User
from bridle.wire.record.record import MAIN, Record
from bridle.wire.record.recorder import Recorder

Price = Callable[[Record, str], float | None]
"""Returns the cost of an agent's run so far, from its record and the agent's name."""


class TaskActivity:
    """One running effect."""

    def __init__(self, effect: EffectStarted, since: float, agent_lines: AgentLines, price: Price) -> None:
        self._effect = effect
        self._since, self._agent_lines, self._price = since, agent_lines, price
        self._recorder = Recorder()
        self._usd: float | None = None
        """About what the running agent has cost so far."""
        self._last_text = ""
        self._tools: dict[str, str] = {}

    @property
    def name(self) -> str:
        """What the effect does, such as `running the checks`."""
        return effects.ACTIONS.get(self._effect.args.kind, self._effect.args.kind)

    @property
    def resets_at(self) -> float | None:
        """When the account's usage limit resets, if the agent has printed it."""
        return self._recorder.record.resets_at

    def add_event(self, event: Event) -> None:
        """Add an event that the agent printed."""
        self._recorder.add(event)
        match event:
            case Assistant():
                agent = self._effect.args.agent if isinstance(self._effect.args, WorkArgs) else ""
                self._usd = self._price(self._recorder.record, agent)
                if event.parent_tool_use_id is MAIN:
                    self._add_blocks(event)
            case User():
                for result in event.message.blocks:
                    if isinstance(result, ToolResult):
                        self._tools.pop(result.tool_use_id, None)
            case _:
                return

    def lines(self, now: float) -> Iterator[tuple[str, str]]:
        """Yield the lines to show, each with the name of its style."""
        elapsed, args = format_clock(now - self._since), self._effect.args
        if not isinstance(args, WorkArgs):
            yield f"{self.name}, {elapsed}", ""
            return
        agent = f"{args.agent}, iteration {args.iteration}, {elapsed}"
        yield (f"{agent}, about {format_usd(self._usd)}" if self._usd else agent), "dim"
        tool = next(reversed(self._tools.values()), None)
        yield (f"> {tool}" if tool else self._last_text or "thinking"), "code" if tool else ""

    def _add_blocks(self, event: Assistant) -> None:
        """Remember the last text and the running tool calls."""
        for block in event.message.blocks:
            if isinstance(block, ToolUse) and block.name != STRUCTURED_OUTPUT:
                self._tools[block.id] = self._agent_lines.format_call(block)
            elif isinstance(block, Text) and block.text.strip():
                self._last_text = next(self._agent_lines.from_event(event), "")
