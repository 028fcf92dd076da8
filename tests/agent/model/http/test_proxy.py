"""The proxy of a host is found in the usual variables, with their exceptions."""

from __future__ import annotations

import pytest

from bridle.agent.model.http.address import parse_address
from bridle.agent.model.http.proxy import proxy_for
from bridle.errors import UsageError


@pytest.mark.parametrize(
    ("exception", "host", "straight"),
    [
        ("*", "example.com", True),
        ("example.com", "example.com", True),
        ("example.com", "api.example.com", True),
        (".example.com", "api.example.com", True),
        ("*.example.com", "api.example.com", True),
        ("example.com", "badexample.com", False),
        ("EXAMPLE.com", "example.com", True),
        ("localhost,127.0.0.1", "127.0.0.1", True),
        ("localhost 127.0.0.1", "127.0.0.1", True),
        ("127.0.0.0/8", "127.3.4.5", True),
        ("127.0.0.0/8", "example.com", False),
        ("10.0.0.0/8", "127.0.0.1", False),
        ("example.com:8080", "example.com", False),
        ("example.com:443", "example.com", True),
        ("[::1]", "[::1]", True),
        ("::1", "[::1]", True),
        ("", "example.com", False),
    ],
)
def test_the_exceptions_of_a_proxy(exception: str, host: str, straight: bool) -> None:
    proxy = proxy_for(parse_address(f"https://{host}"), {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": exception})
    assert (proxy is None) is straight


@pytest.mark.parametrize(
    ("environment", "host"),
    [
        ({"HTTPS_PROXY": "http://a"}, "a"),
        ({"https_proxy": "http://b", "HTTPS_PROXY": "http://a"}, "b"),
        ({"ALL_PROXY": "c:3128"}, "c"),
        ({"HTTPS_PROXY": "http://a", "ALL_PROXY": "http://c"}, "a"),
        ({"HTTP_PROXY": "http://a"}, None),
        ({"HTTPS_PROXY": ""}, None),
        ({}, None),
    ],
)
def test_the_variable_of_the_scheme_goes_before_that_of_all(environment: dict[str, str], host: str | None) -> None:
    proxy = proxy_for(parse_address("https://example.com"), environment)
    assert (None if proxy is None else proxy.address.host) == host


def test_credentials_are_sent_decoded() -> None:
    proxy = proxy_for(parse_address("https://x"), {"HTTPS_PROXY": "http://user:pass%20word@a:1"})
    assert proxy is not None
    assert proxy.authorization == "Basic dXNlcjpwYXNzIHdvcmQ="


@pytest.mark.parametrize(
    "url", ["socks5://user:secret@a:1080", "http://user:secret@a:x", "http://user:secret@", "u:s@ecret@a:0"]
)
def test_an_error_names_the_variable_and_no_password(url: str) -> None:
    with pytest.raises(UsageError, match="HTTPS_PROXY is not a usable proxy") as refused:
        proxy_for(parse_address("https://x"), {"HTTPS_PROXY": url})
    assert "ecret" not in str(refused.value)
