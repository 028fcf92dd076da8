"""`bridle show`: show the conversation in an agent's log."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bridle.cli.user_interface import terminal
from bridle.errors import DiskError, UsageError
from bridle.wire.dialects.dialect_table import AGENTS, DEFAULT_AGENT, StreamDecoder, decoder_for

if TYPE_CHECKING:
    from bridle.run.log_meta import LogMeta
    from bridle.views.log_chunks import Chunk, Log
    from bridle.views.terminal.conversation import ColourView, PlainView
    from bridle.views.terminal.page import DisplayOptions
    from bridle.wire.mask import Mask
    from bridle.wire.transcript.transcript import Transcript

LOGS = Path(".ralph/logs/claude")
# Runs with worktrees keep their logs there.
WORKTREES = Path(".ralph/worktrees")
NEWEST = "last"
# More than a card shows of one output; the log has the rest, and --full and --json keep more.
SHOWN_CHARACTERS = 10_000


@click.command("show", short_help="Show the conversation in an agent's log.")
@click.argument("target", metavar="[FILE|-|last]", default=NEWEST)
@click.option("--follow", "-f", is_flag=True, help="Keep reading while the log grows.")
@click.option("--thinking/--no-thinking", default=True, show_default=True, help="Show the model's reasoning.")
@click.option("--full", is_flag=True, help="Do not shorten anything.")
@click.option("--width", type=click.IntRange(40, 1000), help="Columns to use [default: the terminal's; 100 in a pipe].")
@click.option(
    "--agent", type=click.Choice(AGENTS), help="The agent that wrote the log.  [default: that of the run, or claude]"
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
def command(
    *, target: str, follow: bool, thinking: bool, full: bool, width: int | None, agent: str | None, as_json: bool
) -> None:
    """Show the conversation in FILE: messages, tool calls with their outcomes, diffs, sub-agents, cost.

    `-` reads standard input. `last` is the newest log in .ralph/logs/claude of this folder or of its worktrees.
    """
    from bridle.views.terminal.conversation import display_options
    from bridle.wire.mask import Mask, secret_values
    from bridle.wire.transcript.transcript import KEPT_CHARACTERS, Transcript

    if as_json and follow:
        raise UsageError("--json and --follow cannot be combined", remedy="Omit one of them.")
    target = str(_newest()) if target == NEWEST else target
    mask = Mask(secret_values(os.environ))
    transcript = Transcript(mask=mask, kept_characters=KEPT_CHARACTERS if full or as_json else SHOWN_CHARACTERS)
    show = _Show(transcript, decoder_for(agent or _agent_for(target)))
    if as_json:
        show.read(target)
        _print_document(transcript, mask)
        return
    is_terminal = terminal.is_terminal(sys.stdout)
    columns = _columns() if is_terminal else 0
    look = display_options(is_terminal=is_terminal, width=width, terminal_width=columns, full=full, thinking=thinking)
    view = _view(transcript, mask, look, is_terminal=is_terminal)
    if follow:
        show.follow(target, view)
    else:
        show.read(target)
    view.finish()


class _Show:
    """Feeds a log into a transcript."""

    def __init__(self, transcript: Transcript, decoder: StreamDecoder) -> None:
        self._transcript = transcript
        self._decoder = decoder

    def read(self, target: str) -> None:
        """Read the whole log."""
        from bridle.views.log_chunks import stream_chunks

        if target == "-":
            self._add((data, None) for data, _ in _readable(stream_chunks(sys.stdin.buffer), "standard input"))
        else:
            with _open(target) as log:
                self._add(_readable(log.chunks(), target))
        self._end()

    def follow(self, target: str, view: PlainView | ColourView) -> None:
        """Read the log as it grows, and show each part as it arrives."""
        from bridle.views.log_chunks import stream_chunks

        try:
            if target == "-":
                for chunk in _readable(stream_chunks(sys.stdin.buffer), "standard input"):
                    self._add([chunk])
                    view.update()
            else:
                with _open(target) as log:
                    self._follow_file(log, view)
        finally:
            view.close()
        self._end()

    def _follow_file(self, log: Log, view: PlainView | ColourView) -> None:
        import time

        self._add(log.chunks())
        view.update()
        while log.wait(result_seen=bool(self._transcript.footers)):
            self._add(log.chunks(now=None if log.has_times else time.monotonic()))
            view.update()

    def _add(self, chunks: Iterable[Chunk]) -> None:
        for data, at in chunks:
            for event in self._decoder.feed(data):
                self._transcript.add(event, at)

    def _end(self) -> None:
        for event in self._decoder.end():
            self._transcript.add(event)
        self._transcript.finish()


def _open(target: str) -> Log:
    from bridle.views.log_chunks import Log

    path = Path(target)
    try:
        if path.is_dir():
            raise UsageError(f"{path} is a folder", remedy="Name a log in it: a file that ends in .ndjson.")
        return Log(path, lambda: _meta(path).is_ended)
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


def _agent_for(target: str) -> str:
    """Return the agent named in the file beside the log, or the default."""
    return DEFAULT_AGENT if target == "-" else _meta(Path(target)).agent or DEFAULT_AGENT


def _meta(log: Path) -> LogMeta:
    """Read the file beside a log; one that cannot be read counts as missing."""
    from bridle.run.log_meta import LogMeta, read_meta

    try:
        return read_meta(log)
    except DiskError:
        return LogMeta()


def _newest() -> Path:
    paths = (path for folder in (Path(), *WORKTREES.glob("*")) for path in (folder / LOGS).glob("*.ndjson"))
    logs = [(path.stat().st_mtime_ns, path.name, path) for path in paths if path.is_file()]
    if not logs:
        raise UsageError(f"no log in {LOGS}", remedy="Name a file, or `-` for standard input.")
    return max(logs)[2]


def _view(transcript: Transcript, mask: Mask, look: DisplayOptions, *, is_terminal: bool) -> PlainView | ColourView:
    from bridle.views.terminal.conversation import ColourView, PlainView

    if not is_terminal:
        _allow_any_encoding()
        return PlainView(transcript, mask, look, sys.stdout)
    from rich.console import Console

    return ColourView(transcript, mask, look, Console(highlight=False, markup=False, emoji=False))


def _print_document(transcript: Transcript, mask: Mask) -> None:
    import json

    from bridle.views.conversation_json import conversation_document

    _allow_any_encoding()
    print(json.dumps(conversation_document(transcript, mask), ensure_ascii=False))


def _allow_any_encoding() -> None:
    """Replace characters that the output's encoding lacks instead of failing."""
    import io

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _columns() -> int:
    import shutil

    return shutil.get_terminal_size().columns
