"""A template of the user's, or of a trusted repository, is the form of every prompt."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.errors import SettingsError
from bridle.ground import trust
from bridle.loop.performers import iteration_prompt
from bridle.loop.performers.iteration_prompt import PromptContent
from bridle.loop.plan.model import Plan, Task
from bridle.loop.settings.bridle_toml import load_settings
from bridle.loop.settings.model import Settings
from bridle.loop.settings.prompt_template import SECTIONS, find_template

TEMPLATE = "Be brief.\n\n{{ task }}\n\nRules:\n{{rules}}\n"


def write(folder: Path, text: str) -> Path:
    path = folder / "prompts/iteration.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_that_of_a_repository_counts_after_trust_and_not_after_a_change(tmp_path: Path) -> None:
    here, home = tmp_path / "repository", tmp_path / "home"
    (here / ".git").mkdir(parents=True)
    home.mkdir()
    write(home, "Mine: {{task}}")
    path = write(here, TEMPLATE)
    settings = load_settings(here, home)
    assert settings.template == "Mine: {{task}}"
    assert "bridle trust" in settings.ignored
    trust.trust(here, home, (trust.PROMPTS,))
    settings = load_settings(here, home)
    assert (settings.template, settings.ignored) == (TEMPLATE, "")
    assert Settings.from_json(settings.as_json()).template == TEMPLATE
    path.write_text(TEMPLATE + "by an agent")
    assert find_template(here, home)[0] == "Mine: {{task}}"
    path.write_text("a prompt of another program, {{name}}")
    assert find_template(here, home) == ("Mine: {{task}}", "")


@pytest.mark.parametrize(("text", "fault"), [("no placeholder", "has no {{task}}"), ("{{task}} {{x}}", "{{x}} is not")])
def test_a_template_that_cannot_be_used_is_refused(tmp_path: Path, text: str, fault: str) -> None:
    write(tmp_path, text)
    with pytest.raises(SettingsError, match=fault.replace("{", r"\{")):
        find_template(tmp_path / "elsewhere", tmp_path)


def test_the_template_is_filled_once_and_what_decides_is_never_left_out() -> None:
    task = Task("T", body="Do {{rules}} it.", checks=("make test",))
    plan = Plan("P", "the whole plan", (task,))
    content = PromptContent(failure="it failed", hints=("a hint",))
    parts = iteration_prompt.sections(task, plan, content, Settings(), ("make test",))
    assert {part.name for part in parts} == set(SECTIONS.values())
    text = iteration_prompt.build(parts, TEMPLATE).text
    assert text.startswith("Be brief.\n\n**T**\n\nDo {{rules}} it.")
    assert "`make test`" in text
    assert "the whole plan" not in text
    for section in ("Hints from the user\n\na hint", "Output of the checks that failed\n\nit failed", "Your answer\n"):
        assert f"## {section}" in text
    assert text.count(iteration_prompt.RULES) == 1
