"""What the commands for users share: finding a run, output on stderr, interruption by signals."""

from __future__ import annotations

import os
import sys
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, TypeVar

from bridle.ground.git_folder import git_folder, repository_top

T = TypeVar("T")

# The runs that a message names.
_NAMED_RUNS = 3
_HEAD_BYTES = 1024


def runs_here(runs_dir: str | None = None) -> Path:
    """Return the folder of the runs: as configured, else at the top of the current repository."""
    from bridle.journal.format import layout
    from bridle.journal.stores.find_run import runs_folder

    if runs_dir or os.environ.get(layout.RUNS_FOLDER_VARIABLE):
        return runs_folder(runs_dir, os.environ)
    return runs_folder(str(top_of(Path.cwd()) / layout.RUNS_FOLDER), {})


def top_of(folder: Path) -> Path:
    """Return the top of a folder's repository, or the folder itself outside of one."""
    return repository_top(folder) or folder


def chosen_run(argument: str, runs_dir: str | None) -> Path:
    """Return the folder of the run that the user named."""
    from bridle.errors import RunNotFound
    from bridle.journal.format import layout
    from bridle.journal.stores.find_run import LAST, choose_run, matching_runs, runs_folders

    folders = runs_folders(runs_dir, os.environ)
    try:
        return choose_run(argument, *folders)
    except RunNotFound as error:
        is_configured = runs_dir or os.environ.get(layout.RUNS_FOLDER_VARIABLE)
        is_ambiguous = argument != LAST and matching_runs(argument, *folders)
        if not is_configured and not is_ambiguous:
            prefix = "" if argument == LAST else argument
            error.remedy = _runs_elsewhere(prefix) or _branch_without_run(prefix, folders) or error.remedy
        raise


def _runs_elsewhere(prefix: str) -> str | None:
    """Return how to name the runs that the user has begun in other folders of the repository; None without others."""
    import shlex

    from bridle.ground.home import bridle_home
    from bridle.ground.own_runs import begun_below

    runs = [run for run in begun_below(top_of(Path.cwd()), bridle_home(os.environ)) if run.name.startswith(prefix)]
    names = [shlex.quote(os.path.relpath(run)) for run in runs[:_NAMED_RUNS]]
    more = f" and {len(runs) - len(names)} more" if len(runs) > len(names) else ""
    return (
        f"In other folders of the repository: {', '.join(names)}{more}. Go there, or pass it as RUN." if names else None
    )


def _branch_without_run(prefix: str, folders: Sequence[Path]) -> str | None:
    """Return how to leave the branch of such a run, if its folder is gone; None on any other branch."""
    from bridle.ground import disk
    from bridle.ground.ulid import is_ulid

    git = git_folder(top_of(Path.cwd()))
    head = (disk.read_part(f"{git}/HEAD", _HEAD_BYTES) if git is not None else None) or b""
    branch = head.decode("utf-8", "replace").strip().removeprefix("ref: refs/heads/")
    run = branch.removeprefix("bridle/").upper()
    if not is_ulid(run) or not run.startswith(prefix.upper()) or any((folder / run).exists() for folder in folders):
        return None
    return (
        f"{branch} is checked out, and the folder of its run is gone. Its commits stay on the branch"
        f" (`git log {branch}`): check out your own branch to leave it."
    )


def find_loop_run(argument: str | None) -> Path:
    """Return the folder of the run that the user named, or of the last one."""
    from bridle.journal.stores.find_run import LAST

    return chosen_run(argument or LAST, None)


def shown_run(run: Path) -> str:
    """Return how to name a run in a command: its id if that is enough, else its folder."""
    import shlex

    from bridle.journal.stores.find_run import matching_runs, runs_folders

    is_found = matching_runs(run.name, *runs_folders(None, os.environ)) == [run]
    return shlex.quote(run.name if is_found else str(run))


def say(line: str) -> None:
    """Print a message on stderr."""
    from bridle.views.terminal.escape_controls import escape_line

    print(f"bridle: {escape_line(clean(line))}", file=sys.stderr, flush=True)


def show(text: str) -> None:
    """Print text from an agent or a file."""
    print(clean(text))


def print_document(value: object) -> None:
    """Print one JSON document with secrets masked."""
    from bridle.cli.machine_interface.light_command import print_json
    from bridle.wire.mask import Mask, secret_values

    print_json(Mask(secret_values(os.environ)).apply_to_json(value), pretty=True)


def is_terminal(stream: TextIO) -> bool:
    """Return whether a stream is a terminal with colours and a cursor."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def reader_is_gone() -> bool:
    """Return whether our own stdout is a pipe that has no reader."""
    import select

    poll = select.poll()
    poll.register(sys.stdout.fileno(), select.POLLOUT)
    return any(state & (select.POLLERR | select.POLLHUP) for _, state in poll.poll(0))


def clean(text: str) -> str:
    """Mask secrets and escape control characters."""
    from bridle.views.terminal.escape_controls import escape_unprintable
    from bridle.wire.mask import Mask, secret_values

    return escape_unprintable(Mask(secret_values(os.environ)).apply(text))


def run_interruptible(work: Coroutine[Any, Any, T]) -> T | None:
    """Run a coroutine; return None if a signal interrupted it."""
    import asyncio

    return asyncio.run(until_signalled(work))


async def until_signalled(work: Coroutine[Any, Any, T]) -> T | None:
    """Await a coroutine; SIGINT, SIGTERM and SIGHUP cancel it, and then return None once it has cleaned up.

    A second signal cancels the cleanup too: agents get no more time to end by themselves, and are killed.
    """
    import asyncio
    import signal

    task = asyncio.ensure_future(work)
    loop, waiting = asyncio.get_running_loop(), asyncio.current_task()

    def interrupt() -> None:
        for running in asyncio.all_tasks() - {waiting} if task.cancelling() else {task}:
            running.cancel()

    numbers = [signal.SIGINT, signal.SIGTERM]
    if (
        signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN
    ):  # started by nohup: the end of the terminal does not end it
        numbers.append(signal.SIGHUP)
    for number in numbers:
        loop.add_signal_handler(number, interrupt)
    try:
        await asyncio.wait({task})
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
    return None if task.cancelled() else task.result()


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Deliver Ctrl-C at the end of the block: half a redraw would leave lines twice on the screen."""
    import signal

    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
