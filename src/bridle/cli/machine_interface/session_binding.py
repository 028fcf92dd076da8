"""The session that `run:create` binds to its run, and the warnings about it."""

from __future__ import annotations

import os
import time

from bridle.cli.machine_interface.light_command import Arguments
from bridle.cli.machine_interface.session_argument import (
    HARNESS,
    SESSION_ID,
    inherited_warning,
    iteration_limit,
    session_file_for,
    warn,
)
from bridle.ground import ids
from bridle.ground.light.quick_path import Path
from bridle.hosts import adapters
from bridle.hosts.adapters import Adapter, Identity
from bridle.hosts.sessions import session_file
from bridle.hosts.sessions.binding import BindRequest
from bridle.hosts.sessions.session import SessionFile, moment


class SessionBinding:
    """A session to bind, or the reason why none can be bound."""

    __slots__ = ("harness", "identity", "refusal", "request", "session_id", "warnings")

    def __init__(
        self,
        harness: str | None,
        session_id: str,
        *,
        identity: Identity | None = None,
        request: BindRequest | None = None,
        refusal: str | None = None,
    ) -> None:
        self.harness = harness
        self.session_id = session_id
        self.identity = identity
        self.request = request
        """None if no session can be bound."""
        self.refusal = refusal
        """Why no session can be bound, or why the Stop hook will not block for a bound one."""
        self.warnings: list[str] = []

    def check(self, file: SessionFile) -> None:
        """Refuse to report a session as bound that will not be held."""
        if file.session.is_spent:
            limit = file.session.max_iterations
            self.refusal = f"{file.path} has reached its iteration limit of {limit}; pass a larger --max-iterations"


def requested_binding(args: Arguments, runs: Path, run_id: str, prompt: str | None) -> SessionBinding | None:
    """Return the binding that the command line asks for, or None."""
    if not args.has(SESSION_ID.name) and not args.has(HARNESS.name):
        return None
    name, flag = args.text(HARNESS.name), args.text(SESSION_ID.name) or ""
    if flag:
        ids.check_id(flag, what="the session id")
    adapter = adapters.by_name(name) if name else adapters.detect(os.environ)
    if adapter is None:
        known = ", ".join(adapters.NAMES)
        return SessionBinding(name, flag, refusal=f"unknown host {name!r}; use one of {known}")
    if not adapter.holds_sessions:
        return SessionBinding(name, flag, refusal="no host was detected; pass --harness")
    return _of_host(args, adapter, runs, run_id, prompt)


def _of_host(args: Arguments, adapter: Adapter, runs: Path, run_id: str, prompt: str | None) -> SessionBinding:
    identity = adapter.resolve_session_id(args.text(SESSION_ID.name), os.environ)
    if identity is None:
        return SessionBinding(
            adapter.name, "", refusal="--session-id is missing, and the environment has no session id"
        )
    request = BindRequest(
        path=session_file_for(args, adapter, identity.session_id),
        run_id=run_id,
        runs=runs,
        prompt=prompt or "",
        now=moment(time.time_ns()),
        max_iterations=iteration_limit(args),
    )
    file = session_file.read(request.path)
    faults = (f"{request.path}: {fault}; the file is rewritten" for fault in (file.faults if file else ()))
    binding = SessionBinding(adapter.name, identity.session_id, identity=identity, request=request)
    binding.warnings.extend([*_identity_warnings(adapter, identity), *faults])
    if file is None and _other_session(adapter, identity) is not None:
        binding.refusal = f"no hook has registered a session {identity.session_id!a}"
    return binding


def _identity_warnings(adapter: Adapter, identity: Identity) -> list[str]:
    """Warn if the session of the host may be another one than the bound session."""
    if identity.is_inherited:
        return [inherited_warning(identity)]
    own = _other_session(adapter, identity)
    if own is None:
        return []
    return [f"the host's session is {own!a}, but --session-id is {identity.session_id!a}; the latter is bound"]


def _other_session(adapter: Adapter, identity: Identity) -> str | None:
    """Return the session that this process runs in, if that is another one than the command line names."""
    own = os.environ.get(adapter.session_variables[0])
    return own if own and own != identity.session_id else None


def binding_document(binding: SessionBinding) -> dict[str, object]:
    if binding.request is None or binding.identity is None:
        return {
            "harness": binding.harness,
            "sessionId": binding.session_id,
            "bound": False,
            "error": binding.refusal,
        }
    document: dict[str, object] = {
        "harness": binding.harness,
        "sessionId": binding.session_id,
        "stateFile": str(binding.request.path),
        "bound": binding.refusal is None,
        "sessionIdFrom": binding.identity.source,
        **({"error": binding.refusal} if binding.refusal is not None else {}),
    }
    return document | ({"warnings": binding.warnings} if binding.warnings else {})


def warn_of_binding(binding: SessionBinding) -> None:
    """Print why no session is bound, and the warnings about a bound one."""
    if binding.refusal is not None:
        warn(f"NOT BOUND to a session: {binding.refusal}.\n  No session will be held until this run is done.")
    for warning in binding.warnings:
        warn(warning)


def warn_of_unbound() -> None:
    """Warn inside a host that its session is not bound to the run."""
    adapter = adapters.detect(os.environ)
    if adapter.holds_sessions:
        flags = f"--harness {adapter.name} --session-id ID"
        warn(f"not bound to a session: this one will not be held until the run is done. Bind it with {flags}.")
