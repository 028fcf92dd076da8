"""What a driver returns: the state of the run when the driver ends, and why it ends."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from bridle.engine import inbox
from bridle.engine.drive import performer
from bridle.engine.iterate.iteration_report import Action, Iteration
from bridle.errors import Error

WAITING = "waiting"
LIMIT = performer.LIMIT
UNUSABLE = performer.UNUSABLE
PAUSED = "paused"


class DriveResult(Struct, frozen=True):
    """The state of the run when the driver ends."""

    status: str
    """`completed`, `failed`, `halted`, `none`, `waiting`, `paused`, `limit` or `unusable`."""
    iteration: Iteration
    performed: int
    """How many effects this driver resolved."""
    cost_usd: float | None
    """The cost of their agents; None where one of them is not known."""
    known_cost_usd: float
    """The known part of it."""
    questions: tuple[inbox.Question, ...] = ()
    """The questions that wait for the user."""
    unsupported: tuple[Action, ...] = ()
    """Effects of kinds without a performer; another program must post their results."""
    error: Error | None = None
    """The limit that was reached, or why the agent cannot be used."""
    process_state: Any = None
    """What the process reports about itself; None if results have arrived that it has not received."""
