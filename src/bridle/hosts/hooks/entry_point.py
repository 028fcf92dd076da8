"""The program that a host starts for its hooks: one process, one answer. A failure here never blocks a session.

    <python> -I -S <file that imports this and calls start()> --hook-type stop --harness claude-code --plugin-root DIR

Importing `json` and `pathlib` takes twice as long as starting Python. So nothing here imports them, and functions
import what they need, after `start` has switched off the garbage collector.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # importing `typing` is slow; type checkers know the name
if TYPE_CHECKING:
    from bridle.ground.light.abc_names import Callable, Mapping
    from bridle.hosts.adapters import Adapter
    from bridle.hosts.hooks.hook_protocol import Answer, HookCall

    Hook = Callable[[HookCall], Answer]

STOP = "stop"
SESSION_START = "session-start"
HOOK_TYPES = (STOP, SESSION_START)
DEFAULT_HARNESS = "claude-code"

# A payload has some kilobytes, with the agent's last message in it. A larger one is not from a host.
PAYLOAD_LIMIT_BYTES = 16 * 1024 * 1024

# A host writes its payload at once. One that has not closed the pipe after this long never will.
PAYLOAD_WAIT_SECONDS = 10.0

_OPTIONS = ("--hook-type", "--harness", "--plugin-root", "--state-dir", "--runs-dir")
_FLAGS = ("--json", "--verbose")


def start(arguments: list[str]) -> None:
    """Answer the hook on standard input and exit without interpreter shutdown."""
    import gc

    gc.disable()  # every object lives until the end; collecting takes a tenth of the time
    code = main(arguments, read_stdin())
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        pass  # the stream is closed
    os._exit(code)


def main(arguments: list[str], stdin: bytes) -> int:
    """Answer one hook and return the exit code: 0 unless the command line is wrong."""
    from bridle.errors import UsageError

    try:
        options = _parse(arguments)
        hook, adapter = find_hook(options.get("--hook-type"), options.get("--harness"))
    except UsageError as error:
        from bridle.ground.light import quick_json

        _print_error(quick_json.compact({"error": error.code, "message": str(error)}))
        return 1
    from bridle.hosts.hooks.hook_protocol import HookCall

    call = HookCall(
        adapter,
        stdin,
        os.environ,
        plugin_root=options.get("--plugin-root") or None,
        state_dir=options.get("--state-dir") or None,
        runs_dir=options.get("--runs-dir") or None,
    )
    return respond(hook, call)


def find_hook(hook_type: str | None, harness: str | None) -> tuple[Hook, Adapter]:
    """Return the function that answers the hook, and the host; raise a UsageError for unknown ones."""
    from bridle.hosts.adapters import by_name

    if hook_type not in HOOK_TYPES:
        from bridle.errors import HookTypeMissing, HookTypeUnknown

        expected = f"--hook-type must be {' or '.join(HOOK_TYPES)}"
        raise HookTypeUnknown(f"{expected}, got {hook_type!a}") if hook_type else HookTypeMissing(expected)
    adapter = by_name(harness or DEFAULT_HARNESS)
    if adapter is None:
        from bridle.errors import HarnessUnsupported

        raise HarnessUnsupported(f"--harness must be claude-code, codex or none, got {harness!a}")
    if hook_type == STOP:
        from bridle.hosts.hooks.stop_hook import answer
    else:
        from bridle.hosts.hooks.session_start import answer
    return answer, adapter


def respond(hook: Hook, call: HookCall) -> int:
    """Print the answer on standard output; print and log the warnings."""
    from bridle.errors import Error
    from bridle.hosts.hooks.hook_protocol import approve

    try:
        os.getcwd()
    except OSError:
        os.chdir(os.sep)  # the agent has deleted the folder that it was in; the payload names it
    try:
        answer = hook(call)
    except Error as error:
        answer = approve(f"the hook failed, so it does not block: {error}")
    except Exception as error:  # noqa: BLE001  # the edge: a defect of ours must not block a user's session
        import traceback

        lines = traceback.format_exception(error)
        answer = approve(f"the hook failed, so it does not block: {type(error).__name__}: {error}\n{''.join(lines)}")
    for warning in answer.warnings:
        _print_error(f"bridle: {warning}")
    if answer.warnings:
        from bridle.hosts.hooks.hook_log import append

        append(answer.warnings, call.environ)
    _print(answer.document)
    return 0


def read_stdin(fd: int = 0) -> bytes:
    """Read the host's payload within the limits; a terminal is not read."""
    from time import monotonic

    parts: list[bytes] = []
    size, deadline = 0, monotonic() + PAYLOAD_WAIT_SECONDS
    try:
        if os.isatty(fd):
            return b""
        os.set_blocking(fd, False)
        while size <= PAYLOAD_LIMIT_BYTES:
            try:
                part = os.read(fd, 1024 * 1024)
            except BlockingIOError:
                if _wait_for_input(fd, deadline - monotonic()):
                    continue
                break
            if not part:
                break
            parts.append(part)
            size += len(part)
    except (OSError, ValueError):
        pass  # closed, or a folder: an empty payload
    return b"".join(parts)  # a payload that was cut at the limit is not valid JSON, and reported as that


def _wait_for_input(fd: int, seconds: float) -> bool:
    from select import select  # a shared library; mostly the whole payload is there when Python has started

    return bool(select([fd], [], [], max(0.0, seconds))[0])


def _parse(arguments: list[str]) -> dict[str, str]:
    from bridle.errors import UsageError

    options: dict[str, str] = {}
    rest = iter(arguments)
    for argument in rest:
        name, has_value, value = argument.partition("=")
        if name in _OPTIONS:
            options[name] = value if has_value else next(rest, "")
        elif argument not in _FLAGS:
            raise UsageError(f"unknown option {argument!a}", remedy="bridle hook:run --help lists the options.")
    return options


def _print(document: Mapping[str, object]) -> None:
    from bridle.ground.light import quick_json

    text = quick_json.pretty(dict(document)) + "\n"
    try:
        data = text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair in a path; escapes preserve it
        data = quick_json.compact(dict(document)).encode() + b"\n"
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError) as error:
        _print_error(f"bridle: could not write the hook's answer: {error}")


def _print_error(text: str) -> None:
    try:
        sys.stderr.write(text.encode("utf-8", "backslashreplace").decode() + "\n")
    except (OSError, ValueError, AttributeError):
        pass  # the stream is closed
