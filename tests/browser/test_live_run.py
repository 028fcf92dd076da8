"""A run in a real browser: watched live, answered, reloaded, and through a restart of the server."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from bridle.journal.stores.file_store import FileStore
from tests.browser.fixtures.gates import open_gate
from tests.browser.fixtures.window import STEP_MILLISECONDS, Window, open_browser, open_window
from tests.cli.fixtures.machine_commands import bridle, create
from tests.fixtures.bridle_program import BRIDLE
from tests.loop.fixtures.fake_agent import make_project
from tests.loop.fixtures.loop_commands import ONE_TASK, in_background, run_plan
from tests.run.fixtures.fake_agent import wait_until
from tests.views.web.fixtures.watch_server import WatchServer, wait_for, watching, watching_project

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("browser")]

# A demo takes ten seconds on a quiet machine; this is for one that is very busy.
DEMO_SECONDS = 240.0
PROCESS = """
async def process(inputs, ctx):
    return await ctx.breakpoint({"question": "Ship it?", "version": "1.2", "files": ["a.whl", "<b>b.whl</b>"]})
"""
# Says a sentence, and the next one when the test opens the pipe.
SAYS_THREE = """
import pathlib
def sentence(number, words):
    show(type="assistant", message={"id": f"msg_{number}", "role": "assistant", "model": "m", "content": [
        {"type": "text", "text": words}]})
    show(type="assistant", message={"id": f"msg_{number}", "role": "assistant", "model": "m", "content": [
        {"type": "tool_use", "id": f"call_{number}", "name": "Bash", "input": {"command": f"echo {number}"}}]})
    open(pathlib.Path(os.path.dirname(os.path.realpath(sys.argv[0])), f"gate-{number}")).read()
    show(type="user", message={"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": f"call_{number}", "content": f"echoed {number}"}]})
