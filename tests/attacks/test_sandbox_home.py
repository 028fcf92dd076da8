"""Attack: an agent or a check reads logins and keys anywhere in the home, or changes what the user's programs run.

`~/.cache` of uv is linked into environments, `~/.local/share/pnpm` and `~/.yarn/bin` are on a PATH. In the sandbox a
dot entry of the home is empty unless it is listed, and caches are private to Bridle, for each repository. A check gets
no login of any agent; an agent gets its own.

With the sandbox: they are empty, and caches are private.
Without: it reads and changes what you can.
Reported: only by the head of the run and `isolation`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.run.isolation.sandbox_rules import OFF
from tests.attacks.fixtures.sandboxed import SECRET, Target, make_target

SECRETS = (
    *(".codex/auth.json", ".gemini/oauth_creds.json", ".local/share/opencode/auth.json", ".config/rclone/rclone.conf"),
    *(".local/share/keyrings/login.keyring", ".cargo/credentials.toml", ".m2/settings.xml", ".pgpass", ".my.cnf"),
    *(".vault-token", ".bash_history", ".config/op/config", ".gem/credentials", ".terraform.d/credentials.tfrc.json"),
    *(".config/google-chrome/Cookies", ".boto", ".s3cfg", ".config/glab-cli/config.yml", ".cache/huggingface/token"),
    *(".config/git/credentials", ".authinfo", ".fly/config.yml", ".env", ".yarnrc.yml", ".local/share/uv/credentials"),
    *(".something-new/token", ".config/something-new/token", ".local/state/x/log", ".zshrc", ".rye/credentials"),
)
LOGINS = (".claude/.credentials.json", ".claude/projects/other/x.jsonl", ".claude.json")


def make_home(folder: Path, sandbox: str) -> Target:
    target = make_target(folder, sandbox)
    for name in (*SECRETS, *LOGINS):
        (target.home / name).parent.mkdir(parents=True, exist_ok=True)
        (target.home / name).write_text(f"token = {SECRET}\n")
    return target


@pytest.mark.parametrize("agent", ["claude", "codex", None])
def test_no_key_can_be_read_but_the_own_login(tmp_path: Path, agent: str | None, sandbox: str) -> None:
    target = make_home(tmp_path, sandbox)
    captured = target.attack(f"grep -rl {SECRET} ~ 2>/dev/null; true", agent=agent)
    found = {Path(line).relative_to(target.home).as_posix() for line in captured.stdout.decode().splitlines()}
    own = {"claude": {".claude/.credentials.json", ".claude.json"}, "codex": {".codex/auth.json"}, None: set[str]()}
    assert found == own[agent] if sandbox != OFF else found >= {*SECRETS, *LOGINS}


def test_nothing_that_programs_of_the_user_run_changes(tmp_path: Path) -> None:
    target = make_target(tmp_path)
    cached, linked = target.home / ".cache/uv/archive/m.py", target.home / ".local/share/uv/tools/m.py"
    folders = (".local/share/pnpm", ".local/share/pnpm/store", ".yarn/bin", ".gem/ruby/3.1.0/bin", ".npm", ".cargo/bin")
    for path in (cached.parent, linked.parent, *(target.home / folder for folder in folders)):
        path.mkdir(parents=True)
    cached.write_text("original")
    linked.hardlink_to(cached)
    (target.home / ".cargo/bin/tool").write_text("a toolchain")
    script = (
        "cd; echo evil > .cache/uv/archive/m.py; echo evil > .local/share/uv/tools/m.py; echo evil > .cache/prompt.zsh;"
        f" for f in {' '.join(folders)} .local/bin; do echo evil > $f/git; done; echo evil > .npm/kept; true"
    )
    target.attack(script)
    assert linked.read_text() == "original"
    assert not [path for path in target.home.rglob("*") if path.is_file() and path.read_bytes() == b"evil\n"
                if not path.is_relative_to(target.home / ".bridle")]  # fmt: skip
    assert target.attack("cat ~/.npm/kept ~/.cargo/bin/tool").stdout == b"evil\na toolchain"
    other = make_target(tmp_path / "another")
    assert target.attack("cat ~/.npm/kept", work=other.work).exit_code != 0
