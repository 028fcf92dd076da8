"""Attack: an agent leaves hooks, settings, skills or a database in its own state for the user's next session.

Each vendor adds files that its program runs or obeys, so the list of allowed names is the one that counts: sessions and
logins. The attacker writes known names, new ones and over every file that is there, and tries to exchange the folder.

With the sandbox: what the agent writes there ends with it; only logins and its own sessions are kept.
Without: it changes what you can.
Reported: only by the head of the run and `isolation`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.run.isolation.sandbox_rules import OFF
from tests.attacks.fixtures.sandboxed import make_target

# For each agent its folders with a file of the user in each, what may change, and what the next session would obey.
STATES: dict[str, tuple[dict[str, str], set[str], tuple[str, ...]]] = {
    "claude": (
        {".claude/settings.json": "{}", ".claude/agents/mine.md": "mine", ".claude/.credentials.json": "login"},
        {".claude/.credentials.json"},
        (".claude/hooks/x.sh", ".claude/skills/x/SKILL.md", ".claude/settings.local.json", ".claude/projects/other/x"),
    ),
    "codex": (
        {".codex/config.toml": "", ".codex/state_5.sqlite": "", ".codex/sessions/1.jsonl": "", ".codex/auth.json": ""},
        {".codex/auth.json"},
        (".codex/hooks.json", ".codex/queue_1.sqlite", ".codex/AGENTS.md", ".codex/skills/x/a.md", ".codex/sessions/2"),
    ),
    "gemini": (
        {".gemini/settings.json": "{}", ".gemini/tmp/bin/rg": "mine", ".gemini/oauth_creds.json": "login"},
        {".gemini/oauth_creds.json"},
        (".gemini/GEMINI.md", ".gemini/tmp/bin/x", ".gemini/extensions/x/hooks.json", ".gemini/history/x/config"),
    ),
    "opencode": (
        {
            ".local/share/opencode/opencode.db": "permissions",
            ".local/share/opencode/auth.json": "login",
            ".local/state/opencode/model.json": "{}",
            ".config/opencode/opencode.json": "{}",
        },
        {".local/share/opencode/auth.json"},
        (".local/share/opencode/bin/x", ".local/state/opencode/kv.json", ".config/opencode/plugin/x.ts"),
    ),
}  # fmt: skip


def files_of(home: Path) -> dict[str, str]:
    paths = (path for path in home.rglob("*") if path.is_file() and ".bridle" not in path.parts)
    return {path.relative_to(home).as_posix(): path.read_text() for path in paths}


@pytest.mark.parametrize("agent", STATES)
def test_nothing_but_logins_and_sessions_is_kept(tmp_path: Path, agent: str, sandbox: str) -> None:
    target = make_target(tmp_path, sandbox)
    mine, allowed, planted = STATES[agent]
    for name, text in mine.items():
        (target.home / name).parent.mkdir(parents=True, exist_ok=True)
        (target.home / name).write_text(text)
    before = files_of(target.home)
    tops = sorted({name.rpartition("/")[0] for name in mine})
    new = [f"{top}/of-next-years-version.json" for top in tops]
    write = f"for f in {' '.join((*mine, *planted, *new))}; do mkdir -p $(dirname $f); echo evil > $f; done"
    exchange = f"for d in {' '.join(tops)}; do mv $d $d.old && mkdir $d && cp -r $d.old/. $d; done"
    target.attack(f"cd; {write}; {exchange}; {write}; true", agent=agent)
    after = files_of(target.home)
    changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    assert changed <= allowed if sandbox != OFF else changed >= {*mine, *planted, *new}


@pytest.mark.parametrize("agent", ["codex", "gemini", "opencode"])
def test_sessions_of_other_repositories_cannot_be_read(tmp_path: Path, agent: str) -> None:
    target, other = make_target(tmp_path / "one"), make_target(tmp_path / "two")
    folder = {"codex": ".codex/sessions", "gemini": ".gemini/tmp", "opencode": ".local/share/opencode/sessions"}[agent]
    target.attack(f"echo a conversation > ~/{folder}/1", agent=agent)
    assert target.attack(f"cat ~/{folder}/1", agent=agent).stdout == b"a conversation\n"
    assert target.attack(f"cat ~/{folder}/1", agent=agent, work=other.work).exit_code != 0
