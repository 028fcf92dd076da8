"""Events of a running run, for displays. Pure.

A listener is only notified: a run behaves the same whether it has one or not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from bridle.loop.effect_results import Result
from bridle.loop.effects import Arguments
from bridle.wire.events.events import Event


@dataclass(frozen=True)
class EffectStarted:
    """An effect begins."""

    args: Arguments[Any]


@dataclass(frozen=True)
class EffectFinished:
    """An effect has its result, which is about to be recorded; no secret is in it."""

    args: Arguments[Any]
    result: Result


@dataclass(frozen=True)
class AgentPrinted:
    """The agent of a task printed an event, which is neither masked nor cut."""

    task: str
    event: Event


Progress: TypeAlias = EffectStarted | EffectFinished | AgentPrinted
Listener: TypeAlias = Callable[[Progress], None]


def unwatched(_progress: Progress) -> None:
    """Ignore an event."""
