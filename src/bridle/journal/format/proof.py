"""The completion proof: what an agent shows to leave the loop of a run that has completed."""

from __future__ import annotations

from bridle.ground.light.abc_names import Mapping
from bridle.journal.format import layout
from bridle.journal.format.digest import sha256


def completion_proof(metadata: Mapping[str, object]) -> str:
    """The proof of a run; one without a proof of its own has the one that the format derives from its id."""
    own = metadata.get("completionProof")
    if isinstance(own, str) and own:
        return own
    return sha256(f"{metadata.get('runId')}:{layout.PROOF_SALT}".encode())
