"""Bridle runs coding agents unattended and proves what they did."""

from __future__ import annotations

__version__ = "0.1.0"
__all__ = ["__version__"]
