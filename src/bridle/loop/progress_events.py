"""What can be seen of a run while it is under way: a stream of small values, for whoever shows it. Pure.

It is told and never asked: a run goes the same way whether somebody watches it or not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from bridle.wire.events.events import Event


@dataclass(frozen=True)
class EffectStarted:
    """An effect is being performed from now on."""

    kind: str
    """One of `kinds.PERFORMED`."""
    args: Mapping[str, Any]


@dataclass(frozen=True)
class EffectFinished:
    """It has its value, which is in the journal in a moment; no secret is in it."""

    kind: str
    args: Mapping[str, Any]
    value: Mapping[str, Any]


@dataclass(frozen=True)
class AgentPrinted:
    """The agent at work on a task printed this; as it came, with whatever is in it."""

    task: str
    event: Event


Progress: TypeAlias = EffectStarted | EffectFinished | AgentPrinted
Listener: TypeAlias = Callable[[Progress], None]


def unwatched(_progress: Progress) -> None:
    """Where nobody looks."""
