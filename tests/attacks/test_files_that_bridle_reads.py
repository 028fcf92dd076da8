"""Attack: a file of the working copy that Bridle itself reads is a link to a secret, or a named pipe.

An agent in the sandbox cannot read the user's keys, but Bridle can: with AGENTS.md as a link to one, the next prompt
would have it. And a pipe without a writer would block Bridle for ever. Links out of the repository are not followed,
and no pipe is opened.

With the sandbox: the same; it is Bridle that reads, outside of it.
Without: not followed, and not opened.
Reported: to the next agent, as a missing file.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from bridle.loop.performers import progress_file
from bridle.loop.performers.work import first_request
from bridle.workspace.git_folder import index_file
from bridle.workspace.repair import git_leftovers
from tests.loop.fixtures.fake_agent import make_project
from tests.loop.fixtures.loop_commands import MAKES_FILE, ONE_TASK
from tests.loop.fixtures.repositories import make_repository


@pytest.mark.parametrize("name", ["AGENTS.md", ".ralph/progress.md"])
def test_a_secret_does_not_get_into_a_prompt(tmp_path: Path, name: str) -> None:
    here = make_repository(tmp_path / "r", {"docs/rules.md": "Rule of the repository.\n"})
    secret = tmp_path / "id_ed25519"
    secret.write_text("THE SECRET KEY\n")
    place = here.folder / name
    place.parent.mkdir(exist_ok=True)
    prompts = []
    for target in (str(secret), "../id_ed25519", str(tmp_path / "linked" / "id_ed25519"), "docs/rules.md"):
        (tmp_path / "linked").unlink(missing_ok=True)
        (tmp_path / "linked").symlink_to(tmp_path)
        place.unlink(missing_ok=True)
        place.symlink_to(target)
        prompts.append(first_request(here.context.plan.tasks[0], here.context)[0].text)
    assert not any("THE SECRET KEY" in prompt for prompt in prompts)
    assert ("Rule of the repository." in prompts[-1]) == (name == "AGENTS.md")
    assert "no AGENTS.md" in prompts[0]


def test_a_pipe_does_not_block(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", {"AGENTS.md": "Rules.\n", "a.txt": "a\n"}, plan_path="PLAN.md")
    state = git_leftovers.read_state(here.folder)
    for name in ("AGENTS.md", ".ralph/progress.md", ".git/index"):
        path = here.folder / name
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        os.mkfifo(path)
    assert index_file.identify(here.folder / ".git" / "index") is None
    left = asyncio.run(git_leftovers.undo(here.context.git, state))
    assert left.replaced == ("index",)
    assert here.git("ls-files") == "AGENTS.md\na.txt\n"
    assert progress_file.read(here.folder) == ""
    assert "Rules." not in first_request(here.context.plan.tasks[0], here.context)[0].text


def test_a_dry_run_prints_no_escape_sequence_of_a_file(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, MAKES_FILE, **{"AGENTS.md": "Use tabs.\x1b]0;evil\x07\x1b[2J\n"})
    done = here.bridle("run", "PLAN.md", "--dry-run")
    assert done.returncode == 0
    assert "Use tabs.\\x1b]0;evil" in done.stdout
    assert "\x1b" not in done.stdout
