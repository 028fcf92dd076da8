"""Attack: the agent's code changes, while a check runs it, what an agent may not leave.

A hook of `core.hooksPath`, tasks of editors, settings of agents, a nested repository that runs programs, stashes,
branches and tags: the sandbox of a check can write the working copy, and the refs and logs of `.git`. The same is
restored after a check as after an agent, and what stays is reported.

With the sandbox: restored, or reported as a new branch or tag is.
Without: restored, or reported as a new branch or tag is; settings and hooks of `.git` are restored too.
Reported: in the receipt, by name.
"""

from __future__ import annotations

from pathlib import Path

from bridle.run.isolation.sandbox_rules import OFF
from tests.loop.fixtures.repositories import make_repository

LATER = (".vscode/tasks.json", ".envrc", ".claude/settings.local.json", "packages/app/.mcp.json")
RULES = ".vscode/\n.envrc\n.claude/\n.mcp.json\n.husky/_/\n"
ATTACK = f"""
echo evil > .husky/_/pre-commit
for name in {" ".join(LATER)}; do mkdir -p $(dirname $name); echo evil > $name; done
git init -q nested; git -C nested config core.fsmonitor 'touch ../owned'
rm -rf .git/logs/refs/stash .git/refs/stash
git branch evil; git tag v1; git replace main $(git -c user.name=x -c user.email=x@x commit-tree main^{{tree}} -m x)
git config core.fsmonitor 'touch owned' || true
"""


def test_it_is_restored_or_reported(tmp_path: Path, sandbox: str) -> None:
    files: dict[str, str | bytes] = {".gitignore": RULES, "a": "1\n", "packages/app/x": "x\n", "app.sh": "true\n"}
    here = make_repository(tmp_path / "r", files, checks=("sh app.sh",), sandbox=sandbox)
    here.git("config", "core.hooksPath", ".husky/_")
    here.write({".husky/_/pre-commit": "exit 0\n", ".envrc": "as it was\n", "a": "2\n"})
    here.git("stash", "-q")
    stashes = here.git("stash", "list")
    here.start()
    assert "reported" not in here.check("sh app.sh")
    here.write({"app.sh": ATTACK})
    result = here.check("sh app.sh")
    reported = {report["path"]: report["what"] for report in result["reported"]}
    assert {*LATER, ".husky/_/pre-commit", "nested/.git/config", "refs/stash", "evil", "refs/tags/v1"} <= {*reported}
    assert (".git/config" in reported) == (sandbox == OFF)
    assert any(name.startswith("refs/replace/") for name in reported)
    assert (
        reported[".envrc"]
        == "during a check: it was changed, and a program of yours runs it later (direnv); it was restored"
    )
    assert (here.read(".husky/_/pre-commit"), here.read(".envrc")) == ("exit 0\n", "as it was\n")
    assert not [name for name in LATER if name != ".envrc" and (here.folder / name).exists()]
    assert here.git("stash", "list") == stashes
    assert "fsmonitor" not in here.read(".git/config")
    here.git("status", "--porcelain")
    assert not (here.folder / "owned").exists()
