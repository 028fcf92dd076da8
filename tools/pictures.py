"""Make the pictures of the README from a demo: the page of a run in a browser, and its receipt in a terminal."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright
from rich.console import Console
from rich.text import Text

from tools.debian_programs import find_browser

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
BRIDLE = Path(sys.executable).with_name("bridle")
# The demo takes ten seconds on an idle machine.
LIMIT_SECONDS = 240
LIMIT_MILLISECONDS = 60_000
# What the README may weigh; one that is larger is refused.
LIMIT_BYTES = 200_000
COLOURS = 128
WIDTH_COLUMNS = 100
WINDOW = {"width": 1280, "height": 800}


def main() -> int:
    program = find_browser()
    if program is None:
        print("pictures: chromium is missing. Run `make real`.", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="bridle-pictures-") as work, sync_playwright() as playwright:
        environment = {**os.environ, "HOME": work, "BRIDLE_HOME": f"{work}/.bridle", "COLUMNS": str(WIDTH_COLUMNS)}
        folder = Path(work) / "demo"
        _run(["demo", "--folder", str(folder)], Path(work), environment)
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox"] if os.geteuid() == 0 else []
        )
        _save("watch.png", _run_page(browser, folder / "till", environment))
        receipt = _run(["status"], folder / "till", {**environment, "FORCE_COLOR": "1"})
        _save("receipt.png", _terminal(browser, "$ bridle status\n" + receipt))
        browser.close()
    return 0


def _run_page(browser: Browser, repository: Path, environment: dict[str, str]) -> bytes:
    """Return the page of the demo's run, at the task that needed a second iteration."""
    command = [str(BRIDLE), "watch", "--no-open", "--json", "--port", "0"]
    server = subprocess.Popen(
        command, cwd=repository, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    with server:
        try:
            assert server.stdout is not None  # noqa: S101 - it is a pipe
            page = browser.new_page(viewport=WINDOW, reduced_motion="reduce", device_scale_factor=1)  # type: ignore[arg-type] # a plain dict
            page.set_default_timeout(LIMIT_MILLISECONDS)
            page.goto(json.loads(server.stdout.readline())["url"])
            page.locator(".run-card a").click()
            page.locator(".log-list a", has_text="iteration 2").click()
            page.get_by_text("turn finished").wait_for()
            page.locator(".scroller").evaluate("node => { node.scrollTop -= 120; }")
            page.locator(".jump").wait_for()
            return page.screenshot()
        finally:
            server.terminate()


def _terminal(browser: Browser, text: str) -> bytes:
    """Return the output of a command as a terminal shows it."""
    console = Console(record=True, width=WIDTH_COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(text))
    svg = console.export_svg(title="bridle", font_aspect_ratio=0.6)
    svg = svg.replace("Fira Code", "DejaVu Sans Mono")  # one that is installed
    page = browser.new_page(viewport=WINDOW)  # type: ignore[arg-type] # a plain dict
    page.set_content(f"<body style='margin:0;width:1000px'>{svg}</body>")
    return page.locator("svg").screenshot()


def _save(name: str, picture: bytes) -> None:
    """Keep a picture in few colours, as its areas are plain."""
    out = io.BytesIO()
    Image.open(io.BytesIO(picture)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(
        out, "PNG", optimize=True
    )
    if out.tell() > LIMIT_BYTES:
        raise SystemExit(f"pictures: {name} has {out.tell()} bytes, more than {LIMIT_BYTES}")
    PICTURES.mkdir(exist_ok=True)
    (PICTURES / name).write_bytes(out.getvalue())
    print(f"pictures: {name}, {out.tell()} bytes")


def _run(arguments: list[str], folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        [str(BRIDLE), *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=True,
    )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
