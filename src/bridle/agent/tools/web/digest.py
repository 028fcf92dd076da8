"""Who reads a page of the web for the model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

Digest = Callable[[str, str], Awaitable[str]]
"""Answers a question (first) about a text (second), with a small model."""
