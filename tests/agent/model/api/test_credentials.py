"""Credentials: from the environment, a helper, or the stored token."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import Mapping
from pathlib import Path

import pytest

from bridle.agent.model.api import credentials, stored_token
from bridle.agent.model.api.endpoint import HttpEndpoint
from bridle.agent.model.client import RetryingClient
from bridle.errors import DiskError, ModelFailure, UsageError
from bridle.stage.script import load_script
from bridle.stage.thread import running
from tests.agent.fixtures.loopback_server import question
from tests.agent.fixtures.model_answers import FINE, error
from tests.real.fixtures.claude_on_stage import wait_for

# A hang is a failure; a cold start on a busy machine takes a few seconds.
LIMIT_SECONDS = 60


def shown(environment: Mapping[str, str], home: Path, helper: str | None = None) -> dict[str, str] | None:
    """The headers that a request carries; None: there is nothing to show."""
    keys = credentials.find(environment, home=home, helper=helper, cwd=home)
    return None if keys is None else dict(asyncio.run(keys.current()).headers)


KEY = {"x-api-key": "k"}


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


# Measured with Claude Code 2.1.197.
@pytest.mark.parametrize(
    ("environment", "headers", "source", "has_key"),
    [
        ({"ANTHROPIC_API_KEY": "k"}, KEY, "ANTHROPIC_API_KEY", True),
        ({"ANTHROPIC_API_KEY": " k\n"}, KEY, "ANTHROPIC_API_KEY", True),
        ({"ANTHROPIC_API_KEY": "k", "ANTHROPIC_AUTH_TOKEN": "t"}, KEY | bearer("t"), "ANTHROPIC_API_KEY", True),
        ({"ANTHROPIC_API_KEY": "k", "CLAUDE_CODE_OAUTH_TOKEN": "o"}, KEY, "ANTHROPIC_API_KEY", True),
        ({"ANTHROPIC_AUTH_TOKEN": "t"}, bearer("t"), "none", False),
        ({"ANTHROPIC_API_KEY": "", "ANTHROPIC_AUTH_TOKEN": "t"}, bearer("t"), "none", False),
        ({"ANTHROPIC_AUTH_TOKEN": "t", "CLAUDE_CODE_OAUTH_TOKEN": "o"}, bearer("t"), "none", False),
        ({"CLAUDE_CODE_OAUTH_TOKEN": "o"}, bearer("o"), "none", False),
    ],
)
def test_the_environment_says_what_is_shown(
    environment: dict[str, str], headers: dict[str, str], source: str, has_key: bool, tmp_path: Path
) -> None:
    keys = credentials.find(environment, home=tmp_path)
    assert keys is not None
    assert (keys.source, keys.has_key) == (source, has_key)
    assert shown(environment, tmp_path) == headers


@pytest.mark.parametrize(
    "environment", [{}, {"ANTHROPIC_API_KEY": ""}, {"ANTHROPIC_API_KEY": " ", "ANTHROPIC_AUTH_TOKEN": ""}]
)
def test_an_empty_variable_counts_as_not_set(environment: dict[str, str], tmp_path: Path) -> None:
    assert credentials.find(environment, home=tmp_path) is None


def test_the_token_of_a_login_needs_a_beta_and_a_bearer_token_does_not(tmp_path: Path) -> None:
    for name, betas in (("CLAUDE_CODE_OAUTH_TOKEN", ("oauth-2025-04-20",)), ("ANTHROPIC_AUTH_TOKEN", ())):
        keys = credentials.find({name: "t"}, home=tmp_path)
        assert keys is not None
        assert asyncio.run(keys.current()).betas == betas


# The helper.


def counting(folder: Path) -> str:
    """A helper that prints another key each time."""
    return f"echo x >> '{folder}/count'; echo \"  key-$(wc -l < '{folder}/count')  \""


def runs(folder: Path) -> int:
    return len((folder / "count").read_text().splitlines())


def test_what_a_helper_prints_is_shown_in_both_ways(tmp_path: Path) -> None:
    assert shown({}, tmp_path, "printf ' a-key \\n\\n'") == {"x-api-key": "a-key"} | bearer("a-key")
    keys = credentials.find({"ANTHROPIC_AUTH_TOKEN": "t"}, home=tmp_path, helper="echo k")
    assert keys is not None
    assert (keys.source, keys.has_key) == ("apiKeyHelper", True)


def test_a_key_in_the_environment_wins_over_the_helper(tmp_path: Path) -> None:
    assert shown({"ANTHROPIC_API_KEY": "k"}, tmp_path, counting(tmp_path)) == KEY
    assert not (tmp_path / "count").exists()


def test_a_helper_runs_in_the_working_folder_with_the_environment(tmp_path: Path) -> None:
    headers = shown({"NAME": "value", "PATH": "/usr/bin:/bin"}, tmp_path, 'echo "$NAME-$(basename "$(pwd)")"')
    assert headers is not None
    assert headers["x-api-key"] == f"value-{tmp_path.name}"


def test_a_helper_is_asked_again_when_its_key_is_old(tmp_path: Path) -> None:
    now = 0.0
    environment = {"CLAUDE_CODE_API_KEY_HELPER_TTL_MS": "2000", "PATH": "/usr/bin:/bin"}
    helper = credentials.HelperCredentials(counting(tmp_path), tmp_path, environment, clock=lambda: now)

    async def key() -> str:
        return dict((await helper.current()).headers)["x-api-key"]

    async def main() -> None:
        nonlocal now
        assert [await key(), await key()] == ["key-1", "key-1"]
        now = 1.9
        assert await key() == "key-1"
        now = 2.0
        assert await key() == "key-2"
        await helper.refuse()
        assert await key() == "key-3"
        assert await asyncio.gather(*(key() for _ in range(5))) == ["key-3"] * 5

    asyncio.run(main())
    assert runs(tmp_path) == 3


def test_a_helper_is_asked_again_when_its_key_is_refused(tmp_path: Path) -> None:
    async def main(url: str) -> None:
        environment = {"ANTHROPIC_BASE_URL": url, "PATH": "/usr/bin:/bin"}
        keys = credentials.find(environment, home=tmp_path, helper=counting(tmp_path), cwd=tmp_path)
        assert keys is not None

        async def sleep(_: float) -> None:
            pass

        client = RetryingClient(HttpEndpoint(keys, environment), environment, sleep=sleep)
        assert [piece async for piece in client.answer(question())]
        await client.close()

    with running(load_script({"answers": [error(401, times=2), FINE]})) as stage:
        asyncio.run(main(stage.url))
    assert runs(tmp_path) == 3


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("echo oops >&2; exit 3", "apiKeyHelper failed: exited 3: oops"),
        ("true", "apiKeyHelper failed: did not return a value"),
        ("echo one; echo two", "apiKeyHelper failed: did not print a key on one line"),
        ("printf '\\377'", "apiKeyHelper failed: did not print a key on one line"),
        ("no-such-program-here", "apiKeyHelper failed: exited 127: "),
    ],
)
def test_a_helper_that_gives_no_key_ends_the_turn_with_the_reason(command: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(ModelFailure) as caught:
        shown({"PATH": "/usr/bin:/bin"}, tmp_path, command)
    assert caught.value.text.startswith(words)
    assert (caught.value.error, caught.value.status) == ("authentication_failed", None)


def test_a_helper_that_never_ends_is_ended_with_all_it_has_started(tmp_path: Path) -> None:
    command = f"sleep 1000 & echo $! > '{tmp_path}/pid'; sleep 1000"
    helper = credentials.HelperCredentials(command, tmp_path, {"PATH": "/usr/bin:/bin"}, limit_seconds=1.0)
    with pytest.raises(ModelFailure, match="took longer than 1 seconds"):
        asyncio.run(helper.current())
    wait_for(lambda: not is_running(int((tmp_path / "pid").read_text())), "end of the helper")


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# The stored token.


@pytest.mark.parametrize(
    ("token", "is_bearer", "headers", "source"),
    [
        ("sk-ant-api03-abc", False, {"x-api-key": "sk-ant-api03-abc"}, "/login managed key"),
        ("sk-ant-oat01-abc", False, bearer("sk-ant-oat01-abc"), "none"),
        ("of-a-gateway", True, bearer("of-a-gateway"), "none"),
    ],
)
def test_a_stored_token_is_sent_by_its_kind(
    token: str, is_bearer: bool, headers: dict[str, str], source: str, tmp_path: Path
) -> None:
    stored_token.store(tmp_path / "home", f" {token}\n", is_bearer=is_bearer)
    keys = credentials.find({}, home=tmp_path / "home")
    assert keys is not None
    assert keys.source == source
    assert shown({}, tmp_path / "home") == headers
    assert shown({"ANTHROPIC_API_KEY": "k"}, tmp_path / "home") == KEY


def test_the_login_of_claude_is_read_again_for_every_request(tmp_path: Path) -> None:
    file = tmp_path / ".credentials.json"
    stored_token.use_claude_login(tmp_path / "home", file)
    for token in ("first", "renewed"):
        file.write_text(json.dumps({"claudeAiOauth": {"accessToken": token, "expiresAt": 1e15}}))
        assert shown({}, tmp_path / "home") == bearer(token)
    assert shown({"ANTHROPIC_API_KEY": "k"}, tmp_path / "home") == KEY
    file.write_text(json.dumps({"claudeAiOauth": {"accessToken": token, "expiresAt": 1000}}))
    with pytest.raises(ModelFailure, match="Login expired"):
        shown({}, tmp_path / "home")
    file.unlink()
    with pytest.raises(ModelFailure, match="Claude Code has no login in"):
        shown({}, tmp_path / "home")


def test_a_token_that_no_request_can_carry_is_refused_when_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / ".credentials.json"
    stored_token.use_claude_login(tmp_path / "home", file)
    file.write_text(json.dumps({"claudeAiOauth": {"accessToken": "two\nlines"}}))
    with pytest.raises(ModelFailure, match="must be printable ASCII"):
        shown({}, tmp_path / "home")
    stored_token.store(tmp_path / "home", "a-token")
    [stored] = (tmp_path / "home").iterdir()
    stored.write_text(json.dumps({"kind": "key", "token": "two\nlines"}))
    with pytest.raises(UsageError, match="must be printable ASCII"):
        shown({}, tmp_path / "home")


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"])
def test_a_variable_that_no_request_can_carry_is_refused_by_name(name: str, tmp_path: Path) -> None:
    for value in ("two\nlines", "tökén"):
        with pytest.raises(UsageError, match=f"{name} must be printable ASCII on one line"):
            shown({name: value}, tmp_path)


def test_a_stored_token_is_readable_by_its_user_alone(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "home"
    stored_token.store(folder, "a-token")
    [file] = folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("token", ["", "  ", "two words", "line\nline", "tökén", "\x1b[31m"])
def test_an_invalid_token_is_not_stored(token: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        stored_token.store(tmp_path, token)
    assert list(tmp_path.iterdir()) == []


def test_logout_leaves_nothing(tmp_path: Path) -> None:
    stored_token.store(tmp_path, "a-token")
    assert (stored_token.delete(tmp_path), stored_token.delete(tmp_path)) == (True, False)
    assert stored_token.load(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["{}", '{"kind": "x", "token": "t"}', '{"kind": "key", "token": 7}', "[]", "no json"])
def test_a_file_without_a_token_is_an_error(text: str, tmp_path: Path) -> None:
    stored_token.store(tmp_path, "a-token")
    [file] = tmp_path.iterdir()
    file.write_text(text)
    with pytest.raises((UsageError, DiskError), match=file.name):
        credentials.find({}, home=tmp_path)
