"""The text of the profile; `sandbox-exec` exists only on macOS."""

from __future__ import annotations

import os
from pathlib import Path

from bridle.run.isolation.agent_state import StateFolder
from bridle.run.isolation.description import Isolation
from bridle.run.isolation.seatbelt import command, profile


def test_the_last_rule_for_a_path_protects_it(tmp_path: Path) -> None:
    work = Path(os.path.realpath(tmp_path))
    isolation = Isolation(
        work=work, home=work, git=work / ".git", read_only=(work / ".a5c",), hidden=(work / ".ssh",), has_network=False
    )
    lines = profile(isolation, temporary=work / "t").splitlines()
    assert lines[:3] == ["(version 1)", "(allow default)", "(deny file-write*)"]
    allowed = next(number for number, line in enumerate(lines) if f'(subpath "{work}")' in line)
    denied = next(number for number, line in enumerate(lines) if f'(subpath "{work}/.a5c")' in line)
    assert lines[allowed].startswith("(allow file-write* ")
    assert lines[denied].startswith("(deny file-write* ")
    assert allowed < denied
    git = lines.index(f'(deny file-write* (subpath "{work}/.git"))')
    assert allowed < git
    assert f'(subpath "{work}/.git/index.lock")' in lines[git + 1]
    assert f'(subpath "{work}/.git/hooks")' not in lines[git + 1]
    assert f'(deny file-read* file-write* (subpath "{work}/.ssh"))' in lines
    assert "(deny network*)" in lines
    assert profile(isolation, temporary=work).count("(") == profile(isolation, temporary=work).count(")")


def test_a_path_cannot_end_its_string() -> None:
    isolation = Isolation(work=Path('/a")(allow default)'), home=Path("/h"))
    text = command(isolation, temporary=Path("/t"))[2]
    assert text.count("(allow default)\n") == 1
    assert r'(subpath "/a\")(allow default)")' in text


def test_an_agent_may_write_its_login_and_its_sessions_and_nothing_else_of_its_state(tmp_path: Path) -> None:
    state = Path(os.path.realpath(tmp_path)) / ".codex"
    folder = StateFolder(state, ("config.toml",), writable_files=("auth.json",), sessions="sessions")
    text = profile(Isolation(work=Path("/work"), home=state.parent, state=(folder,)), temporary=Path("/t"))
    assert f'(subpath "{state}/auth.json") ' in text
    assert f'(subpath "{state}/sessions") ' in text
    assert text.count(str(state)) == 2
