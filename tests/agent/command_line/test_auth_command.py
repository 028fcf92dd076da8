"""The command `bridle-agent auth`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bridle.agent.model.api import stored_token

# A hang is a failure; a cold start on a busy machine takes a few seconds.
LIMIT_SECONDS = 60


def command(home: Path, *arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    code = "import sys; from bridle.agent.command_line.auth_command import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        cwd=home,
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", "BRIDLE_HOME": str(home / "b"), **environment},
        timeout=LIMIT_SECONDS,
        check=False,
    )


TOKEN = "sk-ant-api03-abcdefghijklmnop-wxyz"
OAUTH_TOKEN = "sk-ant-oat01-abcdefghijklmnop"


def test_login_status_and_logout(tmp_path: Path) -> None:
    assert command(tmp_path, "status").returncode == 1
    done = command(tmp_path, "login", stdin=TOKEN + "\nrest\n")
    assert (done.returncode, done.stdout) == (0, "")
    assert "…wxyz" in done.stderr
    assert TOKEN not in done.stderr
    assert stored_token.load(tmp_path / "b") == stored_token.StoredToken("key", TOKEN)
    done = command(tmp_path, "status")
    assert (done.returncode, done.stdout) == (0, "requests use a stored key (…wxyz)\n")
    done = command(tmp_path, "status", "--json")
    assert json.loads(done.stdout) == {
        "loggedIn": True,
        "authMethod": "a stored key (…wxyz)",
        "apiKeySource": "/login managed key",
    }
    assert command(tmp_path, "logout").returncode == 0
    done = command(tmp_path, "status", "--json")
    assert (done.returncode, json.loads(done.stdout)["loggedIn"]) == (1, False)


def claude_login(home: Path, *, expires_at: float | None = None, token: str = OAUTH_TOKEN) -> Path:
    """Log in as Claude Code does: with a credentials file in its settings folder."""
    file = home / ".claude" / ".credentials.json"
    file.parent.mkdir(exist_ok=True)
    login = {"accessToken": token, "refreshToken": "r", "scopes": ["user:inference"]}
    file.write_text(json.dumps({"claudeAiOauth": login | ({} if expires_at is None else {"expiresAt": expires_at})}))
    return file


def test_the_login_of_claude_is_used_only_after_the_user_says_so(tmp_path: Path) -> None:
    file = claude_login(tmp_path, expires_at=(time.time() + 3600) * 1000)
    assert command(tmp_path, "status").returncode == 1
    done = command(tmp_path, "login", "--from-claude")
    assert (done.returncode, done.stdout) == (0, "")
    method = f"the login of Claude Code in {file}"
    unless = "requests without a key or token in the environment use"
    assert done.stderr == f"bridle-agent: {unless} {method} until `bridle-agent auth logout`\n"
    done = command(tmp_path, "status", "--json")
    assert json.loads(done.stdout) == {"loggedIn": True, "authMethod": method, "apiKeySource": "none"}
    assert OAUTH_TOKEN not in "".join(path.read_text() for path in (tmp_path / "b").iterdir())
    assert command(tmp_path, "logout").returncode == 0
    assert command(tmp_path, "status").returncode == 1
    assert OAUTH_TOKEN in file.read_text()


def test_without_a_login_of_claude_nothing_is_stored(tmp_path: Path) -> None:
    done = command(tmp_path, "login", "--from-claude")
    assert (done.returncode, done.stdout) == (1, "")
    file = tmp_path / ".claude" / ".credentials.json"
    assert f"Claude Code has no login in {file}. Run claude and log in there" in done.stderr
    claude_login(tmp_path, expires_at=1000)
    assert "Login expired · Run claude" in command(tmp_path, "login", "--from-claude").stderr
    file.write_text('{"claudeAiOauth": {}}')
    assert "does not contain a login of Claude Code" in command(tmp_path, "login", "--from-claude").stderr
    assert not (tmp_path / "b").exists()


def test_status_says_why_the_login_of_claude_cannot_be_used_any_more(tmp_path: Path) -> None:
    def status(reason: str) -> None:
        done = command(tmp_path, "status", ANTHROPIC_API_KEY="")
        assert (done.returncode, reason in done.stdout) == (1, True)
        done = command(tmp_path, "status", "--json", ANTHROPIC_API_KEY="")
        document = json.loads(done.stdout)
        assert (done.returncode, document["loggedIn"], document["authMethod"]) == (1, False, "none")
        assert reason in document["reason"]

    file = claude_login(tmp_path)
    assert command(tmp_path, "login", "--from-claude").returncode == 0
    assert command(tmp_path, "status").returncode == 0
    claude_login(tmp_path, expires_at=1000)
    status("Login expired · Run claude")
    claude_login(tmp_path, token="two\nlines")
    status("must be printable ASCII")
    file.unlink()
    status(f"Claude Code has no login in {file}")
    assert command(tmp_path, "status", ANTHROPIC_API_KEY="k").returncode == 0


@pytest.mark.parametrize("token", ["two\nlines", "two words", "tökén"])
def test_a_login_of_claude_that_no_request_can_carry_is_refused(token: str, tmp_path: Path) -> None:
    claude_login(tmp_path, token=token)
    done = command(tmp_path, "login", "--from-claude")
    assert (done.returncode, done.stdout) == (1, "")
    assert "the key or token must be printable ASCII" in done.stderr
    assert not (tmp_path / "b").exists()


def test_status_says_which_variable_no_request_can_carry(tmp_path: Path) -> None:
    done = command(tmp_path, "status", ANTHROPIC_API_KEY="secret\nkey")
    assert (done.returncode, "secret" in done.stdout + done.stderr) == (1, False)
    assert "ANTHROPIC_API_KEY must be printable ASCII on one line" in done.stdout


def test_status_without_a_login_names_every_way_to_log_in(tmp_path: Path) -> None:
    done = command(tmp_path, "status")
    assert all(way in done.stdout for way in ("ANTHROPIC_API_KEY", "`bridle-agent auth login`", "--from-claude"))
    assert json.loads(command(tmp_path, "status", "--json").stdout)["reason"] == done.stdout.strip()


def test_without_bridle_home_the_token_is_stored_in_the_users_home(tmp_path: Path) -> None:
    assert command(tmp_path, "login", "--bearer", stdin="short", BRIDLE_HOME="").returncode == 0
    assert stored_token.load(tmp_path / ".bridle") == stored_token.StoredToken("bearer", "short")
    assert command(tmp_path, "status", BRIDLE_HOME="").stdout == "requests use a stored bearer token\n"


@pytest.mark.parametrize(
    ("environment", "method"),
    [
        ({"ANTHROPIC_API_KEY": "secret-key"}, "ANTHROPIC_API_KEY"),
        ({"ANTHROPIC_AUTH_TOKEN": "secret-token"}, "ANTHROPIC_AUTH_TOKEN"),
        ({"CLAUDE_CODE_OAUTH_TOKEN": "secret-token"}, "CLAUDE_CODE_OAUTH_TOKEN"),
    ],
)
def test_status_names_the_variable_and_not_its_value(environment: dict[str, str], method: str, tmp_path: Path) -> None:
    done = command(tmp_path, "status", "--json", **environment)
    assert (done.returncode, json.loads(done.stdout)["authMethod"]) == (0, method)
    assert "secret" not in done.stdout + done.stderr


def test_status_knows_the_helper_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text('{"apiKeyHelper": "echo k"}')
    assert json.loads(command(tmp_path, "status", "--json").stdout)["authMethod"] == "apiKeyHelper"


@pytest.mark.parametrize("arguments", [(), ("nonsense",), ("login", "now"), ("status", "--yaml"), ("logout", "x")])
def test_a_wrong_command_line_is_refused_with_the_right_ones(arguments: tuple[str, ...], tmp_path: Path) -> None:
    done = command(tmp_path, *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert "auth login" in done.stderr


def test_help_prints_the_usage(tmp_path: Path) -> None:
    done = command(tmp_path, "--help")
    assert (done.returncode, "auth logout" in done.stdout) == (0, True)


# Makes its standard input the terminal that it is controlled from, as a shell does.
AT_A_TERMINAL = """
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from bridle.agent.command_line.auth_command import main
sys.exit(main(["login"]))
"""


def test_a_token_that_is_typed_is_not_shown(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", AT_A_TERMINAL],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )
    os.close(theirs)
    screen = b""
    try:
        while b"token: " not in screen:
            screen += os.read(ours, 4096)
        os.write(ours, TOKEN.encode() + b"\n")
        while b"stored" not in screen:
            screen += os.read(ours, 4096)
        assert child.wait(LIMIT_SECONDS) == 0
    finally:
        child.kill()
        child.wait()
        os.close(ours)
    assert TOKEN.encode() not in screen
    assert stored_token.load(tmp_path / ".bridle") == stored_token.StoredToken("key", TOKEN)


@pytest.mark.parametrize("stdin", ["", "\n", "two words\n"])
def test_a_login_without_a_valid_token_stores_nothing(stdin: str, tmp_path: Path) -> None:
    done = command(tmp_path, "login", stdin=stdin)
    assert (done.returncode, done.stdout) == (1, "")
    assert "the key or token must be printable ASCII" in done.stderr
    assert not (tmp_path / "b").exists()
