"""Lines of a pipe: cut wherever the chunks end, and never larger in memory than the limit."""

from __future__ import annotations

import pytest

from bridle.agent.mcp.transports.messages import Lines, decode
from bridle.agent.mcp.transports.remote import target_of


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_lines_do_not_depend_on_the_chunks(size: int) -> None:
    data, lines = b'{"a":1}\n\n{"b":2}\nrest', Lines()
    found = [line for start in range(0, len(data), size) for line in lines.feed(data[start : start + size])]
    assert found == [b'{"a":1}', b"", b'{"b":2}']


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_line_that_is_too_long_is_dropped_and_counted(size: int) -> None:
    data, lines = b"a" * 100 + b"\nshort\n" + b"b" * 11 + b"\nlast\n", Lines(limit_bytes=10)
    found = [line for start in range(0, len(data), size) for line in lines.feed(data[start : start + size])]
    assert found == [b"short", b"last"]
    assert lines.dropped == 2


def test_messages_come_alone_or_in_batches() -> None:
    assert decode(b'{"id":1}') == [{"id": 1}]
    assert decode(b'[{"id":1},{"id":2}]') == [{"id": 1}, {"id": 2}]
    assert decode(b"no json") == []
    assert decode(b"[" * 100_000) == []


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("http://h", "/"),
        ("http://h:8/mcp", "/mcp"),
        ("https://h/a/b/?k=1&l=/2", "/a/b/?k=1&l=/2"),
        ("http://h?k=1", "/?k=1"),
        ("http://h/a#part", "/a"),
    ],
)
def test_the_query_of_an_address_is_kept(url: str, target: str) -> None:
    assert target_of(url) == target
