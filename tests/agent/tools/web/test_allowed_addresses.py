"""Only public addresses may be fetched, in whatever form they are written."""

from __future__ import annotations

import asyncio

import pytest

from bridle.agent.tools.web.allowed_addresses import (
    FetchError,
    WebAddress,
    is_private_allowed,
    is_public,
    is_same_site,
    parse_url,
    public_addresses,
    require_public_name,
)

# Other spellings of local hosts, which a proxy resolves.
HIDDEN = (
    "http://127.1/",
    "http://0x7f.1/",
    "http://2130706433/",
    "http://0177.0.0.1/",
    "http://127.0.0.1./",
    "http://localhost./",
    "http://metadata.google.internal./",
    "http://[::ffff:10.0.0.1]/",
)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://Example.COM", WebAddress("http", "example.com", 80, "/")),
        ("https://example.com:8443/a b?q=ü#part", WebAddress("https", "example.com", 8443, "/a%20b?q=%C3%BC")),
        ("https://bücher.example/%20", WebAddress("https", "xn--bcher-kva.example", 443, "/%20")),
        ("http://[2001:db8::1]:81/x", WebAddress("http", "2001:db8::1", 81, "/x")),
    ],
)
def test_a_url_is_parsed_as_it_is_sent(url: str, address: WebAddress) -> None:
    assert parse_url(url) == address
    assert parse_url(address.url) == address


def test_with_a_proxy_the_name_alone_decides() -> None:
    for url in (
        "http://10.0.0.1/",
        "http://localhost/",
        "http://printer/",
        "http://x.internal/",
        "http://[::1]/",
        *HIDDEN,
    ):
        with pytest.raises(FetchError):
            require_public_name(parse_url(url), {})
    require_public_name(parse_url("http://example.com/"), {})
    require_public_name(parse_url("http://93.184.216.34/"), {})
    require_public_name(parse_url("http://10.0.0.1/"), {"BRIDLE_WEB_PRIVATE_HOSTS": "*"})


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1:248:1893:25c8:1946", True),
        ("127.0.0.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("192.168.1.1", False),
        ("0.0.0.1", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::1", False),
        ("::", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:93.184.216.34", True),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
        ("::127.0.0.1", False),
        ("fec0::1", False),
        ("2001:db8::1", False),
        ("64:ff9b::5db8:d822", True),
        ("nonsense", False),
    ],
)
def test_an_address_is_public_only_if_the_whole_internet_could_reach_it(address: str, public: bool) -> None:
    assert is_public(address) is public


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("http://a.com/x", "http://a.com/y", True),
        ("http://a.com/x", "https://www.a.com/y", True),
        ("https://a.com/x", "http://a.com/y", False),
        ("https://a.com/x", "https://b.com/x", False),
        ("https://a.com/x", "https://a.com:8443/x", False),
        ("https://a.com/x", "https://a.com.b.com/x", False),
    ],
)
def test_a_site_is_the_same_only_on_the_same_or_the_safer_port(first: str, second: str, same: bool) -> None:
    assert is_same_site(parse_url(first), parse_url(second)) is same


def test_only_hosts_that_the_user_names_may_be_private() -> None:
    environment = {"BRIDLE_WEB_PRIVATE_HOSTS": "build.lan, LOCALHOST"}
    assert is_private_allowed("localhost", environment)
    assert is_private_allowed("build.lan", environment)
    assert not is_private_allowed("lan", environment)
    assert not is_private_allowed("localhost", {})


def test_a_name_that_resolves_to_this_machine_is_refused_unless_it_is_named() -> None:
    address = parse_url("http://localhost:9/")
    with pytest.raises(FetchError, match="BRIDLE_WEB_PRIVATE_HOSTS=localhost"):
        asyncio.run(public_addresses(address, {}))
    assert asyncio.run(public_addresses(address, {"BRIDLE_WEB_PRIVATE_HOSTS": "localhost"}))
