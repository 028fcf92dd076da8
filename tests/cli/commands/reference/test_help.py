"""`bridle help`: every page, from the source and from the wheel, and every message that names one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bridle.cli.help_pages import find_pages, title_of
from tests.fixtures.bridle_program import run_bridle

ROOT = Path(__file__).parents[4]
PAGES = sorted(path.stem for path in (ROOT / "docs").glob("*.md"))


def test_the_list_has_every_page_with_its_title() -> None:
    done = run_bridle("help")
    assert done.returncode == 0
    listed = dict(re.findall(r"^  (\S+)\s+(.+)$", done.stdout, re.MULTILINE))
    assert sorted(listed) == PAGES
    assert listed["settings"] == "Settings"
    document = json.loads(run_bridle("help", "--json").stdout)
    assert {entry["topic"]: entry["title"] for entry in document["topics"]} == listed


@pytest.mark.parametrize("topic", ["plan-format", "docs/plan-format.md", "PLAN-FORMAT"])
def test_a_page_is_printed_as_it_is(topic: str) -> None:
    assert run_bridle("help", topic).stdout == (ROOT / "docs" / "plan-format.md").read_text(encoding="utf-8")


def test_a_page_as_a_document() -> None:
    document = json.loads(run_bridle("help", "settings", "--json").stdout)
    assert document["topic"] == "settings"
    assert document["title"] == "Settings"
    assert document["text"] == (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")


def test_every_page_has_a_title() -> None:
    for topic, path in find_pages().items():
        assert title_of(path.read_text(encoding="utf-8")), topic


def test_the_name_of_a_command_shows_its_options() -> None:
    done = run_bridle("help", "answer")
    assert (done.returncode, done.stdout) == (0, run_bridle("answer", "--help").stdout)


def test_run_is_the_command_and_not_the_page_on_one_agent_run() -> None:
    done = run_bridle("help", "run")
    assert done.stdout.startswith(run_bridle("run", "--help").stdout)
    assert "More: `bridle help loop`" in done.stdout
    assert run_bridle("help", "run.md").stdout == (ROOT / "docs" / "run.md").read_text(encoding="utf-8")


def test_an_unknown_topic_is_refused_with_what_is_near() -> None:
    done = run_bridle("help", "setings")
    assert done.returncode == 2
    assert "no page 'setings'" in done.stderr
    assert "settings" in done.stderr
    assert "../etc" in run_bridle("help", "../etc").stderr


def test_every_page_that_a_message_names_exists() -> None:
    named = {
        topic
        for path in (ROOT / "src" / "bridle").rglob("*.py")
        for topic in re.findall(r"`bridle help ([a-z][a-z-]*)`", path.read_text(encoding="utf-8"))
    }
    assert named
    assert named <= set(PAGES)


def test_no_message_names_a_file_that_an_installed_bridle_does_not_have() -> None:
    """Docstrings and comments speak to those who have the source."""
    found = [
        f"{path.name}: {line.strip()}"
        for path in (ROOT / "src" / "bridle").rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"""(remedy|message|REMEDY).*docs/[a-z-]+\.md""", line)
    ]
    assert found == []
