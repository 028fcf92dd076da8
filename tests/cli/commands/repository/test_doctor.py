"""`bridle doctor`: what is there, what is missing, and whose hooks may run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import bridle
from bridle import __version__
from bridle.ground import trust
from bridle.hosts.install import locations
from bridle.hosts.install.install import install
from bridle.hosts.install.render_plugin import PACKAGE, Origin
from bridle.stage.script import load_script
from bridle.stage.thread import running
from tests.fixtures.bridle_program import BRIDLE, LIMIT_SECONDS, run_bridle


def program(folder: Path, name: str, says: str, code: int = 0) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{says}'\nexit {code}\n")
    path.chmod(0o755)


def doctor(folder: Path, *arguments: str, path: Path | None = None, **variables: str) -> tuple[int, dict[str, Any]]:
    environment = {**os.environ, **variables}
    if path is not None:
        environment["PATH"] = f"{path}:/usr/bin:/bin"
        if path.is_relative_to(folder):  # programs in the current folder are not started
            folder = folder / "work"
            folder.mkdir(exist_ok=True)
    done = run_bridle("doctor", "--json", *arguments, cwd=folder, environment=environment)
    return done.returncode, json.loads(done.stdout)


def states(document: dict[str, Any]) -> dict[str, str]:
    return {part["name"]: part["state"] for part in document["parts"]}


def test_everything_there_is_ready(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    for name, says in (("claude", "2.1.197 (Claude Code)"), ("git", "git version 2.40.1"), ("node", "v20.1.0")):
        program(tools, name, says)
    code, document = doctor(tmp_path, path=tools)
    assert (code, document["ready"]) == (0, True)
    assert states(document)["claude"] == "ok"
    words = {part["name"]: part["message"] for part in document["parts"]}
    assert ", which hides keys, logins, " in words["sandbox"]
    assert "; leaves open the network of agents, " in words["sandbox"]
    assert words["claude"] == f"claude 2.1.197 ({tools}/claude, from PATH)"
    assert "2.40.1" in words["git"]
    assert words["bridle-agent"].startswith("bridle-agent ")


def test_the_chat_endpoint_of_bridle_agent_is_asked_for_its_models(tmp_path: Path) -> None:
    with running(load_script({"answers": [{"blocks": ["x"]}], "models": ["only"]})) as stage:
        url = f"{stage.url}/v1"
        _, document = doctor(tmp_path, OPENAI_BASE_URL=url)
        host = stage.url.removeprefix("http://")
    found = next(part for part in document["parts"] if part["name"] == "endpoint")
    assert found["state"] == "ok"
    assert f"the chat endpoint {host} without a key, model only" in found["message"]
    _, document = doctor(tmp_path, OPENAI_BASE_URL=url)  # it has ended
    found = next(part for part in document["parts"] if part["name"] == "endpoint")
    assert found["state"] == "note"
    assert f"bridle-agent cannot be used: the chat endpoint {host} does not list its models" in found["message"]
    assert "endpoint" not in states(doctor(tmp_path)[1])


def claude_with(tools: Path, answer: str, code: int) -> None:
    """Install a Claude Code that answers `auth status` so, unless it gets a key."""
    lines = (
        '[ "$1" = auth ] || { echo "2.1.197 (Claude Code)"; exit 0; }',
        'if [ -n "$ANTHROPIC_API_KEY" ]; then echo \'{"loggedIn": true, "authMethod": "api_key"}\'; exit 0; fi',
        f"echo '{answer}'; exit {code}",
    )
    program(tools, "claude", "")
    (tools / "claude").write_text("#!/bin/sh\n" + "\n".join(lines) + "\n")


def login(document: dict[str, Any]) -> tuple[str, str, str]:
    (part,) = [part for part in document["parts"] if part["name"] == "login"]
    return part["state"], part["message"], part["remedy"] or ""


def test_without_a_login_or_a_key_it_is_not_ready_and_says_what_to_do(tmp_path: Path) -> None:
    tools, home = tmp_path / "tools", tmp_path / "home"
    claude_with(tools, '{"loggedIn": false, "authMethod": "none"}', 1)
    variables = {"BRIDLE_HOME": str(home), "ANTHROPIC_API_KEY": "", "ANTHROPIC_BASE_URL": ""}
    code, document = doctor(tmp_path, path=tools, **variables)
    assert (code, document["ready"]) == (1, False)
    state, message, remedy = login(document)
    assert (state, message) == ("missing", "claude is not logged in")
    assert "Run claude and log in, or set ANTHROPIC_API_KEY and choose it (`--auth key`" in remedy
    # A key alone is not used, as by `bridle run`; chosen, it is.
    _, document = doctor(tmp_path, path=tools, **{**variables, "ANTHROPIC_API_KEY": "k"})
    assert "only `--auth key` uses it" in login(document)[1]
    home.mkdir(mode=0o700)
    (home / "bridle.toml").write_text('auth = "key"\n')
    code, document = doctor(tmp_path, path=tools, **{**variables, "ANTHROPIC_API_KEY": "k"})
    assert (code, login(document)[0]) == (0, "ok")
    _, document = doctor(tmp_path, path=tools, **variables)
    assert login(document)[:2] == ("missing", "auth is key, but ANTHROPIC_API_KEY is not set")


def test_a_login_is_ready_and_an_agent_that_cannot_be_asked_is_not_judged(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    claude_with(tools, '{"loggedIn": true, "authMethod": "claude.ai"}', 0)
    code, document = doctor(tmp_path, path=tools, ANTHROPIC_API_KEY="")
    assert (code, login(document)[1]) == (0, "claude can log in: claude.ai (auth: login)")
    for answer in ("unknown command", "[1]", '{"loggedIn": 3}'):
        claude_with(tools, answer, 0)
        code, document = doctor(tmp_path, path=tools, ANTHROPIC_API_KEY="")
        assert (code, "login" in states(document)) == (0, False)


def metadata(folder: Path, name: str, version: str) -> None:
    """What an installer writes beside a distribution's files."""
    (folder / f"{name.replace('-', '_')}-{version}.dist-info").mkdir(parents=True)
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (folder / f"{name.replace('-', '_')}-{version}.dist-info" / "METADATA").write_text(text)


