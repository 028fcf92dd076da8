"""The DSSE envelope of a signed statement: the payload and its signature in one JSON file. Pure."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from bridle.errors import UsageError

PAYLOAD_TYPE = "application/vnd.in-toto+json"


class Envelope(Struct, frozen=True):
    """A statement as it was signed, and its signature."""

    payload: bytes
    signature: bytes
    """In the armour of `ssh-keygen` or `gpg`; empty if the statement is not signed."""
    key: str = ""
    """The key that the signer named; only a hint."""

    @property
    def statement(self) -> dict[str, Any]:
        """The statement; raise UsageError if it is not one."""
        return _parse_object(self.payload, "the statement of a receipt")

    def encode(self) -> bytes:
        """Return the content of the file."""
        signatures = [{"keyid": self.key, "sig": base64.b64encode(self.signature).decode("ascii")}]
        payload = base64.b64encode(self.payload).decode("ascii")
        document = {"payloadType": PAYLOAD_TYPE, "payload": payload, "signatures": signatures}
        return json.dumps(document, indent=2).encode("ascii") + b"\n"


def signed_bytes(payload: bytes) -> bytes:
    """Return what is signed: the type and the payload, each with its length (DSSE's PAE)."""
    kind = PAYLOAD_TYPE.encode("ascii")
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def decode(text: bytes) -> Envelope:
    """Read an envelope, or a statement without a signature; raise UsageError for anything else."""
    document = _parse_object(text, "a receipt")
    if "payload" not in document:
        return Envelope(text, b"")
    try:
        signatures = document.get("signatures") or [{}]
        first = signatures[0] if isinstance(signatures, list) and isinstance(signatures[0], dict) else {}
        return Envelope(
            base64.b64decode(document["payload"], validate=True),
            base64.b64decode(first.get("sig", ""), validate=True),
            str(first.get("keyid", "")),
        )
    except (binascii.Error, TypeError, ValueError) as error:
        raise UsageError(f"a receipt must be a DSSE envelope: {error}") from error


def _parse_object(text: bytes, what: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{what} must be JSON: {error}") from error
    if not isinstance(value, Mapping):
        raise UsageError(f"{what} must be a JSON object")
    return dict(value)
