"""Ids and names that are safe to put into a path, an environment variable or a command line."""

from __future__ import annotations

import os

from bridle.errors import UsageError

# Room for any id that programs hand out (UUID, ULID, a slug) and short enough to read in a message.
ID_LIMIT_CHARACTERS = 128

# A file name may have 255 bytes on common file systems; the rest is for what we put around the id.
ID_LIMIT_BYTES = 200

# Letters that change how the text around them is shown or split (control, format, line ends) or cannot be
# encoded at all (lone surrogates): none of them belongs into a file name.
_REFUSED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def new_id() -> str:
    """Make an id that sorts by the time of its making (a ULID)."""
    from ulid_transform import ulid_now

    return ulid_now()


def new_token() -> str:
    """Make a secret that nobody can guess: 32 hexadecimal digits."""
    return os.urandom(16).hex()  # what `secrets` does, without its imports


def check_id(text: str, *, what: str) -> str:
    """Return the id unchanged, or refuse it with a UsageError that says what is wrong with it."""
    fault = _fault(text)
    if fault is None:
        return text
    shown = ascii(text if len(text) <= ID_LIMIT_CHARACTERS else text[:ID_LIMIT_CHARACTERS] + "…")
    raise UsageError(
        f"{what} {shown} cannot be used: it {fault}",
        remedy="Use letters, digits, '.', '_' and '-', and begin with a letter or a digit.",
    )


def is_id(text: str) -> bool:
    """Whether it can be used as one."""
    return _fault(text) is None


def safe_name(text: str, *, limit: int = 60) -> str:
    """Turn any text into a part of a file name; different texts may give the same name."""
    import re  # late, like the next: ids are checked in every hook, and names are made in none
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
        return "has a control character or one that cannot be shown"
    if text.isascii() and not text.isprintable():
        return "has a control character or one that cannot be shown"
    if len(text.encode("utf-8")) > ID_LIMIT_BYTES:
        return f"is longer than {ID_LIMIT_BYTES} bytes"
    if "/" in text or "\\" in text:
        return "has a path separator"
    if ".." in text:
        return "has '..' in it"
    if text[0] in ".-":
        return "begins with a dot or a dash"
    if text != text.strip():
        return "begins or ends with a space"
    return None


def _has_refused_letter(text: str) -> bool:
    import unicodedata  # ids are ASCII; who has another one can wait for it

    return any(unicodedata.category(letter) in _REFUSED_CATEGORIES for letter in text)
