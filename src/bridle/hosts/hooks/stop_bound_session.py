"""The second half of the Stop hook: one stop of a session that is bound to a run."""

from __future__ import annotations

import os
import time

from bridle.errors import DiskError, Error
from bridle.ground.light.abc_names import Mapping, Sequence
from bridle.ground.light.moments import iso
from bridle.ground.light.quick_path import Path
from bridle.hosts.hooks.hook_protocol import STOP_HOLDER, Answer, HookCall, Payload, approve, file_warnings
from bridle.hosts.hooks.stop_rules import (
    APPROVE,
    COMPLETION_PROOF_MATCHED,
    NO_PROGRESS,
    NO_PROGRESS_STOPS,
    RUN_STATE_UNKNOWN,
    SESSION_INACTIVE,
    SLEEP,
    RunFacts,
    Verdict,
    about_run,
    before_run,
    promise_in,
    waits_for_sleep,
)
from bridle.hosts.sessions import binding_record, session_file
from bridle.hosts.sessions.binding_record import BindingRecord, find_session_run
from bridle.hosts.sessions.session import Session, SessionFile
from bridle.journal.format.entries import STOP_HOOK_INVOKED
from bridle.journal.format.key_order import text_order
from bridle.journal.format.state import Position
from bridle.journal.stores.file_store import FileStore, FileWriter

NO_PROGRESS_VARIABLE = "BRIDLE_NO_PROGRESS_STOPS"

# Claude Code waits a minute for its hooks. A process that holds a run's lock for ten seconds is stuck.
RUN_WAIT_SECONDS = 10.0

# The year 10000; a sleep cannot end later.
TIME_LIMIT_MS = 253_402_300_800_000


class BoundStop:
    """One stop of a session that is bound to a run."""

    def __init__(self, call: HookCall, payload: Payload, session_id: str, file: SessionFile) -> None:
        self._call = call
        self._payload = payload
        self._session_id = session_id
        self._file = file
        """The session file as it was before the locks were taken."""

    def answer(self) -> Answer:
        """Decide while session and run are locked."""
        call, run_id = self._call, self._file.session.run_id
        record = binding_record.read(self._session_id, call.environ)
        if record is not None and not record.is_of(run_id):
            record = None
        if record is not None and record.is_inactivity_noted and not self._file.session.active:
            return approve(*file_warnings(self._file))
        try:
            store = FileStore(find_session_run(run_id, call.runs_dir, self._payload.cwd, call.environ, record))
            # Read before locking: a run that cannot be read stays unchanged, without even a lock file.
            store.position()
            promises = self._promises()
            with (
                session_file.held(self._file.path, STOP_HOLDER),
                store.write(STOP_HOLDER, wait_seconds=RUN_WAIT_SECONDS) as writer,
            ):
                return self._decide(store, writer, promises)
        except Error as error:
            if before_run(self._file.session) is not None:
                session_file.deactivate(self._file.path, run_id, holder=STOP_HOLDER)
            # Any other session stays active: its stops are blocked again once the run can be read.
            return approve(f"the run of this session cannot be read, so it may stop ({RUN_STATE_UNKNOWN}): {error}")

    def _decide(self, store: FileStore, writer: FileWriter, promises: Sequence[str]) -> Answer:
        file = session_file.read(self._file.path)
        if file is None or file.session.run_id != self._file.session.run_id:
            return approve("the session was bound to another run during its Stop hook; it may stop this time")
        verdict, run, now = before_run(file.session), None, time.time_ns()
        limit = no_progress_stops(self._call.environ)
        if verdict is None:
            run = _run_facts(store, writer, limit, now)
            verdict = about_run(run, promises, no_progress_stops=limit)
        session = verdict.applied(file.session, session_file.moment(now))
        # Written before the journal: if the file cannot be written, no entry claims that the stop was blocked.
        if session is not file.session:
            session_file.write(file.with_session(session))
        try:
            writer.append(STOP_HOOK_INVOKED, self._entry_data(file.session, verdict, run, promises, iso(now)))
        except Error:
            if session is not file.session:
                session_file.write(file)
            raise
        if verdict.reason == SESSION_INACTIVE:
            self._note_inactivity(store.run)
        if run is None or verdict.decision == APPROVE:
            is_stuck = verdict.reason == NO_PROGRESS
            why = f"the session may stop ({NO_PROGRESS}): the last {limit} stops added nothing else to its run"
            return approve(*((why,) if is_stuck else ()), *file_warnings(file))
        return Answer(self._block(file, session, run, str(store.run)), file_warnings(file))

    def _note_inactivity(self, run: Path) -> None:
        """Record that the journal has the entry: later stops of the session add none."""
        record = BindingRecord(self._file.path, run, is_inactivity_noted=True)
        try:
            binding_record.write(self._session_id, record, self._call.environ)
        except DiskError:
            pass  # the next stop adds another entry

    def _entry_data(
        self, session: Session, verdict: Verdict, run: RunFacts | None, promises: Sequence[str], now: str
    ) -> dict[str, object]:
        return {
            "sessionId": self._session_id,
            "iteration": session.iteration,
            "decision": verdict.decision,
            "reason": verdict.reason,
            "runState": run.state if run is not None else "",
            "pendingKinds": ", ".join(run.kinds) if run is not None else "",
            "hasPromise": self._has_promise(promises, verdict),
            "timestamp": now,
        }

    def _has_promise(self, promises: Sequence[str], verdict: Verdict) -> bool:
        """Return whether the last message has a promise tag. The payload has the last one: a transcript may be late."""
        last = self._payload.last_message
        if last is None or verdict.reason == COMPLETION_PROOF_MATCHED:
            return bool(promises)
        return promise_in(last) is not None

    def _block(self, file: SessionFile, session: Session, run: RunFacts, folder: str) -> dict[str, str]:
        from bridle.hosts.hooks.list_skills import list_skills
        from bridle.hosts.hooks.shell_command import find_program
        from bridle.hosts.hooks.stop_message import block

        environ = self._call.environ
        project = environ.get(session_file.PROJECT_VARIABLE) or self._payload.cwd or "."
        skills = list_skills(project, self._call.adapter.resolve_plugin_root(self._call.plugin_root, environ))
        return block(session, run, program=find_program(environ), folder=folder, prompt=file.prompt, skills=skills)

    def _promises(self) -> tuple[str, ...]:
        """Return the promise tags in the agent's last message, by the transcript and by the payload."""
        if before_run(self._file.session) is not None:
            return ()
        texts = (self._transcript_message(), self._payload.last_message)
        promises = (promise_in(text) for text in texts if text is not None)
        return tuple(promise for promise in promises if promise is not None)

    def _transcript_message(self) -> str | None:
        path = self._payload.transcript_path
        if path is None or not self._call.adapter.reads_transcript:
            return None
        from bridle.hosts.hooks.transcript_tail import last_message

        try:
            message = last_message(os.path.join(self._payload.cwd or "", path))
        except DiskError:
            return None  # the payload has the last message too
        # A host may write its transcript some milliseconds after it started the hook (Claude Code 2.1.197 does). If
        # the transcript continues after this message and the payload has one, this one is of an earlier turn.
        is_outdated = message is not None and message.is_answered and self._payload.last_message is not None
        return message.text if message is not None and not is_outdated else None


