"""Attack: what a process asks the user to approve in `bridle top` has a part that a terminal would not show.

It is in the title of a window, in a link or behind a cursor movement: sequences that a view removes from other texts.

With the sandbox: the same; the process asks what it likes.
Without: all is shown, with each control character as its escape.
Reported: nothing to report.
"""

from __future__ import annotations

import asyncio

from textual.app import App
from textual.widgets import Static

from bridle.views.terminal.page import DisplayOptions, Page
from bridle.views.top.dialogs import AnswerDialog
from bridle.wire.mask import Mask

HIDDEN = "ls \x1b]0; rm -rf ~\x07\x1b[8m; rm b\u200b\u202e"
NEED = {
    "run": "r",
    "kind": "permission",
    "title": "t",
    "text": HIDDEN,
    "payload": HIDDEN,
    "options": [],
    "takes_free_text": False,
    "commands": [],
}


class Asking(App[None]):
    """Shows the question alone."""

    def on_mount(self) -> None:
        self.push_screen(AnswerDialog(NEED, Page(Mask(), DisplayOptions())))


def test_all_that_is_approved_is_shown() -> None:
    async def show() -> list[str]:
        app = Asking()
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            return [str(app.screen.query_one(name, Static).render()) for name in ("#question", "#payload")]

    assert asyncio.run(show()) == [r"ls \x1b]0; rm -rf ~\x07\x1b[8m; rm b\u200b\u202e"] * 2
