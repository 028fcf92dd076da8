"""Makes the TLS context from the environment, when the first https address is opened."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from typing import TypeVar

from bridle.errors import UsageError

T = TypeVar("T")


def tls_context(environment: Mapping[str, str]) -> ssl.SSLContext:
    """Return a context with the certificates of the system or SSL_CERT_FILE, and of NODE_EXTRA_CA_CERTS."""
    own = environment.get("SSL_CERT_FILE") or None
    folder = environment.get("SSL_CERT_DIR") or None
    tls = _named_authorities(own, folder) if own or folder else _system_authorities()
    extra = environment.get("NODE_EXTRA_CA_CERTS")
    if extra:
        _from("NODE_EXTRA_CA_CERTS", extra, lambda: tls.load_verify_locations(cafile=extra))
    certificate = environment.get("CLAUDE_CODE_CLIENT_CERT")
    if certificate:
        key = environment.get("CLAUDE_CODE_CLIENT_KEY") or None
        phrase = environment.get("CLAUDE_CODE_CLIENT_KEY_PASSPHRASE")
        _from("CLAUDE_CODE_CLIENT_CERT", certificate, lambda: tls.load_cert_chain(certificate, key, phrase))
    return tls


def _system_authorities() -> ssl.SSLContext:
    """Return a context that trusts what the system trusts, also where OpenSSL would look in the wrong place."""
    import truststore

    return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _named_authorities(file: str | None, folder: str | None) -> ssl.SSLContext:
    tls = _from("SSL_CERT_FILE", file or folder, lambda: ssl.create_default_context(cafile=file, capath=folder))
    # Python 3.13 refuses authorities that lack some extensions, as many of companies do; other clients accept them.
    tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return tls


def _from(variable: str, path: str | None, load: Callable[[], T]) -> T:
    """Load certificates; raise UsageError with the name of the variable if that fails."""
    try:
        return load()
    except (OSError, ssl.SSLError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"{variable}: cannot load {path}: {reason}",
            remedy="Name a file of PEM certificates, or unset the variable.",
        ) from error
