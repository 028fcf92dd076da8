"""Run one agent: `run` returns the outcome, `AgentRun.events` yields events as they arrive."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, nullcontext
from pathlib import Path

from msgspec.structs import replace

from bridle.errors import AgentError, DiskError, ProcessError, UsageError
from bridle.ground import clock, ids
from bridle.ground.children.child_process import SpawnFailure
from bridle.ground.git_exclude import exclude_from_git
from bridle.ground.lock import FileLock
from bridle.run import budget as budgets
from bridle.run import logs, sessions
from bridle.run.attempt import Attempt
from bridle.run.attempt_meta import close_log, start_meta
from bridle.run.budget import Budget, Cost
from bridle.run.command import CLAUDE_LIKE, Command, build_command
from bridle.run.direnv import workspace_variables
from bridle.run.finished import Attempted, Finished
from bridle.run.isolation.sandbox_session import variables_in
from bridle.run.locate import Program, find_program
from bridle.run.log_meta import write_meta
from bridle.run.policy import connection_error, deserves_retry, login_error, rules_of, start_error
from bridle.run.recover import lock_note
from bridle.run.request import Permission, Request
from bridle.run.sandbox import detect_sandbox
from bridle.run.structured import Schema
from bridle.run.untrusted_settings import find_untrusted
from bridle.run.workspace_lock import count_predecessor, hold_workspace
from bridle.wire.events.events import Event
from bridle.wire.record.error_category import Category
from bridle.wire.record.outcome import Ending, Outcome, judge, session_to_resume
from bridle.wire.record.record import Record

# Of the reason of a crash, in one line; the log has all of it.
REASON_CHARACTERS = 200
Say = Callable[[str], None]


class AgentRun:
    """One run of one agent: iterate over `events`, then read `finished`."""

    def __init__(
        self,
        request: Request,
        *,
        environment: Mapping[str, str],
        say: Say = lambda _line: None,
        on_retry: Callable[[], None] = lambda: None,
        is_announced: bool = True,
    ) -> None:
        """`on_retry` is called before a second attempt: the events so far are of one that does not count.

        Without `is_announced` the caller prints which program runs and which account pays.
        """
        self.request = request
        self._is_announced = is_announced
        self.finished: Finished | None = None
        self._environment = environment
        self._say = say
        self._on_retry = on_retry
        self._held: FileLock | None = None
        self._retried: list[Attempted] = []
        self._logs: list[Path] = []
        self._began = clock.monotonic()

    async def to_end(self, on_event: Callable[[Event], None] = lambda _event: None) -> Finished:
        """Run the agent to its end and return the result; that of an interrupted run is in `finished`."""
        async with aclosing(self.batches()) as batches:
            async for events in batches:
                for event in events:
                    on_event(event)
        assert self.finished is not None  # noqa: S101  # set on every way out of batches() but an exception
        return self.finished

    async def events(self) -> AsyncGenerator[Event, None]:
        """Run the agent and yield its events as they arrive. Close the generator to end the agent early."""
        async with aclosing(self.batches()) as batches:
            async for events in batches:
                for event in events:
                    yield event

    async def batches(self) -> AsyncGenerator[list[Event], None]:
        """Run the agent and yield its events in batches, one for each read."""
        request = self.request
        _check(request)
        schema = Schema(request.json_schema) if request.json_schema is not None else None
        with await self._lock() as lock:
            self._held = lock
            budget = budgets.read(request.workspace)
            if lock is not None:
                budget = count_predecessor(lock, request.workspace, budget, self._say)
            if budget.exhausted is not None:
                self._refuse(Ending(exit_code=None, fault=budget.exhausted, fault_category=Category.BUDGET))
                return
            variables = await workspace_variables(request.cwd, self._environment, self._say, request.sandbox)
            merged = {**self._environment, **variables}
            environment = {name: value for name, value in merged.items() if value is not None}
            try:
                program = find_program(request.agent, environment, request.cwd, is_sandboxed=request.sandbox.is_on)
            except AgentError as error:
                self._refuse(Ending(not_found=error.message, exit_code=None), unusable=error)
                return
            self.request = request = self._with_session()
            untrusted = find_untrusted(request.agent, request.cwd, environment)
            if untrusted.message and self._is_announced:
                self._say(untrusted.message)
            allowed = replace(request, extra_args=(*request.extra_args, *untrusted.flags))
            sandbox = replace(request.sandbox, variables=frozenset(variables))
            environment = variables_in(sandbox, environment, agent=request.agent)
            command = build_command(allowed, program.path, environment)
            if lock is not None:
                lock.hold_until_agents_end()
            async with aclosing(self._attempts(program, command, schema, budget)) as batches:
                async for events in batches:
                    yield events

    async def _attempts(
        self, program: Program, command: Command, schema: Schema | None, budget: Budget
    ) -> AsyncGenerator[list[Event], None]:
        request = self.request
        expected = request.resume
        name = ids.safe_name(request.task)  # in one line, whatever the task is called
        if self._is_announced:
            sandbox = f", sandbox: {request.sandbox.name}" if request.sandbox.is_on else ""
            self._say(f"{request.agent} ({program.path}): {request.mode} {name}, auth: {command.auth}{sandbox}")
        if request.permission is Permission.BYPASS:
            found = request.sandbox.name if request.sandbox.is_on else detect_sandbox(self._environment)
            self._say(f"permissions are bypassed; sandbox: {found or 'none detected'}")
        self._exclude()
        for number in range(1, request.retries + 2):
            attempt = Attempt(request, command, logs.RunLog.create(request, clock.now()), schema)
            self._logs.append(attempt.log.path)
            self._note_work(lock_note(attempt.log.path.name, budget))
            try:
                async with aclosing(self._run_attempt(attempt, program, number, expected)) as batches:
                    async for events in batches:
                        yield events
            except BaseException:
                # The next --continue resumes the session of an interrupted run, and its start counts.
                if attempt.record.events:
                    self._remember_session(attempt, expected)
                if attempt.was_started:
                    self._spend(attempt, budget)
                self._conclude(attempt, expected, number, program)
                raise
            if self.finished is not None and self.finished.unusable is not None:
                return
            budget = self._spend(attempt, budget)
            outcome, ending = self._conclude(attempt, expected, number, program), attempt.ending(expected)
            is_retried = number <= request.retries and deserves_retry(attempt.record, outcome, ending)
            if is_retried and budget.exhausted is not None:
                self._say(f"not retried: {budget.exhausted}")
                is_retried = False
            if not is_retried:
                self._remember_session(attempt, expected)
                if self._conclude(attempt, expected, number, program).session_forked:
                    now = attempt.record.session_id
                    self._say(f"the session forked: the agent was to resume {expected} and answered in {now}")
                return
            reason = " ".join((outcome.reason or "its output ended early").split())[:REASON_CHARACTERS]
            self._say(f"{request.agent} crashed or printed no result ({reason}); retrying")
            self._on_retry()
            self._retried.append(Attempted(self._cost(attempt), attempt.record.tokens))

    async def _run_attempt(
        self, attempt: Attempt, program: Program, number: int, expected: str | None
    ) -> AsyncGenerator[list[Event], None]:
        """Run one attempt; write the file beside its log before, after, and at an interruption."""
        start = start_meta(attempt, program, number, expected=expected, inherited=self._environment)
        more: dict[str, object] = {}
        try:
            write_meta(attempt.log.meta_path, start)
            async with aclosing(attempt.batches()) as batches:
                async for events in batches:
                    yield events
        except ProcessError as error:
            if isinstance(error.payload, SpawnFailure):
                unusable = start_error(self.request.agent, error, error.payload)
                more["not_found"] = unusable.message
                self._refuse(Ending(not_found=unusable.message, exit_code=None), unusable=unusable, attempt=attempt)
            else:
                attempt.fault = attempt.fault or error.message
        except BaseException:
            attempt.interrupt()
            more["interrupted"] = True
            self._say(f"interrupted; log: {attempt.log.path}")
            raise
        finally:
            close_log(attempt, start, more)

    def _remember_session(self, attempt: Attempt, expected: str | None) -> None:
        """Write the session to continue next. A full disk is a fault of the run."""
        request = self.request
        session = session_to_resume(attempt.record, attempt.ending(expected))
        # A session belongs to its folder: in a temporary one it cannot be resumed.
        if session is None or request.agent not in CLAUDE_LIKE or request.home is not None:
            return
        try:
            sessions.remember(request.cwd, request.mode, session, clock.now())
        except DiskError as error:
            attempt.fault = attempt.fault or _unwritten(error)

    def _spend(self, attempt: Attempt, budget: Budget) -> Budget:
        """Add the attempt to the budget of the workspace. A full disk is a fault of the run."""
        request = self.request
        try:
            cost = self._cost(attempt)
            if cost.reported_usd is not None:
                figures = f"{cost.reported_usd:.4f} USD for tokens whose price is {cost.usd:.4f} USD"
                self._say(f"{request.agent} reported {figures}; the price counts")
            budget = budgets.add(request.workspace, cost, before=budget, say=self._say)
            self._note_work(None)
        except DiskError as error:
            attempt.fault = attempt.fault or _unwritten(error)
        return budget

    def _cost(self, attempt: Attempt) -> Cost:
        return budgets.cost_so_far(attempt.record, self.request.agent, model=self.request.model)

    def _note_work(self, work: str | None) -> None:
        """Write into the lock which log is not counted yet, for the next run if we are killed."""
        if self._held is not None:
            self._held.note_work(work)

    def _conclude(self, attempt: Attempt, expected: str | None, number: int, program: Program) -> Outcome:
        """Judge an attempt; its result is that of the run, unless it is retried."""
        request, record, command = self.request, attempt.record, attempt.command
        outcome = judge(record, attempt.ending(expected), rules_of(request, command.environment))
        self.finished = Finished(
            record=record,
            outcome=outcome,
            cost=self._cost(attempt),
            attempts=number,
            duration_seconds=clock.monotonic() - self._began,
            log_path=attempt.log.path,
            stderr_path=attempt.log.stderr_path,
            killed_after_result=attempt.killed_after_result,
            limit=attempt.limit,
            program=program.path,
            auth=command.auth,
            corrections=attempt.corrections,
            session_id=session_to_resume(record, attempt.ending(expected)),
            retried=tuple(self._retried),
            log_paths=tuple(self._logs),
            cwd_differs=_other_folder(record.cwd, request.cwd),
            unusable=login_error(request, record, outcome, command.auth)
            or connection_error(request, record, outcome, command.environment),
        )
        return outcome

    def _refuse(self, ending: Ending, *, unusable: AgentError | None = None, attempt: Attempt | None = None) -> None:
        record = Record()
        self.finished = Finished(
            record=record,
            outcome=judge(record, ending, rules_of(self.request, self._environment)),
            cost=Cost(None, None),
            attempts=1 if attempt is not None else 0,
            duration_seconds=clock.monotonic() - self._began,
            log_path=attempt.log.path if attempt is not None else None,
            stderr_path=attempt.log.stderr_path if attempt is not None else None,
            unusable=unusable,
        )

    async def _lock(self) -> FileLock | nullcontext[None]:
        """Lock the workspace, unless the agent has a folder of its own."""
        request = self.request
        if request.own_folder:
            return nullcontext()
        holder = f"bridle {request.mode} {ids.safe_name(request.task)}"
        return await hold_workspace(request.workspace, holder=holder, say=self._say)

    def _exclude(self) -> None:
        """Exclude our files from commits; report a repository that cannot be written, and continue."""
        try:
            exclude_from_git(self.request.workspace)
        except DiskError as error:
            self._say(f"git will show .ralph/ as untracked: {error.message}")

    def _with_session(self) -> Request:
        """Return the request with the session to resume: the last one of its mode, whatever ran in between."""
        request = self.request
        # Always read, so that a damaged file is reported before the agent has spent anything.
        known = sessions.read(request.workspace)
        if not request.continue_session or request.resume is not None or request.agent not in CLAUDE_LIKE:
            return request
        own = known.of(request.mode)
        if own is not None:
            return replace(request, resume=own)
        # `--continue` of the agent would take any session of the folder, also one of the user's own.
        self._say(f"there is no {request.mode} session to continue in {request.workspace}; starting a new one")
        return replace(request, continue_session=False)


async def run(
    request: Request,
    *,
    environment: Mapping[str, str],
    say: Say = lambda _line: None,
    on_event: Callable[[Event], None] = lambda _event: None,
    is_announced: bool = True,
) -> Finished:
    """Run an agent to its end and return the result."""
    return await AgentRun(request, environment=environment, say=say, is_announced=is_announced).to_end(on_event)


def _check(request: Request) -> None:
    if not os.path.isdir(request.cwd):  # Path.is_dir raises where a parent folder cannot be entered
        raise UsageError(f"{request.cwd} is not a folder, or cannot be entered", remedy="Check the path.")
    if not request.prompt.strip():
        raise UsageError("the prompt is empty", remedy="Give the agent a task.")
    if request.resume is not None:
        ids.check_id(request.resume, what="session id")


def _unwritten(error: DiskError) -> str:
    return f"the state of the workspace could not be written: {error.message}"


def _other_folder(reported: str | None, requested: Path) -> str | None:
    if reported is None or os.path.realpath(reported) == os.path.realpath(requested):
        return None
    return reported
