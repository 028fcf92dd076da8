"""The real Claude Code through `bridle ask`: what it is given, what it does, and what is kept of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.real.fixtures.claude_on_stage import KEY, Asked, Scene, calls, offered, says, scene, user_texts
from tests.real.fixtures.installed_programs import claude_program, pinned_version

pytestmark = pytest.mark.real


@dataclass(frozen=True)
class Happy:
    """One run that goes well, which several tests look at."""

    scene: Scene
    asked: Asked


@pytest.fixture(scope="module")
def happy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Happy]:
    with scene(tmp_path_factory.mktemp("happy"), says("All is well.")) as set_up:
        yield Happy(set_up, set_up.ask("how are you"))


def test_a_run_that_goes_well_is_a_success_with_the_words_of_the_model(happy: Happy) -> None:
    document = happy.asked.document
    assert happy.asked.exit_code == 0
    assert document["final_text"] == "All is well."
    assert (document["succeeded_cleanly"], document["run_error"], document["error"]) == (True, False, None)
    assert (document["attempts"], document["num_turns"], document["results"]) == (1, 1, 1)
    assert (document["parse_errors"], document["unknown_events"], document["warnings"]) == (0, 0, [])
    assert document["version"] == pinned_version("claude")
    assert document["total_cost_usd"] > 0
    assert document["cost_source"] == "agent"
    assert happy.scene.stage.problems == ()


def test_the_agent_works_in_the_given_folder(happy: Happy) -> None:
    assert happy.asked.document["cwd"] == str(happy.scene.workspace)
    assert happy.asked.document["cwd_differs"] is None


def test_one_line_says_which_program_runs_for_what_and_who_pays(happy: Happy) -> None:
    line = f"bridle: claude ({claude_program()}): coder ask, auth: ANTHROPIC_API_KEY, sandbox: bwrap"
    source = "bridle: apiKeySource=ANTHROPIC_API_KEY"
    assert happy.asked.stderr.splitlines() == [line, source, f"bridle: log: {happy.asked.log}"]
    assert happy.asked.document["api_key_source"] == "ANTHROPIC_API_KEY"


def test_the_session_of_the_agent_is_in_its_own_folder(happy: Happy) -> None:
    session = happy.asked.document["session_id"]
    transcripts = list((happy.scene.home / ".claude" / "projects").rglob(f"{session}.jsonl"))
    assert len(transcripts) == 1
    assert "All is well." in transcripts[0].read_text("utf-8")


def test_every_byte_is_in_private_files_beside_what_describes_them(happy: Happy) -> None:
    log = happy.asked.log
    assert [event["type"] for event in happy.asked.events()] == ["system", "assistant", "result"]
    meta = json.loads(log.with_suffix(".meta.json").read_text("utf-8"))
    assert (meta["exit_code"], meta["agent_version"], meta["cwd"]) == (0, "2.1.197", str(happy.scene.workspace))
    assert meta["session_id"] == happy.asked.document["session_id"]
    last_offset = log.with_suffix(".times").read_text("utf-8").splitlines()[-1].split()[0]
    assert int(last_offset) == log.stat().st_size
    assert {path.stat().st_mode & 0o777 for path in log.parent.iterdir()} == {0o600}


def test_the_key_is_in_no_prompt_and_in_no_file_of_ours(happy: Happy) -> None:
    assert KEY not in json.dumps(happy.scene.bodies())
    kept = [path for path in (happy.scene.workspace / ".ralph").rglob("*") if path.is_file()]
    assert len(kept) >= 5
    assert [path for path in kept if KEY.encode() in path.read_bytes()] == []


def test_tools_really_change_the_workspace(tmp_path: Path) -> None:
    file = tmp_path / "workspace" / "poem.txt"
    answers = (
        calls("Write", file_path=str(file), content="roses are blue\n"),
        calls("Edit", file_path=str(file), old_string="blue", new_string="red"),
        calls("Bash", command="wc -c < poem.txt > size.txt && cat poem.txt"),
        says("Written, mended, counted."),
    )
    with scene(tmp_path, *answers) as set_up:
        asked = set_up.ask("write a poem")
        assert (asked.exit_code, asked.document["final_text"]) == (0, "Written, mended, counted.")
        assert file.read_text("utf-8") == "roses are red\n"
        assert file.with_name("size.txt").read_text("utf-8").strip() == "14"
        counts = ("tool_uses", "tool_results", "tool_errors", "num_turns")
        assert [asked.document[name] for name in counts] == [3, 3, 0, 4]
        assert "roses are red" in json.dumps(set_up.bodies()[-1]["messages"][-1])


@pytest.mark.parametrize(
    ("mode", "tools"),
    [
        ("planner", {"Read", "Bash"}),
        ("coder", {"Read", "Write", "Edit", "Glob", "Grep", "Bash", "Skill"}),
        ("summarizer", {"Read", "Glob", "Grep"}),
    ],
)
def test_a_mode_limits_the_tools_that_the_model_is_offered(mode: str, tools: set[str], tmp_path: Path) -> None:
    with scene(tmp_path, says("ok")) as set_up:
        document = set_up.ask("hello", "--mode", mode).document
        assert offered(set_up.bodies()[0]) == tools
        assert set(document["tools"]) == tools


def test_a_tool_outside_the_mode_does_nothing(tmp_path: Path) -> None:
    file = tmp_path / "workspace" / "forbidden.txt"
    with scene(tmp_path, calls("Write", file_path=str(file), content="x"), says("I could not.")) as set_up:
        asked = set_up.ask("write it", "--mode", "planner")
        assert not file.exists()
        assert (asked.document["tool_errors"], asked.document["final_text"]) == (1, "I could not.")
        assert "No such tool available" in json.dumps(set_up.bodies()[-1]["messages"][-1])


@pytest.mark.parametrize(
    "prompt",
    [
        "--help me, dash first",
        "-p",
        "line one\n\n  line \"two\" with 'quotes' and $HOME `id` \\n\n\ttab; rm -rf /\u2028end",
        "Grüße 🐎 日本語 \u202eback e\u0301",
    ],
)
def test_a_prompt_reaches_the_model_verbatim(prompt: str, tmp_path: Path) -> None:
    with scene(tmp_path, says("ok")) as set_up:
        assert set_up.ask("--", prompt).exit_code == 0
        assert user_texts(set_up.bodies()[0])[-1] == prompt


def test_a_prompt_that_is_too_long_for_an_argument_goes_over_stdin_whole(tmp_path: Path) -> None:
    prompt = "Remember each of these words. " + " ".join(f"wörd{number}" for number in range(30_000))
    assert len(prompt.encode()) > 256 * 1024
    with scene(tmp_path, says("ok")) as set_up:
        asked = set_up.ask("-", stdin=prompt)
        assert (asked.exit_code, asked.document["final_text"]) == (0, "ok")
        assert user_texts(set_up.bodies()[0])[-1] == prompt
        meta = json.loads(asked.log.with_suffix(".meta.json").read_text("utf-8"))
        assert max(len(word) for word in meta["argv"]) < 1000


def test_model_system_prompt_and_thinking_budget_reach_the_request(tmp_path: Path) -> None:
    with scene(tmp_path, says("ok")) as set_up:
        asked = set_up.ask("hello", "--model", "haiku", "--reasoning", "med", "--system-prompt=- Speak like a horse.")
        assert asked.exit_code == 0
        body = set_up.bodies()[0]
        assert body["model"].startswith("claude-haiku")
        assert body["thinking"] == {"type": "enabled", "budget_tokens": 8192}
        assert "- Speak like a horse." in [block["text"] for block in body["system"]]


def test_a_user_sees_words_on_stdout_and_tools_beside_them_without_the_key(tmp_path: Path) -> None:
    answers = (calls("Bash", command='echo "the key is $ANTHROPIC_API_KEY"'), says("Look at that."))
    with scene(tmp_path, *answers) as set_up:
        asked = set_up.bridle("ask", "show me")
        assert (asked.exit_code, asked.stdout) == (0, "Look at that.\n")
        lines = asked.stderr.splitlines()
        assert [line for line in lines if line.startswith("> Bash echo")]
        assert [line for line in lines if line.startswith("  Bash ok: the key is ")]
        assert KEY not in asked.stderr
        assert [line for line in lines if line.startswith("= 2 turns, ") and line.endswith(" USD")]


def test_a_line_of_many_megabytes_is_read_and_kept_whole(tmp_path: Path) -> None:
    """Claude Code puts the whole old file into the event of an edit.

    In a conversation it stays until we have read its result. Without one, 2.1.197 leaves at once after its last
    answer and takes with it what it has not written yet (seen with `claude -p … | cat` too, and exit code 0).
    """
    file = tmp_path / "workspace" / "large.txt"
    answers = (
        calls("Read", file_path=str(file), limit=1),
        calls("Edit", file_path=str(file), old_string="first line", new_string="1st line"),
        calls("StructuredOutput", edits=1),
    )
    with scene(tmp_path, *answers) as set_up:
        file.write_text("first line\n" + ("y" * 99 + "\n") * 100_000, "utf-8")
        asked = set_up.ask("edit it", "--json-schema", '{"type": "object"}')
        assert (asked.exit_code, asked.document["structured_output"]) == (0, {"edits": 1})
        assert file.read_text("utf-8").startswith("1st line\n")
        assert max(len(line) for line in asked.log.read_bytes().splitlines()) > 10_000_000
        assert set_up.inspect(asked.log)["tool_results"] == 3


def test_a_sub_agent_is_seen_with_its_own_conversation(tmp_path: Path) -> None:
    start = calls("Agent", description="count", prompt="Count the notes.", subagent_type="general-purpose")
    inner = [calls("Bash", command="echo seven notes"), says("There are seven.")]
    with scene(
        tmp_path,
        start,
        {"when": {"tool_result_of": "Agent"}, **says("The sub-agent says seven.")},
        conversations=[{"when": {"contains": "Count the notes.", "in": "messages"}, "answers": inner}],
    ) as set_up:
        asked = set_up.ask("how many", "--allowed-tools", "Agent,Bash,Read")
        document = asked.document
        assert (asked.exit_code, document["final_text"]) == (0, "The sub-agent says seven.")
        assert (document["main_thread_text"], document["succeeded_cleanly"]) == ("The sub-agent says seven.", True)
        assert (document["tool_uses"], document["tool_results"]) == (2, 2)
        assert [request.answer for request in set_up.stage.requests if request.answer] == [
            "answers[0]",
            "conversations[0].answers[0]",
            "conversations[0].answers[1]",
            "answers[1]",
        ]
        shown = set_up.bridle("show", str(asked.log)).stdout.splitlines()
        assert [line.startswith("| ") for line in shown if "echo seven notes" in line] == [True]
        assert [line.startswith("| ") for line in shown if "The sub-agent says seven." in line] == [False]
