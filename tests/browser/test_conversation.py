"""Every kind of item in a real browser, every recording, hostile content, and conversations of any length."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.browser.fixtures import logs
from tests.browser.fixtures.gates import open_gate
from tests.browser.fixtures.window import STEP_MILLISECONDS, Window, open_browser, open_window
from tests.loop.fixtures.fake_agent import make_project
from tests.loop.fixtures.loop_commands import ONE_TASK, in_background, run_plan
from tests.sizes import SIZES
from tests.views.web.fixtures.watch_server import WatchServer, wait_for, watching, watching_project
from tests.workspace.fixtures.repositories import make_repository

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("browser")]

RECORDINGS = sorted((Path(__file__).parents[1] / "recordings" / "claude-2.1.197").glob("*.ndjson"))
# Resolves when a scrolled list has drawn its rows and measured them.
DRAWN = """() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() =>
  requestAnimationFrame(resolve))))"""
# Of what is drawn: which items, where its links lead, and every element or attribute that no view makes.
DRAWN_NODES = """node => ({
  items: [...node.querySelectorAll(':scope > .row > .item')].map((one) => one.dataset.item),
  links: [...node.querySelectorAll('a[href]:not(.link)')].filter((one) => one.target === '_blank' &&
    one.rel.includes('noopener')).map((one) => one.href),
  markup: [...node.querySelectorAll('script, iframe, style, link, form, input, object, embed, base, img, svg, ' +
    'a[href]:not(.link):not([target]), [onclick], [onerror], [onload], [srcdoc]')].map((one) => one.outerHTML),
})"""
# Rows near the view, however many there are.
MOST_ROWS = 150


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WatchServer]:
    """One server for all logs of this module, each a session of no run."""
    repository = make_repository(tmp_path_factory.mktemp("logs") / "repository").folder
    for recording in [path for path in RECORDINGS if path.stem in SHOWN]:
        logs.write_log(repository, recording.read_bytes(), f"{logs.NAME}-{recording.stem}")
    logs.write_log(repository, logs.lines(hostile_events()), f"{logs.NAME}-hostile")
    logs.write_log(repository, logs.lines(odd_events()), f"{logs.NAME}-odd")
    logs.write_log(repository, logs.lines(written_events()), f"{logs.NAME}-written")
    logs.write_log(repository, logs.lines(many_events(SIZES.page_events)), f"{logs.NAME}-long")
    with watching(repository) as started:
        yield started


SHOWN = {
    "02-tools-basic",
    "02b-tools-search",
    "04-thinking",
    "05-permission-denied",
    "07a-429-then-ok",
    "12-subagent",
    "12b-subagent-parallel",
    "14b-askuser-allowed",
    "15c-sigint-in-bash",
}


def open_log(window: Window, server: WatchServer, name: str, more: str = "") -> Locator:
    """Open the conversation of a log by the end of its name; return its list."""
    sessions = server.get("/api/board")["sessions"]
    (log,) = [entry["log"] for entry in sessions if entry["log"].endswith(f"-{name}")]
    window.go(server, f"/run/-/log/{log}{more}")
    found = window.page.locator(".list-frame .scroller")
    expect(found.locator(".item").first).to_be_visible()
    return found


def card(found: Locator, name: str, summary: str = "") -> Locator:
    """Return the first card of a tool whose line has these words."""
    return (
        found.locator("section.call")
        .filter(has=found.page.locator(".name", has_text=name))
        .filter(has_text=summary)
        .first
    )


def scroll_to(found: Locator, row: Locator) -> None:
    """Scroll down until a row is drawn."""
    while row.count() == 0:
        at = found.evaluate("node => node.scrollTop")
        assert found.evaluate("node => (node.scrollTop += 300)") != at


def many_events(number: int) -> Iterator[logs.Event]:
    """Texts and calls with results, several to a turn."""
    yield logs.init()
    for place in range(number // 3):
        yield logs.says(logs.text(f"Step {place}: a sentence with **weight**."), number=place)
        yield logs.says(logs.call(f"call_{place}", "Bash", {"command": f"echo {place}"}), number=place)
        yield logs.answers(f"call_{place}", f"{place}\n" * (1 + place % 5))
    yield logs.result()


def odd_events() -> Iterator[logs.Event]:
    """What no recording has: unknown events, inputs of any type, images, todos, stray lines."""
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    yield logs.init()
    yield {"type": "brand_new_event", "session_id": logs.SESSION, "payload": {"deep": [1, 2, {"x": None}]}}
    for place, value in enumerate([None, True, 12.5, "words", ["a", 1], {"nested": {"list": [1]}}]):
        yield logs.says(logs.call(f"odd_{place}", "Custom", value), number=place)
        yield logs.answers(f"odd_{place}", json.dumps(value))
    yield logs.says(
        logs.call(
            "todo",
            "TodoWrite",
            {
                "todos": [
                    {"content": "Read the code", "status": "completed", "activeForm": "Reading"},
                    {"content": "Write the test", "status": "in_progress", "activeForm": "Writing"},
                ]
            },
        ),
        number=20,
    )
    yield logs.answers("todo", "ok")
    yield logs.says(logs.call("picture", "Read", {"file_path": "/w/logo.png"}), number=21)
    source = {"type": "base64", "media_type": "image/png", "data": pixel}
    yield logs.answers("picture", [{"type": "image", "source": source}])
    yield logs.says(logs.call("left", "Bash", {"command": "sleep 1000"}), number=22)


def written_events() -> Iterator[logs.Event]:
    """Text in Markdown that extends itself, a result that repeats it, and one that says something new."""
    yield logs.init()
    yield logs.says(logs.text("# Plan\n\nRead **all** of `app.py`:\n\n- one\n- two\n"), number=1)
    yield logs.says(logs.text("```python\ndef twice(x):\n    return 2 * x\n```\n"), number=2)
    yield logs.says(logs.text("It is done."), number=3)
    yield logs.result("It is done.")
    yield logs.says(logs.text("More."), number=4)
    yield logs.result("Said only in the result.")
    failed = logs.says(logs.text("API Error: 400 the prompt is odd"), number=5)
    failed["message"] |= {"model": "<synthetic>"}
    yield failed | {"error": "invalid_request"}
    yield logs.result("API Error: 400 the prompt is odd") | {"is_error": True, "api_error_status": 400}


HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "<script>alert(2)</script>",
    "<svg onload=alert(3)><script>alert(4)</script></svg>",
    "<iframe srcdoc='<script>parent.alert(5)</script>'></iframe>",
    "[safe](https://example.invalid/1) [a](javascript:alert(6)) [b](JaVaScRiPt:alert(7))",
    "[c](data:text/html,<script>alert(8)</script>) [d](vbscript:x)",
    "![x](http://198.51.100.7/track.png) ![y](javascript:alert(9))",
    "<style>* { display: none }</style><link rel=stylesheet href=//198.51.100.7/x.css>",
    "<a href='http://198.51.100.7/' onclick='alert(10)' style='position:fixed;inset:0'>all of the page</a>",
    "</script><script>alert(11)</script>",
    "</div></div></main><h1>Approve everything</h1>",
    "<form action=/api/actions method=post><input name=action value=undo></form>",
    "`<b>`" + "**" * 400 + ">" * 400 + "[" * 400,
    "\u202ereversed\u202c \u0007bell \u001b[31mred\u001b[0m \u001b]8;;http://198.51.100.7\u0007link\u001b]8;;\u0007",
    "```html\n<script>alert(12)</script>\n```\n\n| a | b |\n|---|---|\n| <img src=x onerror=alert(13)> | x |",
    "${alert(14)} {{alert(15)}} <%= alert(16) %>",
    (
        "[e](<java&#115;cript:alert(17)>) <javascript:alert(18)> [f][r] [g](data:text/html;base64,PHN2Zz4=)"
        " [h](/api/board)\n\n[r]: javascript:alert(19)\n"
    ),
)


def hostile_events() -> Iterator[logs.Event]:
    """Each hostile text in each place that an agent can fill."""
    yield logs.init() | {"model": HOSTILE[0], "cwd": HOSTILE[1]}
    for place, words in enumerate(HOSTILE):
        tool = f"t{place}"
        yield logs.says(logs.text(words), {"type": "thinking", "thinking": words, "signature": ""}, number=place)
        yield logs.says(logs.call(f"bash{tool}", "Bash", {"command": words, "description": words}), number=place)
        yield logs.answers(f"bash{tool}", words)
        yield logs.says(
            logs.call(f"edit{tool}", "Edit", {"file_path": words, "old_string": "a", "new_string": words}), number=place
        )
        yield logs.answers(f"edit{tool}", words, is_error=True)
        yield logs.says(logs.call(f"read{tool}", "Read", {"file_path": f"{words}.html"}), number=place)
        yield logs.answers(f"read{tool}", f"1\t{words}\n2\tsecond")
        yield logs.says(logs.call(f"grep{tool}", "Grep", {"pattern": words, "path": words}), number=place)
        yield logs.answers(f"grep{tool}", f"{words}.py:3:{words}")
        yield logs.says(logs.call(f"any{tool}", words, {words: words}), number=place)
        yield logs.answers(f"any{tool}", [{"type": "text", "text": words}, {"type": words}])
        yield logs.says(
            logs.call(
                f"ask{tool}",
                "AskUserQuestion",
                {
                    "questions": [
                        {"question": words, "header": words, "options": [{"label": words, "description": words}]}
                    ]
                },
            ),
            number=place,
        )
        yield logs.says(
            logs.call(f"todo{tool}", "TodoWrite", {"todos": [{"content": words, "status": words}]}), number=place
        )
        yield logs.says(
            logs.call(f"task{tool}", "Task", {"description": words, "prompt": words, "subagent_type": words}),
            number=place,
        )
        yield logs.says(logs.text(words), number=100 + place, parent=f"task{tool}")
        yield {"type": words, "session_id": logs.SESSION, words: words}
        yield {"type": "system", "subtype": "api_retry", "error": words, "attempt": 1, "session_id": logs.SESSION}
    svg = {"type": "base64", "media_type": "image/svg+xml", "data": "PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+"}
    yield logs.says(logs.call("svg", "Read", {"file_path": "x.svg"}), number=500)
    yield logs.answers("svg", [{"type": "image", "source": svg}])
    yield logs.result(HOSTILE[0]) | {"is_error": True, "subtype": HOSTILE[1], "errors": list(HOSTILE)}


def see_all(window: Window, found: Locator) -> dict[str, set[str]]:
    """Scroll through the whole list with everything unfolded; return the items, links and markup that were drawn."""
    window.page.get_by_role("button", name="Unfold all").click()
    found.evaluate("node => { node.scrollTop = 0; }")
    seen: dict[str, set[str]] = {"items": set(), "links": set(), "markup": set()}
    while True:
        window.page.evaluate(DRAWN)
        window.page.wait_for_function("() => !document.querySelector('.list-frame .placeholder')")
        for name, values in found.evaluate(DRAWN_NODES).items():
            seen[name] |= set(values)
        before = found.evaluate("node => node.scrollTop")
        if found.evaluate("node => (node.scrollTop += node.clientHeight * 0.8, node.scrollTop)") <= before:
            return seen


def test_hostile_content_is_shown_as_text_and_does_nothing(browser: Browser, server: WatchServer) -> None:
    with open_window(browser) as window:
        requests: list[str] = []
        window.page.on("request", lambda request: requests.append(request.url))
        found = open_log(window, server, "hostile")
        total = int(found.locator(".item").first.get_attribute("aria-setsize") or 0)
        seen = see_all(window, found)
        assert len(seen["items"]) == total > 8 * len(HOSTILE)
        assert seen["markup"] == set()
        assert seen["links"] == {"https://example.invalid/1"}
        assert {request for request in requests if not request.startswith((server.origin, "blob:"))} == set()
        window.picture("hostile")
        window.go(server, "/search?q=alert")
        expect(window.page.locator(".hits li").first).to_contain_text("alert")


def test_a_hostile_run_is_shown_as_text(browser: Browser, tmp_path: Path) -> None:
    """Titles of plan and tasks, reasons, questions, hints, check output and file names of commits."""
    title = "<img src=x onerror=alert(1)> & **bold**"
    first = "Check: `echo '<script>alert(2)</script>'; test -f '<svg onload=alert(3)>.py'`"
    plan = f"# {title}\n\n## {title}\n{first}\n\n## Two\nCheck: `echo '{HOSTILE[0]}'; false`\n"
    agent = """
    if task == "Two":
        answer |= {"question": "<script>alert(4)</script> **now?**", "done": False}
    else:
        open("<svg onload=alert(3)>.py", "w").write("<script>alert(5)</script>\\n")
    """
    here = make_project(tmp_path, plan, agent)
    run_plan(here, 4)
    with watching_project(here) as started, open_window(browser) as window:
        run = started.get("/api/board")["runs"][0]["run"]
        window.go(started, "/")
        expect(window.page.locator(".run-card .title")).to_have_text(title)
        expect(window.page.locator(".need")).to_contain_text("<script>alert(4)</script> **now?**")
        for tab in ("conversation", "tasks", "journal", "commits", "receipt", "charts"):
            window.go(started, f"/run/{run}/{tab}")
            expect(window.page.locator("#tab-panel > *").first).to_be_visible()
            for fold in window.page.locator("#tab-panel button[aria-expanded=false]").all():
                fold.click()
        window.go(started, f"/run/{run}/commits")
        window.page.reload()
        expect(window.page.locator(".file-diff .path").first).to_contain_text("<svg onload=alert(3)>.py")
        assert window.page.locator("main img, main svg[onload], main script").count() == 0


def test_tool_calls_are_shown_as_what_they_are(browser: Browser, server: WatchServer) -> None:
    with open_window(browser) as window:
        found = open_log(window, server, "02-tools-basic")
        found.evaluate("node => { node.scrollTop = 0; }")
        expect(found.locator(".notice .kind").first).to_have_text("session")
        read = card(found, "Read", "app.py")
        read.locator(".fold").first.click()
        expect(read.locator("td.number").nth(1)).to_have_attribute("data-number", "2")
        expect(read.locator("td.text").nth(1)).to_contain_text("return a - b")
        expect(read.locator(".hl-keyword").first).to_be_visible()
        expect(read.locator(".ids")).to_contain_text("toolu_0001_1")
        edit = card(found, "Edit", "app.py")
        expect(edit.locator("td.text.del").first).to_contain_text("return a - b")
        expect(edit.locator("td.text.add").first).to_contain_text("return a + b")
        bash = card(found, "Bash", "exit 3")
        expect(bash.locator(".state")).to_contain_text("failed")
        expect(bash.locator(".exit")).to_have_text("exit code 3")
        expect(bash.locator(".terminal pre")).to_contain_text("partial")
        glob = card(found, "Glob")
        scroll_to(found, glob)
        glob.locator(".fold").first.click()
        expect(glob.locator(".found li").first).to_contain_text("src/app.py")
        glob.get_by_role("button", name="Show the raw event").click()
        expect(glob.locator("pre").last).to_contain_text("tool_use")
        window.picture("tools")


def test_what_was_denied_shows_what_it_would_have_changed(browser: Browser, server: WatchServer) -> None:
    with open_window(browser) as window:
        found = open_log(window, server, "05-permission-denied")
        write = card(found, "Write")
        expect(write.locator(".state")).to_contain_text("denied")
        expect(write.locator(".facts-line")).to_contain_text("requested, not made")
        expect(write.locator("td.text.add")).to_contain_text("x")
        expect(write.locator("td.number.add")).to_have_attribute("data-number", "1")
        expect(found.locator(".denials")).to_contain_text("Bash")


def test_sub_agents_are_nested_and_have_a_page_of_their_own(browser: Browser, server: WatchServer) -> None:
    with open_window(browser) as window:
        found = open_log(window, server, "12-subagent")
        agent = found.locator("section.call.agent").first
        expect(agent.locator(".state").first).to_contain_text("completed")
        agent.locator(".fold").first.click()
        inner = agent.locator(".children section.call").first
        expect(inner).to_contain_text("Bash")
        expect(agent.locator(".report")).to_be_visible()
        window.picture("sub-agent")
        link = inner.locator("xpath=ancestor::article[1]").locator("> .edge a.link")
        address = link.get_attribute("href") or ""
        assert "/thread/" in address
        window.page.goto(f"{server.url}{address}")
        window.page.reload()
        expect(window.page.locator(".thread-note")).to_be_visible()
        expect(window.page.locator(".item.marked")).to_contain_text("Bash")
        parallel = open_log(window, server, "12b-subagent-parallel")
        expect(parallel.locator("section.call.agent")).to_have_count(2)


def test_questions_thoughts_retries_and_ends_of_processes_are_marked(browser: Browser, server: WatchServer) -> None:
    with open_window(browser) as window:
        found = open_log(window, server, "14b-askuser-allowed")
        expect(found.locator(".questions legend").first).to_be_visible()
        expect(found.locator(".questions li")).not_to_have_count(0)
        asked = found.locator("section.call").filter(has=window.page.locator(".questions")).first
        expect(asked.locator(".fold .summary")).to_have_text(
            asked.locator(".questions legend").first.inner_text().split("\n")[-1]
        )
        thinking = open_log(window, server, "04-thinking").locator(".thought").first
        expect(thinking.locator(".inner")).to_have_count(0)
        thinking.locator(".fold").click()
        expect(thinking.locator(".inner")).to_be_visible()
        retry = open_log(window, server, "07a-429-then-ok")
        expect(retry.locator(".notice.warn .kind").first).to_have_text("retry")
        stopped = open_log(window, server, "15c-sigint-in-bash")
        expect(stopped.locator("section.call .state").first).to_contain_text("interrupted")


def test_unknown_events_any_input_images_todos_and_a_missing_end(browser: Browser, server: WatchServer) -> None:
    with open_window(browser) as window:
        found = open_log(window, server, "odd")
        window.page.wait_for_function("() => document.querySelector('.images img')?.naturalWidth === 1")
        expect(window.page.locator(".side .todos li").nth(1)).to_contain_text("Write the test")
        expect(found.get_by_text("[image]")).to_have_count(0)  # the image itself is shown
        found.evaluate("node => { node.scrollTop = 0; }")
        chip = found.locator(".unknown .chip")
        expect(chip).to_contain_text("brand_new_event")
        chip.click()
        expect(found.locator(".unknown pre")).to_contain_text('"deep"')
        expect(found.locator("section.call .name", has_text="Custom")).to_have_count(6)
        expect(found.locator(".process-end")).to_contain_text("without a result")
        expect(card(found, "Bash").locator(".state")).not_to_contain_text("completed")


def test_text_is_markdown_that_extends_itself_and_a_result_is_shown_once(browser: Browser, server: WatchServer) -> None:
    with open_window(browser) as window:
        found = open_log(window, server, "written")
        found.evaluate("node => { node.scrollTop = 0; }")
        first = found.locator(".item").filter(has_text="Plan").first
        expect(first.get_by_role("heading", name="Plan")).to_be_visible()
        expect(first.locator("strong")).to_have_text("all")
        expect(first.locator("li")).to_have_text(["one", "two"])
        expect(first.locator("figure.code span[class]", has_text="def").first).to_be_visible()
        expect(first).to_contain_text("It is done.")  # three messages, one text
        expect(found.get_by_text("It is done.", exact=True)).to_have_count(1)
        expect(found.get_by_text("Said only in the result.")).to_have_count(1)
        footers = found.locator(".result")
        expect(footers.nth(0)).to_contain_text("turn finished")
        expect(footers.nth(0)).to_contain_text("$0.01")
        expect(found.locator(".failure").first).to_contain_text("the prompt is odd")


def test_thousands_of_events_scroll_and_only_what_is_seen_is_drawn(browser: Browser, server: WatchServer) -> None:
    last = SIZES.page_events // 3 - 1
    with open_window(browser) as window:
        found = open_log(window, server, "long")
        expect(found).to_contain_text(f"Step {last}:")
        for part in (0.5, 0.0, 0.25, 0.75):
            found.evaluate("(node, part) => { node.scrollTop = node.scrollHeight * part; }", part)
            window.page.wait_for_function("() => !document.querySelector('.list-frame .placeholder')")
            assert found.locator(":scope > .row").count() < MOST_ROWS
        assert_reading_upwards_is_steady(window, found)
        found.evaluate("node => { node.scrollTop = 0; }")
        expect(found).to_contain_text("Step 0:")
        window.page.get_by_role("button", name="Newest").click()
        expect(found).to_contain_text(f"Step {last}:")
        target = found.locator(".item").filter(has_text=f"Step {last - 8}:").first
        found.evaluate("node => { node.scrollTop -= 2000; }")
        link = target.locator("> .edge a.link").get_attribute("href")
        window.page.goto(f"{server.url}{link}")
        window.page.reload()
        marked = window.page.locator(".item.marked")
        expect(marked).to_contain_text(f"Step {last - 8}:")
        expect(marked).to_be_in_viewport()
        window.page.locator("#filter-words").fill(f"Step {last // 2}:")
        expect(window.page.locator(".matches")).to_have_text("1 found")
        expect(window.page.locator(".list-frame")).to_contain_text(f"Step {last // 2}:")


TALKS = """
import pathlib
def step(number, words):
    show(type="assistant", message={"id": f"msg_{number}", "role": "assistant", "model": "m", "content": [
        {"type": "text", "text": words},
        {"type": "tool_use", "id": f"call_{number}", "name": "Bash", "input": {"command": "true"}}]})
