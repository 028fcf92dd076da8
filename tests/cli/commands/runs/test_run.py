"""The options of `bridle run` that need one another. What runs do is in tests/loop."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from bridle.cli.user_interface.options import amount
from tests.fixtures.bridle_program import run_bridle


def test_a_draft_without_a_pull_request_is_refused_before_anything_starts(tmp_path: Path) -> None:
    done = run_bridle("run", "PLAN.md", "--draft", cwd=tmp_path)
    assert done.returncode == 2
    assert "--draft needs --pr" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["5", "$5", "5 USD", "5.00"])
def test_an_amount_is_read_as_users_write_it(text: str) -> None:
    assert amount(text) == 5.0


def test_an_amount_that_is_none_names_what_to_write() -> None:
    with pytest.raises(click.BadParameter, match=r"'much' is not an amount in USD, such as 5 or 0\.50"):
        amount("much")
