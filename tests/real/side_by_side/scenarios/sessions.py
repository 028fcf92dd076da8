"""Conversations that are kept, gone on with, copied and asked for in vain."""

from __future__ import annotations

from tests.real.side_by_side.scenario import STREAM, Scenario, Start, calls, error, prompt, says

ONE = "aaaaaaaa-0000-4000-8000-000000000001"
TWO = "aaaaaaaa-0000-4000-8000-000000000002"

OLD = (
    '{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"one"},'
    '"uuid":"11111111-0000-4000-8000-000000000001","timestamp":"2026-01-01T00:00:00.000Z","userType":"external",'
    f'"cwd":"/x","sessionId":"{ONE}","version":"2.1.197","gitBranch":""}}\n'
    '{"parentUuid":"11111111-0000-4000-8000-000000000001","isSidechain":false,"type":"assistant","message":'
    '{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Zero."}],'
    '"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}},'
    '"uuid":"11111111-0000-4000-8000-000000000002","timestamp":"2026-01-01T00:00:01.000Z","userType":"external",'
    f'"cwd":"/x","sessionId":"{ONE}","version":"2.1.197","gitBranch":""}}\n'
)

SCENARIOS = (
    Scenario(
        "a session is continued",
        (
            prompt("one", "--session-id", ONE, "--allowedTools", "Bash"),
            prompt("two", "--resume", ONE),
            prompt("three", "--continue"),
            Start((*STREAM, "four", f"--resume={ONE}"), folder="sub"),
        ),
        (calls("Bash", command="echo hi"), says("First."), says("Second."), says("Third."), says("Fourth.")),
        files={"sub/a.txt": "a\\n"},
        transcript=True,
    ),
    Scenario(
        "a session is copied",
        (
            prompt("one", "--session-id", ONE),
            prompt("two", "--resume", ONE, "--fork-session"),
            prompt("three", "--resume", ONE, "--fork-session", "--session-id", TWO),
        ),
        (says("First."), says("Second."), says("Third.")),
    ),
    Scenario(
        "a session id that is taken",
        (prompt("one", "--session-id", ONE), prompt("two", "--session-id", ONE)),
        (says("First."), says("never")),
    ),
    Scenario(
        "a session id that cannot be used",
        (prompt("one", "--session-id", "foo"), prompt("two", "--resume", ONE, "--session-id", TWO)),
        (says("never"),),
    ),
    Scenario("a session that is not there", (prompt("one", "--resume", ONE),), (says("never"),)),
    Scenario(
        "a session that is too short to be made shorter",
        (prompt("one", "--session-id", ONE), prompt("/compact", "--resume", ONE)),
        (says("First."), says("never")),
    ),
    Scenario(
        "a session that cannot be made shorter",
        (prompt("one", "--session-id", ONE), prompt("two", "--resume", ONE), prompt("/compact", "--resume", ONE)),
        (says("First."), says("Second."), error(400, message="no such luck")),
    ),
    Scenario(
        "a session is made shorter",
        (
            prompt("one", "--session-id", ONE, "--allowedTools", "Bash"),
            prompt("two", "--resume", ONE),
            prompt("/compact", "--resume", ONE),
            prompt("three", "--resume", ONE),
        ),
        (
            calls("Bash", command="echo hi"),
            says("First."),
            says("Second."),
            says("<summary>They greeted.</summary>"),
            says("Third."),
        ),
        words=("They greeted.",),
    ),
    Scenario("nothing to go on with", (prompt("one", "-c"),), (says("First."),)),
    Scenario(
        "a session that is not kept",
        (prompt("one", "--no-session-persistence", "--session-id", ONE), prompt("two", "--resume", ONE)),
        (says("First."), says("never")),
        transcript=True,
    ),
    Scenario(
        "a transcript by its path",
        (prompt("two", "--resume", "<home>/old.jsonl"), prompt("three", "--resume", f"<home>/{ONE}.jsonl")),
        (says("First."), says("Second.")),
        files={"<home>/old.jsonl": OLD},
    ),
    Scenario(
        "a session knows its files and tasks again",
        (
            prompt("one", "--session-id", ONE, "--allowedTools", "Read,Edit,Write,Bash"),
            prompt("two", "--resume", ONE, "--allowedTools", "Edit"),
            prompt("three", "--resume", ONE, "--fork-session", "--allowedTools", "Edit"),
        ),
        (
            calls("Read", file_path="<workspace>/a.txt"),
            calls("Read", file_path="<workspace>/changed.txt"),
            calls("Write", file_path="<workspace>/b.txt", content="x\ny\n"),
            calls("TaskCreate", subject="Do A", description="d"),
            calls("TaskUpdate", taskId="1", status="in_progress"),
            calls("Bash", command="sleep 1.1; echo more >> changed.txt"),
            says("First."),
            calls("TaskList"),
            calls("Edit", file_path="<workspace>/a.txt", old_string="one", new_string="1"),
            calls("Edit", file_path="<workspace>/b.txt", old_string="x", new_string="z"),
            calls("Edit", file_path="<workspace>/changed.txt", old_string="three", new_string="3"),
            calls("TaskCreate", subject="Do B", description="d"),
            says("Second."),
            calls("TaskList"),
            calls("Edit", file_path="<workspace>/a.txt", old_string="two", new_string="2"),
            says("Third."),
        ),
        files={"a.txt": "one\ntwo\n", "changed.txt": "three\n"},
    ),
)
