"""The two installed programs: find the command, run it, turn its end into words and an exit code.

Only `sys` and the table are imported here. Each command's module, click, and the error tree come when needed.

A command's module has a name `command`: a click command, for people, or a `light.Light` one, for agents and hooks,
which call it so often that importing click would be most of its work.
"""

from __future__ import annotations

import sys

from bridle.cli import command_table

USAGE = 2
FAILED = 1
AGENT_UNUSABLE = 5
INTERRUPTED = 130
# What a shell reports for a program that SIGPIPE ended: `bridle show … | head` looks like any other program.
READER_GONE = 141


def main() -> None:
    """The program `bridle`."""
    code = run(sys.argv[1:])
    if any([command.name] == sys.argv[1:2] for command in command_table.FOR_PROGRAMS):
        _leave(code)  # agents and hooks start these many times a minute
    sys.exit(code)


def agent() -> None:
    """The program `bridle-agent`, which is the command `bridle agent`; started often, so by the shortest way."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        _stand_in_for_closed_streams()
    from bridle.agent.main import main as run_agent

    _leave(_flushed(run_agent(sys.argv[1:])))


def run(arguments: list[str]) -> int:
    """Run one command line and give its exit code."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        _stand_in_for_closed_streams()
    return _flushed(_guarded(arguments))


def _leave(code: int) -> None:
    """End at once: everything is written and ended, and taking the interpreter apart would only cost time."""
    import os

    try:
        sys.stderr.flush()
    except (OSError, ValueError):
        pass  # nobody is there to read it
    os._exit(code)


def exit_code(error: type[Exception]) -> int:
    """The exit code for an error of our own of that class."""
    from bridle import errors

    if issubclass(error, errors.UserError):
        return USAGE
    return AGENT_UNUSABLE if issubclass(error, errors.AgentError) else FAILED


def _stand_in_for_closed_streams() -> None:
    """A stream that the caller closed refuses what is asked of it, and no file of ours can take its number.

    What was to be printed is then a failed write and no silent success; only words for people go nowhere.
    """
    import os

    sys.stdin = sys.stdin or os.fdopen(os.open(os.devnull, os.O_WRONLY))
    sys.stdout = sys.stdout or os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    sys.stderr = sys.stderr or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


def _guarded(arguments: list[str]) -> int:
    """The command's exit code, whatever way it ended."""
    try:
        return _dispatch(arguments)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else FAILED
    except KeyboardInterrupt:
        print("bridle: interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001  # the edge: whatever it is, it ends here as words and a code
        if isinstance(error, BrokenPipeError) and _reader_is_gone():
            return READER_GONE
        return _for_caller(_report(error, as_json=_wants_json(arguments)), arguments)


def _for_caller(code: int, arguments: list[str]) -> int:
    """Agents and hooks know one code for everything that went wrong; which thing it was stands in the document."""
    is_for_programs = any(command.name == arguments[0] for command in command_table.FOR_PROGRAMS)
    return FAILED if is_for_programs else code


def _flushed(code: int) -> int:
    """The exit code once everything written has left; output that cannot leave is no success."""
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
    if name in ("--help", "-h", "help"):
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
        return _not_built(command, as_json=_wants_json(rest))
    return _invoke(command.module, name, rest)


def _invoke(module: str, name: str, arguments: list[str]) -> int:
    """Run the command of a module, light or click's."""
    __import__(module)  # importlib is slower to import than the light commands are to run
    command = sys.modules[module].command
    if "bridle.cli.programs.light_command" in sys.modules:
        from bridle.cli.programs.light_command import Light

        if isinstance(command, Light):
            return command.invoke(name, arguments)
    return _invoke_click(command, name, arguments)


def _invoke_click(command: object, name: str, arguments: list[str]) -> int:
    """Run a click command without click's own edge, which would hide broken pipes and interruptions."""
    import click

    if not isinstance(command, click.Command):
        raise TypeError(f"the module of {name} has no command")
    try:
        with command.make_context(f"bridle {name}", list(arguments)) as context:
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
        ("For people", command_table.FOR_PEOPLE),
        ("For agents and hooks", command_table.FOR_PROGRAMS),
    ):
        built = [command for command in commands if command.module is not None]
        lines += ["", f"{title}:"] if built else []
        lines += [f"  {command.name:<10} {command.summary}" for command in built]
    missing = [command.name for command in command_table.FOR_PEOPLE if command.module is None]
    lines += ["", f"Not part of this version yet: {', '.join(missing)}."]
    lines += ["", "bridle COMMAND --help says more; bridle --version says which version this is."]
    return "\n".join(lines)


