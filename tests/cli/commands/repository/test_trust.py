"""`bridle trust` lists what a repository ships, records the agreement, and forgets it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.fixtures.bridle_program import run_bridle


def trust(folder: Path, *arguments: str) -> dict[str, Any]:
    done = run_bridle("trust", "--json", *arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def states(document: dict[str, Any]) -> dict[str, tuple[bool, bool]]:
    """Return the states of the kinds that the repository has."""
    kinds = document["kinds"].items()
    return {kind: (found["trusted"], found["changed"]) for kind, found in kinds if found["files"]}


def test_an_agreement_is_shown_recorded_asked_again_and_revoked(tmp_path: Path) -> None:
    hook = tmp_path / ".a5c" / "hooks" / "on-run-start" / "a.sh"
    settings = tmp_path / ".claude" / "settings.json"
    for path in (hook, settings):
        path.parent.mkdir(parents=True)
        path.write_text("{}")
    shown = trust(tmp_path, "--show")
    assert shown["repository"] == str(tmp_path)
    assert shown["kinds"]["hooks"]["files"] == [str(hook)]
    assert shown["kinds"]["settings"]["files"] == [str(settings)]
    assert states(shown) == {"hooks": (False, False), "settings": (False, False)}
    assert states(trust(tmp_path)) == {"hooks": (True, False), "settings": (True, False)}
    hook.write_text("changed")
    assert states(trust(tmp_path, "--show")) == {"hooks": (False, True), "settings": (True, False)}
    assert states(trust(tmp_path)) == {"hooks": (True, False), "settings": (True, False)}
    assert states(trust(tmp_path, "--revoke")) == {"hooks": (False, False), "settings": (False, False)}


def test_the_states_are_printed(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text("{}")
    (tmp_path / ".a5c").mkdir()
    lines = run_bridle("trust", cwd=tmp_path).stdout.splitlines()
    own = f"  {tmp_path}/.claude/settings.json"
    assert lines == ["hooks: none", "settings: trusted", own, "bridle.toml: none", "prompts: none", "processes: none"]


def test_showing_and_revoking_exclude_each_other(tmp_path: Path) -> None:
    assert run_bridle("trust", "--show", "--revoke", cwd=tmp_path).returncode == 2


def test_in_a_sub_folder_what_counts_there_is_agreed_to_shown_and_revoked(tmp_path: Path) -> None:
    """The hooks and settings of the top count in a folder with runs of its own; so do the runs of both."""
    part = tmp_path / "part"
    (tmp_path / ".git").mkdir()
    hook, settings = tmp_path / ".a5c/hooks/on-run-start/a.sh", tmp_path / ".claude/settings.json"
    runs = [folder / ".a5c/runs/r/run.json" for folder in (part, tmp_path)]
    for path in (hook, settings, tmp_path / "bridle.toml", *runs):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}" if path.suffix == ".json" else "")
    kinds = ("hooks", "settings", "bridle.toml", "processes")
    shown = trust(part, "--show")
    assert shown["kinds"]["hooks"]["files"] == [str(hook)]
    assert shown["kinds"]["processes"]["files"] == list(map(str, runs))
    assert states(trust(part)) == states(trust(tmp_path, "--show")) == dict.fromkeys(kinds, (True, False))
    assert states(trust(part, "--revoke")) == dict.fromkeys(kinds, (False, False))
    assert states(trust(tmp_path, "--show")) == dict.fromkeys(kinds, (False, False))


def test_an_agreement_to_one_kind_is_no_older_one_to_another(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    for path in (tmp_path / ".a5c/hooks/on-run-start/a.sh", tmp_path / "part/.claude/settings.json"):
        path.parent.mkdir(parents=True)
        path.write_text("{}")
    assert states(trust(tmp_path / "part")) == {"hooks": (True, False), "settings": (True, False)}
    (tmp_path / ".mcp.json").write_text("{}")
    assert states(trust(tmp_path, "--show")) == {"hooks": (True, False), "settings": (False, False)}
