"""One program in a sandbox: how it is started, and whether it has run."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bridle.errors import DiskError, ProcessError
from bridle.ground import disk
from bridle.ground.children.sandbox_stdio import make_mark
from bridle.ground.children.spawn import Sandbox, SpawnFailure
from bridle.run.isolation import bubblewrap, git_view, refusals, seatbelt
from bridle.run.isolation.description import Isolation, describe
from bridle.run.isolation.git_view import GitView
from bridle.run.isolation.passed_variables import passed_variables
from bridle.run.isolation.real_paths import resolved_once
from bridle.run.isolation.refusals import OnRefused
from bridle.run.isolation.sandbox_rules import SEATBELT, ChosenSandbox
from bridle.run.isolation.system_calls import without_keyrings

# How bwrap reports that the program itself has run: without it, an exit code is one of bwrap.
_HAS_RUN = b'"exit-code"'

_STATUS_LIMIT_BYTES = 64 * 1024

# How bwrap reports that the program cannot be executed in the sandbox.
_NOT_EXECUTED = "bwrap: execvp "

# bwrap adds 128 to the signal that has ended a program. Programs exit with 130 or 143 themselves, and not with these.
_SIGNAL_OFFSET = 128
_CRASHES = (
    *(signal.SIGILL, signal.SIGTRAP, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGKILL, signal.SIGSEGV),
    signal.SIGSYS,
)


class Sandboxed(Struct, frozen=True):
    """A program as it is started: in a sandbox, or without one."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    sandbox: Sandbox | None = None

    def check_started(self, exit_code: int | None, stderr: bytes) -> None:
        """Raise ProcessError where the sandbox itself has failed, once the program has ended."""
        if self.sandbox is not None:
            try:
                check_started(self.sandbox, exit_code, stderr)
            except ProcessError as error:
                if isinstance(error.payload, SpawnFailure) and self._is_missing():
                    raise _no_such_program(self.argv[0]) from None
                raise

    def _is_missing(self) -> bool:
        """Return whether the program is not even outside of the sandbox."""
        import shutil  # slow to import, and only used here

        return shutil.which(self.argv[0], path=self.environment.get("PATH", os.defpath)) is None

    def exit_code_of(self, exit_code: int | None) -> int | None:
        """Return the exit code of the program itself: negative if it crashed, as without a sandbox."""
        if self.sandbox is None or exit_code is None or exit_code - _SIGNAL_OFFSET not in _CRASHES:
            return exit_code
        return _SIGNAL_OFFSET - exit_code


def _no_such_program(name: str) -> ProcessError:
    return ProcessError(
        f"{name} could not be started: there is no such program",
        remedy="Install it, or check its name and PATH.",
        payload=SpawnFailure("program", errno.ENOENT),
    )


def variables_in(chosen: ChosenSandbox, environment: Mapping[str, str], *, agent: str | None) -> dict[str, str]:
    """Return the variables that an agent or, with None, a check gets; without a sandbox all of them."""
    if not chosen.is_on:
        return dict(environment)
    return passed_variables(environment, agent=agent, extra=(*chosen.rules.environment, *chosen.variables))


@contextlib.contextmanager
def enter_sandbox(
    chosen: ChosenSandbox,
    argv: tuple[str, ...],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    agent: str | None,
    work: Path | None = None,
    read_only: tuple[Path, ...] = (),
    results: tuple[Path, ...] = (),
    has_network: bool = True,
) -> Iterator[Sandboxed]:
    """Prepare the start of a program, an agent of that dialect or a check, in a folder.

    The working copy of `work` is writable, by default that of the folder.
    """
    if not chosen.is_on or chosen.program is None:
        yield Sandboxed(argv, environment)
        return
    with resolved_once():
        isolation = describe(
            work or cwd,
            environment,
            agent=agent,
            program=argv[0],
            rules=chosen.rules,
            read_only=read_only,
            results=results,
            has_network=has_network,
        )
    if chosen.name == SEATBELT:
        with tempfile.TemporaryDirectory(prefix="bridle-") as temporary:
            command = seatbelt.command(isolation, temporary=Path(temporary))
            caches = seatbelt.cache_variables(isolation)
            with _refusals(Path(temporary), chosen.on_refused):
                yield Sandboxed((*command, *argv), {**environment, **caches, "TMPDIR": temporary})
        return
    folder = _logical(cwd)
    isolation = replace(isolation, names=(*isolation.names, folder))
    with open_sandbox(chosen.program, isolation, cwd=folder, on_refused=chosen.on_refused) as sandbox:
        yield Sandboxed(argv, {**environment, **isolation.variables}, sandbox)


def _logical(folder: Path) -> Path:
    """Return the name under which a program is started in a folder: links in it stay, as without a sandbox."""
    return folder if folder.is_absolute() and ".." not in folder.parts else Path(os.path.realpath(folder))


@contextlib.contextmanager
def open_sandbox(
    program: str, isolation: Isolation, *, cwd: Path, on_refused: OnRefused | None = None
) -> Iterator[Sandbox]:
    """Open a sandbox of bubblewrap for one program; call `check_started` when it has ended."""
    status = os.memfd_create("sandbox status")
    try:
        with tempfile.TemporaryDirectory(prefix="bridle-", ignore_cleanup_errors=True) as private:
            views = bubblewrap.git_views(isolation, Path(private))
            with _refusals(Path(private), on_refused) as file:
                isolation = replace(isolation, refusals=file)
                with resolved_once():
                    options = bubblewrap.options(isolation, is_root=os.geteuid() == 0, cwd=cwd, views=views)
                try:
                    yield Sandbox(program, tuple(options), status, without_keyrings(), make_mark())
                except BaseException:
                    with contextlib.suppress(DiskError):  # it must not hide why the program was ended
                        _copy_back(views)
                    raise
                _copy_back(views)
    finally:
        os.close(status)


def _copy_back(views: tuple[GitView, ...]) -> None:
    """Copy back all views; raise the first error after the last one."""
    errors = []
    for view in views:
        try:
            git_view.copy_back(view)
        except DiskError as error:
            errors.append(error)
    if errors:
        raise errors[0]


@contextlib.contextmanager
def _refusals(folder: Path, on_refused: OnRefused | None) -> Iterator[Path | None]:
    """Make the file for refused commands in a folder, and report them at the end; no file if nothing wants them."""
    if on_refused is None:
        yield None
        return
    file = folder / refusals.FILE_NAME
    os.close(disk.create_exclusive(file))
    try:
        yield file
    finally:
        refusals.report(file, on_refused)


def check_started(sandbox: Sandbox, exit_code: int | None, stderr: bytes) -> None:
    """Raise ProcessError where bwrap itself has failed, which looks like a failed test."""
    report = os.pread(sandbox.status, _STATUS_LIMIT_BYTES, 0)
    reason, mark, _ = stderr.decode("utf-8", "replace").partition(sandbox.mark or "\0")
    reason = reason.strip()
    if exit_code is not None and exit_code > 0 and (mark or _HAS_RUN not in report):
        if mark or reason.startswith(_NOT_EXECUTED):
            raise ProcessError(
                f"the sandbox does not show the program or what it needs: {reason.removeprefix(_NOT_EXECUTED)}",
                remedy="Add its folder to `visible` in the table [sandbox] of your bridle.toml, or use --sandbox off.",
                payload=SpawnFailure("interpreter", errno.ENOENT),
            )
        raise ProcessError(
            f"the sandbox could not be set up: {reason}",
            remedy="Check that bwrap works on this machine: bridle doctor",
        )
