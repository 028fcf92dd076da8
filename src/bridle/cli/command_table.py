"""The one table of commands: `bridle --help`, the dispatcher and the docs page read it.

It imports nothing but the exit codes, so that reading it costs little: the hook commands start many times a minute.
"""

from __future__ import annotations

from bridle.cli.exit_codes import MEANINGS

# What a code means for a group of commands.
LOOP_CODES = {
    0: "all tasks verified done, or the run completed",
    1: "a task failed or is unverified",
    2: "wrong usage or a bad plan; nothing was started",
    3: MEANINGS[3],
    4: MEANINGS[4],
    5: MEANINGS[5],
    130: "interrupted; state is safe and the resume command is printed",
}
PLAN_CODES = {
    0: "the plan is written",
    1: "the agent failed, or its plan cannot be used",
    2: "wrong usage, or the file exists; nothing was started",
    4: "the agent asked a question that was not answered",
    5: MEANINGS[5],
    130: MEANINGS[130],
}
CLEAN_CODES = {
    0: "old files are removed, if there are any",
    1: "something could not be removed",
    2: "wrong usage, or not confirmed; nothing was removed",
}
UNDO_CODES = {
    0: "the run is undone, or has left nothing",
    1: MEANINGS[1],
    2: "refused or not confirmed; nothing was changed",
}
DRIVE_CODES = {
    0: "the run completed",
    1: "the run failed, was halted, or its process cannot continue",
    2: MEANINGS[2],
    3: MEANINGS[3],
    4: "waiting for you, or for a result that another program posts",
    5: MEANINGS[5],
    130: LOOP_CODES[130],
}
ANSWER_CODES = {
    0: "the answer is in the journal",
    1: MEANINGS[1],
    2: "not an answer, or no such question; nothing was changed. With --resume also the codes of drive",
}
ASK_CODES = {
    0: "success, including a degraded one",
    1: "the outcome is an error",
    2: MEANINGS[2],
    5: MEANINGS[5],
    130: MEANINGS[130],
}
AGENT_CODES = {
    0: "the last turn has its answer; also after SIGINT when messages come over standard input",
    1: "the last turn ended with an error, or the command line is wrong",
    129: "ended by SIGHUP; the turn has its result",
    130: "ended by SIGINT; the turn has its result",
    141: MEANINGS[141],
    143: "ended by SIGTERM; the turn has its result",
}
READ_CODES = {
    0: "the log could be read",
    1: "the output could not be printed",
    2: "wrong usage, or the log could not be read",
}
EXPORT_CODES = {
    0: "the file is written",
    1: "the file could not be written",
    2: "wrong usage, OUT exists, or a log could not be read; nothing was written",
}
COMPARE_CODES = {0: "no difference", 1: "a decision differs", 2: MEANINGS[2]}
AUDIT_CODES = {0: "no problem", 1: "a problem; its file is named", 2: MEANINGS[2]}
RECEIPT_CODES = {
    0: MEANINGS[0],
    1: "the run has a problem, and is not signed",
    2: "wrong usage, or no key to sign with",
}
VERIFY_CODES = {0: "every commit of a run is proved", 1: "something is wrong or not proved", 2: MEANINGS[2]}
PLUGIN_CODES = {
    0: MEANINGS[0],
    1: "the plugin is not installed, or its hook does not work",
    2: "wrong usage, or not a folder of the plugin; nothing was changed",
}
READY_CODES = {0: "ready", 1: "something is missing", 2: MEANINGS[2]}
MACHINE_CODES = {0: MEANINGS[0], 1: "failed or refused; the error code on stderr says why"}
ITERATE_CODES = {
    0: "the run was iterated: it waits, has pending effects, or has completed",
    1: "the run failed or was halted; or an error prevented the iteration (then stdout is empty)",
    2: MEANINGS[2],
}
PLAIN_CODES = {0: MEANINGS[0], 1: MEANINGS[1], 2: MEANINGS[2]}


class Command:
    """One command: name, module (None until it is built), one line of help, exit codes."""

    __slots__ = ("exit_codes", "module", "name", "summary")

    def __init__(self, name: str, module: str | None, summary: str, exit_codes: dict[int, str] = PLAIN_CODES) -> None:
        self.name = name
        self.module = f"bridle.cli.commands.{module}" if module is not None else None
        self.summary = summary
        self.exit_codes = exit_codes


