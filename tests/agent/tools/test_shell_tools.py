from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from bridle.agent.skills.catalogue import Skills
from bridle.agent.tools.skill import SkillTool
from tests.agent.fixtures.shell_session import run_story, shell_session

MEASURED = Path(__file__).parents[1] / "fixtures" / "measured" / "schemas.json"

# Loaded with the first command or the first skill that needs them: a session that answers in words needs none.
LATE = (
    "bridle.ground.children.light_child",
    "bridle.ground.descendants.keeper_client",
    "bridle.ground.descendants.terminate",
    "tempfile",
    "shutil",
    "yaml",
)


def test_names_and_schemas_are_those_of_the_real_tools(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            ours = {tool.name: tool for tool in (*place.tools.values(), SkillTool(Skills([]), session_id="s"))}
            assert {name: tool.schema for name, tool in ours.items()} == json.loads(MEASURED.read_text("utf-8"))
            assert all(len(tool.description) > 50 for tool in ours.values())

    run_story(story)


def test_what_runs_commands_is_loaded_with_the_first_one() -> None:
    code = (
        "import sys; import bridle.agent.tools.shell_tools, bridle.agent.tools.skill;"
        f"print([name for name in {LATE!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"
