"""From a request to argv and environment: whole values, for every agent and mode."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bridle.errors import UsageError
from bridle.run.command import PROMPT_ARGUMENT_LIMIT_BYTES, Command, build_command, needs_conversation, thinking_tokens
from bridle.run.request import Auth, Mode, Permission, Reasoning, Request

START = ("/bin/claude", "-p", "--output-format", "stream-json", "--verbose")
CODER = "Read,Write,Edit,Glob,Grep,Bash,Skill"
ASKING = ("--permission-mode", "default")
SCHEMA = {"type": "object", "required": ["summary"]}
LONG = "x" * (PROMPT_ARGUMENT_LIMIT_BYTES + 1)
TOKEN = "ANTHROPIC_AUTH_TOKEN"
UNUSED = "login (ANTHROPIC_API_KEY is set but not used; --auth key uses it)"


def command(agent: str = "claude", prompt: str = "hi", *, inherited: Mapping[str, str] = {}, **fields: Any) -> Command:
    return build_command(Request(prompt, Path("/w"), agent=agent, **fields), f"/bin/{agent}", inherited)


@pytest.mark.parametrize(
    ("fields", "argv"),
    [
        ({}, (*START, f"--tools={CODER}", f"--allowedTools={CODER}", *ASKING, "--", "hi")),
        (
            {"mode": Mode.PLANNER},
            (*START, "--tools=Read,Bash", "--allowedTools=Read,Bash", *ASKING, "--", "hi"),
        ),
        (
            {"mode": Mode.SUMMARIZER},
            (*START, "--tools=Read,Glob,Grep", "--allowedTools=Read,Glob,Grep", *ASKING, "--", "hi"),
        ),
        (
            {"mode": Mode.PLANNER, "json_schema": SCHEMA},
            (
                *START,
                "--input-format",
                "stream-json",
                "--tools=Read,Bash,StructuredOutput",
                "--allowedTools=Read,Bash,StructuredOutput",
                *ASKING,
                '--json-schema={"type":"object","required":["summary"]}',
            ),
        ),
        (
            {"allowed_tools": ("Read", "Bash(git *)", "Bash(ls)", "mcp__x__y")},
            (*START, "--tools=Read,Bash", "--allowedTools=Read,Bash(git *),Bash(ls),mcp__x__y", *ASKING, "--", "hi"),
        ),
        ({"allowed_tools": ()}, (*START, "--tools=", "--allowedTools=", *ASKING, "--", "hi")),
        (
            {
                "allowed_tools": ("Read",),
                "permission": Permission.ACCEPT_EDITS,
                "resume": "s-1",
                "continue_session": True,
                "model": "haiku",
                "system_prompt": "-be brief",
                "partial_messages": True,
                "extra_args": ("--max-turns", "3"),
            },
            (
                *START,
                "--include-partial-messages",
                "--tools=Read",
                "--allowedTools=Read",
                "--permission-mode",
                "acceptEdits",
                "--resume=s-1",
                "--model=haiku",
                "--system-prompt=-be brief",
                "--max-turns",
                "3",
                "--",
                "hi",
            ),
        ),
        (
            {"allowed_tools": ("Read",), "permission": Permission.BYPASS, "continue_session": True},
            (
                *START,
                "--tools=Read",
                "--allowedTools=Read",
                "--dangerously-skip-permissions",
                "--continue",
                "--",
                "hi",
            ),
        ),
    ],
    ids=["coder", "planner", "summarizer", "schema", "patterns", "no-tools", "everything", "bypass"],
)
def test_the_whole_command_line_of_claude(fields: dict[str, Any], argv: tuple[str, ...]) -> None:
    built = command(**fields)
    assert built == Command(argv, {}, "login", is_conversation="json_schema" in fields)
    own = command("bridle-agent", **fields)
    assert own == Command(("/bin/bridle-agent", *argv[1:]), {}, "login", is_conversation="json_schema" in fields)


@pytest.mark.parametrize(
    ("agent", "fields", "argv", "stdin"),
    [
        (
            "codex",
            {"system_prompt": "be brief"},
            ("exec", "--json", "--skip-git-repo-check", "--sandbox", "workspace-write", "-"),
            "be brief\n\nhi",
        ),
        (
            "codex",
            {"mode": Mode.PLANNER, "model": "gpt-5", "reasoning": Reasoning.HIGH, "resume": "t-1"},
            (
                *("exec", "--json", "--skip-git-repo-check", "--sandbox", "read-only", "--model", "gpt-5"),
                *("-c", 'model_reasoning_effort="high"', "resume", "t-1", "-"),
            ),
            "hi",
        ),
        (
            "codex",
            {"permission": Permission.BYPASS, "continue_session": True},
            (
                *("exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"),
                *("resume", "--last", "-"),
            ),
            "hi",
        ),
        (
            "gemini",
            {"model": "pro", "continue_session": True},
            (
                *("--output-format", "stream-json", "--approval-mode", "default", "--model", "pro"),
                *("--resume", "latest", "--prompt=hi"),
            ),
            None,
        ),
        (
            "gemini",
            {"permission": Permission.BYPASS, "system_prompt": "be brief"},
            ("--output-format", "stream-json", "--approval-mode", "yolo", "--prompt=be brief\n\nhi"),
            None,
        ),
        (
            "opencode",
            {"model": "a/b", "resume": "ses_1", "extra_args": ("--print-logs",)},
            ("run", "--format", "json", "--model", "a/b", "--session", "ses_1", "--print-logs", "--", "hi"),
            None,
        ),
        ("opencode", {"continue_session": True}, ("run", "--format", "json", "--continue", "--", "hi"), None),
    ],
)
def test_the_whole_command_line_of_the_other_agents(
    agent: str, fields: dict[str, Any], argv: tuple[str, ...], stdin: str | None
) -> None:
    built = command(agent, inherited={"ANTHROPIC_API_KEY": "k", "PATH": "/bin"}, **fields)
    environment = {"ANTHROPIC_API_KEY": "k", "PATH": "/bin"}
    assert built == Command((f"/bin/{agent}", *argv), environment, f"{agent}'s own", stdin_text=stdin)


@pytest.mark.parametrize("prompt", ["-p", "--help", "--", "- a list", "@file", "a\nb"])
def test_no_prompt_can_be_read_as_a_flag(prompt: str) -> None:
    assert command(prompt=prompt).argv[-2:] == ("--", prompt)
    assert command("opencode", prompt).argv[-2:] == ("--", prompt)
    assert command("gemini", prompt).argv[-1] == f"--prompt={prompt}"
    assert command("codex", prompt).stdin_text == prompt


def test_a_prompt_over_the_limit_of_an_argument_goes_into_a_conversation() -> None:
    short, long = command(prompt=LONG[1:]), command(prompt=LONG)
    assert (short.is_conversation, short.argv[-1]) == (False, LONG[1:])
    assert long.is_conversation
    assert LONG not in long.argv
    assert "--input-format" in long.argv
    assert needs_conversation(Request("é" * (PROMPT_ARGUMENT_LIMIT_BYTES // 2 + 1), Path("/")))
    assert command("codex", LONG).stdin_text == LONG


@pytest.mark.parametrize("agent", ["gemini", "opencode"])
def test_an_agent_that_takes_prompts_only_as_an_argument_refuses_a_long_one(agent: str) -> None:
    with pytest.raises(UsageError, match=f"got {PROMPT_ARGUMENT_LIMIT_BYTES + 1}"):
        command(agent, LONG)


@pytest.mark.parametrize("agent", ["codex", "gemini", "opencode"])
def test_agents_without_a_schema_refuse_one(agent: str) -> None:
    with pytest.raises(UsageError, match=agent):
        command(agent, json_schema=SCHEMA)


def test_an_unknown_agent_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="nobody") as refused:
        command("nobody")
    assert "claude, bridle-agent, codex, gemini, opencode" in str(refused.value)


@pytest.mark.parametrize(
    ("model", "budgets"),
    [
        ("haiku", [0, 4096, 8192, 16384]),
        ("sonnet", [0, 8192, 16384, 32768]),
        ("opus", [0, 4096, 8192, 16384]),
        (None, [0, 8192, 16384, 32768]),
        ("claude-opus-4-7[1m]", [0, 4096, 8192, 16384]),
        ("some-other", [0, None, None, None]),
    ],
)
def test_the_thinking_budget_by_model_and_level(model: str | None, budgets: list[int | None]) -> None:
    assert [thinking_tokens(model, level) for level in Reasoning] == budgets
    assert thinking_tokens(model, None) is None


@pytest.mark.parametrize("agent", ["claude", "bridle-agent"])
def test_a_level_is_a_budget_and_an_effort_and_none_turns_thinking_off(agent: str) -> None:
    def variables(model: str, level: Reasoning | None, **inherited: str) -> dict[str, str]:
        return command(agent=agent, model=model, reasoning=level, inherited=inherited).environment

    assert variables("sonnet", Reasoning.MED, MAX_THINKING_TOKENS="9", CLAUDE_CODE_EFFORT_LEVEL="max") == {
        "MAX_THINKING_TOKENS": "16384",
        "CLAUDE_CODE_EFFORT_LEVEL": "medium",
    }
    assert variables("sonnet", Reasoning.NONE, MAX_THINKING_TOKENS="9") == {"MAX_THINKING_TOKENS": "0"}
    assert variables("other", Reasoning.HIGH) == {"CLAUDE_CODE_EFFORT_LEVEL": "high"}
    assert variables("sonnet", None, MAX_THINKING_TOKENS="9") == {"MAX_THINKING_TOKENS": "9"}


@pytest.mark.parametrize(
    ("auth", "inherited", "key", "words"),
    [
        (Auth.AUTO, {}, None, "login"),
        (Auth.AUTO, {"ANTHROPIC_API_KEY": ""}, "", "login"),
        (Auth.AUTO, {"ANTHROPIC_API_KEY": "k"}, "", UNUSED),
        (Auth.AUTO, {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_AUTH_TOKEN": "t"}, "", UNUSED.replace("login", TOKEN, 1)),
        (Auth.AUTO, {"ANTHROPIC_AUTH_TOKEN": "t"}, None, TOKEN),
        (Auth.AUTO, {"CLAUDE_CODE_OAUTH_TOKEN": "t"}, None, "CLAUDE_CODE_OAUTH_TOKEN"),
        (Auth.AUTO, {"CLAUDE_CODE_USE_VERTEX": "1", "ANTHROPIC_AUTH_TOKEN": "t"}, None, "CLAUDE_CODE_USE_VERTEX"),
        (Auth.AUTO, {"CLAUDE_CODE_USE_BEDROCK": "1"}, None, "CLAUDE_CODE_USE_BEDROCK"),
        (Auth.AUTO, {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}, "k", "ANTHROPIC_API_KEY"),
        (Auth.AUTO, {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://[::1]:1"}, "k", "ANTHROPIC_API_KEY"),
        (Auth.AUTO, {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://[broken"}, "", UNUSED),
        (Auth.AUTO, {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "https://localhost.example"}, "", UNUSED),
        (Auth.LOGIN, {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}, "", UNUSED),
        (Auth.KEY, {"ANTHROPIC_API_KEY": "k"}, "k", "ANTHROPIC_API_KEY"),
    ],
)
def test_the_login_pays_rather_than_a_key_that_was_only_inherited(
    auth: Auth, inherited: dict[str, str], key: str | None, words: str
) -> None:
    built = command(auth=auth, inherited=inherited)
    assert built.auth == words
    assert built.environment.get("ANTHROPIC_API_KEY") == key


def test_a_key_given_with_the_request_is_chosen() -> None:
    built = command(environment={"ANTHROPIC_API_KEY": "mine"}, inherited={"ANTHROPIC_API_KEY": "theirs"})
    assert (built.environment, built.auth) == ({"ANTHROPIC_API_KEY": "mine"}, "ANTHROPIC_API_KEY")


@pytest.mark.parametrize("inherited", [{}, {"ANTHROPIC_API_KEY": ""}])
def test_choosing_a_key_that_is_not_there_is_refused(inherited: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="ANTHROPIC_API_KEY"):
        command(auth=Auth.KEY, inherited=inherited)


def test_what_a_surrounding_session_left_in_the_environment_is_removed() -> None:
    left = {
        "AGENT_SESSION_ID": "s",
        "BABYSITTER_SESSION_ID": "s",
        "CLAUDE_ENV_FILE": "/e",
        "CODEX_SESSION_ID": "t",
        "CODEX_THREAD_ID": "t",
        "CLAUDECODE": "1",
        "CLAUDE_CODE_CHILD_SESSION": "1",
        "CLAUDE_CODE_ENTRYPOINT": "cli",
        "CLAUDE_CODE_SESSION_ID": "s",
        "CLAUDE_CODE_SSE_PORT": "1",
    }
    kept = {"CLAUDE_CONFIG_DIR": "/c", "PATH": "/bin", "CLAUDE_CODE_MAX_RETRIES": "1"}
    assert command(inherited=left | kept).environment == kept
    assert command(inherited=kept, environment={"PATH": "/own", "NEW": "1"}).environment == kept | {
        "PATH": "/own",
        "NEW": "1",
    }


def test_permissions_are_bypassed_only_when_that_was_asked_for() -> None:
    for agent in ("claude", "bridle-agent", "codex", "gemini", "opencode"):
        for mode in Mode:
            for permission in (Permission.DEFAULT, Permission.ACCEPT_EDITS):
                argv = " ".join(command(agent, mode=mode, permission=permission).argv)
                assert not any(word in argv for word in ("dangerous", "bypass", "yolo"))