USER_COMMANDS = (
    Command("demo", "repository.demo", "Run a plan on a sample repository: no account, no network.", LOOP_CODES),
    Command("init", "repository.init", "Detect how this repository is tested; write bridle.toml and a first plan."),
    Command("plan", "repository.plan", "Let an agent read, ask you questions and write PLAN.md.", PLAN_CODES),
    Command("run", "runs.run", "Work through a plan's tasks until each is verified done.", LOOP_CODES),
    Command("runs", "runs.runs", "List the runs of this repository."),
    Command("status", "runs.status", "Show the receipt of a run as it is now."),
    Command("resume", "runs.resume", "Continue a run after a crash, an interruption or a limit.", LOOP_CODES),
    Command("stop", "runs.stop", "Stop a run cleanly."),
    Command("hint", "runs.hint", "Add a hint to the next iteration of a run."),
    Command("retry", "runs.retry", "Try a task of a run again."),
    Command("answer", "runs.answer", "Answer a breakpoint or an agent's question.", ANSWER_CODES),
    Command("undo", "runs.undo", "Restore the branch and the files from before a run.", UNDO_CODES),
    Command("drive", "runs.drive", "Execute a run's pending effects until it ends.", DRIVE_CODES),
    Command("replay", "runs.replay", "Replay a run from its journal, with no agent, and compare.", COMPARE_CODES),
    Command("audit", "runs.audit", "Verify a run's checksums, sequence and receipts.", AUDIT_CODES),
    Command("receipt", "runs.receipt", "Print a run's receipt as a document, signed with your git key.", RECEIPT_CODES),
    Command("verify", "runs.verify", "Verify the receipts of commits: signature, trailers, journal.", VERIFY_CODES),
    Command("ask", "agents.ask", "Run an agent once and stream its output.", ASK_CODES),
    Command("inspect", "agents.inspect", "Show the record and the outcome of an agent's log, offline.", READ_CODES),
    Command("show", "agents.show", "Show the conversation in an agent's log.", READ_CODES),
    Command("export", "agents.export", "Keep a run or a conversation as HTML, Markdown or JSON.", EXPORT_CODES),
    Command("watch", "runs.watch", "Serve a web page of the runs."),
    Command("top", "runs.top", "Show the runs full-screen."),
    Command("plugin", "agents.plugin", "Install, remove or locate the Claude Code plugin.", PLUGIN_CODES),
    Command("stage", "agents.stage", "Serve a scripted model on loopback."),
    Command("agent", "agents.agent", "Run bridle-agent, the drop-in for `claude`.", AGENT_CODES),
    Command("shim", "agents.shim", "Put a `claude` that starts bridle-agent into a folder."),
    Command("import", "repository.import_", "Write a plan from GitHub issues."),
    Command("fleet", None, "Run many plans on many machines."),
    Command("trust", "repository.trust", "Agree to the hooks and settings of this repository."),
    Command("config", "repository.config", "Show the settings in force and their source."),
    Command("help", "reference.help", "Show a page of the documentation."),
    Command("completion", "reference.completion", "Print the completion of a shell."),
    Command("schema", "reference.schema", "Print the JSON Schema of bridle.toml or prd.json, for editors."),
    Command("doctor", "repository.doctor", "Check what is installed, what is missing and how to fix it.", READY_CODES),
    Command("clean", "runs.clean", "Remove old logs and runs, by age, after asking.", CLEAN_CODES),
)

MACHINE_COMMANDS = (
    Command("run:create", "machine.run_create", "Create a run of a process.", MACHINE_CODES),
    Command("run:iterate", "machine.run_iterate", "Replay a process and list its pending effects.", ITERATE_CODES),
    Command("run:status", "machine.run_status", "Show the state of a run.", MACHINE_CODES),
    Command("run:events", "machine.run_events", "List the entries of a run's journal.", MACHINE_CODES),
    Command("run:halt", "machine.run_halt", "End a run for good.", MACHINE_CODES),
    Command(
        "run:rebuild-state",
        "machine.run_rebuild_state",
        "Rebuild derived state from the journal.",
        MACHINE_CODES,
    ),
    Command("run:repair-journal", "machine.run_repair_journal", "Move broken journal entries aside.", MACHINE_CODES),
    Command("task:list", "machine.task_list", "List the effects of a run.", MACHINE_CODES),
    Command("task:show", "machine.task_show", "Show one effect of a run.", MACHINE_CODES),
    Command("task:post", "machine.task_post", "Post the result of an effect.", MACHINE_CODES),
    Command("health", "machine.health", "Check whether the machine interface works here.", MACHINE_CODES),
    Command("session:init", "machine.session_init", "Create the file of a session.", MACHINE_CODES),
    Command("session:associate", "machine.session_associate", "Bind an existing session to a run.", MACHINE_CODES),
    Command("session:resume", "machine.session_resume", "Bind a session to an existing run.", MACHINE_CODES),
    Command("session:state", "machine.session_state", "Show a session's file.", MACHINE_CODES),
    Command("session:update", "machine.session_update", "Change a session's file.", MACHINE_CODES),
    Command(
        "session:check-iteration",
        "machine.session_check_iteration",
        "Check whether a session may run another iteration.",
        MACHINE_CODES,
    ),
    Command(
        "session:last-message",
        "machine.session_last_message",
        "Show the agent's last message in its transcript.",
        MACHINE_CODES,
    ),
    Command("hook:run", "machine.hook_run", "Handle a hook of the host.", MACHINE_CODES),
)

COMMANDS = {command.name: command for command in USER_COMMANDS + MACHINE_COMMANDS}
# What other programs call a command of ours.
SYNONYMS = {
    **dict.fromkeys(("start", "go", "loop"), "run"),
    **dict.fromkeys(("list", "ls", "ps", "history"), "runs"),
    **dict.fromkeys(("continue", "restart"), "resume"),
    **dict.fromkeys(("cancel", "kill", "abort", "pause"), "stop"),
    **dict.fromkeys(("log", "logs"), "show"),
    **dict.fromkeys(("revert", "rollback", "reset"), "undo"),
    **dict.fromkeys(("settings", "set"), "config"),
    "reply": "answer",
}
