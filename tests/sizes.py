"""The one file of sizes: how much work the tests and benchmarks do.

`make test` runs at the size named `test`, `make soak` runs the tests that have a size at the one named `soak`.
A test that can do more or less of the same work reads a field of `SIZES`; no test has a number of its own. Every
property test has one: its examples.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields

VARIABLE = "BRIDLE_SIZES"


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Every size, with its unit in the name."""

    name: str
    """Which column of this file is in use."""
    hypothesis_examples: int
    """Examples that each property test tries."""
    fuzz_mutations: int
    """Mutated recordings that the fuzz target of `wire` decodes."""
    split_offsets_bytes: int
    """A recording up to this long is cut at every offset; of a longer one this many offsets are tried."""
    agents_side_by_side: int
    """Scripted agents that run at the same time with no event lost."""
    loud_child_bytes: int
    """What the loudest child prints to stdout in one run."""
    kill_points: int
    """Moments at which a run is killed to see that it ends the same afterwards."""
    power_cuts_at_each_moment: int
    """Ways in which a disk forgets what was not synced, tried after each step of a write."""
    changed_bytes_in_each_file: int
    """Bytes that are changed in each file of a run, one at a time, to see that an audit finds each."""
    random_kills: int
    """Times that a writer is killed at any moment and the run goes on."""
    rounds_between_kills: int
    """Rounds of commands and agents in a run whose driver is killed at any moment."""
    loop_tasks: int
    """Tasks of a plan whose run is killed again and again."""
    loop_kills: int
    """Times that everything which works on that plan is killed."""
    parallel_tasks: int
    """Tasks of the plan that two workers of a killed run do."""
    parallel_kills: int
    """Times that everything of it is killed."""
    git_kills: int
    """Moments before and after its git commands at which Bridle is killed beside a user's changes."""
    storm_posts: int
    """Results that each process of a storm posts to one run."""
    turns_in_one_process: int
    """Small turns that our own agent has in one process while its memory stays flat."""
    page_events: int
    """Events of a conversation that the browser scrolls through."""


TEST = Sizes(
    name="test",
    hypothesis_examples=100,
    fuzz_mutations=8_000,
    split_offsets_bytes=4_096,
    agents_side_by_side=100,
    loud_child_bytes=50_000_000,
    kill_points=12,
    power_cuts_at_each_moment=4,
    changed_bytes_in_each_file=2,
    random_kills=20,
    rounds_between_kills=8,
    loop_tasks=12,
    loop_kills=16,
    parallel_tasks=6,
    parallel_kills=8,
    git_kills=2,
    storm_posts=6,
    turns_in_one_process=500,
    page_events=10_000,
)
SOAK = Sizes(
    name="soak",
    hypothesis_examples=5_000,
    fuzz_mutations=1_000_000,
    split_offsets_bytes=1_000_000,
    agents_side_by_side=400,
    loud_child_bytes=500_000_000,
    kill_points=500,
    power_cuts_at_each_moment=60,
    changed_bytes_in_each_file=200,
    random_kills=500,
    rounds_between_kills=40,
    loop_tasks=50,
    loop_kills=100,
    parallel_tasks=20,
    parallel_kills=60,
    git_kills=100,
    storm_posts=100,
    turns_in_one_process=10_000,
    page_events=100_000,
)


def chosen(name: str) -> Sizes:
    """The sizes of that name; a name that nobody defined is refused."""
    for sizes in (TEST, SOAK):
        if sizes.name == name:
            return sizes
    raise ValueError(f"{VARIABLE}={name!r} names no sizes; use {TEST.name!r} or {SOAK.name!r}")


def described(sizes: Sizes) -> str:
    """One line for people: the name and every number."""
    numbers = (f"{field.name}={getattr(sizes, field.name):,}" for field in fields(sizes) if field.name != "name")
    return f"{sizes.name}: " + ", ".join(numbers)


SIZES = chosen(os.environ.get(VARIABLE) or TEST.name)
