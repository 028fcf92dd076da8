"""Attack: a file that the user denies is sent to the model as a part of the instructions.

The attacker's `CLAUDE.md` imports `@.env`, or `.claude/rules/r.md`, a skill or a command of the repository is a link
to it. The rule `Read(./.env)` denies the Read tool, so it applies to what is read before the first request too.

With the sandbox: the same; the file is in the working copy.
Without: not read.
Reported: on stderr for skills and commands; an import is left out as one that does not exist.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from bridle.stage.script import load_script
from bridle.stage.thread import running
from tests.attacks.fixtures.agent_calls import SECRET
from tests.fixtures.bridle_program import BRIDLE_AGENT

LINKS = ("CLAUDE.local.md", ".claude/rules/r.md", ".claude/skills/a/SKILL.md", ".claude/commands/c.md")


def test_a_denied_file_is_neither_imported_nor_read_through_a_link(tmp_path: Path) -> None:
    work, home = tmp_path / "work", tmp_path / "home"
    for folder in (work, home, *((work / name).parent for name in LINKS)):
        folder.mkdir(parents=True, exist_ok=True)
    (work / ".env").write_text(f"---\ndescription: {SECRET}\n---\n{SECRET}\n")
    (work / "kept.md").write_text("the-kept-value\n")
    (work / "CLAUDE.md").write_text("@.env and @./sub/../.ENV and @kept.md\n")
    for name in LINKS:
        (work / name).symlink_to(work / ".env")
    settings = json.dumps({"permissions": {"deny": ["Read(./.env)"]}})
    with running(load_script({"otherwise": {"blocks": ["fine"]}})) as stage:
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude")}
        environment |= {"ANTHROPIC_API_KEY": "dummy", "ANTHROPIC_BASE_URL": stage.url}
        done = subprocess.run(
            [str(BRIDLE_AGENT), "-p", "look at @.env", "--settings", settings],
            cwd=work,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        sent = json.dumps([request.body for request in stage.requests])
    assert "the-kept-value" in sent, done.stderr
    assert SECRET not in sent
    assert [
        name for name in LINKS[2:] if f"{name}: it is a link to a file that a rule denies." not in done.stderr
    ] == []
