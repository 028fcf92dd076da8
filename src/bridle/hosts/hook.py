"""Where plugins installed by earlier versions import `start`; it lives in `bridle.hosts.hooks.entry_point`."""

from __future__ import annotations

from bridle.hosts.hooks.entry_point import start

__all__ = ["start"]
