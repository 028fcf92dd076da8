"""Attack: an agent adds a file to `.git` that git obeys: `commondir`, `remotes/origin`, new hooks.

`commondir` makes git read its whole configuration from a folder of the agent, with a filter or `core.fsmonitor` that
runs outside of the sandbox. In the sandbox such files are in a private folder and end with it; so are changes in the
folder of another worktree. Ordinary work with git stays possible, and the index is kept.

With the sandbox: they end with the sandbox.
Without: restored; see `test_git_metadata_of_the_user.py`.
Reported: in the receipt, by name, without the sandbox.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from bridle.run.isolation.sandbox_rules import OFF
from tests.attacks.fixtures.sandboxed import git, make_target

_REDIRECT = "mkdir .git/x; cp -r .git/config .git/refs .git/objects .git/HEAD .git/x/; echo x > .git/commondir"
_OTHER = ".git/worktrees/other-work"


def test_files_that_git_obeys_are_added_only_without_the_sandbox(tmp_path: Path, sandbox: str) -> None:
    target = make_target(tmp_path, sandbox)
    own = target.work / ".git"
    shutil.rmtree(own / "hooks")
    git(target.work, "worktree", "add", "-q", str(tmp_path / "other-work"), "other")
    before = {path.name for path in own.iterdir()} | {"logs"}
    others = {path.name: path.read_bytes() for path in (target.work / _OTHER).iterdir() if path.is_file()}
    script = (
        f"{_REDIRECT}; mkdir -p .git/remotes .git/hooks; echo 'URL: https://evil.example/x' > .git/remotes/origin;"
        f" echo evil > .git/hooks/post-commit; echo '[core] bare = true' > .git/config.worktree;"
        f" ln -sf /etc/passwd .git/COMMIT_EDITMSG; mkfifo .git/FETCH_HEAD;"
        f" rm -f {_OTHER}/index; echo ../../x > {_OTHER}/commondir; mkdir {_OTHER}/new; true"
    )
    assert target.attack(script).exit_code == 0
    if sandbox == OFF:
        assert {path.name for path in own.iterdir()} > before
        assert (target.work / _OTHER / "new").exists()
        return
    assert {path.name for path in own.iterdir()} == before
    assert not (own / "COMMIT_EDITMSG").is_symlink()
    assert {path.name: path.read_bytes() for path in (target.work / _OTHER).iterdir() if path.is_file()} == others
    assert not (target.work / _OTHER / "new").exists()


def test_ordinary_work_with_git_is_kept(tmp_path: Path) -> None:
    target = make_target(tmp_path)
    script = (
        "set -e; echo a > a; git add a; git commit -q -m work; echo b > a; git stash -q; git stash pop -q;"
        " git tag t; git branch b; git reset -q --soft HEAD~1; git commit -q -m again; git rm -q --cached a;"
        " ! git pack-refs --all"
    )
    captured = target.attack(script)
    assert captured.exit_code == 0, captured.stderr
    assert git(target.work, "log", "-1", "--format=%s") == "again"
    assert git(target.work, "status", "--porcelain") == "D  a\n?? a"
    assert git(target.work, "for-each-ref", "--format=%(refname:short)") == "b\nmain\nother\nt"
    assert target.attack("git merge-base HEAD other && git fsck").exit_code == 0


def test_work_in_a_submodule_is_kept_but_not_its_settings(tmp_path: Path) -> None:
    target = make_target(tmp_path)
    library = make_target(tmp_path / "library").work
    git(target.work, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "sub")
    git(target.work, "commit", "-q", "-m", "with a submodule")
    module = target.work / ".git/modules/sub"
    settings = (module / "config").read_bytes()
    commit = "git -c user.name=A -c user.email=a@example.com commit -q --allow-empty -m inside"
    assert target.attack(f"cd sub && {commit}").exit_code == 0
    assert git(target.work / "sub", "log", "-1", "--format=%s") == "inside"
    target.attack("cd .git/modules/sub; echo x > commondir; echo '[core]' >> config; echo evil > hooks/post-commit")
    assert not (module / "commondir").exists()
    assert (module / "config").read_bytes() == settings
    assert not (module / "hooks/post-commit").exists()
