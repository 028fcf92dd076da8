"""`bridle show`: show the conversation in an agent's log."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from bridle.cli.user_interface import terminal
from bridle.cli.user_interface.agent_ending import agent_of, ending_of, is_over
from bridle.errors import UsageError
from bridle.wire.dialects.dialect_table import AGENTS, DEFAULT_AGENT, decoder_for

if TYPE_CHECKING:
    from bridle.cli.user_interface.named_logs import NamedLog, NamedLogs
    from bridle.views.log_chunks import Chunk, Log
    from bridle.views.terminal.conversation import ColourView, PlainView
    from bridle.wire.record.outcome import Ending

STDIN = "-"
NEWEST = "last"
# More than a card shows of one output; the log has the rest, and --full and --json keep more.
SHOWN_CHARACTERS = 10_000


@click.command("show", short_help="Show the conversation in an agent's log.")
@click.argument("target", metavar="[RUN|TASK|FILE|-|last]", default=NEWEST)
@click.argument("task", metavar="[TASK]", required=False)
@click.option("--iteration", type=click.IntRange(1), help="Only this iteration of the task.")
@click.option("--follow", "-f", is_flag=True, help="Keep reading while the log grows; with `-`, measure durations.")
@click.option("--thinking/--no-thinking", default=True, show_default=True, help="Show the model's reasoning.")
@click.option("--full", is_flag=True, help="Do not shorten anything.")
@click.option("--width", type=click.IntRange(40, 1000), help="Columns to use [default: the terminal's; 100 in a pipe].")
@click.option(
    "--agent", type=click.Choice(AGENTS), help="The agent that wrote the log.  [default: that of the run, or claude]"
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
def command(
    *,
    target: str,
    task: str | None,
    iteration: int | None,
    follow: bool,
    thinking: bool,
    full: bool,
    width: int | None,
    agent: str | None,
    as_json: bool,
) -> None:
    """Show a conversation: messages, tool calls with their outcomes, diffs, sub-agents, cost.

    RUN is a run's id or the beginning of it, TASK the number or the title of a task of the newest run (or of RUN, if
    both are given): every agent that worked on it is shown. FILE is a log. `-` reads standard input and prints as lines
    arrive. `last`, the default, is the newest log of this repository.
    """
    from bridle.cli.user_interface.named_logs import find_logs

    if as_json and follow:
        raise UsageError("--json and --follow cannot be combined", remedy="Omit one of them.")
    options = _Options(full=full, thinking=thinking, width=width, agent=agent, as_json=as_json)
    if target == STDIN:
        if task is not None or iteration is not None:
            raise UsageError("standard input has no tasks", remedy="Omit TASK and --iteration.")
        _show_stream(options, is_timed=follow)
        return
    named = find_logs(target, task, iteration)
    if as_json:
        _print_documents(named, options)
    elif follow and named.run is not None:
        _follow_run(lambda: find_logs(target, task, iteration), options)
    else:
        for index, log in enumerate(named.logs):
            _show_log(log, options, follow=follow, is_first=index == 0)


class _Options(Struct, frozen=True, kw_only=True):
    """The options of the command line."""

    full: bool
    thinking: bool
    width: int | None
    agent: str | None
    as_json: bool


class _Conversation:
    """A conversation that is read from a log or a stream, and shown."""

    def __init__(self, options: _Options, agent: str) -> None:
        from bridle.wire.mask import Mask, secret_values
        from bridle.wire.transcript.transcript import KEPT_CHARACTERS, Transcript

        self.mask = Mask(secret_values(os.environ))
        is_whole = options.full or options.as_json
        self.transcript = Transcript(mask=self.mask, kept_characters=KEPT_CHARACTERS if is_whole else SHOWN_CHARACTERS)
        self._decoder = decoder_for(options.agent or agent)

    def add(self, chunks: Iterable[Chunk]) -> None:
        """Add the events in some chunks."""
        for data, at in chunks:
            for event in self._decoder.feed(data):
                self.transcript.add(event, at)

    def end(self, ending: Ending | None, *, is_running: bool = False) -> None:
        """Add what the end of the input completes; of a running agent, nothing is marked as interrupted.

        `ending` is None where only the log is known.
        """
        from bridle.wire.transcript.process_end import UNKNOWN

        if is_running:
            return
        for event in self._decoder.end():
            self.transcript.add(event)
        self.transcript.finish(ending or UNKNOWN)


def _show_stream(options: _Options, *, is_timed: bool) -> None:
    """Show standard input, each part as it arrives; durations are measured only on request, as it may be a file."""
    from bridle.views.log_chunks import stream_chunks

    conversation = _Conversation(options, DEFAULT_AGENT)
    arriving = _readable(stream_chunks(sys.stdin.buffer), "standard input")
    chunks = ((data, at if is_timed else None) for data, at in arriving)
    if options.as_json:
        conversation.add(chunks)
        conversation.end(None)
        _print_json(_document(conversation))
        return
    with _showing(conversation, options) as view:
        for chunk in chunks:
            with terminal.interrupts_deferred():
                conversation.add([chunk])
                view.update()
        conversation.end(None)


def _show_log(log: NamedLog, options: _Options, *, follow: bool, is_first: bool) -> None:
    conversation = _Conversation(options, agent_of(log.path))
    with _open(log.path) as file, _showing(conversation, options, log.title, is_first=is_first) as view:
        conversation.add(_readable(file.chunks(), str(log.path)))
        if follow:
            _follow(file, conversation, view)
        ending, is_running = ending_of(log.path)
        conversation.end(ending, is_running=is_running)


def _follow(file: Log, conversation: _Conversation, view: PlainView | ColourView) -> None:
    """Read a log as it grows, and show each part as it arrives."""
    import time

    with terminal.interrupts_deferred():
        view.update()
    while file.wait(result_seen=bool(conversation.transcript.footers)):
        for chunk in file.chunks(now=None if file.has_times else time.monotonic()):
            with terminal.interrupts_deferred():
                conversation.add([chunk])
        with terminal.interrupts_deferred():
            view.update()


def _follow_run(find: Callable[[], NamedLogs], options: _Options) -> None:
    """Show the logs of a run one after the other, also those that begin while it is driven."""
    import time

    from bridle.engine.drive.driver_lock import find_driver
    from bridle.views.log_chunks import POLL_SECONDS

    shown: set[Path] = set()
    while True:
        named = find()
        is_driven = named.run is not None and find_driver(named.run) is not None
        new = [log for log in find().logs if log.path not in shown]  # again: one may have begun before the driver ended
        if not new and not is_driven:
            return
        for log in new:
            _show_log(log, options, follow=True, is_first=not shown)
            shown.add(log.path)
        if not new:
            time.sleep(POLL_SECONDS)


@contextmanager
def _showing(
    conversation: _Conversation, options: _Options, title: str = "", *, is_first: bool = True
) -> Iterator[PlainView | ColourView]:
    """Yield a view of a conversation; at the end, and at Ctrl-C, what was not shown is shown in its present state."""
    view = _view(conversation, options)
    try:
        if title:
            view.heading(title, is_first=is_first)
        yield view
    except KeyboardInterrupt:
        view.finish()
        raise
    else:
        view.finish()
    finally:
        view.close()


def _view(conversation: _Conversation, options: _Options) -> PlainView | ColourView:
    from bridle.views.terminal.conversation import ColourView, PlainView, display_options

    is_terminal = terminal.is_terminal(sys.stdout)
    look = display_options(
        is_terminal=is_terminal,
        width=options.width,
        terminal_width=_columns() if is_terminal else 0,
        full=options.full,
        thinking=options.thinking,
    )
    if not is_terminal:
        _allow_any_encoding()
        return PlainView(conversation.transcript, conversation.mask, look, sys.stdout)
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    return ColourView(conversation.transcript, conversation.mask, look, console)


def _open(path: Path) -> Log:
    from bridle.views.log_chunks import Log

    try:
        if path.is_dir():
            raise UsageError(f"{path} is a folder", remedy="Name a log in it: a file that ends in .ndjson.")
        return Log(path, lambda: is_over(path))
    except OSError as error:
        raise _unreadable(str(path), error) from error


def _readable(chunks: Iterable[Chunk], name: str) -> Iterator[Chunk]:
    """Yield the same chunks; a read error names the file."""
    try:
        yield from chunks
    except OSError as error:
        raise _unreadable(name, error) from error


def _unreadable(name: str, error: OSError) -> UsageError:
    return UsageError(f"cannot read {name}: {error.strerror or error}", remedy="Name the log of an agent run.")


def _print_documents(named: NamedLogs, options: _Options) -> None:
    """Print the conversation of one log, or those of all logs of a run or a task."""
    documents = []
    for log in named.logs:
        conversation = _Conversation(options, agent_of(log.path))
        with _open(log.path) as file:
            conversation.add(_readable(file.chunks(), str(log.path)))
        ending, is_running = ending_of(log.path)
        conversation.end(ending, is_running=is_running)
        about = {"log": str(log.path), "task": log.task, "iteration": log.iteration, "attempt": log.attempt}
        documents.append({**(about if named.run is not None else {}), **_document(conversation)})
    _print_json(documents[0] if named.run is None else {"run": named.run.name, "conversations": documents})


def _document(conversation: _Conversation) -> dict[str, Any]:
    from bridle.views.conversation_json import conversation_document

    return conversation_document(conversation.transcript, conversation.mask)


def _print_json(document: dict[str, Any]) -> None:
    import json

    _allow_any_encoding()
    print(json.dumps(document, ensure_ascii=False))


def _allow_any_encoding() -> None:
    """Replace characters that the output's encoding lacks instead of failing."""
    import io

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _columns() -> int:
    import shutil

    return shutil.get_terminal_size().columns
