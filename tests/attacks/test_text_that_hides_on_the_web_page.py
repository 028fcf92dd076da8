"""Attack: an agent or a process hides a part of what the page of `bridle watch` shows, or keeps the page from drawing.

A terminal shows nothing of an unfinished title (`ESC ]`), and no font shows tags and zero-width characters: an approved
command could have a part that no user has seen. A to-do with a status, or a tool with a name, that is a member of every
object, such as `constructor`, would stop the script of the page.

With the sandbox: the same; the agent prints what it likes.
Without: all is shown, with the names of invisible characters; the page draws.
Reported: nothing to report.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.fixtures import logs
from tests.browser.fixtures.window import open_browser, open_window
from tests.cli.fixtures.machine_commands import bridle, create
from tests.views.web.fixtures.watch_server import watching

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("browser")]

PROCESS = r"""
async def process(inputs, ctx):
    return await ctx.breakpoint({"question": "Run it?", "command": "ls \x1b]0; rm -rf ~", "tag": "a\U000e0041\u200b."})
"""


MEMBERS = ("constructor", "__proto__", "toString", "valueOf", "__defineGetter__")


def test_all_that_is_approved_is_shown(tmp_path: Path) -> None:
    (tmp_path / "process.py").write_text(PROCESS, encoding="utf-8")
    assert create(tmp_path, "--run-id", "r1").code == 0
    bridle("run:iterate", "r1", "--json", cwd=tmp_path)
    todos = [{"content": "visible work", "status": status} for status in MEMBERS]
    calls = [logs.call(name, name, {"of": f"input of {name}"}) for name in MEMBERS]
    logs.write_log(tmp_path, logs.lines([logs.says(logs.call("t", "TodoWrite", {"todos": todos}), *calls)]))
    with watching(tmp_path) as server, open_browser() as browser, open_window(browser) as window:
        window.go(server, "/inbox")
        shown = window.page.locator("main")
        expect(shown).to_contain_text("ls ‹U+001B›]0; rm -rf ~")
        expect(shown).to_contain_text("a‹U+E0041›‹U+200B›.")
        window.go(server, f"/run/-/log/{logs.NAME}")
        expect(shown.get_by_text("visible work").first).to_be_visible()
        for name in MEMBERS:
            expect(shown).to_contain_text(f"input of {name}")
