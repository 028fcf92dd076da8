"""Entries about what an agent or a check tried and Bridle refused: results of effects, commands that steer a run."""

from __future__ import annotations

from bridle.ground.light.abc_names import Iterable
from bridle.journal.format.entries import COMMAND_REFUSED, RESULT_REFUSED, Data, Effect, Entry


def refused_result(effect: Effect) -> Data:
    """Return the data of the entry that refuses the result of an effect."""
    request, resolution = effect.request, effect.resolution
    return {
        "effectId": effect.effect_id,
        "kind": effect.kind,
        "requestSeq": request.seq,
        "requestUlid": request.ulid,
        "seq": None if resolution is None else resolution.seq,
    }


def describe_refusals(notes: Iterable[Entry]) -> list[str]:
    """Return a line for each kind of result and each command that was refused."""
    counts: dict[str, int] = {}
    for entry in notes:
        if entry.type == RESULT_REFUSED:
            line = f"a result of {entry.text('kind')} that the driver did not write was ignored"
        elif entry.type == COMMAND_REFUSED:
            line = f"an agent or a check called bridle {entry.text('command')}, which was refused"
        else:
            continue
        counts[line] = counts.get(line, 0) + 1
    return [line if count == 1 else f"{line} ({count} times)" for line, count in counts.items()]
