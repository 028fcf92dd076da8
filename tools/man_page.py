"""Write docs/man/bridle.1 from the tables that the program itself uses."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import bridle
from bridle.cli import command_table, exit_codes
from bridle.cli.completion.completion_scripts import MODELS, CompletedOption, describe_commands

PAGE = Path(__file__).resolve().parents[1] / "docs" / "man" / "bridle.1"

VARIABLES = {
    "BRIDLE_HOME": "Your folder of settings, trust and tokens (default: ~/.bridle).",
    "BRIDLE_CLAUDE, BRIDLE_CODEX, …": "The executable to start for that agent.",
    "BRIDLE_SANDBOX": "The default of --sandbox.",
    "BRIDLE_DEBUG": "Print the traceback of an unexpected error.",
}
FILES = {
    "PLAN.md, prd.json": "What `bridle run` reads without an argument.",
    "bridle.toml": "Settings, of the repository and in BRIDLE_HOME.",
    ".a5c/runs": "Journals of runs.",
    ".ralph": "Logs, state and progress.",
}


def page() -> str:
    """Return the whole page."""
    return "\n".join(_lines()) + "\n"


def main() -> int:
    """Write the page."""
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
    return 0


def _lines() -> Iterator[str]:
    yield f'.TH BRIDLE 1 "" "Bridle {bridle.__version__}" "User Commands"'
    yield from (".SH NAME", "bridle \\- run coding agents unattended and prove what they did")
    yield from (".SH SYNOPSIS", ".B bridle", ".I COMMAND", "[OPTIONS] [ARGUMENTS]")
    yield from (".SH DESCRIPTION", _text((bridle.__doc__ or "").strip()))
    yield _text(
        "Every command takes --json. `bridle help` lists the pages of the documentation, which are installed too."
    )
    yield ".SH COMMANDS"
    for command in describe_commands():
        yield f".SS {_text(command.name)}"
        yield _text(command.summary)
        for option in command.options:
            yield from (".TP", f".B {_option(option)}", _text(option.help or "–"))
    yield ".SH COMMANDS FOR AGENTS AND HOOKS"
    for entry in command_table.MACHINE_COMMANDS:
        yield from (".TP", f".B {_text(entry.name)}", _text(entry.summary))
    yield from _table("EXIT STATUS", {str(code): meaning for code, meaning in exit_codes.MEANINGS.items()})
    yield from _table("ENVIRONMENT", VARIABLES)
    yield from _table("FILES", FILES)


def _table(title: str, rows: dict[str, str]) -> Iterator[str]:
    yield f".SH {title}"
    for name, meaning in rows.items():
        yield from (".TP", f".B {_text(name)}", _text(meaning))


def _option(option: CompletedOption) -> str:
    values = () if option.values == MODELS else option.values  # a full name is a model too
    value = f" {'|'.join(values) or 'VALUE'}" if option.takes_value else ""
    return _text(", ".join(option.names) + value)


def _text(text: str) -> str:
    """Escape what the formatter would obey: backslashes, hyphens, and a point or an apostrophe at the start."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...").replace("–", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    sys.exit(main())
