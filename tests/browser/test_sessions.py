"""Sessions of no run in a real browser: one is started, read and continued on the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.fixtures.window import open_browser, open_window
from tests.run.fixtures.fake_agent import Script, init, line, says, successful_turn
from tests.views.web.fixtures.watch_server import watching
from tests.workspace.fixtures.repositories import make_repository

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("browser")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


def test_a_session_is_started_with_a_prompt_a_model_and_tools_and_continued(browser: Browser, tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository").folder
    agent = successful_turn("There are two files.").install(tmp_path)
    with watching(repository, agent.environment()) as server, open_window(browser) as window:
        page = window.page
        window.go(server, "/new")
        expect(page.get_by_role("button", name="Start the session")).to_be_disabled()
        page.get_by_label("Prompt").fill("--what is <b>here</b>?")
        page.get_by_label("Model").fill("claude-opus-4-8")
        page.get_by_label("Read", exact=True).check()
        page.get_by_label("Glob", exact=True).check()
        page.get_by_role("button", name="Start the session").click()
        expect(page.locator("h1")).to_have_text("--what is <b>here</b>?")  # the page opens the new session
        expect(page.locator(".say")).to_contain_text("There are two files.")
        page.get_by_label("Message that continues this session").fill("and in src?")
        page.get_by_role("button", name="Send").click()
        expect(page.locator("h1")).to_have_text("and in src?")  # and the answer, once its agent has started
        expect(page.locator(".say")).to_contain_text("There are two files.")
        parts = page.get_by_role("navigation", name="Messages of this session").get_by_role("link")
        expect(parts).to_have_text(["--what is <b>here</b>?", "and in src?"])
        expect(parts.nth(1)).to_have_attribute("aria-current", "page")
        window.go(server, "/new")
        expect(page.locator(".sessions .run-card")).to_have_count(2)
    first, second = (start["argv"] for start in agent.starts)
    assert any("claude-opus-4-8" in word for word in first)
    assert any("Read" in word and "Glob" in word for word in first)
    assert any(word.startswith("--resume") for word in second)


def test_an_agent_that_died_shows_its_exit_code_its_stderr_and_the_next_reset(browser: Browser, tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository").folder
    resets_at = int(datetime(2026, 3, 2, 17, 45, 11).astimezone().timestamp())
    limit = {"status": "allowed_warning", "rateLimitType": "seven_day", "resetsAt": resets_at}
    script = Script().out(init(), line({"type": "rate_limit_event", "rate_limit_info": limit}), says("Half of"))
    agent = script.err("heap is full\n<b>abort</b>\n").exit(70).install(tmp_path)
    with watching(repository, agent.environment()) as server, open_window(browser) as window:
        page = window.page
        window.go(server, "/new")
        page.get_by_label("Prompt").fill(f"Count to ten.\n{'Slowly. ' * 50}")
        page.get_by_role("button", name="Start the session").click()
        expect(page.locator(".session h1")).to_contain_text("Count to ten.")
        window.go(server, "/new")
        expect(page.locator(".sessions .run-card .state").first).to_contain_text("failed")
        title = page.locator(".sessions .title").first
        expect(title).to_have_text(re.compile(r"^Count to ten\. Slowly\. .{100,140}…$"))
        title.click()
        end = page.locator(".process-end")
        expect(end.locator("strong")).to_have_text("exit code 70")
        expect(end.locator("pre")).to_contain_text("heap is full\n<b>abort</b>")
        expect(page.locator(".notice.warn", has_text="rate limit")).to_contain_text("allowed_warning (seven day)")
        expect(page.locator(".gauge dl div", has_text="next reset")).to_contain_text("Mar 2, 2026, 17:45:11")
        expect(page.locator(".side dl div", has_text="exit code")).to_contain_text("70")
        window.picture("agent-died")
