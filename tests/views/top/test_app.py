"""The full-screen view on real runs, with the keys that a user presses."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable, Input, Static

from bridle.views.run_data.board import Board
from bridle.views.top.app import RunsScreen, TopApp
from bridle.views.top.dialogs import AnswerDialog, ConfirmDialog, HelpDialog, LineDialog
from bridle.views.top.line_view import LineView
from bridle.views.top.run_screen import RunScreen
from bridle.wire.mask import Mask
from tests.cli.fixtures.open_breakpoint import asking
from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.loop_commands import in_background, run_folder

# A hang is a failure.
LIMIT_SECONDS = 60.0
HOSTILE = "[bold red]not markup[/] \\x1b[2Jgone"
AGENT = f"""
show(type="assistant", message={{"id": "m", "role": "assistant", "content": [
    {{"type": "text", "text": "I work on " + task + " {HOSTILE}"}},
    {{"type": "tool_use", "id": "t1", "name": "Bash", "input": {{"command": "echo hello"}}}}]}})
show(type="user", message={{"role": "user", "content": [
    {{"type": "tool_result", "tool_use_id": "t1", "content": "hello"}}]}})
if task == "Asks" and number == 1: answer["question"] = "Which [b]colour[/b]?"
elif task == "Asks": open("asks", "w").close()
"""
PLAN = "# A plan\n\n## Asks\nCheck: `test -f asks`\n\n## Fails\nCheck: `echo some output; false`\n"


def app_of(folder: Path, environment: dict[str, str] | None = None) -> TopApp:
    runs = folder / ".a5c/runs"
    found = environment or dict(os.environ)
    board = Board(lambda: sorted((run for run in runs.glob("[!.]*")), reverse=True), found, Mask(), folder)
    return TopApp(board, Mask(), str(folder), found)


@asynccontextmanager
async def showing(app: TopApp, size: tuple[int, int] = (80, 24)) -> AsyncIterator[Pilot[None]]:
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: isinstance(app.screen, RunsScreen))
        yield pilot


async def until(pilot: Pilot[None], is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, screen_text(pilot)
        await pilot.pause(0.02)


def screen_text(pilot: Pilot[None]) -> str:
    """What the screen shows, as a user sees it."""
    width, height = pilot.app.size
    strips = pilot.app.screen._compositor.render_strips()  # the one way to see the drawn screen
    return "\n".join("".join(segment.text for segment in strip)[:width].rstrip() for strip in strips[:height])


def shown(pilot: Pilot[None], selector: str) -> str:
    widget = pilot.app.screen.query_one(selector)
    return widget.text if isinstance(widget, LineView) else str(widget.content) if isinstance(widget, Static) else ""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A run with a question, a failed task, checks and conversations."""
    here = make_project(tmp_path_factory.mktemp("top"), PLAN, AGENT)
    assert here.bridle("run", "PLAN.md", "--tries", "1").returncode == 4
    return here


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_a_run_is_listed_and_opened(finished: Project, size: tuple[int, int]) -> None:
    async def look() -> None:
        app = app_of(finished.folder, finished.environment())
        async with showing(app, size) as pilot:
            text = screen_text(pilot)
            assert "? needs you A plan" in text
            assert "1 run, 1 needs you" in text
            assert "Which [b]colour[/b]?" in text
            assert max(map(len, text.splitlines())) <= size[0]
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, RunScreen))
            await until(pilot, lambda: "Fails" in screen_text(pilot))
            await pilot.press("down")
            await until(pilot, lambda: "some output" in shown(pilot, "#task"))
            assert "exit code 1" in shown(pilot, "#task")
            await pilot.press("2")
            await until(pilot, lambda: "I work on Fails" in shown(pilot, "#log"))
            assert "[bold red]not markup[/] gone" in screen_text(pilot), "markup is text, and no sequence is left"
            assert "✓ Bash  echo hello  [ok" in screen_text(pilot)
            await pilot.press("left_square_bracket")
            await until(pilot, lambda: "I work on Asks" in shown(pilot, "#log"))
            await pilot.press("3")
            await until(pilot, lambda: "RUN_CREATED" in shown(pilot, "#journal"))
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(app.screen, RunsScreen))
            await pilot.resize_terminal(60, 20)
            await until(pilot, lambda: max(map(len, screen_text(pilot).splitlines())) <= 60)

    asyncio.run(look())


def test_an_idle_view_draws_nothing(finished: Project) -> None:
    async def look() -> None:
        app = app_of(finished.folder, finished.environment())
        async with showing(app) as pilot:
            await app.refresh_runs()
            await pilot.pause()
            updates: list[object] = []
            table = app.screen.query_one("#runs", DataTable)
            table.update_cell = lambda *cells, **_: updates.append(cells)  # type: ignore[method-assign]  # counts draws
            for selector in ("#title", "#detail"):
                static = app.screen.query_one(selector, Static)
                static.update = lambda *texts, **_: updates.append(texts)  # type: ignore[method-assign]  # counts too
            await app.refresh_runs()
            assert updates == []

    asyncio.run(look())


