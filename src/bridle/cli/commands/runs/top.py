"""`bridle top`: show the runs full-screen."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bridle.cli.user_interface.options import json_option
from bridle.errors import UsageError

if TYPE_CHECKING:
    from bridle.views.run_data.board import Board
    from bridle.wire.mask import Mask


@click.command("top", short_help="Show the runs full-screen.")
@click.option("--all", "everything", is_flag=True, help="Show all runs that you have begun on this machine.")
@json_option
def command(*, everything: bool, as_json: bool) -> int:
    """Show this repository's runs full-screen, live, with keys to open, answer, stop, resume, hint and retry.

    Each key is the command of that name, and the journal records it. Press ? there for the keys.
    """
    from bridle.cli.user_interface.terminal import is_terminal, print_document, top_of
    from bridle.wire.mask import Mask, secret_values

    mask, top = Mask(secret_values(os.environ)), top_of(Path.cwd())
    place = "all runs on this machine" if everything else str(top)
    board = _board(mask, top, everything=everything)
    if as_json:
        board.refresh()
        runs = [known.card for known in board.runs.values()]
        print_document({"place": place, "runs": runs, "needs": board.needs})
        return 0
    if not (all(map(is_terminal, (sys.stdin, sys.stdout, sys.stderr)))):
        raise UsageError("bridle top needs a terminal", remedy="Use bridle top --json, or bridle status.")
    from bridle.cli.machine_interface.refuse_inside_agent import refuse_inside_agent

    refuse_inside_agent("top")
    try:
        from bridle.views.top.app import TopApp
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the full-screen view needs a package that is not installed: {error.name}",
            remedy="Run: pip install 'bridle-cli[top]'",
        ) from error
    TopApp(board, mask, place, dict(os.environ)).run()
    return 0


def _board(mask: Mask, top: Path, *, everything: bool) -> Board:
    from bridle.ground.home import bridle_home
    from bridle.journal.stores.find_run import runs_folders
    from bridle.views.run_data.board import Board, list_runs

    home, below = bridle_home(os.environ), Path("/") if everything else top
    return Board(lambda: list_runs(runs_folders(None, os.environ), below, home), os.environ, mask, top)
