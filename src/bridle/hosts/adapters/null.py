"""No host: nothing is held, nothing is bound."""

from __future__ import annotations

from bridle.hosts.adapters.adapter import Adapter

NAME = "none"


class Null(Adapter):
    """What is used where no host is found."""

    name = NAME
    has_dispatcher = False
    holds_sessions = False


adapter = Null()
