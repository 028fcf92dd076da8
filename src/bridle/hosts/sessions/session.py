"""A host's session and its file, as values. No I/O."""

from __future__ import annotations

from bridle.ground.light.moments import epoch_seconds, iso
from bridle.ground.light.quick_path import Path

DEFAULT_MAX_ITERATIONS = 65_000

# The file keeps this many durations, for users who read it.
TIMES_LIMIT = 3


class Session:
    """The seven fields of a session file; immutable."""

    __slots__ = (
        "active",
        "iteration",
        "iteration_times",
        "last_iteration_at",
        "max_iterations",
        "run_id",
        "started_at",
    )

    def __init__(
        self,
        *,
        active: bool = False,
        iteration: int = 1,
        max_iterations: int = DEFAULT_MAX_ITERATIONS,
        run_id: str = "",
        started_at: str = "",
        last_iteration_at: str = "",
        iteration_times: tuple[int, ...] = (),
    ) -> None:
        self.active = active
        self.iteration = iteration
        """Counted from 1."""
        self.max_iterations = max_iterations
        """0 means unlimited."""
        self.run_id = run_id
        """Empty if the session is not bound to a run; otherwise safe in a path."""
        self.started_at = started_at
        self.last_iteration_at = last_iteration_at
        self.iteration_times = iteration_times
        """The durations of the last iterations in seconds, three at most."""

    @property
    def is_spent(self) -> bool:
        """Return whether the limit of iterations is reached."""
        return self.max_iterations > 0 and self.iteration >= self.max_iterations

    def changed(
        self,
        *,
        active: bool | None = None,
        iteration: int | None = None,
        max_iterations: int | None = None,
        run_id: str | None = None,
        started_at: str | None = None,
        last_iteration_at: str | None = None,
        iteration_times: tuple[int, ...] | None = None,
    ) -> Session:
        """Return a copy with some fields changed."""
        return Session(
            active=self.active if active is None else active,
            iteration=self.iteration if iteration is None else iteration,
            max_iterations=self.max_iterations if max_iterations is None else max_iterations,
            run_id=self.run_id if run_id is None else run_id,
            started_at=self.started_at if started_at is None else started_at,
            last_iteration_at=self.last_iteration_at if last_iteration_at is None else last_iteration_at,
            iteration_times=self.iteration_times if iteration_times is None else iteration_times,
        )

    def advanced(self, now: str) -> Session:
        """Return the session one iteration later."""
        return self.changed(iteration=self.iteration + 1, last_iteration_at=now, iteration_times=self.times_until(now))

    def times_until(self, now: str) -> tuple[int, ...]:
        """Return the durations including the one that ends now."""
        before, after = epoch_seconds(self.last_iteration_at), epoch_seconds(now)
        if before is None or after is None or after <= before:
            return self.iteration_times
        return (*self.iteration_times, after - before)[-TIMES_LIMIT:]


class SessionFile:
    """A session file; immutable."""

    __slots__ = ("body", "faults", "path", "session")

    def __init__(self, path: Path, session: Session, body: bytes, faults: tuple[str, ...] = ()) -> None:
        self.path = path
        self.session = session
        self.body = body
        """The text below the frontmatter, byte for byte."""
        self.faults = faults
        """Descriptions of faulty fields; empty for a file that Bridle wrote."""

    @property
    def prompt(self) -> str:
        """Return the text below the frontmatter, stripped."""
        return self.body.decode("utf-8", "replace").strip()

    def with_session(self, session: Session) -> SessionFile:
        """Return the same file with another session."""
        return SessionFile(self.path, session, self.body)


def new_file(path: Path, session: Session, prompt: str) -> SessionFile:
    """Return a new session file, not yet written."""
    return SessionFile(path, session, f"\n{prompt}\n".encode("utf-8", "surrogateescape"))


def new_session(now: str, *, run_id: str = "", max_iterations: int = DEFAULT_MAX_ITERATIONS) -> Session:
    """Return an active session that starts now."""
    return Session(active=True, max_iterations=max_iterations, run_id=run_id, started_at=now, last_iteration_at=now)


def moment(nanoseconds: int) -> str:
    """Format a time as session files have it: whole seconds."""
    return iso(nanoseconds)[: -len(".000Z")] + "Z"
