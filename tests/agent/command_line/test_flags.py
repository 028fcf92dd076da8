"""The command line of bridle-agent, in both dialects and with every mistake that programs make."""

from __future__ import annotations

import pytest

from bridle.agent.command_line.flags import FLAGS, FlagArgument, Handling, parse
from bridle.agent.command_line.options import Options, make_options
from bridle.errors import UsageError

STREAM = ["--output-format", "stream-json", "--verbose"]


def read(*arguments: str) -> Options:
    return make_options(parse(list(arguments)))


@pytest.mark.parametrize("name", sorted({name for flag in FLAGS for name in flag.names if name.startswith("--")}))
def test_every_flag_is_read_in_both_dialects(name: str) -> None:
    flag = next(flag for flag in FLAGS if name in flag.names)
    value = flag.choices[0] if flag.choices else "7"
    both = [[name, value], [f"{name}={value}"]] if flag.takes is not FlagArgument.NOTHING else [[name]]
    if flag.handling is Handling.REFUSED:
        for words in both:
            with pytest.raises(UsageError, match="not supported by bridle-agent"):
                parse(words)
        return
    read_values = [parse(words).values[flag.key] for words in both]
    assert all(found == read_values[0] for found in read_values)
    if flag.takes is FlagArgument.NOTHING:
        assert read_values == [True]
    else:
        assert value in (read_values[0] if isinstance(read_values[0], tuple) else (read_values[0],))


def test_an_empty_value_is_a_value_in_both_dialects() -> None:
    assert parse(["--system-prompt", ""]).text("system_prompt") == ""
    assert parse(["--system-prompt="]).text("system_prompt") == ""
    assert read("--setting-sources=").setting_sources == ()
    assert read("--tools", "").tools == ()
    assert read("-p", "x").tools is None


def test_an_empty_session_id_is_none_and_continue_wins_over_resume() -> None:
    assert read("--session-id", "", "go").session.session_id is None
    both = read("--continue", "--resume", "11111111-2222-4333-8444-555555555555", "-p", "go").session
    assert (both.continues, both.resume) == (True, None)
    assert read("go", "--continue", "--resume").session.continues
    with pytest.raises(UsageError, match="--resume-session-at requires --resume"):
        read("go", "--continue", "--resume-session-at", "x")


def test_only_the_betas_of_the_original_are_sent() -> None:
    asked = read("go", "--betas", "context-1m-2025-08-07,other-1")
    assert asked.betas == ("context-1m-2025-08-07",)
    [warning] = asked.warnings
    assert "'other-1' is not allowed" in warning


@pytest.mark.parametrize("value", ["zzz", "0", "-1", "1.5"])
def test_a_task_budget_is_an_integer_of_at_least_1(value: str) -> None:
    with pytest.raises(UsageError, match="must be an integer of at least 1"):
        read("go", f"--task-budget={value}")
    assert read("go", "--task-budget", "7").task_budget == 7


def test_a_thinking_budget_below_0_leaves_it_to_the_environment() -> None:
    assert read("go", "--max-thinking-tokens=-1").thinking_tokens is None
    assert read("go", "--max-thinking-tokens=0").thinking_tokens == 0


def test_a_list_ends_at_the_next_flag_and_takes_commas_and_spaces() -> None:
    asked = read("--allowedTools", "Write", "Read", "Bash(git *)", "-p", "do it")
    assert asked.allowed_tools == ("Write", "Read", "Bash(git *)")
    assert asked.prompt == "do it"
    assert read("--allowedTools=Read,Bash(git log, x) Edit").allowed_tools == ("Read", "Bash(git log, x)", "Edit")
    assert read("--disallowed-tools", "A", "--disallowedTools", "B").disallowed_tools == ("A", "B")


def test_a_list_in_one_word_takes_no_further_words() -> None:
    assert read("--allowedTools=Read", "the prompt").prompt == "the prompt"


def test_two_dashes_end_the_flags() -> None:
    asked = read("-p", "--max-turns", "1", "--", "/")
    assert (asked.prompt, asked.max_turns) == ("/", 1)
    assert read("--", "--model").prompt == "--model"


def test_short_flags_can_be_joined_and_hold_their_value() -> None:
    given = parse(["-pc", "-rabc"])
    assert given.on("print")
    assert given.on("continue")
    assert given.text("resume") == "abc"


def test_a_value_may_look_like_a_flag() -> None:
    assert parse(["--append-system-prompt", "--be-terse"]).text("append_system_prompt") == "--be-terse"


