"""The program `bridle-agent`: the command line, standard input, one conversation, and an exit code.

Nothing is printed on stderr by a run that succeeds: programs merge it into the JSON that they read.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from bridle.agent import flags
from bridle.agent.events import PROTOCOL_VERSION
from bridle.agent.options import Options, options
from bridle.errors import Error, SessionError, UsageError, UserError

# A program that opens our standard input and writes nothing gets its prompt run after this time, as it has seen it.
SILENT_STDIN_SECONDS = 3.0

# A reader that does not read what is left at the very end keeps us no longer than this.
FLUSH_SECONDS = 60.0

READER_GONE = 141
_NO_INPUT = "Error: Input must be provided either through stdin or as a prompt argument when using --print"


def main(arguments: list[str]) -> int:
    """Run one command line and give its exit code."""
    try:
        return _main(arguments)
    except SessionError as error:
        return _no_session(arguments, error)
    except UserError as error:
        print(error.message, file=sys.stderr)
    except Error as error:
        print(f"Error: {error}", file=sys.stderr)
    except BrokenPipeError:
        return READER_GONE
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    return 1


def _main(arguments: list[str]) -> int:
    if arguments[:1] == ["auth"]:
        from bridle.agent.auth import auth_main

        return auth_main(arguments[1:])
    given = flags.parse(arguments)
    if given.on("version"):
        print(version())
        return 0
    if given.on("help"):
        from bridle.agent.help import text

        print(text())
        return 0
    asked = options(given)
    environment = dict(os.environ)
    prompt = None if asked.is_stream else _prompt(asked, is_print=given.on("print"))
    return asyncio.run(_run(asked, prompt, environment))


def version() -> str:
    """What programs look for, and then which program this is."""
    from bridle import __version__

    return f"{PROTOCOL_VERSION} (bridle-agent {__version__}, speaking this version of the Claude Code protocol)"


async def _run(asked: Options, prompt: str | None, environment: Mapping[str, str]) -> int:
    from bridle.agent.assembly import assemble
    from bridle.agent.input import Said, listen

    loop = asyncio.get_running_loop()
    run = assemble(asked, Path.cwd(), environment)
    conversation = run.conversation
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, conversation.signalled, number)
    for warning in run.warnings:
        print(warning, file=sys.stderr)
    if prompt is None:
        listen(conversation.inbox, loop)
    code = READER_GONE
    try:
        await run.talk.run(None if prompt is None else Said(prompt))
        run.speaker.finish()
        await run.output.drained()
        code = conversation.exit_code()
    except BrokenPipeError:
        pass
    finally:
        await run.close()
    if conversation.inbox.broken is not None:
        print(f"Error parsing streaming input line: {conversation.inbox.broken.reason}", file=sys.stderr)
    return code


def _prompt(asked: Options, *, is_print: bool) -> str:
    """The prompt: the argument, what comes in on standard input, or both."""
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        if not is_print:
            raise UsageError('bridle-agent has no screen of its own. Use -p "prompt", or --input-format stream-json.')
        piped = ""
    else:
        piped = _piped(has_prompt=asked.prompt is not None)
    parts = [part for part in (asked.prompt, piped.strip("\n") if asked.prompt else piped) if part and part.strip()]
    if not parts:
        raise UsageError(_NO_INPUT)
    return "\n".join(parts)


def _piped(*, has_prompt: bool) -> str:
    """What is on standard input, to its end; a silent pipe is waited for only where there is a prompt without it."""
    import select

    if has_prompt:
        poll = select.poll()
        poll.register(0, select.POLLIN | select.POLLHUP)
        if not poll.poll(SILENT_STDIN_SECONDS * 1000):
            print(
                f"Warning: no stdin data received in {SILENT_STDIN_SECONDS:g}s, going on without it."
                " Redirect it (< /dev/null) to go on at once.",
                file=sys.stderr,
            )
            return ""
    chunks: list[bytes] = []
    try:
        while chunk := os.read(0, 1 << 20):
            chunks.append(chunk)
    except OSError:  # closed by whoever started us: there is no more input
        pass
    return b"".join(chunks).decode("utf-8", "replace")


def _no_session(arguments: list[str], error: SessionError) -> int:
    """The conversation to go on with is not there: programs get a result, people get words."""
    from time import monotonic

    from bridle.agent.output import Output
    from bridle.agent.results import Ending, Totals, Turn, result
    from bridle.agent.session import new_uuid
    from bridle.agent.speaker import Speaker

    asked = options(flags.parse(arguments))
    if asked.output_format == "stream-json":
        output = Output()
        ending = Ending(
            "error_during_execution", is_error=True, terminal_reason=None, errors=(error.message,), is_local=True
        )
        turn = Turn(started=monotonic())
        speaker = Speaker(output, asked.output_format, is_verbose=asked.is_verbose)
        session_id = str(error.payload or new_uuid())
        speaker.result(result(ending, turn, Totals(), now=monotonic(), session_id=session_id, uuid=new_uuid()))
        output.flush(FLUSH_SECONDS)
    print(error.message, file=sys.stderr)
    return 1
