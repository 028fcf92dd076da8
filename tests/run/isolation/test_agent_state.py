"""What agents see of their own state and of each other's. The attack on it is in tests/attacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.run.isolation.agent_state import StateFolder, session_variables, state_folders, state_of_others
from bridle.run.isolation.description import describe


@pytest.fixture
def user(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def test_settings_are_visible_and_logins_can_be_renewed(user: Path) -> None:
    for name in (
        ".codex/config.toml",
        ".codex/auth.json",
        ".codex/notify.py",
        ".codex/history.jsonl",
        ".codex/x.sqlite",
    ):
        (user / name).parent.mkdir(exist_ok=True)
        (user / name).write_text("")
    assert list(state_folders("codex", user, user, {})) == [
        StateFolder(
            user / ".codex", ("config.toml", "notify.py"), writable_files=("auth.json",), sessions="sessions"
        )
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("agent", "variable", "folder"),
    [
        ("codex", "CODEX_HOME", "."),
        ("gemini", "GEMINI_CLI_HOME", ".gemini"),
        ("opencode", "XDG_DATA_HOME", "opencode"),
        ("claude", "CLAUDE_CONFIG_DIR", "."),
    ],
)
def test_a_variable_names_another_folder(user: Path, agent: str, variable: str, folder: str) -> None:
    other = user / "elsewhere"
    environment = {variable: str(other)}
    assert next(state_folders(agent, user, user, environment)).path == other / folder
    assert other / folder in state_of_others("another", user, environment)
    assert other / folder not in state_of_others(agent, user, environment)


def test_a_relative_variable_counts_for_nothing(user: Path) -> None:
    assert next(state_folders("codex", user, user, {"CODEX_HOME": "here"})).path == user / ".codex"


def test_a_check_has_no_state_and_no_sessions(user: Path) -> None:
    assert list(state_folders(None, user, user, {})) == []
    assert session_variables(None, user) == {}


def test_sessions_are_in_a_folder_of_bridle_for_each_repository(user: Path, tmp_path: Path) -> None:
    environment = {"HOME": str(user), "BRIDLE_HOME": str(user / ".bridle")}
    places = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        isolation = describe(tmp_path / name, environment, agent="opencode")
        places.append(dict(isolation.caches)[user / ".local/share/opencode/sessions"])
        assert isolation.variables == {"OPENCODE_DB": str(user / ".local/share/opencode/sessions/opencode.db")}
    assert places[0] != places[1]
    assert all(place.is_dir() and place.is_relative_to(user / ".bridle") for place in places)
