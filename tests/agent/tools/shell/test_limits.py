from __future__ import annotations

import pytest

from bridle.agent.tools.shell.limits import CommandLimits, limits_from_environment


def test_an_empty_environment_gives_the_defaults() -> None:
    assert limits_from_environment({}) == CommandLimits(120.0, 600.0, 30_000, 32_000, has_background=True)


def test_the_environment_sets_each_of_them() -> None:
    given = {
        "BASH_DEFAULT_TIMEOUT_MS": "5000",
        "BASH_MAX_TIMEOUT_MS": "7000",
        "BASH_MAX_OUTPUT_LENGTH": "1000",
        "TASK_MAX_OUTPUT_LENGTH": "2000",
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    }
    assert limits_from_environment(given) == CommandLimits(5.0, 7.0, 1000, 2000, has_background=False)


@pytest.mark.parametrize("nonsense", ["", "abc", "-5", "0", "1e9", "٣", "12.5"])
def test_nonsense_counts_as_not_set(nonsense: str) -> None:
    names = ("BASH_DEFAULT_TIMEOUT_MS", "BASH_MAX_TIMEOUT_MS", "BASH_MAX_OUTPUT_LENGTH", "TASK_MAX_OUTPUT_LENGTH")
    assert limits_from_environment(dict.fromkeys(names, nonsense)) == CommandLimits()


def test_a_default_above_the_maximum_raises_the_maximum_and_outputs_have_a_bound() -> None:
    limits = limits_from_environment({"BASH_DEFAULT_TIMEOUT_MS": "900000", "BASH_MAX_OUTPUT_LENGTH": "99999999"})
    assert limits.max_timeout_seconds == 900
    assert limits.output_characters == 150_000


@pytest.mark.parametrize(
    ("asked_ms", "seconds"),
    [
        (None, 120),
        (0, 120),
        (-5, 120),
        (float("nan"), 120),
        (500, 0.5),
        (600_000, 600),
        (9_999_999, 600),
        (float("inf"), 600),
    ],
)
def test_a_call_gets_the_time_it_asks_for_up_to_the_maximum(asked_ms: float | None, seconds: float) -> None:
    assert CommandLimits().timeout_seconds(asked_ms) == seconds
