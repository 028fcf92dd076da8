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
from bridle.errors import UsageError
from bridle.views.run_data.log_ending import agent_of, ending_of, is_over
from bridle.wire.dialects.dialect_table import AGENTS, DEFAULT_AGENT

if TYPE_CHECKING:
    from bridle.cli.user_interface.named_logs import NamedLogs
    from bridle.views.log_chunks import Chunk, Log
    from bridle.views.read_conversation import Conversation
    from bridle.views.run_data.run_logs import NamedLog
    from bridle.views.terminal.conversation import ColourView, PlainView

STDIN = "-"
NEWEST = "last"
# More than a card shows of one output; the log has the rest, and --full and --json keep more.
SHOWN_CHARACTERS = 10_000


@click.command("show", short_help="Show the conversation in an agent's log.")
@click.argument("target", metavar="[RUN|TASK|FILE|-|last]", default=NEWEST)
@click.argument("task", metavar="[TASK]", required=False)
@click.option("--iteration", type=click.IntRange(1), help="Only this iteration of the task.")
@click.option("--prompt", "as_prompt", is_flag=True, help="Show the prompt of TASK: the last, or that of --iteration.")
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
    as_prompt: bool,
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

    With --prompt TASK: the prompt that an agent got, or would get if none has worked on the task yet.
    """
    from bridle.cli.user_interface.named_logs import find_logs

    if as_json and follow:
        raise UsageError("--json and --follow cannot be combined", remedy="Omit one of them.")
    if as_prompt:
        _show_prompt(target, task, iteration, as_json=as_json)
        return
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


def _show_prompt(target: str, task: str | None, iteration: int | None, *, as_json: bool) -> None:
    """Print the prompt of a task: `--prompt TASK`, or `--prompt RUN TASK`."""
    import msgspec

    from bridle.cli.user_interface.shown_prompts import find_prompt

    if target in (STDIN, NEWEST) and task is None:
        raise UsageError("--prompt needs a task", remedy="Name it: bridle show --prompt TASK")
    found = find_prompt(target if task is None else task, None if task is None else target, iteration)
    if as_json:
        terminal.print_document(msgspec.to_builtins(found))
        return
    terminal.show(found.text)
    sent = f"iteration {found.iteration}, run {found.run}" if found.run else "no agent got it yet"
    terminal.say(f"the prompt of {found.task!r}: {sent}")


class _Options(Struct, frozen=True, kw_only=True):
    """The options of the command line."""

    full: bool
    thinking: bool
    width: int | None
    agent: str | None
    as_json: bool


def _conversation(options: _Options, agent: str) -> Conversation:
    """Return an empty conversation; on a terminal it keeps only as much of an output as a card shows."""
    from bridle.views.read_conversation import Conversation
    from bridle.wire.mask import Mask, secret_values
    from bridle.wire.transcript.transcript import KEPT_CHARACTERS

    is_whole = options.full or options.as_json
    return Conversation(
        options.agent or agent,
        Mask(secret_values(os.environ)),
        kept_characters=KEPT_CHARACTERS if is_whole else SHOWN_CHARACTERS,
    )


def _show_stream(options: _Options, *, is_timed: bool) -> None:
    """Show standard input, each part as it arrives; durations are measured only on request, as it may be a file."""
    from bridle.views.log_chunks import stream_chunks

    conversation = _conversation(options, DEFAULT_AGENT)
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
    conversation = _conversation(options, agent_of(log.path))
    with _open(log.path) as file, _showing(conversation, options, log.title, is_first=is_first) as view:
        conversation.add(_readable(file.chunks(), str(log.path)))
        if follow:
            _follow(file, conversation, view)
        ending, is_running = ending_of(log.path)
        conversation.end(ending, is_running=is_running)


def _follow(file: Log, conversation: Conversation, view: PlainView | ColourView) -> None:
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
    conversation: Conversation, options: _Options, title: str = "", *, is_first: bool = True
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


def _view(conversation: Conversation, options: _Options) -> PlainView | ColourView:
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
        return PlainView(conversation.transcript, conversation.mask, look, sys.stdout, conversation.recorder.record)
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    return ColourView(conversation.transcript, conversation.mask, look, console, conversation.recorder.record)


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
        conversation = _conversation(options, agent_of(log.path))
        with _open(log.path) as file:
            conversation.add(_readable(file.chunks(), str(log.path)))
        ending, is_running = ending_of(log.path)
        conversation.end(ending, is_running=is_running)
        about = {"log": str(log.path), "task": log.task, "iteration": log.iteration, "attempt": log.attempt}
        documents.append({**(about if named.run is not None else {}), **_document(conversation)})
    _print_json(documents[0] if named.run is None else {"run": named.run.name, "conversations": documents})


def _document(conversation: Conversation) -> dict[str, Any]:
    from bridle.views.conversation_json import conversation_document
    from bridle.wire.record.gauge import gauge_of

    return conversation_document(conversation.transcript, conversation.mask, gauge_of(conversation.recorder.record))


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