def _unknown(name: str, *, as_json: bool) -> int:
    import difflib

    near = difflib.get_close_matches(name, command_table.COMMANDS, n=3, cutoff=0.65)  # rum finds run, inspct not init
    hint = f"Did you mean {' or '.join(near)}?" if near else "bridle --help lists the commands."
    _say("USAGE", f"there is no command {name!r}", hint, as_json=as_json)
    return USAGE


def _not_built(command: command_table.Command, *, as_json: bool) -> int:
    message = f"`bridle {command.name}` is not part of this version yet (it comes with step {command.step} of 9)"
    _say("NOT_BUILT", message, "bridle --help lists what is.", as_json=as_json)
    return USAGE


def _report(error: Exception, *, as_json: bool) -> int:
    """Say what happened and choose the exit code by whose fault it was."""
    from bridle import errors

    if isinstance(error, errors.Error):
        told = error.payload if isinstance(error, errors.BindingError) and isinstance(error.payload, dict) else None
        _say(error.code, error.message, error.remedy, as_json=as_json, told=told)
        return exit_code(type(error))
    if "click" in sys.modules and _report_click(error, as_json=as_json):
        return USAGE
    _show_traceback()
    if isinstance(error, OSError):
        _say(errors.MachineError.code, _refusal(error), None, as_json=as_json)
        return FAILED
    hint = "This is a defect in Bridle. BRIDLE_DEBUG=1 shows where it happened."
    _say(errors.InternalError.code, f"unexpected {type(error).__name__}: {error}", hint, as_json=as_json)
    return FAILED


def _report_click(error: Exception, *, as_json: bool) -> bool:
    """Say what click found wrong with the command line; False when it is another kind of error."""
    import click

    if not isinstance(error, click.ClickException):
        return False
    context = getattr(error, "ctx", None)
    hint = f"{context.command_path} --help says more." if context is not None else None
    _say("USAGE", error.format_message(), hint, as_json=as_json)
    return True


def _refusal(error: OSError) -> str:
    """What the operating system said, and about which file."""
    words = error.strerror or str(error) or type(error).__name__
    return f"{words}: {error.filename}" if error.filename else words


def _say(code: str, message: str, hint: str | None, *, as_json: bool, told: dict[str, object] | None = None) -> None:
    """Errors go to stderr: as one JSON document for programs, as a line and a remedy for people."""
    if as_json:
        import json

        document: dict[str, object] = {"error": code, "message": message, **(told or {})}
        print(json.dumps(document | {"remedy": hint} if hint else document), file=sys.stderr)
    else:
        print(f"bridle: {message}" + (f"\n  {hint}" if hint else ""), file=sys.stderr)


def _show_traceback() -> None:
    import os

    if os.environ.get("BRIDLE_DEBUG"):
        import traceback

        traceback.print_exc()


def _wants_json(arguments: list[str]) -> bool:
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options


def _reader_is_gone() -> bool:
    """Whether it is our own stdout that broke, and not the pipe to some child."""
    import select

    poll = select.poll()
    poll.register(sys.stdout.fileno(), select.POLLOUT)
    return any(state & (select.POLLERR | select.POLLHUP) for _, state in poll.poll(0))


def _discard_output() -> None:
    """What is left in the buffer goes nowhere, so that the interpreter does not try again at its end."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
