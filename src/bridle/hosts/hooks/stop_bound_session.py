"""The Stop hook's second half: one stop of a session that is bound to a run."""

from __future__ import annotations

import os
import time

from bridle.errors import DiskError, Error
from bridle.ground.light.abc_names import Mapping, Sequence
from bridle.ground.light.moments import iso
from bridle.ground.light.quick_path import Path
from bridle.hosts.adapters.adapter import HookCall, Payload
from bridle.hosts.hooks.find_session_run import find_run
from bridle.hosts.hooks.hook_answer import Answer, approve, remarks_on
from bridle.hosts.hooks.promise_tag import promise_in
from bridle.hosts.hooks.stop_hook import OWNER, ended
from bridle.hosts.hooks.stop_rules import (
    APPROVE,
    NO_PROGRESS_STOPS,
    RUN_STATE_UNKNOWN,
    RunFacts,
    Verdict,
    about_run,
    before_run,
)
from bridle.hosts.sessions import session_file
from bridle.hosts.sessions.session import Session, SessionFile
from bridle.journal.format.entries import STOP_HOOK_INVOKED
from bridle.journal.format.key_order import text_order
from bridle.journal.format.proof import completion_proof
from bridle.journal.stores.file_store import FileStore, FileWriter

NO_PROGRESS_VARIABLE = "BRIDLE_NO_PROGRESS_STOPS"

# The host waits a minute for its hooks. Whoever holds a run this long is not at work on it but stuck.
RUN_WAIT_SECONDS = 10.0


class BoundStop:
    """One stop of a session that is bound to a run."""

    def __init__(
        self, call: HookCall, payload: Payload, session_id: str, plugin_root: str | None, found: SessionFile
    ) -> None:
        self._call = call
        self._payload = payload
        self._session_id = session_id
        self._plugin_root = plugin_root
        self._found = found

    def answer(self) -> Answer:
        """Decide while neither session nor run can change."""
        call, path = self._call, self._found.path
        try:
            store = FileStore(find_run(self._found.session.run_id, call.runs_dir, self._payload.cwd, call.environ))
            # Looked at before any lock is taken: a run that cannot be read stays as it is, without even a lock file.
            store.standing()
            promises = self._promises()
            with session_file.held(path, OWNER), store.write(OWNER, wait_seconds=RUN_WAIT_SECONDS) as writer:
                return self._decide(store, writer, promises)
        except Error as error:
            return self._unknown(error)

    def _decide(self, store: FileStore, writer: FileWriter, promises: Sequence[str]) -> Answer:
        file = session_file.read(self._found.path)
        if file is None or file.session.run_id != self._found.session.run_id:
            return approve("the session was given another run while its Stop hook waited; this stop was let through")
        verdict, run = before_run(file.session), None
        if verdict is None:
            limit = no_progress_stops(self._call.environ)
            run = _facts(store, writer, limit)
            verdict = about_run(run, promises, no_progress_stops=limit)
        now = time.time_ns()
        session = verdict.applied(file.session, session_file.moment(now))
        # The file first: where it cannot be written, nothing in the journal says that the session was held.
        if session is not file.session:
            session_file.write(file.with_session(session))
        try:
            writer.append(STOP_HOOK_INVOKED, self._data(file.session, verdict, run, promises, iso(now)))
        except Error:
            if session is not file.session:
                session_file.write(file)
            raise
        if run is None or verdict.decision == APPROVE:
            return Answer(None, remarks_on(file))
        return Answer(self._hold(file, session, run, store.run), remarks_on(file))

    def _data(
        self, session: Session, verdict: Verdict, run: RunFacts | None, promises: Sequence[str], now: str
    ) -> dict[str, object]:
        return {
            "sessionId": self._session_id,
            "iteration": session.iteration,
            "decision": verdict.decision,
            "reason": verdict.reason,
            "runState": run.state if run is not None else "",
            "pendingKinds": ", ".join(run.kinds) if run is not None else "",
            "hasPromise": bool(promises),
            "timestamp": now,
        }

    def _hold(self, file: SessionFile, session: Session, run: RunFacts, folder: Path) -> dict[str, str]:
        from bridle.hosts.hooks.bridle_command import program
        from bridle.hosts.hooks.list_skills import discover
        from bridle.hosts.hooks.stop_message import block

        environ = self._call.environ
        project = environ.get(session_file.PROJECT_VARIABLE) or self._payload.cwd or "."
        found = discover(project, self._plugin_root)
        return block(session, run, program=program(environ), folder=str(folder), prompt=file.prompt, found=found)

    def _unknown(self, error: Error) -> Answer:
        """The run cannot be read, or nobody lets us have it: the session may end, and goes on when that is mended."""
        if before_run(self._found.session) is not None:
            run_id = self._found.session.run_id
            session_file.changed(self._found.path, lambda file: ended(file, run_id), holder=OWNER)
        return approve(f"this session is not held, as its run cannot be used ({RUN_STATE_UNKNOWN}): {error}")

    def _promises(self) -> tuple[str, ...]:
        """What the agent said in promise tags: in its last words by the transcript, and by the payload."""
        if before_run(self._found.session) is not None:
            return ()
        promises = (promise_in(text) for text in (self._said(), self._payload.last_message) if text is not None)
        return tuple(promise for promise in promises if promise is not None)

    def _said(self) -> str | None:
        path = self._payload.transcript_path
        if path is None:
            return None
        from bridle.hosts.hooks.transcript_tail import last_words

        try:
            words = last_words(os.path.join(self._payload.cwd or "", path))
        except DiskError:
            return None  # the payload has the agent's last words as well
        # A host may write its transcript some milliseconds after the hook has begun (Claude Code 2.1.197 does). Where
        # somebody spoke since, and the payload has words, those of the transcript are of an earlier turn.
        is_late = words is not None and words.is_answered and self._payload.last_message is not None
        return words.text if words is not None and not is_late else None


def no_progress_stops(environ: Mapping[str, str]) -> int:
    """The setting: how many stops in a row without anything new in the journal; 0 is without limit."""
    text = environ.get(NO_PROGRESS_VARIABLE, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else NO_PROGRESS_STOPS


def _facts(store: FileStore, writer: FileWriter, limit: int) -> RunFacts:
    standing, metadata = writer.standing, store.metadata()
    stops = standing.stops
    if 0 < limit <= stops + 1:
        stops = _held_in_a_row(store, standing.seq, stops)
    return RunFacts(
        state=standing.state,
        kinds=sorted(standing.pending_by_kind(), key=text_order),
        stops=stops,
        proof=completion_proof(metadata),
        is_interactive=metadata.get("nonInteractive") is not True,
    )


def _held_in_a_row(store: FileStore, seq: int, stops: int) -> int:
    """Of the stops at the end of the journal, those since a session was last let go: that one was no runaway."""
    decisions = [entry.data.get("decision") for entry in store.entries(after=seq - stops)]
    decisions.reverse()
    return decisions.index(APPROVE) if APPROVE in decisions else stops
