"""Masking of secrets in text: known values, and patterns of known kinds of secrets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

MASKED = "***"
# A shorter value ("1", "yes", "main") is part of ordinary text, which masking would only destroy.
MIN_SECRET_CHARACTERS = 6
SECRET_NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD")

# The longest of the patterns matches a private key: 4096 bits in PEM are about 3300 characters.
MAX_PATTERN_CHARACTERS = 8192
# Each pattern, with texts of which one is part of whatever it matches: searching for these is many times faster.
_PATTERNS_BY_LITERALS = {
    ("PRIVATE KEY-----",): r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)",
    ("sk-",): r"\bsk-[A-Za-z0-9_-]{16,}",
    ("gho_", "ghp_", "ghs_", "ghu_", "ghr_"): r"\bgh[opsur]_[A-Za-z0-9]{20,}",
    ("github_pat_",): r"\bgithub_pat_[A-Za-z0-9_]{20,}",
    ("AKIA", "ASIA"): r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    ("Bearer ",): r"(?<=\bBearer )[A-Za-z0-9._~+/=-]{8,}",
    ("bearer ",): r"(?<=\bbearer )[A-Za-z0-9._~+/=-]{8,}",
}
_PATTERNS = tuple(_PATTERNS_BY_LITERALS.values())
_LITERALS = tuple(literal for literals in _PATTERNS_BY_LITERALS for literal in literals)


class Mask:
    """The replacement of secrets in text, in one pass."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        # A value from a file often ends in a line end, which is not printed with it.
        secrets = {text for value in values if len(text := value.strip()) >= MIN_SECRET_CHARACTERS}
        # Longest first: a secret that begins with another one must not leave its tail visible.
        exact = [re.escape(value) for value in sorted(secrets, key=len, reverse=True)]
        self._replace = re.compile("|".join((*exact, *_PATTERNS)), re.DOTALL).sub
        self._literals = (*secrets, *_LITERALS)
        self._replace_patterns = re.compile("|".join(_PATTERNS), re.DOTALL).sub
        self.reach = max((MAX_PATTERN_CHARACTERS, *map(len, secrets)))
        """How many characters beyond a cut to include, so that no part of a secret is left before it."""

    def apply(self, text: str) -> str:
        """Replace the secrets in a text."""
        if not any(literal in text for literal in self._literals):
            return text
        return self._replace(MASKED, text)

    def apply_to_json(self, value: Any) -> Any:
        """Return a JSON value with the secrets in its texts replaced.

        A name of a field stays, even if it equals the value of a variable: programs look fields up by their names. Only
        a pattern that no name has by chance is replaced in it.
        """
        if isinstance(value, str):
            return self.apply(value)
        if isinstance(value, Mapping):
            return {self._replace_patterns(MASKED, str(name)): self.apply_to_json(item) for name, item in value.items()}
        return [self.apply_to_json(item) for item in value] if isinstance(value, (list, tuple)) else value


def secret_values(environment: Mapping[str, str]) -> list[str]:
    """Return the values of variables whose names mark them as secret."""
    return [value for name, value in environment.items() if any(mark in name.upper() for mark in SECRET_NAMES)]
