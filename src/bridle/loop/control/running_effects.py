"""What a driver executes now: task, agent, and the tool that it calls; from journal and logs."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from bridle.engine.entries import effect_attempts
from bridle.ground import clock, disk
from bridle.journal.format.entries import Effect
from bridle.journal.format.state import State
from bridle.journal.stores.store import Store
from bridle.loop import effects
from bridle.loop.performers.earlier_attempts import InterruptedEffect, InterruptedWork
from bridle.loop.process.receipt import RunningEffect

if TYPE_CHECKING:
    from bridle.wire.events.events import Event
    from bridle.wire.mask import Mask

# The end of a log that is read for the call that runs.
_TAIL_BYTES = 64 * 1024
# The call by which an agent answers in a schema says nothing.
_STRUCTURED_OUTPUT = "StructuredOutput"


def running_effects(store: Store, interrupted: InterruptedWork, mask: Mask) -> tuple[RunningEffect, ...]:
    """Return the started effects without a result, the oldest first; they run if a driver does."""
    state = store.state()
    since = _started_at(state)
    return tuple(
        _describe(store, effect, since[effect.effect_id], interrupted.effects.get(effect.effect_id), mask)
        for effect in state.pending
        if effect.effect_id in since and effect.kind in effects.ACTIONS
    )


def _started_at(state: State) -> dict[str, str]:
    """Return when each effect was started last, by its id."""
    started = (entry for entry in state.notes if entry.type == effect_attempts.STARTED)
    return {str(entry.data.get("effectId")): entry.recorded_at for entry in started}


def _describe(store: Store, effect: Effect, since: str, known: InterruptedEffect | None, mask: Mask) -> RunningEffect:
    args = store.task(effect).inputs
    action = effects.ACTIONS[effect.kind]
    if effect.kind != effects.WORK:
        task = args.get("task") if isinstance(args, dict) else None
        title = task if isinstance(task, str) else None
        return RunningEffect(action=action, task=title, since=since, seconds=_seconds_since(since))
    work = effects.WorkArgs.from_json(args)
    tool, text = ("", "") if known is None or known.log is None else last_activity(known.log, work.agent, mask)
    return RunningEffect(
        action=action,
        task=work.task,
        iteration=work.iteration,
        agent=work.agent,
        tool=tool,
        text=text,
        since=since,
        seconds=_seconds_since(since),
        cost_usd=None if known is None else known.usage.total_cost_usd,
    )


def _seconds_since(moment: str) -> float:
    return round(max(0.0, (clock.now() - datetime.fromisoformat(moment)).total_seconds()), 3)


def last_activity(log: Path, agent: str, mask: Mask) -> tuple[str, str]:
    """Return the tool call that runs and the last text of the agent, each as a line, or an empty text."""
    from bridle.errors import UserError
    from bridle.wire.dialects.dialect_table import DEFAULT_AGENT, decoder_for

    data = disk.read_part(log, _TAIL_BYTES, from_end=True, follow_links=False) or b""
    whole = data if len(data) < _TAIL_BYTES else data.partition(b"\n")[2]
    try:
        decoder = decoder_for(agent)
    except UserError:
        decoder = decoder_for(DEFAULT_AGENT)
    return _activity_of([*decoder.feed(whole), *decoder.end()], mask)


def _activity_of(events: Iterable[Event], mask: Mask) -> tuple[str, str]:
    from bridle.wire.events.blocks import Text, ToolResult, ToolUse
    from bridle.wire.events.events import Assistant, User
    from bridle.wire.transcript.call_summary import SUMMARY_CHARACTERS, summarize_call
    from bridle.wire.transcript.clip import Clip

    calls: dict[str, ToolUse] = {}
    text = ""
    for event in events:
        if not isinstance(event, (Assistant, User)) or event.parent_tool_use_id is not None:
            continue
        for block in event.message.blocks:
            if isinstance(block, ToolUse) and block.name != _STRUCTURED_OUTPUT:
                calls[block.id] = block
            elif isinstance(block, ToolResult):
                calls.pop(block.tool_use_id, None)
            elif isinstance(block, Text) and isinstance(event, Assistant) and block.text.strip():
                text = block.text
    clip = Clip(mask)
    call = next(reversed(calls.values()), None)
    tool = "" if call is None else mask.apply(f"{call.name} {summarize_call(call, clip)}".rstrip())
    return tool, clip.line(text, SUMMARY_CHARACTERS)