def test_the_other_distribution_called_bridle_is_named_where_it_is_installed_beside_ours(tmp_path: Path) -> None:
    metadata(tmp_path / "both", "bridle-cli", "0.1.0")
    metadata(tmp_path / "both", "bridle", "0.0.9")
    code, document = doctor(tmp_path, PYTHONPATH=str(tmp_path / "both"))
    [part] = [part for part in document["parts"] if part["name"] == "distribution"]
    assert (code, part["state"]) == (1, "missing")
    assert "bridle 0.0.9, another project's" in part["message"]
    assert part["remedy"] == "Run `pip uninstall bridle bridle-cli`, then `pip install bridle-cli`."


def test_a_package_that_the_other_distribution_overwrote_is_no_bug_of_ours(tmp_path: Path) -> None:
    both = tmp_path / "both"
    metadata(both, "bridle-cli", "0.1.0")
    metadata(both, "bridle", "0.0.9")
    (both / "bridle").mkdir()
    (both / "bridle" / "__init__.py").write_text("")
    for part in Path(bridle.__file__).parent.iterdir():
        if part.name not in ("__init__.py", "__pycache__"):
            (both / "bridle" / part.name).symlink_to(part)
    done = run_bridle("doctor", variables={"PYTHONPATH": str(both)})
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        (
            "bridle: the distribution bridle 0.0.9, another project's, is installed beside bridle-cli 0.1.0, "
            "and both write to the folder `bridle`"
        ),
        "  Run `pip uninstall bridle bridle-cli`, then `pip install bridle-cli`.",
    ]


def test_our_distribution_alone_is_no_news(tmp_path: Path) -> None:
    metadata(tmp_path / "one", "bridle-cli", "0.1.0")
    _, document = doctor(tmp_path, PYTHONPATH=str(tmp_path / "one"))
    assert "distribution" not in states(document)


