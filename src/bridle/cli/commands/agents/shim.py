"""`bridle shim`: put a `claude` and a `babysitter` that are Bridle's own into a folder."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import click

from bridle.cli.user_interface.terminal import print_document
from bridle.errors import UsageError
from bridle.ground import disk

MARK = "# Made by `bridle shim`; remove it at will."
PROGRAMS = {"claude": "bridle-agent", "babysitter": "bridle"}


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--only", type=click.Choice(sorted(PROGRAMS)), help="Only one of the two.")
@click.option("--remove", is_flag=True, help="Remove them.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
def command(*, folder: Path, only: str | None, remove: bool, as_json: bool) -> int:
    """Put a `claude` (bridle-agent) and a `babysitter` (bridle) into FOLDER.

    For programs that look for these names on PATH. A file that Bridle did not write is left alone (exit 2).
    """
    names = [only] if only else sorted(PROGRAMS)
    for name in names:
        _refuse_foreign(folder / name)
    paths = [folder / name for name in names]
    done = [path for path in paths if (_remove if remove else _write)(path)]
    if as_json:
        document = {"folder": str(folder), "removed" if remove else "written": [str(path) for path in done]}
        print_document(document)
        return 0
    for path in done:
        click.echo(f"{'removed' if remove else 'wrote'} {path}", err=True)
    if not remove:
        click.echo(f'To use them: export PATH="{folder.resolve()}:$PATH"', err=True)
    return 0


def _refuse_foreign(path: Path) -> None:
    if not path.exists() and not path.is_symlink():
        return
    try:
        is_ours = not path.is_symlink() and MARK in path.read_text("utf-8", "replace")[:1000]
    except OSError:
        is_ours = False
    if not is_ours:
        remedy = "Choose another folder, or remove it yourself."
        raise UsageError(f"{path} exists and was not written by Bridle", remedy=remedy)


def _write(path: Path) -> bool:
    program = Path(sys.executable).parent / PROGRAMS[path.name]
    if not program.is_file():
        raise UsageError(f"{program} is missing", remedy="Reinstall Bridle: its programs belong beside its Python.")
    path.parent.mkdir(parents=True, exist_ok=True)
    script = f'#!/bin/sh\n{MARK}\nexec {shlex.quote(str(program))} "$@"\n'
    disk.write_atomic(path, script.encode(), mode=0o755)
    return True


def _remove(path: Path) -> bool:
    if not path.exists():
        return False
    os.unlink(path)
    return True
