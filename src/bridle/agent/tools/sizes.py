"""Sizes as the texts of tools say them."""

from __future__ import annotations

_KILOBYTE = 1024


def human_size(size_bytes: int) -> str:
    """A size with one decimal that is left out where it is nought: 293KB, 976.6KB, 1.5MB."""
    if size_bytes < _KILOBYTE:
        return f"{size_bytes} bytes"
    power = min((size_bytes.bit_length() - 1) // 10, 3)
    return f"{size_bytes / _KILOBYTE**power:.1f}".removesuffix(".0") + ("KB", "MB", "GB")[power - 1]
