"""An exported file, opened from disk in a real browser without a network."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.cli.fixtures.machine_commands import bridle
from tests.loop.fixtures.fake_agent import make_project
from tests.loop.fixtures.loop_commands import run_folder
from tools.debian_programs import find_browser

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("browser")]

RECORDINGS = Path(__file__).parents[1] / "recordings" / "claude-2.1.197"
LIMIT_MILLISECONDS = 60_000
HOSTILE = "</script><script>window.pwned = 1</script><!-- <img src=x onerror='window.pwned=1'> [l](javascript:pwned=1)"
AGENT = f"""
hostile = {HOSTILE!r}
show(type="assistant", message={{"id": "m", "role": "assistant", "content": [
    {{"type": "text", "text": "I work on " + task + " " + hostile}},
    {{"type": "tool_use", "id": "t1", "name": "Bash", "input": {{"command": "echo hello"}}}}]}})
show(type="user", message={{"role": "user", "content": [
    {{"type": "tool_result", "tool_use_id": "t1", "content": "printed by the tool " + hostile}}]}})
open("made <b>.txt", "w").write("new line\\n")
open(task.lower(), "w").close()
"""
PLAN = "# The plan\n\n## One\nCheck: `test -f one`\n"


class Opened:
    """A file in the browser, with everything that went wrong and everything that it asked for."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems: list[str] = []
        self.requests: list[str] = []
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", lambda message: self.problems.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: self.requests.append(request.url))

    def open(self, path: Path, place: str = "") -> str:
        """Open a place of the file; return the text that it shows."""
        self.page.goto(f"{path.as_uri()}{place}")
        self.page.reload()
        self.page.wait_for_selector("#app main *")
        return self.text()

    def text(self) -> str:
        return self.page.inner_text("#app")

    def choose(self, name: str) -> None:
        """Choose a tab of the run."""
        tab = self.page.get_by_role("tab", name=name)
        tab.or_(self.page.get_by_role("link", name=name)).first.click()

    def wait_for(self, words: str) -> None:
        self.page.locator("main").get_by_text(words).filter(visible=True).first.wait_for()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = find_browser()
    assert program is not None, "chromium is missing: make real"
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opened]:
    """A page without a network."""
    context = browser.new_context(offline=True, viewport={"width": 1200, "height": 900})
    context.set_default_timeout(LIMIT_MILLISECONDS)
    yield Opened(context.new_page())
    context.close()


def assert_quiet(opened: Opened, path: Path) -> None:
    """Nothing was loaded but the file, and neither its policy nor a script complained."""
    assert opened.problems == []
    assert {request.split("#")[0] for request in opened.requests if not request.startswith("data:")} == {path.as_uri()}
    assert opened.page.evaluate("window.pwned") is None


def test_a_run_is_whole_in_one_file_without_a_network(opened: Opened, tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, AGENT)
    assert here.bridle("run", "PLAN.md").returncode == 0
    out, run = tmp_path / "run.html", run_folder(here).name
    done = here.bridle("export", "--html", str(out))
    assert done.returncode == 0, done.stderr
    for source in (here.folder, here.agent_folder):
        source.rename(source.with_name(f"{source.name}-gone"))
    opened.open(out)
    opened.page.get_by_role("heading", name="The plan", level=1).wait_for()  # the run itself, not a list of one
    log = json.loads(out.read_text().split('id="bridle-data">')[1].split("</script>")[0])["runs"][run]["logs"][0]
    opened.open(out, f"#/run/{run}/log/{log['log']}")
    opened.wait_for("I work on One")
    assert HOSTILE.split("[l]")[0].strip() in opened.text(), "what an agent wrote is text"
    opened.wait_for("printed by the tool")
    opened.page.get_by_role("tab", name="Journal").or_(opened.page.get_by_role("link", name="Journal")).first.click()
    opened.wait_for("RUN_CREATED")
    opened.page.get_by_role("tab", name="Commits").or_(opened.page.get_by_role("link", name="Commits")).first.click()
    opened.wait_for("made <b>.txt")
    opened.page.get_by_role("tab", name="Receipt").or_(opened.page.get_by_role("link", name="Receipt")).first.click()
    opened.wait_for("done")
    assert_quiet(opened, out)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("12b-subagent-parallel", ["A one", "B two", "Main done."]),
        ("05-permission-denied", ["denied"]),
        ("14-askuser", ["AskUserQuestion"]),
        ("07-full-529", ["overloaded"]),
        ("23-tool-shapes", ["turn finished"]),
    ],
)
def test_a_recording_is_shown_from_its_file(opened: Opened, tmp_path: Path, name: str, words: list[str]) -> None:
    out = tmp_path / "talk.html"
    assert bridle("export", RECORDINGS / f"{name}.ndjson", "--html", out, cwd=tmp_path).code == 0
    opened.open(out, "#/run/file/log/log")
    for word in words:
        opened.wait_for(word)
    assert_quiet(opened, out)
