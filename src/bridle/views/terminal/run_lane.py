"""What is being done for one task at this moment: an effect, and what its agent says and calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bridle.loop import effects
from bridle.loop.progress_events import EffectStarted
from bridle.views.format_amounts import clock, money
from bridle.views.terminal.run_lines import STRUCTURED_OUTPUT, AgentWords
from bridle.wire.events.blocks import Text, ToolResult, ToolUse
from bridle.wire.events.events import Assistant, Event, User
from bridle.wire.record.record import MAIN, Record
from bridle.wire.record.recorder import Recorder

Price = Callable[[Record, str], float | None]
"""What an agent's run has cost so far; the name is the agent's."""

_WORDS = {
    effects.PREPARE: "making the branch",
    effects.CHECK: "running the checks",
    effects.PROTECT: "looking at what was changed",
    effects.COMMIT: "committing",
    effects.ROLLBACK: "taking its work back",
    effects.TAKE: "making a worktree ready",
    effects.KEEP: "keeping its work",
    effects.MERGE: "merging it with what has landed",
    effects.LAND: "landing it",
    effects.SUMMARIZE: "folding the progress into a summary",
}


class Lane:
    """One effect under way."""

    def __init__(self, doing: EffectStarted, since: float, words: AgentWords, price: Price) -> None:
        self.doing = doing
        self._since, self._words, self._price = since, words, price
        self._facts = Recorder()
        self._usd: float | None = None
        """What the agent at work has cost so far, about."""
        self._said = ""
        self._tools: dict[str, str] = {}

    @property
    def name(self) -> str:
        """What is being done, in words."""
        return _WORDS.get(self.doing.kind, self.doing.kind)

    @property
    def resets_at(self) -> float | None:
        """When the account's limit is lifted, as far as the agent has told."""
        return self._facts.record.resets_at

    def see(self, event: Event) -> None:
        """Take in what the agent printed."""
        self._facts.add(event)
        match event:
            case Assistant():
                self._usd = self._price(self._facts.record, str(self.doing.args.get("agent") or ""))
                if event.parent_tool_use_id is MAIN:
                    self._hear(event)
            case User():
                for result in event.message.blocks:
                    if isinstance(result, ToolResult):
                        self._tools.pop(result.tool_use_id, None)
            case _:
                return

    def lines(self, now: float) -> Iterator[tuple[str, str]]:
        """What a person sees of it: words, and the name of their style."""
        took, args = clock(now - self._since), self.doing.args
        if self.doing.kind != effects.WORK:
            yield f"{self.name}, {took}", ""
            return
        agent = f"{args.get('agent')}, iteration {args.get('iteration')}, {took}"
        yield (f"{agent}, about {money(self._usd)}" if self._usd else agent), "dim"
        tool = next(reversed(self._tools.values()), None)
        yield (f"> {tool}" if tool else self._said or "thinking"), "code" if tool else ""

    def _hear(self, event: Assistant) -> None:
        """Remember the last words and the tools at work."""
        for block in event.message.blocks:
            if isinstance(block, ToolUse) and block.name != STRUCTURED_OUTPUT:
                self._tools[block.id] = self._words.call(block)
            elif isinstance(block, Text) and block.text.strip():
                self._said = next(self._words.of(event), "")
