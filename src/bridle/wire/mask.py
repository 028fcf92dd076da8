"""Secrets out of text: values that are known, and shapes that are known to be secret."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

MASKED = "***"
# A shorter value ("1", "yes", "main") stands in ordinary words as well, and masking it would only destroy them.
SHORTEST_SECRET = 6
SECRET_NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD")

# The longest of these that is known by shape is a private key: 4096 bits in PEM are about 3300 characters.
LONGEST_SHAPE = 8192
_SHAPES = (
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)",
    r"\bsk-[A-Za-z0-9_-]{16,}",
    r"\bgh[opsur]_[A-Za-z0-9]{20,}",
    r"\bgithub_pat_[A-Za-z0-9_]{20,}",
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    r"(?<=\bBearer )[A-Za-z0-9._~+/=-]{8,}",
    r"(?<=\bbearer )[A-Za-z0-9._~+/=-]{8,}",
)


class Mask:
    """Replaces secrets in text, all of them in one pass."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        known = {value for value in values if len(value) >= SHORTEST_SECRET}
        # The longest first: a secret that begins with another one must not leave its tail behind.
        exact = [re.escape(value) for value in sorted(known, key=len, reverse=True)]
        self._replace = re.compile("|".join((*exact, *_SHAPES)), re.DOTALL).sub
        self.reach = max((LONGEST_SHAPE, *map(len, known)))
        """How far beyond a cut one must look, so that no part of a secret is left before it."""

    def apply(self, text: str) -> str:
        """The text without secrets."""
        return self._replace(MASKED, text)


def secret_values(environment: Mapping[str, str]) -> list[str]:
    """The values of the variables whose names say that they are secret."""
    return [value for name, value in environment.items() if any(mark in name.upper() for mark in SECRET_NAMES)]
