"""The two installed programs: find the command, run it, report errors, return the exit code.

Only `sys`, the command table, the exit codes and the standard streams are imported here, everything else when needed.

A command's module has a name `command`: a click command, or a `LightCommand` for agents and hooks, which start it so
often that importing click would be most of its work.
"""

from __future__ import annotations

import sys

from bridle.cli import command_table
from bridle.cli.exit_codes import FAILED, INTERRUPTED, READER_GONE, USAGE
from bridle.cli.standard_streams import prepare_streams

HELP_OPTIONS = ["-h", "--help"]

# All imports of `bridle status` make fewer. This many need some megabytes.
_OBJECTS_BETWEEN_COLLECTIONS = 100_000


def main() -> None:
    """Run the program `bridle`."""
    prepare_streams()
    is_short = _is_machine_command(sys.argv[1:]) or sys.argv[1:2] == ["status"]
    if is_short:  # agents, hooks and status bars start these many times a minute
        _collect_seldom()
    code = run(sys.argv[1:])
    if is_short:
        _exit_now(code)
    sys.exit(code)


def agent() -> None:
    """Run the program `bridle-agent`; it is started often, so without the dispatcher."""
    prepare_streams()
    from bridle.agent.main import main as run_agent

    _exit_now(_flush(run_agent(sys.argv[1:])))


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code."""
    _allow_any_encoding()
    return _flush(_run_guarded(arguments))


def _collect_seldom() -> None:
    """Look for garbage after many new objects only: imports make many and leave none."""
    import gc

    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)


def _exit_now(code: int) -> None:
    """Exit without tearing down the interpreter, which would only cost time."""
    import os

    try:
        sys.stderr.flush()
    except (OSError, ValueError):
        pass  # stderr is closed
    os._exit(code)


def _is_machine_command(arguments: list[str]) -> bool:
    return any([command.name] == arguments[:1] for command in command_table.MACHINE_COMMANDS)


def _allow_any_encoding() -> None:
    """Escape characters that stdout's encoding lacks: a command must not fail when its work is done."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)  # a test may have replaced the stream
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def _run_guarded(arguments: list[str]) -> int:
    """Run the command and turn every exception into an exit code."""
    try:
        return _dispatch(arguments)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else FAILED
    except KeyboardInterrupt:
        print("bridle: interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001  # the edge: every error ends here as a message and a code
        if isinstance(error, BrokenPipeError):
            from bridle.cli.user_interface.terminal import reader_is_gone

            if reader_is_gone():
                return READER_GONE
        code = _report(error, as_json=_wants_json(arguments))
        # The contract with agents and hooks has one code for every error; the document says which error it was.
        return FAILED if _is_machine_command(arguments) else code


def _flush(code: int) -> int:
    """Flush stdout and return the exit code: output that cannot be written is a failure."""
    try:
        print(end="", flush=True)
    except BrokenPipeError:
        _discard_output()
        return READER_GONE
    except OSError as error:
        _discard_output()
        return code or _report(error, as_json=False)
    return code


def _dispatch(arguments: list[str]) -> int:
    name, rest = (arguments[0], arguments[1:]) if arguments else ("--help", [])
    if name in ("--help", "-h"):
        print(_overview())
        return 0
    if name in ("--version", "-V"):
        from bridle import __version__

        print(f"bridle {__version__}")
        return 0
    command = command_table.COMMANDS.get(name)
    if command is None:
        return _unknown(name, as_json=_wants_json(rest))
    if command.module is None:
        message = f"`bridle {command.name}` is not built yet"
        _print_error(
            "NOT_BUILT", message, "Run `bridle --help` for the commands of this version.", as_json=_wants_json(rest)
        )
        return USAGE
    return _invoke(command.module, name, rest)


def _invoke(module: str, name: str, arguments: list[str]) -> int:
    """Run the `command` of a module."""
    __import__(module)  # importing importlib takes longer than a light command runs
    command = sys.modules[module].command
    if "bridle.cli.machine_interface.light_command" in sys.modules:
        from bridle.cli.machine_interface.light_command import LightCommand

        if isinstance(command, LightCommand):
            return command.invoke(name, arguments)
    return _invoke_click(command, name, arguments)


def _invoke_click(command: object, name: str, arguments: list[str]) -> int:
    """Run a click command without click's own error handling, which hides broken pipes and interruptions."""
    import click

    if not isinstance(command, click.Command):
        raise TypeError(f"the module of {name} has no command")
    try:
        names = command.context_settings.get("help_option_names", HELP_OPTIONS)
        with command.make_context(f"bridle {name}", list(arguments), help_option_names=names) as context:
            code = command.invoke(context)
    except click.exceptions.Exit as end:
        code = end.exit_code
    except click.Abort:
        raise KeyboardInterrupt from None
    return code if type(code) is int else 0


def _overview() -> str:
    lines = [
        "Bridle runs coding agents unattended and proves what they did.",
        "",
        "usage: bridle COMMAND [OPTIONS] [ARGUMENTS]",
    ]
    for title, commands in (
        ("For users", command_table.USER_COMMANDS),
        ("For agents and hooks", command_table.MACHINE_COMMANDS),
    ):
        built = [command for command in commands if command.module is not None]
        lines += ["", f"{title}:"] if built else []
        width = max((len(command.name) for command in built), default=0)
        lines += [f"  {command.name:<{width}}  {command.summary}" for command in built]
    missing = [command.name for command in command_table.USER_COMMANDS if command.module is None]
    lines += ["", f"Not built yet: {', '.join(missing)}."]
    lines += [
        "",
        "Run `bridle COMMAND -h` for the options of a command, `bridle help` for the pages of the documentation.",
    ]
    return "\n".join(lines)


def _unknown(name: str, *, as_json: bool) -> int:
    from bridle.ground.suggest import did_you_mean

    # 0.65: rum suggests run, and inspct does not suggest init
    synonym = command_table.SYNONYMS.get(name.lower())
    suggestion = (
        f"Did you mean {synonym}?" if synonym else did_you_mean(name, command_table.COMMANDS, limit=3, cutoff=0.65)
    )
    remedy = suggestion or "Run `bridle --help` for the list of commands."
    _print_error("USAGE", f"unknown command {name!r}", remedy, as_json=as_json)
    return USAGE


def _report(error: Exception, *, as_json: bool) -> int:
    """Print an error and return its exit code."""
    from bridle import errors
    from bridle.cli.exit_codes import of_error

    if isinstance(error, errors.Error):
        details = error.payload if isinstance(error, errors.BindingError) and isinstance(error.payload, dict) else None
        _print_error(error.code, error.message, error.remedy, as_json=as_json, details=details)
        return of_error(type(error))
    if "click" in sys.modules and _report_click(error, as_json=as_json):
        return USAGE
    _show_traceback()
    if isinstance(error, OSError):
        reason = error.strerror or str(error) or type(error).__name__
        message = f"{reason}: {error.filename}" if error.filename else reason
        _print_error(errors.MachineError.code, message, None, as_json=as_json)
        return FAILED
    if isinstance(error, MemoryError) or "can't start new thread" in str(error):
        return _report(_shortage(error), as_json=as_json)
    _print_error(errors.InternalError.code, *_explain_fault(error), as_json=as_json)
    return FAILED


def _explain_fault(error: Exception) -> tuple[str, str]:
    """Return the message and the remedy of a fault: ours, or another project's files in our package."""
    if isinstance(error, ImportError | AttributeError):
        from bridle.cli.doctor.other_distribution import find_other

        if other := find_other():
            return other
    message = f"unexpected {type(error).__name__}: {error}"
    return message, "This is a bug in Bridle. Set BRIDLE_DEBUG=1 to see the traceback."


def _shortage(error: BaseException) -> Exception:
    """Return the error to report in a shortage of memory or threads: the first one, which names what it was met at."""
    from bridle import errors

    cause = error.__context__
    while cause is not None and not isinstance(cause, errors.Error):
        cause = cause.__context__  # the end of the event loop needs a thread too
    message = "the machine has no memory or no threads left"
    return cause or errors.MachineError(message, remedy="Run less at once, or raise its limits: ulimit -u, ulimit -v.")


def _report_click(error: Exception, *, as_json: bool) -> bool:
    """Print a usage error of click; return False for any other error."""
    import click

    if not isinstance(error, click.ClickException):
        return False
    context = getattr(error, "ctx", None)
    remedy = f"Run `{context.command_path} --help` for usage." if context is not None else None
    _print_error("USAGE", error.format_message(), remedy, as_json=as_json)
    return True


def _print_error(
    code: str, message: str, remedy: str | None, *, as_json: bool, details: dict[str, object] | None = None
) -> None:
    """Print an error on stderr: one JSON document for programs, a line and a remedy for users."""
    from bridle.wire.events.surrogates import replace_surrogates

    message = replace_surrogates(message)  # it may quote a file name or an argument
    if as_json:
        import json

        document: dict[str, object] = {"error": code, "message": message, **(details or {})}
        print(json.dumps(document | {"remedy": remedy} if remedy else document), file=sys.stderr)
    else:
        print(f"bridle: {message}" + (f"\n  {remedy}" if remedy else ""), file=sys.stderr)


def _show_traceback() -> None:
    import os

    if os.environ.get("BRIDLE_DEBUG"):
        import traceback

        traceback.print_exc()


def _wants_json(arguments: list[str]) -> bool:
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options


def _discard_output() -> None:
    """Discard the buffered output, so that the interpreter does not try to write it again at exit."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
