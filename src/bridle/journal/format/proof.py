"""The completion proof, which an agent prints to end the loop of a completed run."""

from __future__ import annotations

from bridle.ground.light.abc_names import Mapping
from bridle.journal.format import layout
from bridle.journal.format.digest import sha256


def completion_proof(metadata: Mapping[str, object]) -> str:
    """Return the proof of a run; without a recorded one, the format derives it from the id."""
    own = metadata.get("completionProof")
    if isinstance(own, str) and own:
        return own
    return sha256(f"{metadata.get('runId')}:{layout.PROOF_SALT}".encode())
