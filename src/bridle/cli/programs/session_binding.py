"""The session that `run:create` was asked to bind to its run, and what became of it."""

from __future__ import annotations

import os
import time

from bridle.cli.programs.light_command import Given
from bridle.cli.programs.session_argument import (
    HARNESS,
    SESSION_ID,
    chosen_limit,
    find_file,
    inherited_words,
    runs_elsewhere,
    warn,
)
from bridle.ground import ids
from bridle.ground.light.quick_path import Path
from bridle.hosts.adapters import registry
from bridle.hosts.adapters.adapter import Adapter, BindRequest
from bridle.hosts.sessions import session_file
from bridle.hosts.sessions.session import moment


class Asked:
    """What was asked: a session to bind, or the reason why there is none."""

    __slots__ = ("adapter", "harness", "refusal", "remarks", "session_id", "wish")

    def __init__(
        self,
        harness: str | None,
        session_id: str,
        *,
        adapter: Adapter | None = None,
        wish: BindRequest | None = None,
        refusal: str | None = None,
    ) -> None:
        self.harness = harness
        self.adapter = adapter
        self.session_id = session_id
        self.wish = wish
        """The session that can be bound; None where none can."""
        self.refusal = refusal
        """Why no session can be bound."""
        self.remarks: list[str] = []
        """What is doubtful about the one that can."""


def asked(given: Given, runs: Path, run_id: str, prompt: str | None) -> Asked | None:
    """What the command line says about a session; None where it says nothing."""
    if not given.has(SESSION_ID.name) and not given.has(HARNESS.name):
        return None
    name, flag = given.text(HARNESS.name), given.text(SESSION_ID.name) or ""
    if flag:
        ids.check_id(flag, what="the session id")
    adapter = registry.by_name(name) if name else registry.detect(os.environ)
    if adapter is None:
        known = ", ".join(registry.NAMES)
        return Asked(name, flag, refusal=f"there is no host {name!r}; Bridle knows {known}")
    if not adapter.holds_sessions:
        return Asked(name, flag, refusal="no host is known whose session it could be; give --harness")
    return _of_host(given, adapter, runs, run_id, prompt)


def _of_host(given: Given, adapter: Adapter, runs: Path, run_id: str, prompt: str | None) -> Asked:
    identity = adapter.resolve_session_id(given.text(SESSION_ID.name), None, os.environ)
    if identity is None:
        return Asked(adapter.name, "", refusal="no session id was given (--session-id), and the environment has none")
    wish = BindRequest(
        harness=adapter.name,
        identity=identity,
        path=find_file(given, adapter, identity.session_id),
        run_id=run_id,
        runs=runs,
        prompt=prompt or "",
        now=moment(time.time_ns()),
        max_iterations=chosen_limit(given),
    )
    found = Asked(adapter.name, identity.session_id, adapter=adapter, wish=wish)
    found.remarks.extend(_remarks(given, adapter, wish))
    return found


def _remarks(given: Given, adapter: Adapter, wish: BindRequest) -> list[str]:
    """What may keep the host's Stop hook from holding the session, although it is bound."""
    remarks = []
    own = os.environ.get(adapter.session_variables[0])
    if wish.identity.is_inherited:
        remarks.append(inherited_words(wish.identity))
    elif own and own != wish.identity.session_id:
        remarks.append(
            f"the host says that its session is {own!a}, but --session-id says {wish.identity.session_id!a}: "
            "the run is bound to the latter"
        )
    elsewhere = runs_elsewhere(given, wish.runs)
    remarks += [elsewhere] if elsewhere is not None else []
    file = session_file.read(wish.path)
    return [*remarks, *(f"{wish.path}: {fault}; it is written anew" for fault in (file.faults if file else ()))]


def told(asked_for: Asked) -> dict[str, object]:
    """What became of the session, for programs."""
    if asked_for.wish is None:
        return {
            "harness": asked_for.harness,
            "sessionId": asked_for.session_id,
            "bound": False,
            "error": asked_for.refusal,
        }
    document: dict[str, object] = {
        "harness": asked_for.harness,
        "sessionId": asked_for.session_id,
        "stateFile": str(asked_for.wish.path),
        "bound": True,
        "sessionIdFrom": asked_for.wish.identity.source,
    }
    return document | ({"warnings": asked_for.remarks} if asked_for.remarks else {})


def say(asked_for: Asked) -> None:
    """Tell people what became of the session: that one is not held must not be found out by its silence."""
    if asked_for.refusal is not None:
        warn(f"NOT BOUND to a session: {asked_for.refusal}.\n  Nothing will hold a session until this run is done.")
    for remark in asked_for.remarks:
        warn(remark)


def say_unasked() -> None:
    """Tell people inside a host who asked for no session that theirs is not held."""
    adapter = registry.detect(os.environ)
    if adapter.holds_sessions:
        flags = f"--harness {adapter.name} --session-id ID"
        warn(f"bound to no session: nothing will hold this one until the run is done. {flags} binds it.")
