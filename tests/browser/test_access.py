"""The page for everyone: screen readers (axe), keyboards, both themes, phones, and a first visit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.browser.fixtures import logs
from tests.browser.fixtures.window import MEDIUM, PHONE, WIDE, Window, open_browser, open_window
from tests.loop.fixtures.fake_agent import make_project
from tests.loop.fixtures.loop_commands import run_plan
from tests.views.web.fixtures.watch_server import WatchServer, watching, watching_project
from tests.workspace.fixtures.repositories import make_repository

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("browser")]

RECORDING = Path(__file__).parents[1] / "recordings" / "claude-2.1.197" / "02-tools-basic.ndjson"
PLAN = """# Release 0.3

## Prices
Check: `test -f Prices`

## Slip
Check: `test -f Slip`

## Changelog
Needs: Slip
Check: `test -f Changelog`
"""
# The first task is done, the second asks, the third waits for it.
AGENT = """
if task == "Slip":
    answer |= {"question": "Which currency is on the slip?", "done": False}
else:
    open(task, "w").write("prices = {}\\n")
"""
TABS = ("conversation", "tasks", "journal", "commits", "receipt", "charts")
THEMES = ("light", "dark")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WatchServer]:
    here = make_project(tmp_path_factory.mktemp("access"), PLAN, AGENT)
    run_plan(here, 4)
    logs.write_log(here.folder, RECORDING.read_bytes(), f"{logs.NAME}-tools")
    with watching_project(here) as started:
        yield started


def addresses(server: WatchServer) -> dict[str, str]:
    """Every view, by name."""
    board = server.get("/api/board")
    run = board["runs"][0]["run"]
    (log,) = [entry["log"] for entry in board["sessions"] if entry["log"].endswith("-tools")]
    views = {
        "board": "/",
        "inbox": "/inbox",
        "search": "/search?q=currency",
        "new": "/new",
        "tools": f"/run/-/log/{log}",
    }
    return views | {tab: f"/run/{run}/{tab}" for tab in TABS}


# What each view shows when it has loaded.
SHOWN = {
    "board": ".run-card",
    "inbox": ".inbox .need",
    "search": ".hits li",
    "new": ".sessions .run-card",
    "tools": ".session .list-frame .item",
    "conversation": ".log-list + .stream .list-frame .item",
    "tasks": ".task",
    "journal": ".journal .entry:not(.placeholder)",
    "commits": ".commit .file-diff",
    "receipt": ".receipt .paper",
    "charts": ".chart",
}


def settle(window: Window, view: str) -> None:
    """Wait until a view has loaded: the earlier one is shown until then."""
    expect(window.page.locator(SHOWN[view]).first).to_be_visible()
    window.page.wait_for_function(
        "() => !document.querySelector('.skeleton, .list-frame .placeholder, [aria-busy=true]')"
    )


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_no_view_has_a_serious_finding_of_axe_and_none_is_wider_than_the_screen(
    browser: Browser, server: WatchServer, theme: str, size: tuple[int, int]
) -> None:
    with open_window(browser, size, theme) as window:
        for name, address in addresses(server).items():
            window.go(server, address)
            settle(window, name)
            window.picture(f"{name}-{theme}-{size[0]}")
            window.assert_accessible()
            width = window.page.evaluate("() => document.documentElement.scrollWidth")
            assert width <= size[0], name


def test_a_phone_shows_the_chosen_tab_and_what_waits_on_one_line(browser: Browser, server: WatchServer) -> None:
    views = addresses(server)
    with open_window(browser, PHONE) as window:
        for tab in ("tasks", "charts"):
            window.go(server, views[tab])
            settle(window, tab)
            expect(window.page.locator(f"#tab-{tab}")).to_be_in_viewport(ratio=0.9)
        waiting = window.page.locator(".run-head .waiting")
        summary = waiting.locator("> summary")
        expect(window.page.locator(".actions button")).to_have_text(["Hint", "Resume", "Undo"])
        expect(summary).to_have_text("1 needs you: Slip")
        expect(waiting.locator("textarea")).not_to_be_visible()
        summary.click()
        waiting.locator("textarea").fill("Euro")
        expect(waiting.get_by_role("button", name="Send the answer")).to_be_enabled()


def test_a_window_of_800_pixels_has_room_for_words(browser: Browser, server: WatchServer) -> None:
    views = addresses(server)
    with open_window(browser, MEDIUM) as window:
        window.go(server, views["journal"])
        settle(window, "journal")
        entries = window.page.locator(".entry:not(.placeholder)")
        expect(entries.last).to_be_in_viewport()  # it opens at the newest one
        number = server.get(f"/api/runs/{server.get('/api/board')['runs'][0]['run']}")["journal"]["count"]
        expect(entries.last.locator(".seq")).to_have_text(str(number))
        assert entries.last.locator(".summary").evaluate("node => node.clientWidth") > MEDIUM[0] / 5
        window.go(server, views["tools"])
        settle(window, "tools")
        about = window.page.locator(".side-toggle button")
        expect(about).to_contain_text("context")
        about.click()
        expect(window.page.locator(".side").get_by_role("heading", name="Session")).to_be_in_viewport()


def test_a_card_of_the_inbox_has_its_own_style_whatever_its_kind(browser: Browser, server: WatchServer) -> None:
    with open_window(browser) as window:
        window.go(server, "/inbox")
        card = window.page.locator(".need").first
        before = style(card)
        assert card.evaluate("node => node.classList.replace('need-question', 'need-failure')")
        assert style(card) == before


def style(card: Locator) -> list[str]:
    found: list[str] = card.evaluate("node => [getComputedStyle(node).padding, getComputedStyle(node).backgroundColor]")
    return found


def test_the_theme_is_chosen_and_remembered(browser: Browser, server: WatchServer) -> None:
    with open_window(browser) as window:
        window.go(server)
        before = background(window)
        window.page.get_by_role("button", name="Theme: system").click()
        window.page.get_by_role("button", name="Theme: light").click()
        dark = background(window)
        assert dark != before
        window.page.reload()
        window.page.wait_for_selector("main .page")
        assert background(window) == dark


def background(window: Window) -> str:
    return str(window.page.evaluate("() => getComputedStyle(document.body).backgroundColor"))


def test_everything_is_reached_with_the_keyboard(browser: Browser, server: WatchServer) -> None:
    with open_window(browser) as window:
        keyboard = window.page.keyboard
        window.go(server)
        expect(window.page.locator(".run-card")).to_have_count(1)
        keyboard.press("?")
        expect(window.page.get_by_role("dialog", name="Keys")).to_be_visible()
        keyboard.press("Escape")
        expect(window.page.get_by_role("dialog")).to_have_count(0)
        keyboard.press("j")
        keyboard.press("Enter")
        expect(window.page.locator(".run-head h1")).to_have_text("Release 0.3")
        for number, tab in enumerate(TABS, start=1):
            keyboard.press(str(number))
            expect(window.page.locator(f"#tab-{tab}")).to_have_attribute("aria-selected", "true")
        window.page.locator("#tab-charts").focus()
        keyboard.press("ArrowLeft")
        expect(window.page.locator("#tab-receipt")).to_be_focused()
        for keys, address in (("g i", "#/inbox"), ("g s", "#/search?q="), ("g b", "#/")):
            window.page.locator("body").evaluate("() => document.activeElement.blur()")
            for key in keys.split():
                keyboard.press(key)
            window.page.wait_for_function("address => location.hash === address", arg=address)
            window.page.wait_for_selector("main .page")


def test_events_are_selected_unfolded_and_found_with_the_keyboard(browser: Browser, server: WatchServer) -> None:
    with open_window(browser) as window:
        keyboard = window.page.keyboard
        window.go(server, addresses(server)["tools"])
        settle(window, "tools")
        keyboard.press("k")
        selected = window.page.locator(".item.selected")
        expect(selected).to_have_count(1)
        place = int(selected.get_attribute("aria-posinset") or 0)
        for key in "kkj":
            keyboard.press(key)
        expect(selected).to_have_attribute("aria-posinset", str(place - 1))
        while selected.locator("section.call").count() == 0:
            keyboard.press("k")
        keyboard.press("Enter")
        expect(selected.locator(".fold").first).to_have_attribute("aria-expanded", "true")
        keyboard.press("/")
        expect(window.page.locator("#filter-words")).to_be_focused()
        keyboard.type("not there")
        expect(window.page.locator(".matches")).not_to_have_text("0 found")
        keyboard.press("Escape")
        keyboard.press("Escape")
        expect(window.page.locator("h1")).to_have_text("Runs")


def test_the_filter_shows_errors_and_one_tool(browser: Browser, server: WatchServer) -> None:
    with open_window(browser) as window:
        window.go(server, addresses(server)["tools"])
        settle(window, "tools")
        window.page.get_by_role("button", name="Errors").click()
        expect(window.page.locator(".matches")).to_be_visible()
        settle(window, "tools")
        states = window.page.locator(".list-frame .call > .fold .state").all_inner_texts()
        assert states
        assert all("completed" not in state for state in states)
        window.page.get_by_role("button", name="Clear").click()
        window.page.locator("#filter-tool").select_option("Glob")
        expect(window.page.locator(".list-frame .call")).to_have_count(1)


def test_conversations_and_hits_are_filtered_by_task(browser: Browser, server: WatchServer) -> None:
    with open_window(browser) as window:
        page = window.page
        window.go(server, addresses(server)["conversation"])
        groups = page.locator(".log-list .group")
        expect(groups).to_have_text(["Prices", "Slip"])
        page.locator("#log-task").select_option("Prices")
        expect(groups).to_have_text(["Prices"])
        expect(page.locator(".log-list a[aria-current]")).to_have_count(1)
        page.locator("#log-task").select_option("")
        expect(groups).to_have_text(["Prices", "Slip"])
        window.go(server, "/search?q=claude-sonnet")
        tasks = page.locator(".hits .fact")
        expect(tasks).to_have_text(["Slip", "Prices"])
        page.locator("#search-task").select_option("Prices")
        expect(tasks).to_have_text(["Prices"])
        page.reload()
        expect(page.locator("#search-task")).to_have_value("Prices")
        expect(tasks).to_have_text(["Prices"])
        page.locator(".hits a").click()
        expect(page.locator(".item.marked")).to_contain_text("claude-sonnet")
        expect(page.locator(".log-list li:has(a[aria-current])")).to_have_count(1)


def test_a_hit_in_the_title_of_a_task_leads_to_it(browser: Browser, server: WatchServer) -> None:
    with open_window(browser) as window:
        window.go(server, "/search?q=changelog")
        window.page.locator(".hits a").first.click()
        expect(window.page.locator("#tab-tasks")).to_have_attribute("aria-selected", "true")
        expect(window.page.locator(".task", has_text="Changelog")).to_be_in_viewport()


def test_where_there_is_nothing_the_page_says_what_to_do(browser: Browser, tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository").folder
    with watching(repository) as started, open_window(browser) as window:
        window.go(started)
        expect(window.page.locator(".empty")).to_contain_text("bridle run")
        window.picture("empty")
        window.go(started, "/inbox")
        expect(window.page.locator(".empty")).to_contain_text("Nothing waits for you")


def test_a_link_with_a_wrong_token_says_so(browser: Browser, server: WatchServer) -> None:
    with open_window(browser, expected=("401",)) as window:
        window.page.goto(f"{server.origin}/?token=wrong")
        expect(window.page.locator("body")).to_contain_text("bridle watch")
