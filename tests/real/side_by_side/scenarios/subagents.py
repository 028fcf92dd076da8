"""Sub-agents: built in and of the user, waited for and in the background, and what goes wrong with them."""

from __future__ import annotations

import json
from typing import Any

from tests.real.side_by_side.scenario import (
    Answer,
    AwaitEvent,
    AwaitFile,
    Scenario,
    call,
    calls,
    control,
    dialogue,
    error,
    message,
    prompt,
    says,
)

W = "<workspace>"
ALLOW = ("--allowedTools", "Agent,Bash,Read,Write,TaskOutput,TaskStop,SendMessage")
# What a hook learns about a sub-agent, of all that it is told.
FIELDS = ("hook_event_name", "agent_type", "tool_name", "stop_hook_active", "last_assistant_message")
RECORD = f"""python3 -c '
import json, os, sys
told = json.load(sys.stdin)
known = {{name: told[name] for name in {json.dumps(FIELDS)} if name in told}}
paths = [os.path.exists(told[name]) for name in ("agent_transcript_path",) if name in told]
print(json.dumps([known, paths, len(told.get("agent_id", ""))]), file=open("{W}/hooks.log", "a"))'"""
BLOCK_ONCE = (
    f"""if [ ! -e "{W}/once" ]; then touch "{W}/once"; echo '{{"decision":"block","reason":"look again"}}'; fi"""
)
COMMIT = "git config user.email a@b.c; git config user.name a; git add -A; git commit -qm one"
SESSION = "11111111-2222-4333-8444-555555555555"
# The id of an agent in the background, from the result of the call that started it.
AGENT_ID = {"id": {"from": "tool_results", "pattern": "agentId: (a[0-9a-f]+)"}}


def agent(description: str, task: str, **more: Any) -> Answer:
    return calls("Agent", description=description, prompt=task, **more)


def when(condition: dict[str, Any], *blocks: Any, **fields: Any) -> Answer:
    """An answer for one of several agents that ask at the same time."""
    return {"blocks": list(blocks), "when": condition, **fields}


def defined(**agents: dict[str, Any]) -> tuple[str, str]:
    return "--agents", json.dumps(agents)


def document(name: str, text: str, *fields: str) -> str:
    return "\n".join(["---", f"name: {name}", f"description: The agent {name}", *fields, "---", text, ""])


def hooks(command: str, *events: str) -> tuple[str, str]:
    table = {event: [{"hooks": [{"type": "command", "command": command}]}] for event in events}
    return "--settings", json.dumps({"hooks": table})


