"""Attack: a repository commits links as `CLAUDE.local.md`, rules, skills or commands that lead to the user's files.

The attacker wants `bridle-agent` to send `~/.ssh/id_rsa` or a file beside the repository to the model. What a link
leads to outside of the repository is not read, as for `@` imports; nor is it passed to Claude Code.

With the sandbox: the same; Bridle decides it before a program starts.
Without: not read.
Reported: on stderr, one line for each link.
"""

from __future__ import annotations

import json
from pathlib import Path

from bridle.agent.prompt.instructions import InstructionScope, links_out, read_instructions
from bridle.agent.skills.catalogue import discover_skills
from bridle.run.untrusted_settings import find_untrusted
from tests.attacks.fixtures.agent_calls import git

LINKS = (
    *("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md", ".claude/rules/r.md"),
    *(".claude/skills/a/SKILL.md", ".claude/commands/c.md", ".claude/library/l.md"),
)


def test_no_link_out_of_the_repository_is_read(tmp_path: Path) -> None:
    work, home = tmp_path.resolve() / "work", tmp_path.resolve() / "home"
    beside = tmp_path.resolve() / "beside"
    for folder in (work, home, beside / "x"):
        folder.mkdir(parents=True)
    git(beside / "x", "init", "-q")
    for secret in (beside / "secret.md", beside / "x" / "SKILL.md"):
        secret.write_text("---\ndescription: secret\n---\nSECRET\n")
    for name in LINKS:
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).symlink_to(beside / "secret.md")
    (work / ".claude/skills/b").symlink_to(beside / "x")  # a folder, and a repository of its own
    (work / "inside.md").write_text("kept")
    (work / "sub").mkdir()
    (work / "sub/CLAUDE.md").symlink_to("../inside.md")
    (work / ".claude/settings.json").write_text(json.dumps({"hooks": {"SessionStart": []}}))
    git(work, "init", "-q")
    scope = InstructionScope(cwd=work / "sub", config_folder=home / ".claude", home=home, repository=work)
    assert [file.text for file in read_instructions(scope)] == ["kept"]
    skills = discover_skills(work / "sub", home / ".claude")
    assert (skills.slash_commands(), skills.listing()) == ([], None)
    told = "\n".join((*links_out(work / "sub"), *skills.links_out))
    assert [name for name in (*LINKS, ".claude/skills/b/SKILL.md") if f"{work / name}: it is a link" not in told] == []
    flags = find_untrusted("claude", work, {"HOME": str(home)}).flags
    assert flags
    assert "SECRET" not in "".join(flags)
