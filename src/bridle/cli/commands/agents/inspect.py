"""`bridle inspect`: show the record and the outcome of an agent's log, offline."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import click
from msgspec.structs import replace

from bridle.errors import DiskError, UsageError
from bridle.run.log_meta import LogMeta, read_meta, read_stderr_end
from bridle.wire.dialects.dialect_table import AGENTS, DEFAULT_AGENT, decoder_for
from bridle.wire.record.outcome import Outcome, judge
from bridle.wire.record.policy import Policy
from bridle.wire.record.record import Record
from bridle.wire.record.recorder import Recorder
from bridle.wire.record.report import report_document, report_json

STDIN = "-"
CHUNK_BYTES = 256 * 1024  # reading costs little beside decoding; memory stays small


@click.command("inspect", short_help="Show the record and the outcome of an agent's log, offline.")
@click.argument("log", metavar="FILE|-")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
@click.option(
    "--agent", type=click.Choice(AGENTS), help="The agent that printed it.  [default: that of the run, or claude]"
)
@click.option("--exit-code", type=int, help="Exit code of the agent's process.  [default: 0]")
@click.option("--stderr", "stderr_path", metavar="FILE", help="File with the agent's stderr.")
@click.option("--expect-session", metavar="ID", help="The session that the run had to continue.")
@click.option("--timed-out", is_flag=True, help="The agent was stopped by a time limit.")
@click.option("--no-hang-heuristic", is_flag=True, help="Do not detect unanswered questions and unfinished work.")
@click.option(
    "--policy",
    type=click.Choice([policy.value for policy in Policy]),
    help="harness: a missing answer or a denied permission fails the run. lenient: it is a warning."
    "  [default: that of the run, or harness]",
)
def command(
    *,
    log: str,
    as_json: bool,
    agent: str | None,
    exit_code: int | None,
    stderr_path: str | None,
    expect_session: str | None,
    timed_out: bool,
    no_hang_heuristic: bool,
    policy: str | None,
) -> None:
    """Read the log of one agent run and report what happened.

    FILE is the agent's stdout, one JSON object a line; `-` reads it from stdin. For a log that Bridle wrote, the exit
    of the process is read from the files beside it, unless --exit-code is given.
    """
    sidecar = LogMeta() if exit_code is not None or log == STDIN else _read_meta(Path(log))
    stderr = Path(stderr_path) if stderr_path is not None else sidecar.stderr
    record = _fold(log, agent or sidecar.agent or DEFAULT_AGENT)
    ending = sidecar.ending_of(record)
    ending = replace(
        ending,
        exit_code=ending.exit_code if exit_code is None else exit_code,
        timed_out=timed_out or ending.timed_out,
        expected_session=expect_session or ending.expected_session,
        stderr="" if stderr is None else _tail(stderr),
    )
    rules = replace(
        sidecar.rules,
        policy=sidecar.rules.policy if policy is None else Policy(policy),
        hang_heuristic=sidecar.rules.hang_heuristic and not no_hang_heuristic,
    )
    outcome = judge(record, ending, rules)
    if as_json:
        print(report_json(report_document(record, outcome)))
    else:
        _print_summary(record, outcome)


def _read_meta(log: Path) -> LogMeta:
    try:
        return read_meta(log)
    except DiskError as error:
        raise UsageError(error.message, remedy="Give --exit-code to judge the log without it.") from error


def _fold(log: str, agent: str) -> Record:
    """Return the record of a log of any length, in constant memory."""
    decoder, recorder = decoder_for(agent), Recorder()
    for chunk in _chunks(log):
        recorder.add_all(decoder.feed(chunk))
    recorder.add_all(decoder.end())
    return recorder.record


def _chunks(log: str) -> Iterator[bytes]:
    try:
        with _open(log) as stream:
            while chunk := stream.read(CHUNK_BYTES):
                yield chunk
    except OSError as error:
        raise _unreadable(log, error) from error


def _open(log: str) -> BinaryIO:
    return open(sys.stdin.fileno(), "rb", closefd=False) if log == STDIN else open(log, "rb")


def _tail(path: Path) -> str:
    """Return the end of a stderr log, as much as a live run keeps."""
    try:
        return read_stderr_end(path)
    except OSError as error:
        remedy = "Name the file that holds the agent's stderr with --stderr, or omit it."
        raise UsageError(f"cannot read {path}: {error.strerror or error}", remedy=remedy) from error


def _unreadable(name: str, error: OSError) -> UsageError:
    source = "standard input" if name == STDIN else name
    remedy = "Name the file that holds the agent's stdout, or - to read it from standard input."
    return UsageError(f"cannot read {source}: {error.strerror or error}", remedy=remedy)


def _print_summary(record: Record, outcome: Outcome) -> None:
    from bridle.views.terminal.outcome_summary import summarize_outcome
    from bridle.wire.mask import Mask, secret_values

    text = summarize_outcome(record, outcome, clean=Mask(secret_values(os.environ)).apply)
    # UTF-8 cannot encode a lone surrogate in an agent's text, and an ASCII locale much else.
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding))
