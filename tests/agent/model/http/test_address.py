"""An address is parsed into its parts; an invalid one is refused without its password."""

from __future__ import annotations

import pytest

from bridle.agent.model.http.address import Address, parse_address
from bridle.errors import UsageError


@pytest.mark.parametrize(
    ("url", "address", "netloc"),
    [
        ("http://a", Address("http", "a", 80, ""), "a"),
        ("HTTPS://a:8443/v1/?q#part", Address("https", "a", 8443, "/v1"), "a:8443"),
        (" https://a:443/ ", Address("https", "a", 443, ""), "a"),
        ("http://[::1]:81/x", Address("http", "::1", 81, "/x"), "[::1]:81"),
        ("http://u:p%40@a", Address("http", "a", 80, "", "u:p@"), "a"),
        ("http://u:p@q@a", Address("http", "a", 80, "", "u:p@q"), "a"),
    ],
)
def test_an_address_has_its_parts(url: str, address: Address, netloc: str) -> None:
    assert parse_address(url) == address
    assert address.netloc == netloc


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com",
        "ftp://example.com",
        "http://",
        "http://:80",
        "http://a:0",
        "http://a:99999",
        "http://a:b",
        "http://a b",
    ],
)
def test_an_address_that_is_invalid_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        parse_address(url)


@pytest.mark.parametrize("url", ["ftp://u:secret@a", "http://u:secret@a:0", "http://u:secret@a b", "http://u:s@ecret@"])
def test_an_error_has_no_password(url: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_address(url)
    assert "ecret" not in str(refused.value)