def test_a_screen_that_closes_during_a_look_at_the_runs_is_left_alone(finished: Project) -> None:
    async def look() -> None:
        app = app_of(finished.folder, finished.environment())
        async with showing(app) as pilot:
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, RunScreen))
            for screen in app.screen_stack:
                await screen.remove_children()  # as the view itself does when it ends
            await app.refresh_runs()
            await app.screen.on_resize()  # type: ignore[attr-defined]  # both kinds of screen have it

    asyncio.run(look())


def test_a_question_is_answered_in_words_and_the_run_continues(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, AGENT)
    assert here.bridle("run", "PLAN.md", "--tries", "1").returncode == 4

    async def answer() -> None:
        app = app_of(here.folder, here.environment())
        async with showing(app, (120, 40)) as pilot:
            await pilot.press("a")
            await until(pilot, lambda: isinstance(app.screen, AnswerDialog))
            assert "Which [b]colour[/b]?" in screen_text(pilot)
            await pilot.press("enter")
            assert isinstance(app.screen, AnswerDialog), "an empty answer answers nothing"
            app.screen.query_one(Input).value = "--blue [i]"
            await pilot.press("enter")
            await until(pilot, lambda: not app.source.board.runs[run_folder(here).name].needs[0]["effect"])
            await pilot.press("h")
            await until(pilot, lambda: isinstance(app.screen, LineDialog))
            app.screen.query_one(Input).value = "-mind the gap"
            await pilot.press("enter")
            await until(pilot, lambda: "saved for the next iteration" in notices(app))
            await pilot.press("r")
            await until(pilot, lambda: app.chosen is not None and app.chosen.card["tasks"][0]["verdict"] == "done")

    asyncio.run(answer())
    prompts = "".join(call["prompt"] for call in here.calls())
    assert "--blue [i]" in prompts
    assert "-mind the gap" in prompts


def test_a_failed_task_is_tried_again_after_a_confirmation(tmp_path: Path) -> None:
    here = make_project(tmp_path, "# A plan\n\n## Fails\nCheck: `test -f now`\n", AGENT)
    assert here.bridle("run", "PLAN.md", "--tries", "1").returncode == 1

    async def retry() -> None:
        app = app_of(here.folder, here.environment())
        async with showing(app) as pilot:
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, RunScreen))
            await until(pilot, lambda: "Fails" in screen_text(pilot))
            await pilot.press("t")
            await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
            await pilot.press("n")
            await until(pilot, lambda: isinstance(app.screen, RunScreen))
            assert notices(app) == ""
            await pilot.press("t")
            await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
            await pilot.press("y")
            await until(pilot, lambda: len(here.calls()) == 2)

    asyncio.run(retry())
    assert len(here.calls()) == 2, "the task was tried again"


@pytest.mark.parametrize(("key", "approved"), [("a", True), ("r", False)])
def test_a_breakpoint_is_decided_by_an_explicit_key(tmp_path: Path, key: str, approved: bool) -> None:
    effect = asking(tmp_path, "r1")
    result = tmp_path / ".a5c/runs/r1/tasks" / effect / "result.json"

    async def decide() -> None:
        app = app_of(tmp_path)
        async with showing(app) as pilot:
            await pilot.press("a")
            await until(pilot, lambda: isinstance(app.screen, AnswerDialog))
            assert '"question": "Ship it?"' in screen_text(pilot), "exactly what is approved is shown"
            await pilot.press("enter")
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(app.screen, RunsScreen))
            assert not result.exists(), "nothing is approved by enter or escape"
            await pilot.press("a")
            await until(pilot, lambda: isinstance(app.screen, AnswerDialog))
            await pilot.press(key)
            await until(pilot, result.exists)

    asyncio.run(decide())
    document = json.loads(result.read_text())
    assert (document.get("value") or document.get("result"))["approved"] is approved


def test_a_running_run_is_followed_and_stopped(tmp_path: Path) -> None:
    agent = AGENT + "\nopen('ready', 'w').close()\ntime.sleep(600)\n"
    here = make_project(tmp_path, "# A plan\n\n## Slow\nCheck: `test -f slow`\n", agent)

    async def stop() -> None:
        app = app_of(here.folder, here.environment())
        async with showing(app, (120, 40)) as pilot:
            await until(pilot, lambda: (here.folder / "ready").exists())
            await until(pilot, lambda: "▸ running" in screen_text(pilot))
            await until(pilot, lambda: "I work on Slow" in shown(pilot, "#detail"))
            await pilot.press("s")
            await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
            await pilot.press("y")
            await until(pilot, lambda: app.chosen is not None and app.chosen.card["driver"] is None)

    with in_background(here, "run", "PLAN.md", "--sandbox", "off") as child:
        asyncio.run(stop())
        assert child.wait(LIMIT_SECONDS) == 130


def test_help_and_an_empty_list(tmp_path: Path) -> None:
    async def look() -> None:
        app = app_of(tmp_path)
        async with showing(app) as pilot:
            assert "No run yet" in screen_text(pilot)
            for key in ("enter", "a", "s", "r", "h"):
                await pilot.press(key)
            assert isinstance(app.screen, RunsScreen)
            await pilot.press("question_mark")
            await until(pilot, lambda: isinstance(app.screen, HelpDialog))
            assert "answer what it asks you" in screen_text(pilot)
            await pilot.press("escape", "q")

    asyncio.run(look())


def notices(app: TopApp) -> str:
    return "\n".join(notice.message for notice in app._notifications)  # what was shown in the corner
