"""The page of the stage tells the truth: its examples can be played, its tables name what there is."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from bridle.stage.answers import (
    Capture,
    Conversation,
    Drop,
    Failure,
    Hang,
    Malformed,
    Message,
    Overloaded,
    Script,
    Usage,
    When,
)
from bridle.stage.script import load_script
from bridle.stage.thread import running
from tests.stage.fixtures.raw_client import ask

PAGE = (Path(__file__).parents[2] / "docs" / "stage.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```json\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_can_be_played(example: str) -> None:
    assert load_script(example).answers


def test_the_recipe_with_an_id_runs_as_documented() -> None:
    recipe = next(example for example in EXAMPLES if "${job}" in example)
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": "started job j-77"}]}
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "x", "name": "Bash", "input": {}}]}
    with running(load_script(recipe)) as stage:
        ask(stage.port, "go")
        use = ask(stage.port, "go", call, result).json()["content"][0]
        last = ask(stage.port, "go", call, result).texts()
    assert use["input"]["command"] == "echo stopping j-77, home is $HOME"
    assert last == ["Job j-77 is stopped."]


def test_every_key_of_a_script_is_on_the_page() -> None:
    shapes = (Script, Conversation, When, Capture, Usage, Message, Failure, Overloaded, Drop, Hang, Malformed)
    names = {field.encode_name for shape in shapes for field in msgspec.structs.fields(shape)}
    names |= {str(shape.__struct_config__.tag) for shape in shapes if shape.__struct_config__.tag}
    missing = [name for name in sorted(names) if f"`{name}`" not in PAGE and f'"{name}"' not in PAGE]
    assert missing == []
