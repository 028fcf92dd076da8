"""Print the receipt of a run, as text or as JSON.

What drives a run is not imported: `bridle status` is started often.
"""

from __future__ import annotations

import sys

from bridle.cli.user_interface.terminal import is_terminal
from bridle.loop.process.receipt import Receipt
from bridle.views.terminal import receipt as receipts


def print_receipt(receipt: Receipt, reason: str, *, as_json: bool) -> None:
    if as_json:
        from bridle.cli.machine_interface.light_command import print_json

        print_json(receipt.as_json())
        return
    if is_terminal(sys.stdout):
        _print_coloured(receipt, reason)
        return
    for line in receipts.plain_lines(receipt, reason):
        print(line)


def _print_coloured(receipt: Receipt, reason: str) -> None:
    from rich.console import Console

    from bridle.views.terminal.rich_text import to_rich_text
    from bridle.views.terminal.styled_lines import BLANK

    console = Console(highlight=False, markup=False, emoji=False)
    # Let the terminal wrap long lines, so that a command in them can be copied.
    console.print(to_rich_text([BLANK, *receipts.styled_lines(receipt, reason, width=console.width)]), soft_wrap=True)