def no_progress_stops(environ: Mapping[str, str]) -> int:
    """Return how many stops in a row without a new journal entry are blocked; 0 means unlimited."""
    text = environ.get(NO_PROGRESS_VARIABLE, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else NO_PROGRESS_STOPS


def _run_facts(store: FileStore, writer: FileWriter, limit: int, now: int) -> RunFacts:
    position, metadata = writer.position, store.metadata()
    kinds = sorted(position.pending_by_kind(), key=text_order)
    wakes_ms = _wake_time(store, position) if waits_for_sleep(kinds, is_interactive=metadata.is_interactive) else None
    sleeps_until = iso(wakes_ms * 1_000_000) if wakes_ms is not None else ""
    left_ms = max(0, wakes_ms - now // 1_000_000) if wakes_ms is not None else 0
    stops = position.stops
    if 0 < limit <= stops + 1:
        stops = _blocked_in_a_row(store, position.seq, stops, sleeps_until)
    return RunFacts(
        state=position.state,
        kinds=kinds,
        stops=stops,
        proof=metadata.completion_proof,
        is_interactive=metadata.is_interactive,
        sleeps_until=sleeps_until,
        seconds_left=-(-left_ms // 1000),
    )


def _wake_time(store: FileStore, position: Position) -> int | None:
    """Return when the first of the pending sleeps ends, in milliseconds since the epoch; None if no task says it."""
    times = []
    for effect_id, pending in position.pending.items():
        try:
            effect = store.pending_effect(position, effect_id) if pending.kind == SLEEP else None
            time_ms = None if effect is None else store.task(effect).sleep_until_ms
        except Error:
            continue  # the time is only information: a stop is decided without it
        if time_ms is not None and 0 <= time_ms < TIME_LIMIT_MS:
            times.append(time_ms)
    return min(times, default=None)


def _blocked_in_a_row(store: FileStore, seq: int, stops: int, sleeps_until: str) -> int:
    """Return how many of the last stops were blocked, since one was approved (not a runaway) or the run slept."""
    entries = list(store.entries(after=seq - stops))
    entries.reverse()
    for count, entry in enumerate(entries):
        if entry.data.get("decision") == APPROVE or entry.recorded_at < sleeps_until:
            return count
    return stops
