"""The comparison sees a change of any one field of ours, whatever the event."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.fixtures.bridle_program import BRIDLE_AGENT as AGENT
from tests.real.fixtures.installed_programs import claude_program
from tests.real.side_by_side.catalogue import scenarios
from tests.real.side_by_side.compare import differences, shape
from tests.real.side_by_side.listed import Listed, listed, unlisted, vanished
from tests.real.side_by_side.normalise import NUMBERS, VERSIONS, WORDS
from tests.real.side_by_side.play import Seen, kind_of, play
from tests.real.side_by_side.scenario import Scenario

# In one worker: the programs are run once for all of these tests.
pytestmark = [pytest.mark.real, pytest.mark.xdist_group("side-by-side mutations")]

SCENARIOS = scenarios()
# Between them they have an event of every kind.
NAMES = (
    "partial messages with a thought",
    "too many requests, then an answer",
    "another model after overloads",
    "a refusal",
    "work in the background that ends",
    "initialize, and an unknown request",
    "messages are echoed",
    "in form after wrong data",
    "two turns at most",
)
KINDS = {
    "system/init",
    "system/status",
    "system/thinking_tokens",
    "system/api_retry",
    "system/model_fallback",
    "system/model_refusal_no_fallback",
    "system/task_started",
    "system/task_updated",
    "system/task_notification",
    "stream_event",
    "assistant",
    "user",
    "result",
    "control_response",
}
# What differs from run to run is not compared, but that it is there and of its type is.
UNCOMPARED = NUMBERS | VERSIONS | WORDS


@dataclass(frozen=True)
class Pair:
    """What the real program gave in one scenario, and what ours did."""

    scenario: Scenario
    real: dict[str, Any]
    ours: Seen
    rows: list[Listed]

    def surprises(self, ours: Seen) -> list[Any]:
        """What would differ beyond what is listed, and what is listed and would not differ, if ours had been this."""
        found = differences(self.real, shape(self.scenario, ours))
        name = self.scenario.name
        return [*unlisted(found, self.rows, name), *vanished(found, self.rows, name)]

    def events_only(self) -> Pair:
        """The same without the requests, which take longer to compare than all the rest."""
        real = {**self.real, "request": []}
        ours = replace(self.ours, requests=())
        return Pair(self.scenario, real, ours, [row for row in self.rows if row.path.startswith("start")])


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> list[Pair]:
    found = []
    for scenario in (SCENARIOS[name] for name in NAMES):
        folder = tmp_path_factory.mktemp("pair")
        real = shape(scenario, play(claude_program(), scenario, folder / "real"))
        found.append(Pair(scenario, real, play(AGENT, scenario, folder / "ours"), listed()))
    return found


def test_the_comparison_sees_a_change_in_any_field(
    pairs: list[Pair], record_property: Callable[[str, object], None]
) -> None:
    kinds, tried, missed = set(), 0, []
    for pair in (pair.events_only() for pair in pairs):
        assert pair.surprises(pair.ours) == []
        for place, event in first_of_each_kind(pair.ours):
            kinds.add(kind_of(event))
            for path, changed in mutations(event):
                tried += 1
                if not pair.surprises(with_event(pair.ours, place, changed)):
                    missed.append(f"{pair.scenario.name}: {kind_of(event)} {path}")
    assert missed == []
    assert kinds >= KINDS
    record_property("count", f"fields changed and seen by the side-by-side comparison: {tried:,}")


def test_the_comparison_sees_an_event_that_is_missing_doubled_or_moved(pairs: list[Pair]) -> None:
    missed = []
    for pair in (pair.events_only() for pair in pairs):
        events = pair.ours.starts[0].events
        for place in range(len(events)):
            without = events[:place] + events[place + 1 :]
            twice = events[: place + 1] + events[place:]
            moved = (*without[:-1], events[place], *without[-1:]) if place < len(events) - 1 else events[-1:] + without
            for what, changed in (("missing", without), ("twice", twice), ("moved", moved)):
                if changed != events and not pair.surprises(with_events(pair.ours, changed)):
                    missed.append(f"{pair.scenario.name}: {what}: {kind_of(events[place])}")
    assert missed == []


@pytest.mark.parametrize(
    "changes",
    [{"exit_code": 7}, {"stderr": "a word"}, {"left_behind": True}, {"stdout": "not an event\n"}],
    ids=lambda changes: next(iter(changes)),
)
def test_the_comparison_sees_another_end(changes: dict[str, Any], pairs: list[Pair]) -> None:
    for pair in pairs:
        changed = replace(pair.ours, starts=(replace(pair.ours.starts[0], **changes),))
        assert pair.surprises(changed) != []


def test_the_comparison_sees_another_request(pairs: list[Pair]) -> None:
    pair = pairs[0]
    [request] = pair.ours.requests
    [*first, last] = request["messages"]
    changes: list[dict[str, Any]] = [
        {"model": "claude-other"},
        {"max_tokens": 1},
        {"thinking": {"type": "disabled"}},
        {"output_config": {"effort": "other"}},
        {"tool_choice": {"type": "any"}},
        {"stream": False},
        {"tools": request["tools"][1:]},
        {"tools": [{**request["tools"][0], "input_schema": {"type": "object"}}, *request["tools"][1:]]},
        {"messages": [*first, {**last, "content": [*last["content"], {"type": "text", "text": "more"}]}]},
        {"messages": [*first, last, {"role": "assistant", "content": "more"}]},
    ]
    missed = [change for change in changes if not pair.surprises(replace(pair.ours, requests=({**request, **change},)))]
    assert missed == []
    assert pair.surprises(replace(pair.ours, requests=()))
    assert pair.surprises(replace(pair.ours, requests=(request, request)))


def test_the_comparison_sees_another_file(pairs: list[Pair]) -> None:
    pair = pairs[0]
    assert pair.surprises(replace(pair.ours, files={**pair.ours.files, "made.txt": "644 x"}))


def first_of_each_kind(seen: Seen) -> Iterator[tuple[int, dict[str, Any]]]:
    """The first event of each kind, and the last, which may have other fields."""
    events = list(enumerate(seen.starts[0].events))
    firsts = {kind_of(event): place for place, event in reversed(events)}
    lasts = {kind_of(event): place for place, event in events}
    for place in sorted({*firsts.values(), *lasts.values()}):
        yield place, events[place][1]


def mutations(event: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The event with one field removed, and with one field changed, for every field at any depth."""
    for path in fields(event):
        for change in (removed, changed_type) if path[-1] in UNCOMPARED else (removed, changed_type, changed_value):
            other = copy.deepcopy(event)
            holder: Any = other
            for step in path[:-1]:
                holder = holder[step]
            change(holder, path[-1])
            yield f"{change.__name__} {'.'.join(map(str, path))}", other


def fields(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from fields(item, (*path, key))


def removed(holder: Any, key: Any) -> None:
    del holder[key]


def changed_type(holder: Any, key: Any) -> None:
    holder[key] = ["another type"]


def changed_value(holder: Any, key: Any) -> None:
    value = holder[key]
    if isinstance(value, bool):
        holder[key] = not value
    elif isinstance(value, int | float):
        holder[key] = value + 1
    elif isinstance(value, str):
        holder[key] = f"{value} changed"
    else:
        holder[key] = {"another": "value"}


def with_event(seen: Seen, place: int, event: dict[str, Any]) -> Seen:
    events = seen.starts[0].events
    return with_events(seen, (*events[:place], event, *events[place + 1 :]))


def with_events(seen: Seen, events: tuple[dict[str, Any], ...]) -> Seen:
    return replace(seen, starts=(replace(seen.starts[0], events=events),))
