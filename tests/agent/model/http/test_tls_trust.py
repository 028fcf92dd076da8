"""Whom a secure connection trusts: the system, a named authority, and one of a company that is not strict."""

from __future__ import annotations

import asyncio
import os
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from bridle.agent.model.http.address import parse_address
from bridle.agent.model.http.http_client import HttpClient
from bridle.agent.model.http.tls_trust import tls_context
from tests.agent.fixtures.loopback_server import (
    AUTHORITY,
    CORPORATE_AUTHORITY,
    PATIENCE_SECONDS,
    answering,
    ok,
    serving,
)

ROOT = Path(__file__).parents[4]


async def fetch(port: int, environment: dict[str, str]) -> int:
    client = HttpClient(parse_address(f"https://localhost:{port}"), environment)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS), client.request("GET", "/", {}, b"") as response:
            await response.read(100)
            return response.status
    finally:
        client.close()


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"])
def test_an_authority_of_a_company_that_is_not_strict_is_trusted_where_it_is_named(variable: str) -> None:
    async def main() -> None:
        async with serving(answering(ok(b"x")), tls=True, certificate="corporate-server.pem") as server:
            assert await fetch(server.port, {variable: str(CORPORATE_AUTHORITY)}) == 200

    asyncio.run(main())


def test_that_authority_is_one_that_strict_verification_refuses() -> None:
    async def main() -> None:
        strict = ssl.create_default_context(cafile=str(CORPORATE_AUTHORITY))
        strict.verify_flags |= ssl.VERIFY_X509_STRICT
        async with serving(answering(ok(b"x")), tls=True, certificate="corporate-server.pem") as server:
            with pytest.raises(ssl.SSLCertVerificationError):
                await asyncio.open_connection("localhost", server.port, ssl=strict)

    asyncio.run(main())


# The system's store is that of the process: OpenSSL reads these variables itself.
IN_A_PROCESS = """
import asyncio, sys
from tests.agent.model.http.test_tls_trust import fetch
print(asyncio.run(fetch(int(sys.argv[1]), {})))
"""


@pytest.mark.parametrize(
    ("certificate", "authority"), [("server.pem", AUTHORITY), ("corporate-server.pem", CORPORATE_AUTHORITY)]
)
def test_what_the_system_trusts_is_trusted(certificate: str, authority: Path) -> None:
    async def main() -> bytes:
        async with serving(answering(ok(b"x")), tls=True, certificate=certificate) as server:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", IN_A_PROCESS, str(server.port)),
                cwd=ROOT,
                env={**os.environ, "SSL_CERT_FILE": str(authority), "PYTHONPATH": str(ROOT)},
                stdout=subprocess.PIPE,
            )
            return (await process.communicate())[0]

    assert asyncio.run(main()).strip() == b"200"


def test_a_context_verifies_certificates_and_names() -> None:
    for environment in ({}, {"SSL_CERT_FILE": str(AUTHORITY)}, {"NODE_EXTRA_CA_CERTS": str(AUTHORITY)}):
        context = tls_context(environment)
        assert context.verify_mode == ssl.CERT_REQUIRED
        assert context.check_hostname
