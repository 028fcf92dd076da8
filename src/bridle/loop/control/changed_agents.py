"""The agents, model, reasoning and auth of a run that the user has changed since its start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from bridle.journal.stores.store import Store
from bridle.loop.settings.model import Settings
from bridle.loop.user_messages import UserMessageReader

# The settings that `bridle resume` can change.
AGENT_SETTINGS = ("agents", "model", "reasoning", "auth")


def agent_in_force(store: Store, settings: Settings, new: Mapping[str, Any] = MappingProxyType({})) -> Settings:
    """Return the settings of a run with the changes that the user sent; `new` ones are not recorded yet."""
    sent = {**UserMessageReader(store).agent_in_force(), **new}
    changed = {name: sent[name] for name in AGENT_SETTINGS if name in sent}
    if not changed:
        return settings
    if "agents" in changed:
        changed["agents"] = tuple(changed["agents"])
    return replace(settings, **changed, chosen=tuple(dict.fromkeys((*settings.chosen, *changed))))
