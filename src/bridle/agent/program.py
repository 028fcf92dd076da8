"""Runs one command line: parses flags, reads the prompt, runs the conversation, returns the exit code.

A successful run prints nothing on stderr except warnings about settings: some clients merge stderr into the JSON that
they read.
"""

from __future__ import annotations

import asyncio
import os
import select
import signal
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic

from bridle.agent.command_line import flags
from bridle.agent.command_line.options import Options, make_options
from bridle.agent.version import version
from bridle.errors import Error, SessionError, UsageError, UserError

# How long a prompt waits for data on a silent stdin pipe, as measured with Claude Code.
SILENT_STDIN_SECONDS = 3.0

# How long the process waits at its end for a reader that does not read.
FLUSH_SECONDS = 60.0

READER_GONE = 141
_NO_INPUT = "Error: Input must be provided either through stdin or as a prompt argument when using --print"


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code."""
    try:
        return _run(arguments)
    except SessionError as error:
        return _report_session_error(arguments, error)
    except UserError as error:
        _print_error(error.message)
    except Error as error:
        _print_error(f"Error: {error}")
    except BrokenPipeError:
        return READER_GONE
    except OSError as error:
        _print_error(f"Error: {error.strerror or error}" + (f": {error.filename}" if error.filename else ""))
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except Exception as error:  # noqa: BLE001  # the edge: every error becomes a message and an exit code
        _print_error(f"Error: internal error of bridle-agent: {type(error).__name__}: {error}")
    return 1


def _run(arguments: list[str]) -> int:
    if arguments[:1] == ["auth"]:
        from bridle.agent.command_line import auth_command

        return auth_command.main(arguments[1:])
    if arguments[:1] == ["acp"]:
        from bridle.agent.acp import acp_command

        return acp_command.main(arguments[1:])
    parsed = flags.parse(arguments)
    if parsed.on("version"):
        sys.stdout.write(version() + "\n")
        return 0
    if parsed.on("help"):
        from bridle.agent.command_line.help import text

        sys.stdout.write(text() + "\n")
        return 0
    options = make_options(parsed)
    prompt = None if options.is_stream else _prompt(options.prompt, is_print=parsed.on("print"))
    return asyncio.run(_converse(options, prompt))


async def _converse(options: Options, prompt: str | None) -> int:
    from bridle.agent.assemble.run_agent import assemble
    from bridle.agent.stdio.inbox import Prompt

    loop = asyncio.get_running_loop()
    run = assemble(options, Path.cwd(), dict(os.environ))
    conversation = run.conversation
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, conversation.on_signal, number)
    _watch_reader(loop, lambda: conversation.on_signal(signal.SIGPIPE))
    for warning in run.warnings:
        _print_error(warning)
    if prompt is None:
        from bridle.agent.stdio.input import listen  # late: only hosts send messages on stdin

        listen(conversation.inbox, loop)
    code = READER_GONE
    try:
        await run.loop.run(None if prompt is None else Prompt(prompt))
        run.writer.finish()
        await run.writer.output.drained()
        code = conversation.exit_code()
    except BrokenPipeError:
        pass
    finally:
        await run.close()
    if options.mirrors and code != READER_GONE:
        run.writer.output.flush(FLUSH_SECONDS)  # the last line of the transcript
    if conversation.inbox.invalid is not None:
        _print_error(f"Error parsing streaming input line: {conversation.inbox.invalid.reason}")
    return code


def _watch_reader(loop: asyncio.AbstractEventLoop, on_gone: Callable[[], None]) -> None:
    """Call `on_gone` when the reader of standard output is gone, even if nothing is written.

    The write end of a pipe is never readable; the event loop wakes for it when the other end is closed.
    """
    if not stat.S_ISFIFO(os.fstat(1).st_mode):
        return

    def gone() -> None:
        loop.remove_reader(1)
        on_gone()

    loop.add_reader(1, gone)


def _prompt(argument: str | None, *, is_print: bool) -> str:
    """Return the prompt: the argument, standard input, or both."""
    if sys.stdin.closed or sys.stdin.isatty():
        if not is_print:
            raise UsageError('bridle-agent has no interactive mode. Use -p "prompt", or --input-format stream-json.')
        piped = ""
    else:
        piped = _read_stdin(has_prompt=argument is not None)
    parts = [part for part in (argument, piped) if part and part.strip()]
    if not parts:
        raise UsageError(_NO_INPUT)
    return "\n".join(parts)


def _read_stdin(*, has_prompt: bool) -> str:
    """Read standard input to its end; with a prompt argument, a silent pipe is ignored after a moment."""
    if has_prompt:
        poll = select.poll()
        poll.register(0, select.POLLIN | select.POLLHUP)
        if not poll.poll(SILENT_STDIN_SECONDS * 1000):
            _print_error(
                f"Warning: no stdin data received in {SILENT_STDIN_SECONDS:g}s, proceeding without it."
                " To skip the wait, redirect stdin: < /dev/null"
            )
            return ""
    chunks: list[bytes] = []
    try:
        while chunk := os.read(0, 1 << 20):
            chunks.append(chunk)
    except OSError:  # closed by the parent process
        pass
    return b"".join(chunks).decode("utf-8", "replace")


def _report_session_error(arguments: list[str], error: SessionError) -> int:
    """Report a session that cannot be resumed: as a result event on stdout, as a message on stderr."""
    from bridle.agent.conversation.turn_result import Ending, Totals, TurnCounts, result
    from bridle.agent.sessions.session import new_uuid
    from bridle.agent.stdio.event_writer import EventWriter
    from bridle.agent.stdio.output import Output

    options = make_options(flags.parse(arguments))
    output = Output()
    writer = EventWriter(output, options.output_format, is_verbose=options.is_verbose)
    ending = Ending(
        "error_during_execution", is_error=True, terminal_reason=None, errors=(error.message,), is_local=True
    )
    now = monotonic()
    event = result(ending, TurnCounts(started=now), Totals(), now=now)
    event.session_id, event.uuid = str(error.payload or new_uuid()), new_uuid()
    writer.write(event)
    if options.output_format != "text":
        writer.finish()
    output.flush(FLUSH_SECONDS)
    _print_error(error.message)
    return 1


def _print_error(text: str) -> None:
    sys.stderr.write(text + "\n")