def wait(number):
    open(pathlib.Path(os.path.dirname(os.path.realpath(sys.argv[0])), f"gate-{number}")).read()
for number in range(100):
    step(number, f"Step {number}.")
wait(1)
step(1000, "The newest words.")
wait(2)
for number in range(2000, 2030):
    step(number, f"Later {number}.")
wait(3)
open("one", "w").close()
"""


def test_a_growing_conversation_is_followed_and_reading_above_is_not_disturbed(
    browser: Browser, tmp_path: Path
) -> None:
    here = make_project(tmp_path, ONE_TASK, TALKS)
    for number in (1, 2, 3):
        os.mkfifo(here.agent_folder / f"gate-{number}")
    with (
        in_background(here, "run", "PLAN.md") as run,
        watching_project(here) as started,
        open_window(browser) as window,
    ):
        name = wait_for(started, "/api/board", lambda found: found["runs"])["runs"][0]["run"]
        window.go(started, f"/run/{name}")
        found = window.page.locator(".list-frame .scroller")
        expect(found).to_contain_text("Step 99.")
        open_gate(here.agent_folder, 1)
        expect(found.get_by_text("The newest words.")).to_be_in_viewport()
        found.evaluate("node => { node.scrollTop = 300; }")
        newest = window.page.get_by_role("button", name="Newest")
        expect(newest).to_be_visible()
        before = first_row(found)
        open_gate(here.agent_folder, 2)
        expect(newest).to_contain_text("60 new")
        assert first_row(found) == before
        newest.click()
        expect(found.get_by_text("Later 2029.")).to_be_in_viewport()
        open_gate(here.agent_folder, 3)
        assert run.wait(STEP_MILLISECONDS / 1000) == 0


def assert_reading_upwards_is_steady(window: Window, found: Locator) -> None:
    """Rows that are measured above the view move nothing in it."""
    for _ in range(8):
        window.page.evaluate(DRAWN)
        window.page.wait_for_function("() => !document.querySelector('.list-frame .placeholder')")
        index, top = first_row(found)
        found.evaluate("node => { node.scrollTop -= 300; }")
        window.page.evaluate(DRAWN)
        now = found.locator(f":scope > .row[data-index='{index}']").evaluate(
            "row => row.getBoundingClientRect().top - row.parentElement.getBoundingClientRect().top"
        )
        assert abs(now - (top + 300)) <= 2


def first_row(found: Locator) -> Any:
    """Return which row is at the top of the view, and where exactly."""
    return found.evaluate(
        """node => { const top = node.getBoundingClientRect().top;
        const row = [...node.querySelectorAll(':scope > .row')].find(one => one.getBoundingClientRect().bottom > top);
        return [row.dataset.index, Math.round(row.getBoundingClientRect().top - top)]; }"""
    )


@pytest.mark.parametrize("part", [0, 1, 2])
def test_every_recording_is_shown_without_an_error(browser: Browser, tmp_path: Path, part: int) -> None:
    repository = make_repository(tmp_path / "repository").folder
    chosen = RECORDINGS[part::3]
    for recording in chosen:
        logs.write_log(repository, recording.read_bytes(), f"{logs.NAME}-{recording.stem}")
    with watching(repository) as started, open_window(browser) as window:
        known = {entry["log"]: entry for entry in started.get("/api/board")["sessions"]}
        assert len(known) == len(chosen)
        window.go(started, "/")
        for log in known:
            answer = started.get(f"/api/runs/-/logs/{log}/items?start=0&count=100")
            window.page.evaluate("address => { location.hash = address; }", f"#/run/-/log/{log}")
            if answer["total"]:
                last = window.page.locator(f"[data-item='{answer['items'][-1]['id']}']")
                expect(last.first).to_be_attached()
            else:
                expect(window.page.locator(".stream .empty")).to_be_visible()