def test_ignored_flags_are_listed() -> None:
    assert read("--ide", "--prompt-suggestions", "-p", "x").ignored_flags == ("--ide", "--prompt-suggestions")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--nope"], "error: unknown option '--nope'"),
        (["--modle", "x"], "(Did you mean --model?)"),
        (["-z"], "error: unknown option '-z'"),
        (["--model"], "argument missing"),
        (["--verbose=1"], "takes no value"),
        (["--output-format", "xml"], "argument 'xml' is invalid. Allowed choices are text, json, stream-json."),
        (
            ["--permission-mode", "zzz"],
            "Allowed choices are acceptEdits, auto, bypassPermissions, default, dontAsk, plan.",
        ),
        (["-p", "--output-format", "stream-json"], "requires --verbose"),
        (["-p", "--input-format", "stream-json"], "requires output-format=stream-json"),
        (["-p", "--replay-user-messages"], "requires --input-format=stream-json"),
        (["-p", "--include-partial-messages"], "requires --print and --output-format=stream-json"),
        (["-p", "--resume"], "--resume requires a valid session ID"),
        (["-p", "--max-budget-usd", "free"], "must be a number above 0"),
        (["-p", "--max-budget-usd", "nan"], "must be a number above 0"),
    ],
)
def test_a_wrong_command_line_is_reported(arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(*arguments)
    assert message in caught.value.message


def test_a_turn_limit_that_is_not_a_number_is_ignored() -> None:
    assert read("--max-turns", "zzz").max_turns is None
    assert read("--max-turns", "0").max_turns is None


def test_thinking_can_be_disabled_and_limited() -> None:
    assert read("--thinking", "disabled").thinking_tokens == 0
    assert read("--thinking", "adaptive").thinking_tokens is None
    assert read("--max-thinking-tokens", "4096").thinking_tokens == 4096


# What each of the programs in the field passes: none of it may be refused.
KNOWN_COMMAND_LINES = {
    "ralph-runs": [
        "-p", "--model", "sonnet", "--tools", "Read,Write,Edit,Glob,Grep,Bash,Skill,StructuredOutput", "--verbose",
        "--input-format", "stream-json", "--output-format", "stream-json", "--json-schema", "{}",
    ],
    "python sdk": [
        *STREAM, "--system-prompt", "", "--tools", "default", "--allowedTools", "Read,Bash", "--max-turns", "3",
        "--max-budget-usd", "1.5", "--disallowedTools", "WebFetch", "--task-budget", "10", "--model", "opus",
        "--fallback-model", "sonnet", "--betas", "context-1m-2025-08-07", "--permission-prompt-tool", "stdio",
        "--permission-mode", "acceptEdits", "--continue", "--resume=x", "--settings", "{}", "--add-dir", "/tmp",
        "--mcp-config", "{}", "--include-partial-messages", "--include-hook-events", "--strict-mcp-config",
        "--fork-session", "--resume-session-at=u", "--session-mirror", "--setting-sources=", "--plugin-dir", "d",
        "--max-thinking-tokens", "5", "--thinking-display", "omitted", "--effort", "low", "--json-schema", "{}",
        "--input-format", "stream-json",
    ],
    "typescript sdk": [
        "--output-format=stream-json", "--verbose", "--input-format=stream-json", "--model=sonnet",
        "--allowedTools=A,B", "--tools=default", "--setting-sources=", "--permission-prompt-tool=stdio",
        "--mcp-config", "{}", "--settings", "{}",
    ],
    "opcode": ["-p", "go", "--model", "m", *STREAM, "--dangerously-skip-permissions"],
    "vibe-kanban": [
        "-p", "--permission-prompt-tool=stdio", "--permission-mode=bypassPermissions", "--verbose",
        "--output-format=stream-json", "--input-format=stream-json", "--include-partial-messages",
        "--replay-user-messages", "--disallowedTools=AskUserQuestion", "--effort", "high", "--resume", "x",
    ],
    "vibe-kanban discovery": ["-p", "--verbose", "--output-format=stream-json", "--max-turns", "1", "--", "/"],
    "happy": [*STREAM, "--system-prompt", "s", "--permission-prompt-tool", "stdio", "--resume", "X", "--print", "go"],
    "ralph-claude-code": [
        "--model", "m", "--effort", "low", "--output-format", "json", "--allowedTools", "Write", "Read",
        "Bash(git *)", "--resume", "s", "--append-system-prompt", "c", "-p", "go",
    ],
    "snarktank": ["--dangerously-skip-permissions", "--print"],
    "ralph-orchestrator": [
        "--dangerously-skip-permissions", *STREAM, "--setting-sources", "project,local", "--print",
        "--disallowedTools=TodoWrite,TaskCreate",
    ],
    "clauditor": ["-p", "go", "--model", "m", *STREAM],
}  # fmt: skip


@pytest.mark.parametrize("program", KNOWN_COMMAND_LINES)
def test_the_command_lines_of_known_clients_are_accepted(program: str) -> None:
    assert read(*KNOWN_COMMAND_LINES[program]).output_format in ("text", "json", "stream-json")