def test_what_is_missing_is_named_with_how_to_mend_it(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    program(tools, "git", "git version 2.20.1")
    program(tools, "node", "broken", code=1)
    code, document = doctor(tmp_path, path=tools)
    assert (code, document["ready"]) == (1, False)
    found = states(document)
    assert (found["claude"], found["git"], found["node"], found["codex"]) == ("missing", "missing", "note", "note")
    remedies = {part["name"]: part["remedy"] for part in document["parts"]}
    assert "npm install" in remedies["claude"]
    assert "2.38" in remedies["git"]


def test_an_agent_that_is_named_by_its_variable_is_found(tmp_path: Path) -> None:
    program(tmp_path / "here", "my-claude", "9.9.9")
    (tmp_path / "work").mkdir()
    _, document = doctor(tmp_path / "work", BRIDLE_CLAUDE=str(tmp_path / "here/my-claude"))
    words = {part["name"]: part["message"] for part in document["parts"]}
    assert words["claude"] == f"claude 9.9.9 ({tmp_path}/here/my-claude, from BRIDLE_CLAUDE)"


def test_hooks_are_listed_and_trusted_once(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    hook = repository / ".a5c/hooks/on-run-start/a.sh"
    hook.parent.mkdir(parents=True)
    hook.write_text("true\n")
    below = repository / "src"
    below.mkdir()
    _, before = doctor(below)
    assert (before["repository"], before["trusted"], before["hooks"]) == (str(repository), False, [str(hook)])
    assert states(before)["hooks"] == "note"
    assert not trust.is_trusted(repository, Path(os.environ["BRIDLE_HOME"]))
    _, after = doctor(below, "--trust")
    assert after["trusted"]
    assert states(after)["hooks"] == "ok"
    assert trust.is_trusted(repository, Path(os.environ["BRIDLE_HOME"]))
    assert states(doctor(tmp_path)[1])["hooks"] == "ok", "another folder has no hooks"


def test_a_home_that_others_may_read_is_named(tmp_path: Path) -> None:
    home = Path(os.environ["BRIDLE_HOME"])
    home.mkdir(mode=0o700)
    secret = home / "tokens.json"
    secret.write_text("{}")
    secret.chmod(0o644)
    _, document = doctor(tmp_path)
    (part,) = [part for part in document["parts"] if part["name"] == "home"]
    assert (part["state"], str(secret) in part["message"]) == ("note", True)
    secret.chmod(0o600)
    assert states(doctor(tmp_path)[1])["home"] == "ok"


def test_a_user_reads_one_line_for_each_part(tmp_path: Path) -> None:
    done = subprocess.run(
        [str(BRIDLE), "doctor"], cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
    )
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "not ready: something is missing"
    assert any(line.startswith("missing  Claude CLI not found: ") for line in done.stdout.splitlines())


def plugin_part(folder: Path, **variables: str) -> dict[str, Any]:
    _, document = doctor(folder, path=None, **variables)
    (part,) = [part for part in document["parts"] if part["name"] == "plugin"]
    return dict(part)


def test_a_plugin_that_is_not_installed_is_a_note(tmp_path: Path) -> None:
    part = plugin_part(tmp_path)
    assert (part["state"], part["remedy"]) == ("note", "Install it with `bridle plugin install`.")


def test_an_installed_plugin_is_reported_with_its_python_and_the_limit_of_its_host(tmp_path: Path) -> None:
    folder = locations.default_folder(None, tmp_path, os.environ)
    install(folder, Origin(sys.executable, str(PACKAGE), __version__))
    part = plugin_part(tmp_path)
    assert part["state"] == "ok"
    assert f"{folder}, with {sys.executable}" in part["message"]
    assert "after 8 stops in a row without a tool call" in part["message"]
    assert "without limit" in plugin_part(tmp_path, CLAUDE_CODE_STOP_HOOK_BLOCK_CAP="0")["message"]
    assert "after 3 stops" in plugin_part(tmp_path, CLAUDE_CODE_STOP_HOOK_BLOCK_CAP="3")["message"]


def test_a_plugin_whose_bridle_is_gone_is_missing_and_one_of_another_version_a_note(tmp_path: Path) -> None:
    folder = locations.default_folder(None, tmp_path, os.environ)
    for origin, state, words in (
        (Origin("/gone/python", str(PACKAGE), __version__), "missing", "missing Python: /gone/python"),
        (Origin(sys.executable, "/gone", __version__), "missing", "missing Bridle: /gone"),
        (Origin(sys.executable, str(PACKAGE), "0.0.1"), "note", "is from Bridle 0.0.1"),
    ):
        install(folder, origin)
        part = plugin_part(tmp_path)
        assert (part["state"], words in part["message"]) == (state, True)
        assert part["remedy"] == f"Run `bridle plugin install --dir {folder}`."
    (folder / "hooks/hooks.json").unlink()
    assert "missing file: hooks/hooks.json" in plugin_part(tmp_path)["message"]
