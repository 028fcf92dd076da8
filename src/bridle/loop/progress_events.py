"""Events of a running run, for displays. Pure.

A listener is only notified: a run behaves the same whether it has one or not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import Struct

from bridle.loop.effect_results import Result
from bridle.loop.effects import Arguments
from bridle.wire.events.events import Event


class EffectStarted(Struct, frozen=True):
    """An effect begins."""

    args: Arguments[Any]


class EffectFinished(Struct, frozen=True):
    """An effect has its result, which is about to be recorded; no secret is in it."""

    args: Arguments[Any]
    result: Result


class AgentPrinted(Struct, frozen=True):
    """The agent of a task printed an event, which is neither masked nor cut."""

    task: str
    event: Event


Progress: TypeAlias = EffectStarted | EffectFinished | AgentPrinted
Listener: TypeAlias = Callable[[Progress], None]


def unwatched(_progress: Progress) -> None:
    """Ignore an event."""
