"""`bridle export`: keep a run or a conversation as HTML, Markdown or JSON."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bridle.cli.user_interface.terminal import say
from bridle.errors import UsageError
from bridle.wire.dialects.dialect_table import AGENTS

if TYPE_CHECKING:
    from bridle.views.export.export_source import ExportSource, Progress
    from bridle.views.export.size_limit import SizeLimit
    from bridle.wire.mask import Mask

STDOUT = "-"
# An export that takes longer says how far it is, and this often.
PROGRESS_SECONDS = 2.0


@click.command("export", short_help="Keep a run or a conversation as HTML, Markdown or JSON.")
@click.argument("target", metavar="[RUN|FILE]", default="last")
@click.option("--html", metavar="OUT", help="Write one HTML file that works offline.")
@click.option("--markdown", metavar="OUT", help="Write Markdown.")
@click.option("--json", "json_out", metavar="OUT", help="Write JSON.")
@click.option("--force", is_flag=True, help="Replace OUT if it exists.")
@click.option(
    "--agent", type=click.Choice(AGENTS), help="The agent that wrote FILE.  [default: that of the run, or claude]"
)
def command(
    *, target: str, html: str | None, markdown: str | None, json_out: str | None, force: bool, agent: str | None
) -> int:
    """Write RUN (default: the last run) or the log FILE to OUT, with secrets masked; `-` is standard output.

    The file of a run has its receipt, tasks, checks, commits with diffs, journal and the conversations of all its
    agents; that of a log its conversation. It is private (mode 0600) and appears when it is complete.
    """
    from bridle.ground.files.output_file import check_output
    from bridle.views.export.html_file import html_pieces
    from bridle.views.export.json_file import json_pieces
    from bridle.views.export.markdown_file import markdown_pieces

    wanted = [
        (out, write)
        for out, write in ((html, html_pieces), (markdown, markdown_pieces), (json_out, json_pieces))
        if out is not None
    ]
    if not wanted:
        raise UsageError("the output is missing", remedy="Pass --html OUT, --markdown OUT or --json OUT.")
    outputs = [out for out, _ in wanted]
    if len(set(outputs)) < len(outputs):
        raise UsageError(f"{outputs[0]} is named for two outputs", remedy="Name a file for each.")
    for out in outputs:
        if out != STDOUT:
            check_output(Path(out), overwrite=force)
    source = _find(target, agent)
    for out, write in wanted:
        _write(out, write, source, force=force)
    return 0


def _find(target: str, agent: str | None) -> ExportSource:
    """Return the run or the log that the user named."""
    from bridle import __version__
    from bridle.cli.user_interface.named_logs import find_log_file
    from bridle.cli.user_interface.terminal import chosen_run
    from bridle.views.export.export_source import export_of_log, export_of_run

    file = find_log_file(target)
    if file is not None:
        return export_of_log(file, agent, version=__version__, at=time.time(), environment=dict(os.environ))
    return export_of_run(chosen_run(target, None), version=__version__, at=time.time(), environment=dict(os.environ))


def _write(
    out: str,
    write: Callable[[ExportSource, Mask, SizeLimit, Progress], Iterable[bytes]],
    source: ExportSource,
    *,
    force: bool,
) -> None:
    from bridle.ground.files.output_file import write_output
    from bridle.views.export.size_limit import SizeLimit
    from bridle.views.format_amounts import format_size
    from bridle.wire.mask import Mask, secret_values

    limit = SizeLimit()
    pieces = write(source, Mask(secret_values(os.environ)), limit, _SlowProgress().say)
    if out == STDOUT:
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    else:
        size = write_output(Path(out), pieces, overwrite=force)
        say(f"{out}: {format_size(size)}")
    for remark in limit.omitted:
        say(f"left out: {remark}")


class _SlowProgress:
    """Says how far an export is, where it takes long."""

    def __init__(self) -> None:
        self._said_at = time.monotonic()

    def say(self, text: str) -> None:
        """Print a message, unless the last one is recent."""
        if time.monotonic() - self._said_at >= PROGRESS_SECONDS:
            self._said_at = time.monotonic()
            say(text)
