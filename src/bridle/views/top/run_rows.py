"""The rows of the list of runs: cards as texts that fit a width. Pure."""

from __future__ import annotations

from msgspec import Struct

from bridle.loop.process.task_state import VERIFIED
from bridle.views.format_amounts import format_clock
from bridle.views.terminal.escape_controls import escape_line
from bridle.views.terminal.styled_lines import truncate
from bridle.wire.events.loose_json import JsonObject

# A state with its symbol and style; colour is never the only sign.
STATES = {
    "running": ("▸ running", "state.running"),
    "waiting": ("? waiting", "question"),
    "paused": ("‖ paused", "state.denied"),
    "limit": ("◔ limit", "state.denied"),
    "failed": ("✗ failed", "state.error"),
    "done": ("✓ done", "state.ok"),
    "interrupted": ("■ stopped", "state.interrupted"),
    "created": ("· created", "dim"),
    "undone": ("↶ undone", "dim"),
    "unreadable": ("! broken", "state.error"),
}
NEEDS_YOU = ("? needs you", "question")

_STATE_CELLS, _ITERATION_CELLS, _TIME_CELLS, _COST_CELLS = 11, 4, 7, 9
_FIXED_CELLS = _STATE_CELLS + _ITERATION_CELLS + _TIME_CELLS + _COST_CELLS
_GAP = 1
COLUMNS = ("state", "plan", "task", "iter", "doing", "time", "USD")


class RunRow(Struct, frozen=True):
    """A run of the list."""

    run: str
    style: str
    cells: tuple[str, ...]
    """As many as there are columns."""


def column_widths(width: int) -> tuple[int, ...]:
    """Return the widths of the columns; plan, task and tool share what the others leave."""
    free = max(15, width - _FIXED_CELLS - _GAP * len(COLUMNS))
    plan = free // 3
    task = free // 3
    return (_STATE_CELLS, plan, task, _ITERATION_CELLS, free - plan - task, _TIME_CELLS, _COST_CELLS)


def run_row(card: JsonObject, *, needs_user: bool, now: float, width: int) -> RunRow:
    """Return the row of a run at a time."""
    state, style = NEEDS_YOU if needs_user else STATES.get(card["state"], (card["state"], ""))
    doing = card["now"] or {}
    texts = (
        state,
        card["plan"] or card["run"],
        doing.get("task") or _task_summary(card),
        _iteration(card),
        doing.get("tool") or (card["last_text"] or "") or card["reason"],
        format_clock(elapsed_seconds(card, now)),
        format_cost(card),
    )
    cells = tuple(
        truncate(escape_line(str(text)), room) for text, room in zip(texts, column_widths(width), strict=True)
    )
    return RunRow(card["run"], style, cells)


def elapsed_seconds(card: JsonObject, now: float) -> float:
    """Return how long a run was driven; while it is, also since its driver began."""
    driver = card["driver"]
    since = driver["since"] if driver else None
    return float(card["seconds"] or 0.0) if since is None else max(float(card["seconds"] or 0.0), now - since)


def format_cost(card: JsonObject) -> str:
    """Format what a run has cost against its limit, in USD: `0.42/20`."""
    limit = (card["limits"] or {}).get("max_cost_usd") or (card["limits"] or {}).get("cost_usd")
    spent = "?" if card["cost_usd"] is None else f"{card['cost_usd']:.2f}"
    return f"{spent}/{limit:g}" if isinstance(limit, int | float) else spent


def _iteration(card: JsonObject) -> str:
    now = card["now"] or {}
    number = now.get("iteration") or card.get("iterations")
    return "" if number is None else str(number)


def _task_summary(card: JsonObject) -> str:
    tasks = card["tasks"]
    done = sum(task["verdict"] in VERIFIED for task in tasks)
    return f"{done} of {len(tasks)} tasks" if tasks else ""
