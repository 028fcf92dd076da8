"""The completion proof of a run: what an agent can only know once the run has completed."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

from bridle.journal import layout


def completion_proof(metadata: Mapping[str, object]) -> str:
    """The stored proof; a run that was made without one has one derived from its id, by the format's rule."""
    stored = metadata.get("completionProof")
    if isinstance(stored, str) and stored:
        return stored
    return sha256(f"{metadata.get('runId')}:{layout.PROOF_SALT}".encode()).hexdigest()
