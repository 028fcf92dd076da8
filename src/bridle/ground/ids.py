"""Ids and names that are safe to put into a path, an environment variable or a command line."""

from __future__ import annotations

import os

from bridle.errors import UsageError

# Enough for any id (UUID, ULID, a slug), and short enough for a message.
ID_LIMIT_CHARACTERS = 128

# A file name may have 255 bytes on common file systems; the rest is for prefixes and suffixes.
ID_LIMIT_BYTES = 200

# Characters that change how text is displayed or split (control, format, line ends) or cannot be encoded (lone
# surrogates).
_REFUSED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def new_id() -> str:
    """Return a new id that sorts by time (a ULID)."""
    import time  # late, as all imports of this module: hooks check ids and make none

    from bridle.ground.ulid import RANDOM_BYTES, next_ulid

    return next_ulid("", now_ms=time.time_ns() // 1_000_000, random=os.urandom(RANDOM_BYTES))


# The beginning of the tokens of children that act for the user and may steer runs: native hooks, and commands of a
# `bridle-agent` that the user started. All other tokens are those of agents and checks.
USER_PREFIX = "user-"


def new_token() -> str:
    """Return a random secret of 32 hexadecimal digits."""
    return os.urandom(16).hex()  # what `secrets` does, without its imports


def check_id(text: str, *, what: str) -> str:
    """Return the id unchanged; raise UsageError where it is not safe."""
    fault = _fault(text)
    if fault is None:
        return text
    shown = ascii(text if len(text) <= ID_LIMIT_CHARACTERS else text[:ID_LIMIT_CHARACTERS] + "…")
    raise UsageError(
        f"{what} {shown} is not valid: it {fault}",
        remedy="Use letters, digits, '.', '_' and '-', starting with a letter or a digit.",
    )


def is_id(text: str) -> bool:
    return _fault(text) is None


def safe_name(text: str, *, limit: int = 60) -> str:
    """Turn any text into a part of a file name; different texts may have the same name."""
    import re  # late, as the next one: hooks check ids but make no names
    import unicodedata

    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    name = re.sub(r"\.{2,}", ".", re.sub(r"[^A-Za-z0-9._-]+", "-", plain))
    name = re.sub(r"-{2,}", "-", name).lstrip(".-_")
    return name[:limit].rstrip(".-_") or "unnamed"[: max(limit, 1)]


def _fault(text: str) -> str | None:
    if not text:
        return "is empty"
    if len(text) > ID_LIMIT_CHARACTERS:
        return f"is longer than {ID_LIMIT_CHARACTERS} characters"
    if not text.isascii() and _has_refused_letter(text):
        return "has a control character, or one that cannot be printed"
    if text.isascii() and not text.isprintable():
        return "has a control character, or one that cannot be printed"
    if len(text.encode("utf-8")) > ID_LIMIT_BYTES:
        return f"is longer than {ID_LIMIT_BYTES} bytes"
    if "/" in text or "\\" in text:
        return "has a path separator"
    if ".." in text:
        return "has '..' in it"
    if text[0] in ".-":
        return "starts with a dot or a dash"
    if text != text.strip():
        return "starts or ends with a space"
    return None


def _has_refused_letter(text: str) -> bool:
    import unicodedata  # late: nearly all ids are ASCII

    return any(unicodedata.category(letter) in _REFUSED_CATEGORIES for letter in text)