sentence(1, "The **first** sentence.")
sentence(2, "The second sentence.")
sentence(3, "The third sentence.")
open("one", "w").close()
"""
# What a page says while its server is gone.
OFFLINE = ("Failed to load resource", "ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "net::ERR")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


def the_run(server: WatchServer) -> str:
    board = wait_for(server, "/api/board", lambda found: found["runs"])
    return str(board["runs"][0]["run"])


def test_a_run_against_the_stage_is_watched_live_from_the_board_to_the_receipt(
    browser: Browser, tmp_path: Path
) -> None:
    folder = tmp_path / "demo"
    repository = folder / "till"
    command = [str(BRIDLE), "demo", "--folder", str(folder), "--json"]
    demo = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with demo:
        try:
            wait_until(lambda: list((repository / ".a5c" / "runs").glob("0*/journal")) != [])
            with watching(repository) as server, open_window(browser) as window:
                watch_to_the_end(window, server)
            assert demo.wait(DEMO_SECONDS) == 0
        finally:
            demo.kill()


def watch_to_the_end(window: Window, server: WatchServer) -> None:
    """The page is opened once; everything else comes to it."""
    page = window.page
    window.go(server)
    expect(page.locator(".run-card .state")).to_contain_text("running")
    window.picture("board-running")
    page.locator(".run-card a").click()
    page.wait_for_selector(".run-head")
    expect(page.locator(".run-head .title-line .state")).to_contain_text("done", timeout=DEMO_SECONDS * 1000)
    page.locator("#tab-tasks").click()
    expect(page.locator(".task > .head .state.ok")).to_have_count(4)
    page.locator("#tab-commits").click()
    expect(page.locator(".commit")).to_have_count(4)
    page.locator(".commit > .fold").first.click()
    expect(page.locator(".diff td.text.add").first).to_contain_text("whole")
    page.locator("#tab-receipt").click()
    expect(page.locator(".paper")).to_contain_text("4 of 4 passed")
    page.locator("#tab-charts").click()
    expect(page.locator(".chart svg")).to_have_count(4)
    page.locator("#tab-journal").click()
    page.locator(".entry button").last.click()
    expect(page.locator(".moment h2")).to_contain_text("The run at entry")
    page.locator("#tab-conversation").click()
    expect(page.locator(".result .state").last).to_contain_text("turn finished")


def test_a_breakpoint_is_approved_on_the_page_and_the_run_continues(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "process.py").write_text(PROCESS, encoding="utf-8")
    assert create(tmp_path, "--run-id", "r1").code == 0
    bridle("run:iterate", "r1", "--json", cwd=tmp_path)
    with watching(tmp_path) as server, open_window(browser) as window:
        window.go(server, "/inbox")
        need = window.page.locator(".need")
        expect(need).to_contain_text("Ship it?")
        expect(need.locator(".payload")).to_contain_text("1.2")
        expect(need.locator(".payload")).to_contain_text("<b>b.whl</b>")
        window.picture("inbox")
        need.get_by_role("button", name="Approve").click()
        expect(window.page.locator(".empty")).to_contain_text("Nothing waits for you")
        window.go(server, "/")
        expect(window.page.locator(".run-card .state")).to_contain_text("done")
    store = FileStore(tmp_path / ".a5c/runs/r1")
    (effect,) = store.state().effects.values()
    value = store.result(effect).value
    assert isinstance(value, dict)
    assert (value["approved"], value["respondedBy"]) == (True, "human")


def test_a_parked_question_is_answered_in_words_and_the_run_continues(browser: Browser, tmp_path: Path) -> None:
    agent = """
    if number == 1:
        answer |= {"question": "Which colour?", "done": False}
    else:
        open("one", "w").write(prompt)
    """
    here = make_project(tmp_path, ONE_TASK, agent)
    run_plan(here, 4)
    with watching_project(here) as server, open_window(browser) as window:
        window.go(server, "/")
        need = window.page.locator(".need")
        expect(need).to_contain_text("Which colour?")
        expect(need.get_by_role("button", name="Send the answer")).to_be_disabled()
        need.get_by_role("textbox").fill("--blue; <img src=x>")
        need.get_by_role("button", name="Send the answer").click()
        expect(window.page.locator(".run-card .state")).to_contain_text("done")
        expect(window.page.locator(".need")).to_have_count(0)
    assert "--blue; <img src=x>" in (here.folder / "one").read_text()


def test_a_page_that_was_open_and_one_that_comes_late_show_the_same(browser: Browser, tmp_path: Path) -> None:
    """Reloaded in mid-run, and with the server killed and restarted in mid-run."""
    here = make_project(tmp_path, ONE_TASK, SAYS_THREE)
    for number in (1, 2, 3):
        os.mkfifo(here.agent_folder / f"gate-{number}")
    with in_background(here, "run", "PLAN.md") as run, open_window(browser, expected=OFFLINE) as early:
        with watching_project(here) as server:
            port, name = server.port, the_run(server)
            early.go(server, f"/run/{name}")
            expect(early.page.locator(".say")).to_contain_text("The first sentence.")
            expect(early.page.locator(".call .state.run")).to_have_count(1)
            early.page.reload()
            expect(early.page.locator(".say")).to_contain_text("The first sentence.")
            open_gate(here.agent_folder, 1)
            expect(early.page.locator(".say")).to_have_count(2)
            expect(early.page.locator(".terminal").first).to_contain_text("echoed 1")
            server.kill()
        expect(early.page.locator(".connection")).to_contain_text("Offline")
        early.picture("offline")
        open_gate(here.agent_folder, 2)
        with watching_project(here, port=port) as server, open_window(browser) as late:
            expect(early.page.locator(".connection")).to_contain_text("Live")
            expect(early.page.locator(".say")).to_have_count(3)
            open_gate(here.agent_folder, 3)
            late.go(server, f"/run/{name}")
            for window in (early, late):
                expect(window.page.locator(".title-line .state")).to_contain_text("done", timeout=STEP_MILLISECONDS)
                expect(window.page.locator(".result")).to_have_count(1)
            assert early.text() == late.text()
            assert "The third sentence." in late.text()
        assert run.wait(STEP_MILLISECONDS / 1000) == 0


def test_a_run_that_works_is_given_a_hint_and_stopped(browser: Browser, tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, SAYS_THREE)
    os.mkfifo(here.agent_folder / "gate-1")
    with in_background(here, "run", "PLAN.md") as run, watching_project(here) as server, open_window(browser) as window:
        window.go(server, f"/run/{the_run(server)}")
        expect(window.page.locator(".call .state.run")).to_have_count(1)
        window.page.get_by_role("button", name="Hint").click()
        window.page.locator("#hint-text").fill("look at README")
        window.page.get_by_role("button", name="Send the hint").click()
        expect(window.page.locator(".toast.ok").first).to_be_visible()
        window.page.get_by_role("button", name="Stop", exact=True).click()
        window.page.get_by_role("button", name="Stop the run").click()
        assert run.wait(STEP_MILLISECONDS / 1000) != 0
        expect(window.page.locator(".title-line .state")).not_to_contain_text("running")
        expect(window.page.get_by_role("button", name="Resume")).to_be_visible()
