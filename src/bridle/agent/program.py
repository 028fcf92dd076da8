"""One command line from its flags to its exit code: the prompt, one conversation, and how it is ended.

Nothing is printed on stderr by a run that succeeds, but for warnings about settings: programs merge it into the JSON
that they read.
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
from bridle.agent.command_line.options import Options, options
from bridle.agent.version import version
from bridle.errors import Error, SessionError, UsageError, UserError

# A program that opens our standard input and writes nothing gets its prompt run after this time, as it has seen it.
SILENT_STDIN_SECONDS = 3.0

# A reader that does not read what is left at the very end keeps us no longer than this.
FLUSH_SECONDS = 60.0

READER_GONE = 141
_NO_INPUT = "Error: Input must be provided either through stdin or as a prompt argument when using --print"


def run(arguments: list[str]) -> int:
    """Run one command line and give its exit code."""
    try:
        return _run(arguments)
    except SessionError as error:
        return _no_session(arguments, error)
    except UserError as error:
        _tell(error.message)
    except Error as error:
        _tell(f"Error: {error}")
    except BrokenPipeError:
        return READER_GONE
    except OSError as error:
        _tell(f"Error: {error.strerror or error}" + (f": {error.filename}" if error.filename else ""))
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except Exception as error:  # noqa: BLE001  # the edge: whatever it is, it ends here as words and a code
        _tell(f"Error: a mistake of bridle-agent's own: {type(error).__name__}: {error}")
    return 1


def _run(arguments: list[str]) -> int:
    if arguments[:1] == ["auth"]:
        from bridle.agent.command_line import auth_command

        return auth_command.main(arguments[1:])
    given = flags.parse(arguments)
    if given.on("version"):
        sys.stdout.write(version() + "\n")
        return 0
    if given.on("help"):
        from bridle.agent.command_line.help import text

        sys.stdout.write(text() + "\n")
        return 0
    asked = options(given)
    prompt = None if asked.is_stream else _prompt(asked.prompt, is_print=given.on("print"))
    return asyncio.run(_converse(asked, prompt))


async def _converse(asked: Options, prompt: str | None) -> int:
    from bridle.agent.assemble.run_agent import assemble
    from bridle.agent.stdio.input import Said, listen

    loop = asyncio.get_running_loop()
    parts = assemble(asked, Path.cwd(), dict(os.environ))
    conversation = parts.conversation
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, conversation.signalled, number)
    _watch_reader(loop, lambda: conversation.signalled(signal.SIGPIPE))
    for warning in parts.warnings:
        _tell(warning)
    if prompt is None:
        listen(conversation.inbox, loop)
    code = READER_GONE
    try:
        await parts.talk.run(None if prompt is None else Said(prompt))
        parts.speaker.finish()
        await parts.output.drained()
        code = conversation.exit_code()
    except BrokenPipeError:
        pass
    finally:
        await parts.close()
    if conversation.inbox.broken is not None:
        _tell(f"Error parsing streaming input line: {conversation.inbox.broken.reason}")
    return code


def _watch_reader(loop: asyncio.AbstractEventLoop, on_gone: Callable[[], None]) -> None:
    """Hear when nobody reads our output any more, also while there is nothing to write.

    The write end of a pipe is never readable; the loop wakes for it when the other end was closed.
    """
    if not stat.S_ISFIFO(os.fstat(1).st_mode):
        return

    def gone() -> None:
        loop.remove_reader(1)
        on_gone()

    loop.add_reader(1, gone)


def _prompt(given: str | None, *, is_print: bool) -> str:
    """The prompt: the argument, what comes in on standard input, or both."""
    if sys.stdin.closed or sys.stdin.isatty():
        if not is_print:
            raise UsageError('bridle-agent has no screen of its own. Use -p "prompt", or --input-format stream-json.')
        piped = ""
    else:
        piped = _piped(has_prompt=given is not None)
    parts = [part for part in (given, piped) if part and part.strip()]
    if not parts:
        raise UsageError(_NO_INPUT)
    return "\n".join(parts)


def _piped(*, has_prompt: bool) -> str:
    """What is on standard input, to its end; a silent pipe is not waited for where there is a prompt without it."""
    if has_prompt:
        poll = select.poll()
        poll.register(0, select.POLLIN | select.POLLHUP)
        if not poll.poll(SILENT_STDIN_SECONDS * 1000):
            _tell(
                f"Warning: no stdin data received in {SILENT_STDIN_SECONDS:g}s, going on without it."
                " Redirect it (< /dev/null) to go on at once."
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
    from bridle.agent.conversation.turn_result import Ending, Totals, Turn, result
    from bridle.agent.sessions.session import new_uuid
    from bridle.agent.stdio.formats import Speaker
    from bridle.agent.stdio.output import Output

    asked = options(flags.parse(arguments))
    output = Output()
    speaker = Speaker(output, asked.output_format, is_verbose=asked.is_verbose)
    ending = Ending(
        "error_during_execution", is_error=True, terminal_reason=None, errors=(error.message,), is_local=True
    )
    session_id = str(error.payload or new_uuid())
    now = monotonic()
    speaker.result(result(ending, Turn(started=now), Totals(), now=now, session_id=session_id, uuid=new_uuid()))
    if asked.output_format != "text":
        speaker.finish()
    output.flush(FLUSH_SECONDS)
    _tell(error.message)
    return 1


def _tell(text: str) -> None:
    sys.stderr.write(text + "\n")
