"""Which numbers a sandboxed child's input and output get. What it does with them is in tests/run/isolation."""

from __future__ import annotations

import pytest

from bridle.ground.children.sandbox_stdio import MovedStdio, choose_numbers, make_mark


def test_numbers_are_those_that_nothing_uses() -> None:
    assert choose_numbers((0, 1, 2), {}) == MovedStdio(3, 4, 5)
    assert choose_numbers((3, 5, 20), {"PATH": "/bin"}) == MovedStdio(4, 6, 7)


@pytest.mark.parametrize(("used", "names"), [(range(3, 8), ("PATH",)), ((), ("a-b",)), ((), ("é",))])
def test_nothing_is_moved_where_a_shell_cannot_do_it(used: range, names: tuple[str, ...]) -> None:
    assert choose_numbers(used, dict.fromkeys(names, "")) is None


def test_every_start_has_a_mark_of_its_own() -> None:
    assert make_mark() != make_mark()
