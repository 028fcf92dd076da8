"""What a host starts for its hooks: one process, one answer. Whatever happens in here, a session is never broken.

    <python> -I -S <file that imports this and calls start()> --hook-type stop --harness claude-code --plugin-root DIR

A process that does nothing at all takes a third of the time of one that imports `json` and `pathlib`; so nothing on
this path does, and this module itself imports what it needs only when it is needed.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # `typing` is as heavy; type checkers know the name
if TYPE_CHECKING:
    from bridle.ground.light.abc_names import Callable, Mapping
    from bridle.hosts.adapters.adapter import HookCall
    from bridle.hosts.hooks.hook_answer import Answer

STOP = "stop"
SESSION_START = "session-start"
HOOK_TYPES = (STOP, SESSION_START)
DEFAULT_HARNESS = "claude-code"

# A payload is some kilobytes, with the agent's last words in it. What is larger was not written by a host.
PAYLOAD_LIMIT_BYTES = 16 * 1024 * 1024

# A host writes its payload at once. One that has not closed its end after this long will not.
PAYLOAD_WAIT_SECONDS = 10.0

_VALUES = ("--hook-type", "--harness", "--plugin-root", "--state-dir", "--runs-dir")
_FLAGS = ("--json", "--verbose")


def start(words: list[str]) -> None:
    """Answer the hook on standard input and end the process: the shortest way in and out."""
    import gc

    gc.disable()  # all that is made here is needed until the end; looking for garbage takes a tenth of the time
    code = main(words, read_payload())
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        pass  # nobody is there to read it
    os._exit(code)


def main(words: list[str], stdin: bytes) -> int:
    """Answer one hook; gives the exit code, which is 0 unless the command line is wrong."""
    from bridle.errors import UsageError

    try:
        options = _options(words)
        handle = chosen(options.get("--hook-type"), options.get("--harness"))
    except UsageError as error:
        _say_json({"error": error.code, "message": str(error)})
        return 1
    from bridle.hosts.adapters.adapter import HookCall

    call = HookCall(
        stdin,
        os.environ,
        plugin_root=options.get("--plugin-root") or None,
        state_dir=options.get("--state-dir") or None,
        runs_dir=options.get("--runs-dir") or None,
    )
    return respond(handle, call)


def chosen(hook_type: str | None, harness: str | None) -> Callable[[HookCall], Answer]:
    """What answers a hook of a host; a UsageError where there is none."""
    from bridle.errors import HarnessUnsupported, HookTypeMissing, HookTypeUnknown
    from bridle.hosts.adapters.registry import by_name

    if not hook_type:
        raise HookTypeMissing("--hook-type is missing", remedy=f"It is one of: {', '.join(HOOK_TYPES)}.")
    if hook_type not in HOOK_TYPES:
        raise HookTypeUnknown(
            f"there is no hook of the type {hook_type!a}", remedy=f"It is one of: {', '.join(HOOK_TYPES)}."
        )
    adapter = by_name(harness or DEFAULT_HARNESS)
    if adapter is None:
        raise HarnessUnsupported(
            f"there is no host of the name {harness!a}", remedy="It is one of: claude-code, codex, none."
        )
    return adapter.handle_stop_hook if hook_type == STOP else adapter.handle_session_start_hook


def respond(handle: Callable[[HookCall], Answer], call: HookCall) -> int:
    """Print the answer on standard output, and what a person should know on standard error and in the log."""
    from bridle.errors import Error
    from bridle.hosts.hooks.hook_answer import approve

    try:
        answer = handle(call)
    except Error as error:
        answer = approve(f"this hook failed, so nothing is held: {error}")
    except Exception as error:  # noqa: BLE001  # the edge: a mistake of ours must not hold somebody's session
        answer = approve(_told(error))
    for remark in answer.remarks:
        _say(f"bridle: {remark}")
    if answer.remarks:
        from bridle.hosts.hooks.hook_log import keep

        keep(answer.remarks, call.environ)
    _print(answer.document)
    return 0


def read_payload(fd: int = 0) -> bytes:
    """What the host writes, as far as it is whole within the limits; a person's keyboard is not waited for."""
    from select import select
    from time import monotonic

    parts: list[bytes] = []
    size, deadline = 0, monotonic() + PAYLOAD_WAIT_SECONDS
    try:
        if os.isatty(fd):
            return b""
        while size <= PAYLOAD_LIMIT_BYTES:
            if not select([fd], [], [], max(0.0, deadline - monotonic()))[0]:
                break
            part = os.read(fd, 1024 * 1024)
            if not part:
                break
            parts.append(part)
            size += len(part)
    except (OSError, ValueError):
        pass  # closed, or a folder: nothing was said
    return b"".join(parts)  # what was cut off at the limit is no JSON, and told as such


def _options(words: list[str]) -> dict[str, str]:
    from bridle.errors import UsageError

    options: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        name, has_value, value = word.partition("=")
        if name in _VALUES:
            options[name] = value if has_value else next(rest, "")
        elif word not in _FLAGS:
            raise UsageError(f"there is no option {word!a}", remedy="bridle hook:run --help lists them.")
    return options


def _told(error: Exception) -> str:
    import traceback

    lines = traceback.format_exception(error)
    return f"this hook failed, so nothing is held: {type(error).__name__}: {error}\n{''.join(lines)}"


def _print(document: Mapping[str, object]) -> None:
    from bridle.ground.light import quick_json

    text = quick_json.pretty(dict(document)) + "\n"
    try:
        data = text.encode()
    except UnicodeEncodeError:  # half of a character in a path: escaped it survives
        data = quick_json.compact(dict(document)).encode() + b"\n"
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError) as error:
        _say(f"bridle: the answer of this hook could not be written: {error}")


def _say(text: str) -> None:
    try:
        sys.stderr.write(text.encode("utf-8", "backslashreplace").decode() + "\n")
    except (OSError, ValueError, AttributeError):
        pass  # nobody is there to read it


def _say_json(document: dict[str, object]) -> None:
    from bridle.ground.light import quick_json

    _say(quick_json.compact(document))
