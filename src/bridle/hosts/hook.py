"""The old place of `start`, which plugins installed by earlier versions import."""

from __future__ import annotations

from bridle.hosts.hooks.entry_point import start

__all__ = ["start"]