SCENARIOS = (
    Scenario(
        "a sub-agent",
        (prompt("go", *ALLOW),),
        (
            agent("Look around", "please look", subagent_type="general-purpose"),
            {"blocks": ["I look.", call("Bash", command="echo inside", description="Say it")]},
            calls("Read", file_path=f"{W}/a.txt"),
            says("Part one.", "The report."),
            says("Done."),
        ),
        files={"a.txt": "a\n"},
        transcript=True,
    ),
    Scenario(
        "two sub-agents at once",
        (prompt("go", *ALLOW),),
        (
            {
                "blocks": [
                    call("Agent", description="First", prompt="FIRST", subagent_type="Explore"),
                    call("Task", description="Second", prompt="SECOND"),
                ]
            },
            when({"contains": "FIRST"}, "one", delay_seconds=0.5),
            when({"contains": "SECOND"}, "two", delay_seconds=2),
            says("Done."),
        ),
        any_order=True,
    ),
    Scenario(
        "a sub-agent that only searches",
        (prompt("go", *ALLOW),),
        (
            agent("Search", "look", subagent_type="Explore"),
            {"blocks": ["Hm.", call("Bash", command="echo a; false")]},
            calls("Read", file_path=f"{W}/none.txt"),
            calls("Edit", file_path=f"{W}/a.txt", old_string="a", new_string="b"),
            says("Found."),
            agent("Plan", "plan", subagent_type="Plan"),
            calls("Bash", command="echo b"),
            says("Planned."),
            says("Done."),
        ),
        files={"a.txt": "a\n"},
    ),
    Scenario(
        "a sub-agent that uses many tools",
        (prompt("go", *ALLOW),),
        (
            agent("Many", "look", subagent_type="claude"),
            calls("Read", file_path=f"{W}/a.txt"),
            calls("TaskCreate", subject="s", description="d"),
            calls("Write", file_path=f"{W}/deep/b.txt", content="x\ny\n"),
            calls("Bash", command="cd /tmp; pwd"),
            calls("Bash", command="pwd"),
            calls("Bash", command=f"echo {'x' * 100}"),
            calls("Edit", file_path=f"{W}/deep/b.txt", old_string="x", new_string="z"),
            says("Used."),
            says("Done."),
        ),
        files={"a.txt": "a\n"},
    ),
    Scenario(
        "sub-agents that do not exist",
        (prompt("go", *ALLOW, "--disallowedTools", "Agent(Plan)"),),
        (
            agent("x", "y", subagent_type="nope"),
            calls("Agent", prompt="y"),
            agent("x", "y", model="gpt"),
            agent("x", "y", subagent_type="Plan"),
            says("Tried."),
        ),
    ),
    Scenario(
        "no sub-agents",
        (prompt("go", "--disallowedTools", "Task"),),
        (agent("x", "y"), says("Tried.")),
    ),
    Scenario(
        "sub-agents of the command line",
        (
            prompt(
                "go",
                *ALLOW,
                *defined(
                    rev={
                        "description": "Reviews",
                        "prompt": "You are REV.",
                        "tools": ["Read", "Bash"],
                        "disallowedTools": ["Bash"],
                        "model": "haiku",
                    },
                    lim={"description": "Limited", "prompt": "You are LIM.", "maxTurns": 2},
                    Explore={"description": "Mine", "prompt": "You are MINE."},
                ),
            ),
        ),
        (
            agent("Review", "review", subagent_type="rev"),
            calls("Bash", command="echo x"),
            says("Reviewed."),
            agent("Limit", "limit", subagent_type="lim"),
            {"blocks": ["First.", call("Bash", command="echo a")]},
            calls("Bash", command="echo b"),
            agent("Mine", "mine", subagent_type="Explore"),
            says("Mine."),
            says("Done."),
        ),
        words=("You are REV.", "You are LIM.", "You are MINE."),
    ),
    Scenario(
        "sub-agents of files",
        (prompt("go", *ALLOW, "--plugin-dir", f"{W}/plug"),),
        (
            agent("P", "p", subagent_type="proj"),
            says("p"),
            agent("U", "u", subagent_type="usr"),
            says("u"),
            agent("B", "b", subagent_type="both"),
            says("b"),
            agent("G", "g", subagent_type="plug:pa"),
            says("g"),
            agent("N", "n", subagent_type="bad"),
            says("Done."),
        ),
        files={
            ".claude/agents/proj.md": document("proj", "You are PROJ.", "tools: Read, Bash", "model: sonnet"),
            "<home>/.claude/agents/usr.md": document("usr", "You are USR."),
            ".claude/agents/both.md": document("both", "You are both, PROJECT."),
            "<home>/.claude/agents/both.md": document("both", "You are both, USER."),
            ".claude/agents/deep/er.md": document("deep", "You are DEEP."),
            ".claude/agents/bad.md": "---\nname: bad\n---\nNo description.\n",
            ".claude/agents/none.md": "Only text.\n",
            "plug/.claude-plugin/plugin.json": '{"name": "plug", "version": "1.0.0"}',
            "plug/agents/pa.md": document("pa", "You are PA."),
        },
        words=("You are PROJ.", "You are USR.", "You are both, PROJECT.", "You are both, USER.", "You are PA."),
    ),
    Scenario(
        "the skills of a sub-agent",
        (prompt("go", *ALLOW),),
        (agent("Skilled", "do it", subagent_type="skilled"), says("Did."), says("Done.")),
        files={
            ".claude/agents/skilled.md": document("skilled", "You are SKILLED.", "skills: greet"),
            ".claude/skills/greet/SKILL.md": "---\nname: greet\ndescription: Greets\n---\nGREETBODY\n",
        },
        words=("GREETBODY",),
    ),
    Scenario(
        "a sub-agent of a sub-agent",
        (prompt("go", *ALLOW),),
        (
            agent("One", "level one"),
            agent("Two", "level two"),
            calls("Bash", command="echo two"),
            says("two"),
            says("one"),
            says("Done."),
        ),
    ),
    Scenario(
        "sub-agents as deep as can be",
        (prompt("go", *ALLOW),),
        (*(agent(f"L{level}", f"level {level}") for level in range(1, 7)), *(says(f"r{level}") for level in range(7))),
    ),
    Scenario(
        "a sub-agent whose requests fail",
        (prompt("go", *ALLOW),),
        (
            agent("Fail", "look"),
            error(400, message="bad thing"),
            agent("Fail later", "look"),
            {"blocks": ["First.", call("Bash", command="echo a")]},
            error(400, message="bad thing"),
            agent("Retry", "look"),
            error(500, message="bad thing"),
            says("Retried."),
            says("Done."),
        ),
    ),
    Scenario(
        "a sub-agent without a report",
        (prompt("go", *ALLOW, *defined(lim={"description": "Limited", "prompt": "LIM.", "maxTurns": 1})),),
        (agent("Limit", "limit", subagent_type="lim"), calls("Bash", command="echo a"), says("Done.")),
    ),
    Scenario(
        "a sub-agent that is denied",
        (prompt("go", "--allowedTools", "Agent"),),
        (
            calls("Write", file_path=f"{W}/main.txt", content="x"),
            agent("Try", "look"),
            calls("Write", file_path=f"{W}/x.txt", content="x"),
            calls("Bash", command="touch y"),
            says("Denied."),
            calls("Bash", command="touch z"),
            says("Done."),
        ),
    ),
    Scenario(
        "a sub-agent that asks the host",
        (dialogue(message("go"), AwaitEvent("control_request"), more=("--permission-prompt-tool", "stdio")),),
        (agent("Try", "look"), calls("Write", file_path=f"{W}/x.txt", content="x"), says("Denied."), says("Done.")),
    ),
    Scenario(
        "the modes of sub-agents",
        (
            prompt(
                "go",
                "--allowedTools",
                "Agent",
                *defined(
                    edits={"description": "E", "prompt": "E.", "permissionMode": "acceptEdits"},
                    plans={"description": "P", "prompt": "P.", "permissionMode": "plan"},
                    silent={"description": "S", "prompt": "S.", "permissionMode": "dontAsk"},
                ),
            ),
        ),
        (
            agent("Edits", "e", subagent_type="edits"),
            calls("Write", file_path=f"{W}/e.txt", content="x"),
            says("e"),
            agent("Plans", "p", subagent_type="plans"),
            calls("Write", file_path=f"{W}/p.txt", content="x"),
            says("p"),
            agent("Silent", "s", subagent_type="silent"),
            calls("WebFetch", url="http://x.invalid/", prompt="p"),
            says("s"),
            says("Done."),
        ),
    ),
    Scenario(
        "a sub-agent of the project that would bypass",
        (prompt("go", "--allowedTools", "Agent"),),
        (agent("Bypass", "b", subagent_type="by"), calls("Bash", command="touch by"), says("b"), says("Done.")),
        files={".claude/agents/by.md": document("by", "By.", "permissionMode: bypassPermissions")},
    ),
    Scenario(
        "an interrupt while a sub-agent works",
        (
            dialogue(
                message("go"),
                AwaitFile("started"),
                control("i", subtype="interrupt"),
                AwaitEvent("result"),
                message("again"),
                AwaitEvent("result", 2),
                more=ALLOW,
            ),
        ),
        (agent("Wait", "look"), calls("Bash", command="touch started; sleep 60"), says("Again.")),
    ),
    Scenario(
        "a sub-agent in the background",
        (dialogue(message("go"), AwaitEvent("result", 2), message("three"), AwaitEvent("result", 3), more=ALLOW),),
        (
            agent("Behind", "BEHIND", run_in_background=True),
            when({"contains": "BEHIND"}, "Hm.", call("Bash", command="echo b"), delay_seconds=2, id="msg_101"),
            when({"tool_result_of": "Bash"}, "The report.", id="msg_102"),
            when({"tool_result_of": "Agent"}, "Started."),
            when({"contains": "task-notification"}, "Noted."),
            says("Three."),
        ),
        any_order=True,
    ),
    Scenario(
        "a sub-agent in the background of a prompt",
        (prompt("go", *ALLOW),),
        (
            agent("Behind", "BEHIND", subagent_type="behind"),
            when({"contains": "BEHIND"}, "The report.", delay_seconds=2, id="msg_101"),
            when({"tool_result_of": "Agent"}, "Started."),
            when({"contains": "task-notification"}, "Noted."),
        ),
        files={".claude/agents/behind.md": document("behind", "You are behind.", "background: true")},
        any_order=True,
    ),
    Scenario(
        "a sub-agent in the background that is awaited",
        (prompt("go", *ALLOW),),
        (
            agent("Behind", "BEHIND", run_in_background=True),
            when({"contains": "BEHIND"}, "The report.", delay_seconds=2, id="msg_101"),
            when({"tool_result_of": "Agent"}, call("TaskOutput", task_id="${id}"), capture=AGENT_ID),
            says("Done."),
        ),
        any_order=True,
    ),
    Scenario(
        "a sub-agent in the background that ends during a turn",
        (prompt("go", *ALLOW),),
        (
            agent("Behind", "BEHIND", run_in_background=True),
            when({"contains": "BEHIND"}, "The report.", delay_seconds=0.8, id="msg_101"),
            when({"tool_result_of": "Agent"}, call("Bash", command="sleep 1.6")),
            says("Done."),
        ),
        any_order=True,
    ),
    Scenario(
        "a command in the background that ends during a turn",
        (prompt("go", *ALLOW),),
        (
            calls("Bash", command="sleep 0.5; echo z", description="Short", run_in_background=True),
            calls("Bash", command="sleep 2"),
            says("Done."),
        ),
    ),
    Scenario(
        "a command in the background of a sub-agent",
        (prompt("go", *ALLOW),),
        (
            agent("Start", "start"),
            calls("Bash", command="sleep 30", run_in_background=True),
            says("Started."),
            says("Done."),
        ),
    ),
    Scenario(
        "hooks of a sub-agent",
        (prompt("go", *ALLOW, *hooks(RECORD, "SubagentStart", "SubagentStop", "PreToolUse", "PostToolUse")),),
        (agent("Hooked", "look"), calls("Bash", command="echo a"), says("Looked."), says("Done.")),
    ),
    Scenario(
        "a hook that sends a sub-agent back",
        (prompt("go", *ALLOW, *hooks(BLOCK_ONCE, "SubagentStop")),),
        (agent("Hooked", "look"), says("Looked."), says("Looked again."), says("Done.")),
    ),
    Scenario(
        "a sub-agent with partial messages",
        (prompt("go", *ALLOW, "--include-partial-messages"),),
        (
            agent("Look", "look"),
            {"blocks": ["Hm.", call("Bash", command="echo a")]},
            says("Looked."),
            says("Done."),
        ),
    ),
    Scenario(
        "sub-agents in worktrees",
        (prompt("go", *ALLOW, "--permission-mode", "acceptEdits"),),
        (
            agent("Too early", "look", isolation="worktree"),
            calls("Bash", command=COMMIT),
            agent("Only looks", "look", isolation="worktree"),
            calls("Bash", command="pwd; git branch"),
            says("looked"),
            agent("Writes", "write", subagent_type="iso"),
            calls("Write", file_path="new.txt", content="x"),
            calls("Bash", command="touch b.txt; pwd"),
            calls("Write", file_path=f"{W}/main.txt", content="x"),
            calls("Read", file_path=f"{W}/a.txt"),
            says("wrote"),
            agent("Commits", "commit", isolation="worktree"),
            calls("Bash", command="git commit --allow-empty -qm two; git log --oneline | wc -l"),
            says("committed"),
            calls("Bash", command="git worktree list | wc -l; git branch | wc -l; git status --short"),
            says("Done."),
        ),
        files={
            "a.txt": "a\n",
            ".claude/agents/iso.md": document("iso", "You are ISO.", "isolation: worktree"),
        },
    ),
    Scenario(
        "a worktree for a sub-agent in the background",
        (dialogue(message("go"), AwaitEvent("result", 2), more=ALLOW),),
        (
            calls("Bash", command=COMMIT),
            agent("Behind", "BEHIND", run_in_background=True, isolation="worktree"),
            when({"contains": "BEHIND"}, call("Bash", command="touch new"), delay_seconds=2, id="msg_101"),
            when({"tool_result_of": "Agent"}, "Started."),
            when({"tool_result_of": "Bash"}, "The report.", id="msg_102"),
            says("Noted."),
        ),
        files={"a.txt": "a\n"},
        any_order=True,
    ),
    Scenario(
        "messages that cannot be sent",
        (prompt("go", *ALLOW),),
        (
            calls("SendMessage", to="absent", summary="a b", message="m"),
            calls("SendMessage", to="absent", message="m"),
            calls("SendMessage", to="main", summary="a b", message="m"),
            calls("SendMessage", to="*", summary="a b", message="m"),
            calls("SendMessage", to="", summary="a b", message="m"),
            calls("SendMessage", to="a0123456789abcdef", summary="a b", message="m"),
            calls("SendMessage", to="absent", summary="a" * 201, message="m"),
            calls("SendMessage", to="absent", summary="a b"),
            says("Done."),
        ),
    ),
    Scenario(
        "a sub-agent that has ended continues",
        (dialogue(message("go"), AwaitEvent("result", 2), more=ALLOW),),
        (
            calls("Bash", command=COMMIT),
            agent("Look", "FIRST", subagent_type="small", isolation="worktree"),
            calls("Bash", command="touch new; pwd"),
            says("Looked."),
            # Claude Code continues the agent from its transcript, in which the last answer is written a moment later.
            {
                **calls("SendMessage", to="${id}", summary="look once more", message="SECOND"),
                "capture": AGENT_ID,
                "delay_seconds": 2,
            },
            when({"contains": "SECOND\n\n"}, call("Bash", command="pwd; ls"), delay_seconds=2, id="msg_101"),
            when({"tool_result_of": "SendMessage"}, "Sent."),
            when({"tool_result_of": "Bash"}, "Looked again.", id="msg_102"),
            when({"contains": "task-notification"}, "Noted."),
        ),
        files={
            "a.txt": "a\n",
            ".claude/agents/small.md": document("small", "You are SMALL.", "tools: Bash", "model: haiku"),
        },
        any_order=True,
    ),
    Scenario(
        "a message to a sub-agent that works",
        (dialogue(message("go"), AwaitEvent("result", 2), more=ALLOW),),
        (
            agent("Behind", "BEHIND", run_in_background=True),
            when({"contains": "BEHIND"}, call("Bash", command="sleep 1"), delay_seconds=8, id="msg_101"),
            when(
                {"tool_result_of": "Agent"},
                call("SendMessage", to="${id}", summary="faster please", message="HURRY"),
                capture=AGENT_ID,
            ),
            when({"tool_result_of": "SendMessage"}, "Sent."),
            when({"tool_result_of": "Bash"}, "The report.", id="msg_102"),
            when({"contains": "task-notification"}, "Noted."),
        ),
        words=("HURRY",),
        any_order=True,
    ),
    Scenario(
        "a message of a sub-agent to the main agent",
        (dialogue(message("go"), AwaitEvent("result", 3), more=ALLOW),),
        (
            agent("Behind", "BEHIND", run_in_background=True),
            when(
                {"contains": "BEHIND"},
                call("SendMessage", to="main", summary="a b", message="TOMAIN"),
                delay_seconds=2,
                id="msg_101",
            ),
            when({"tool_result_of": "Agent"}, "Started."),
            when({"tool_result_of": "SendMessage"}, "The report.", delay_seconds=2, id="msg_102"),
            when({"contains": "TOMAIN"}, "Read."),
            when({"contains": "task-notification"}, "Noted."),
        ),
        any_order=True,
    ),
    Scenario(
        "the texts of a sub-agent",
        (
            dialogue(
                control("1", subtype="initialize", forwardSubagentText=True),
                message("go"),
                AwaitEvent("result"),
                more=ALLOW,
            ),
        ),
        (
            agent("Look", "look"),
            {"blocks": [{"type": "thinking", "thinking": "t", "signature": "c2ln"}, "Hm.", call("Bash", command="ls")]},
            says("Looked."),
            says("Done."),
        ),
    ),
    Scenario(
        "the model of a sub-agent",
        (prompt("go", *ALLOW),),
        (
            agent("Small", "look", model="haiku"),
            says("Looked."),
            agent("Large", "look", subagent_type="Explore", model="opus"),
            says("Looked."),
            says("Done."),
        ),
    ),
    Scenario(
        "a sub-agent of the host",
        (
            dialogue(
                control(
                    "1",
                    subtype="initialize",
                    agents={"ini": {"description": "Ini", "prompt": "You are INI.", "model": "haiku"}},
                ),
                message("go"),
                AwaitEvent("result"),
                more=ALLOW,
            ),
        ),
        (agent("Look", "look", subagent_type="ini"), says("Looked."), says("Done.")),
        words=("You are INI.",),
    ),
    Scenario(
        "the agent of the main thread",
        (
            prompt(
                "go",
                *ALLOW,
                "--agent",
                "boss",
                *defined(
                    boss={"description": "B", "prompt": "You are BOSS.", "tools": ["Read", "Agent"], "model": "sonnet"}
                ),
            ),
            prompt("go", *ALLOW, "--agent", "nope"),
        ),
        (says("Done."),),
        words=("You are BOSS.",),
    ),
    Scenario(
        "a session with a sub-agent is continued",
        (prompt("go", *ALLOW, "--session-id", SESSION), prompt("again", *ALLOW, "--resume", SESSION)),
        (agent("Look", "look"), calls("Bash", command="echo a"), says("Looked."), says("Done."), says("Again.")),
    ),
    Scenario(
        "a limit of turns and a sub-agent",
        (prompt("go", *ALLOW, "--max-turns", "1"),),
        (agent("Look", "look"), calls("Bash", command="echo a"), says("Looked."), says("Done.")),
    ),
    Scenario(
        "a budget that a sub-agent exceeds",
        (prompt("go", *ALLOW, "--max-budget-usd", "0.01"),),
        (
            agent("Look", "look"),
            calls("Bash", command="echo a") | {"usage": {"input_tokens": 100_000, "output_tokens": 1000}},
            says("Looked."),
            says("Done."),
        ),
    ),
)
