"""Completion scripts of bash, zsh and fish, made from the commands and their options."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence

import click
from msgspec import Struct

from bridle.cli import command_table
from bridle.cli.completion import shell_lists
from bridle.cli.help_pages import find_pages
from bridle.ground.light.shell_word import shell_word
from bridle.loop.settings.model import AGENTS

MODELS = ("sonnet", "opus", "haiku")
PROGRAMS = ("bridle", "bridle-cli")


class CompletedOption(Struct, frozen=True):
    """One option of a command."""

    names: tuple[str, ...]
    help: str
    takes_value: bool
    values: tuple[str, ...] = ()
    """The values to offer; without any, files are offered."""


class CompletedCommand(Struct, frozen=True):
    """One command of the table."""

    name: str
    summary: str
    options: tuple[CompletedOption, ...]
    words: tuple[str, ...] = ()
    """The words that may follow it: sub-commands, or the values of its first argument."""
    lists: tuple[str, ...] = ()
    """What the shell lists for each argument: runs, tasks or nothing."""


def describe_commands() -> list[CompletedCommand]:
    """Describe the commands for users: those for agents and hooks are not typed."""
    return [_described(command) for command in command_table.USER_COMMANDS if command.module is not None]


def _described(entry: command_table.Command) -> CompletedCommand:
    command = importlib.import_module(entry.module or "").command
    if not isinstance(command, click.Command):
        light = getattr(command, "options", {}).values()
        options = [
            CompletedOption((option.name,), option.help, option.value is not None)
            for option in light
            if option.name not in _HELP.names
        ]
        lists = tuple(shell_lists.RUNS for name in command.arguments if "RUN" in name)
        return CompletedCommand(entry.name, entry.summary, (*options, _HELP), lists=lists)
    inner = list(command.commands.values()) if isinstance(command, click.Group) else []
    options = [option for one in (command, *inner) for option in _options(one)]
    unique = {option.names: option for option in options}
    words, lists = _words(entry.name, command), shell_lists.listed(command)
    return CompletedCommand(entry.name, entry.summary, (*unique.values(), _HELP), words, lists)


_HELP = CompletedOption(("-h", "--help"), "Show this message and exit.", takes_value=False)


def _options(command: click.Command) -> Iterator[CompletedOption]:
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            names = (*option.opts, *option.secondary_opts)
            takes_value = not (option.is_flag or option.count)
            help_text = " ".join((option.help or "").split())
            yield CompletedOption(names, help_text, takes_value, _values(option) if takes_value else ())


def _words(name: str, command: click.Command) -> tuple[str, ...]:
    if name == "help":
        built = (entry.name for entry in command_table.USER_COMMANDS if entry.module is not None)
        return tuple(dict.fromkeys((*find_pages(), *built)))
    if isinstance(command, click.Group):
        return tuple(command.commands)
    first = next((one for one in command.params if isinstance(one, click.Argument)), None)
    return _values(first) if first is not None else ()


def _values(parameter: click.Parameter) -> tuple[str, ...]:
    kind = parameter.type
    if isinstance(kind, click.Choice):
        return tuple(map(str, kind.choices))
    return AGENTS if "--agent" in parameter.opts else MODELS if "--model" in parameter.opts else ()


def bash_script(commands: Sequence[CompletedCommand]) -> str:
    """Return the completion of bash."""
    lines = [
        "# Completion of commands, options, runs and tasks for bash.",
        f"{shell_lists.POSIX}{shell_lists.BASH}_bridle() {{",
        '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" options= words= lists=',
        "  COMPREPLY=()",
        '  if [ "$COMP_CWORD" -eq 1 ]; then',
        f'    COMPREPLY=($(compgen -W {_list(command.name for command in commands)} -- "$word"))',
        "    return",
        "  fi",
        '  case "${COMP_WORDS[1]}" in',
    ]
    for command in commands:
        lines.append(f"    {command.name})")
        lines.append(f"      options={_list(_names(command))}")
        if command.words:
            lines.append(f"      words={_list(command.words)}")
        if any(command.lists):
            lines.append(f"      lists=({' '.join(kind or '-' for kind in command.lists)})")
        lines += [f"      {line}" for line in _bash_values(command)]
        lines.append("      ;;")
    lines += [
        "  esac",
        '  if [ "${word:0:1}" = - ]; then',
        '    COMPREPLY=($(compgen -W "$options" -- "$word"))',
        '  elif [ -n "$words" ] && [ "$COMP_CWORD" -eq 2 ]; then',
        '    COMPREPLY=($(compgen -W "$words" -- "$word"))',
        '  elif [ "${lists[COMP_CWORD-2]:--}" != - ]; then',
        '    _bridle_offer "${lists[COMP_CWORD-2]}" "$word"',
        "  fi",
        "}",
        f"complete -o default -F _bridle {' '.join(PROGRAMS)}",
    ]
    return "\n".join(lines) + "\n"


def _bash_values(command: CompletedCommand) -> Iterator[str]:
    """Yield the branches for options with values: the words to offer, or nothing, so that files are offered."""
    valued = [option for option in command.options if option.takes_value]
    if not valued:
        return
    yield 'case "$before" in'
    for option in valued:
        reply = f'COMPREPLY=($(compgen -W {_list(option.values)} -- "$word")); ' if option.values else ""
        yield f"  {'|'.join(option.names)}) {reply}return ;;"
    yield "esac"


def zsh_script(commands: Sequence[CompletedCommand]) -> str:
    """Return the completion of zsh."""
    described = " ".join(shell_word(f"{command.name}:{command.summary}") for command in commands)
    lines = [
        f"#compdef {' '.join(PROGRAMS)}",
        shell_lists.POSIX.rstrip(),
        '_bridle_list() { local -a found; found=("${(@f)$(_bridle_$1)}"); compadd -a found; _files }',
        "_bridle() {",
        "  local -a commands",
        f"  commands=({described})",
        "  if (( CURRENT == 2 )); then",
        "    _describe command commands",
        "    return",
        "  fi",
        "  local name=$words[2]",
        "  shift words",
        "  (( CURRENT-- ))",
        "  case $name in",
    ]
    for command in commands:
        arguments = " ".join(shell_word(text) for text in _zsh_arguments(command))
        lines.append(f"    {command.name}) _arguments {arguments} ;;")
    lines += [
        "  esac",
        "}",
        'if [ "$funcstack[1]" = _bridle ]; then _bridle "$@"; else compdef _bridle ' + " ".join(PROGRAMS) + "; fi",
    ]
    return "\n".join(lines) + "\n"


# Letters with a meaning in the description of an argument.
_ZSH_LETTERS = {ord("["): "(", ord("]"): ")", ord(":"): " -", ord("\\"): ""}


def _zsh_arguments(command: CompletedCommand) -> Iterator[str]:
    for option in command.options:
        text = option.help.translate(_ZSH_LETTERS)
        value = (
            f":value:({' '.join(option.values)})" if option.values else ":value:_files" if option.takes_value else ""
        )
        for name in option.names:
            yield f"*{name}[{text}]{value}"
    if command.words:
        yield f"1:word:({' '.join(command.words)})"
        return
    for number, kind in enumerate(command.lists, 1):
        if kind:
            yield f"{number}:{kind}: _bridle_list {kind}"  # the space: without more arguments
    yield "*:file:_files"


def fish_script(commands: Sequence[CompletedCommand]) -> str:
    """Return the completion of fish."""
    lines = ["# Completion of commands, options, runs and tasks for fish.", shell_lists.FISH.rstrip()]
    for program in PROGRAMS:
        for command in commands:
            start = f"complete -c {program} -n __fish_use_subcommand"
            lines.append(f"{start} -f -a {_fish(command.name)} -d {_fish(command.summary)}")
        for command in commands:
            start = f"complete -c {program} -n {_fish(f'__fish_seen_subcommand_from {command.name}')}"
            if command.words:
                lines.append(f"{start} -f -a {_fish(' '.join(command.words))}")
            lines += [f"{start} -a '(__bridle_{kind})'" for kind in dict.fromkeys(filter(None, command.lists))]
            lines += [f"{start} {_fish_option(option)}" for option in command.options]
    return "\n".join(lines) + "\n"


def _fish_option(option: CompletedOption) -> str:
    names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
    values = f" -x -a {_fish(' '.join(option.values))}" if option.values else " -r" if option.takes_value else ""
    return f"{names}{values} -d {_fish(option.help)}"


def _fish(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _names(command: CompletedCommand) -> Iterator[str]:
    return (name for option in command.options for name in option.names)


def _list(words: Iterator[str] | Sequence[str]) -> str:
    return shell_word(" ".join(words))


SCRIPTS: Mapping[str, Callable[[Sequence[CompletedCommand]], str]] = {
    "bash": bash_script,
    "zsh": zsh_script,
    "fish": fish_script,
}
