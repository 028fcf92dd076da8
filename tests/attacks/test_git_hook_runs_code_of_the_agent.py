"""Attack: the user's own `pre-commit` hook runs code that the agent edited, which adds tags and settings.

The hook itself is unchanged, so it runs before the commit, as one more check. What the code does to git is restored or
reported as after a check.

With the sandbox: settings are read-only; a tag stays.
Without: settings are restored; a tag stays.
Reported: on stderr and in the receipt, by name.
"""

from __future__ import annotations

from pathlib import Path

from tests.loop.fixtures.fake_agent import make_project
from tests.loop.fixtures.loop_commands import MAKES_FILE, ONE_TASK, run_plan

CODE = """import subprocess
for command in ('git tag evil', 'git config alias.st evil'):
    subprocess.run(command, shell=True, capture_output=True)
"""


def test_what_the_code_of_a_hook_does_is_in_the_receipt(tmp_path: Path, sandbox: str) -> None:
    agent = f"{MAKES_FILE}\nopen('mod.py', 'w').write({CODE!r})\n"
    here = make_project(tmp_path, ONE_TASK, agent, **{"mod.py": "", ".gitignore": "__pycache__\n"})
    hook = here.folder / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\npython3 -c 'import mod'\n")
    hook.chmod(0o755)
    (task,) = run_plan(here, 0)["tasks"]
    reported = {report["path"]: report["what"] for report in task["reported"]}
    assert "during a git hook" in reported["refs/tags/evil"]
    assert "evil" not in (here.folder / ".git/config").read_text()
