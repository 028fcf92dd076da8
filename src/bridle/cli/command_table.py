"""The one table of commands: what `bridle --help` lists, what the dispatcher runs, what the docs page shows.

It imports nothing, so that reading it costs next to nothing: the hook commands start many times a minute.
"""

from __future__ import annotations

EXIT_MEANINGS = {
    0: "success",
    1: "failed: the thing asked for did not work out",
    2: "wrong usage or bad input; nothing was started",
    3: "a limit was reached",
    4: "waiting for a person",
    5: "the agent cannot be used (not found, not logged in)",
    130: "interrupted; state is safe",
    141: "whoever read the output went away",
}

# Each group of commands says in its own words what a code means there.
LOOP_CODES = {
    0: "all tasks verified done, or the run completed",
    1: "a task failed or ended unverified",
    2: "wrong usage or a bad plan; nothing was started",
    3: EXIT_MEANINGS[3],
    4: EXIT_MEANINGS[4],
    5: EXIT_MEANINGS[5],
    130: "interrupted; state is safe and the resume command is printed",
}
PLAN_CODES = {
    0: "the plan is written",
    1: "the agent failed, or its plan cannot be used",
    2: "wrong usage, or the file is there already; nothing was started",
    4: "the agent asks something, and nobody answered",
    5: EXIT_MEANINGS[5],
    130: EXIT_MEANINGS[130],
}
CLEAN_CODES = {
    0: "what is old is gone, or nothing is old",
    1: "something could not be removed",
    2: "wrong usage, or nobody said yes; nothing was removed",
}
DRIVE_CODES = {
    0: "the run completed",
    1: "the run failed or was halted, or cannot go on as its process stands",
    2: EXIT_MEANINGS[2],
    3: EXIT_MEANINGS[3],
    4: "waiting for a person, or for somebody else to post a result",
    5: EXIT_MEANINGS[5],
    130: LOOP_CODES[130],
}
ANSWER_CODES = {
    0: "the answer is in the journal",
    1: EXIT_MEANINGS[1],
    2: "it was no answer, or there is nothing to answer; nothing was changed. With --resume also the codes of drive",
}
ASK_CODES = {
    0: "success, also a degraded one",
    1: "the outcome is an error",
    2: EXIT_MEANINGS[2],
    5: EXIT_MEANINGS[5],
    130: EXIT_MEANINGS[130],
}
AGENT_CODES = {
    0: "the last turn has its answer; also after SIGINT where messages come over standard input",
    1: "the last turn ended with an error, or the command line is wrong",
    129: "ended by SIGHUP; the turn has its result",
    130: "ended by SIGINT; the turn has its result",
    141: "nobody reads the output any more",
    143: "ended by SIGTERM; the turn has its result",
}
READ_CODES = {
    0: "the log could be read",
    1: "what was read could not be printed",
    2: "wrong usage, or the log could not be read",
}
COMPARE_CODES = {0: "it agrees", 1: "it differs", 2: EXIT_MEANINGS[2]}
AUDIT_CODES = {0: "everything is in order", 1: "something is wrong; its file is named", 2: EXIT_MEANINGS[2]}
PLUGIN_CODES = {
    0: EXIT_MEANINGS[0],
    1: "there is no plugin, or its hook does not work",
    2: "wrong usage, or the folder is not ours; nothing was changed",
}
READY_CODES = {0: "ready", 1: "something is missing", 2: EXIT_MEANINGS[2]}
PROGRAM_CODES = {0: EXIT_MEANINGS[0], 1: "failed or refused; the error code on stderr says why"}
ITERATE_CODES = {
    0: "the run was iterated: it waits, has something to do, or has completed",
    1: "the run failed or was halted; or an error kept it from being iterated (then stdout is empty)",
    2: EXIT_MEANINGS[2],
}
PLAIN_CODES = {0: EXIT_MEANINGS[0], 1: EXIT_MEANINGS[1], 2: EXIT_MEANINGS[2]}


class Command:
    """One command: its name, one line of help, the step that builds it, and its module once that is done."""

    __slots__ = ("exit_codes", "module", "name", "step", "summary")

    def __init__(
        self,
        name: str,
        summary: str,
        *,
        step: int,
        module: str | None = None,
        exit_codes: dict[int, str] = PLAIN_CODES,
    ) -> None:
        self.name = name
        self.summary = summary
        self.step = step
        self.module = module
        self.exit_codes = exit_codes


FOR_PEOPLE = (
    Command(
        "demo",
        "The whole main job on a sample repository: no account, no network.",
        step=5,
        module="bridle.cli.commands.people.demo",
        exit_codes=LOOP_CODES,
    ),
    Command(
        "init",
        "Look at this repository and write bridle.toml and a first plan.",
        step=5,
        module="bridle.cli.commands.people.init",
    ),
    Command(
        "plan",
        "Let an agent read, ask its questions and write PLAN.md.",
        step=5,
        module="bridle.cli.commands.people.plan",
        exit_codes=PLAN_CODES,
    ),
    Command(
        "run",
        "The loop over a plan's tasks until each is verified done.",
        step=5,
        module="bridle.cli.commands.people.run",
        exit_codes=LOOP_CODES,
    ),
    Command("status", "Where a run stands.", step=5, module="bridle.cli.commands.people.status"),
    Command(
        "resume",
        "Go on with a run after a crash or an interruption.",
        step=5,
        module="bridle.cli.commands.people.resume",
        exit_codes=LOOP_CODES,
    ),
    Command("stop", "Stop a run cleanly.", step=5, module="bridle.cli.commands.people.stop"),
    Command("hint", "Steer the next iteration of a run.", step=5, module="bridle.cli.commands.people.hint"),
    Command("retry", "Try a task of a run again.", step=5, module="bridle.cli.commands.people.retry"),
    Command(
        "answer",
        "Answer a breakpoint or a parked question.",
        step=4,
        module="bridle.cli.commands.people.answer",
        exit_codes=ANSWER_CODES,
    ),
    Command(
        "drive",
        "Perform a run's pending effects from outside.",
        step=4,
        module="bridle.cli.commands.people.drive",
        exit_codes=DRIVE_CODES,
    ),
    Command(
        "replay",
        "Run it again from its journal, with no agent; say where it differs.",
        step=4,
        module="bridle.cli.commands.people.replay",
        exit_codes=COMPARE_CODES,
    ),
    Command(
        "audit",
        "Verify a run's checksums, sequence and receipts.",
        step=4,
        module="bridle.cli.commands.people.audit",
        exit_codes=AUDIT_CODES,
    ),
    Command(
        "ask",
        "One agent run, streamed for a person.",
        step=2,
        module="bridle.cli.commands.people.ask",
        exit_codes=ASK_CODES,
    ),
    Command(
        "inspect",
        "The record and the outcome of an agent's log, offline.",
        step=1,
        module="bridle.cli.commands.people.inspect",
        exit_codes=READ_CODES,
    ),
    Command(
        "show",
        "The conversation in an agent's log, in the terminal.",
        step=1,
        module="bridle.cli.commands.people.show",
        exit_codes=READ_CODES,
    ),
    Command("export", "A conversation as a file to keep: HTML, Markdown or JSON.", step=8),
    Command("watch", "The web page of the runs on this machine.", step=8),
    Command("top", "The full-screen terminal view of the runs on this machine.", step=8),
    Command(
        "plugin",
        "Install, remove or locate the Claude Code plugin.",
        step=6,
        module="bridle.cli.commands.people.plugin",
        exit_codes=PLUGIN_CODES,
    ),
    Command(
        "stage",
        "A scripted model server on loopback, to rehearse with.",
        step=2,
        module="bridle.cli.commands.people.stage",
    ),
    Command(
        "agent",
        "The drop-in for `claude`; the same as bridle-agent.",
        step=3,
        module="bridle.cli.commands.people.agent",
        exit_codes=AGENT_CODES,
    ),
    Command(
        "shim",
        "Put a `claude` that is Bridle's own agent into a folder of your choice.",
        step=3,
        module="bridle.cli.commands.people.shim",
    ),
    Command("fleet", "Many runs on many machines.", step=9),
    Command(
        "doctor",
        "What is installed, what is missing, how to mend it.",
        step=4,
        module="bridle.cli.commands.people.doctor",
        exit_codes=READY_CODES,
    ),
    Command(
        "clean",
        "Remove old logs and runs, by age, asked first.",
        step=5,
        module="bridle.cli.commands.people.clean",
        exit_codes=CLEAN_CODES,
    ),
)

FOR_PROGRAMS = (
    Command(
        "run:create",
        "Create a run of a process.",
        step=4,
        module="bridle.cli.commands.machine.run_create",
        exit_codes=PROGRAM_CODES,
    ),
    Command(
        "run:iterate",
        "Replay a run's process and list the effects it waits for.",
        step=4,
        module="bridle.cli.commands.machine.run_iterate",
        exit_codes=ITERATE_CODES,
    ),
    Command(
        "run:status",
        "The state of a run.",
        step=4,
        module="bridle.cli.commands.machine.run_status",
        exit_codes=PROGRAM_CODES,
    ),
    Command(
        "run:events",
        "The entries of a run's journal.",
        step=4,
        module="bridle.cli.commands.machine.run_events",
        exit_codes=PROGRAM_CODES,
    ),
    Command(
        "run:halt",
        "End a run for good.",
        step=4,
        module="bridle.cli.commands.machine.run_halt",
        exit_codes=PROGRAM_CODES,
    ),
    Command(
        "run:rebuild-state",
        "Write a run's derived state again from its journal.",
        step=4,
        module="bridle.cli.commands.machine.run_rebuild_state",
        exit_codes=PROGRAM_CODES,
    ),
    Command(
        "run:repair-journal",
        "Set broken journal entries aside.",
        step=4,
        module="bridle.cli.commands.machine.run_repair_journal",
        exit_codes=PROGRAM_CODES,
    ),
    Command(
        "task:list",
        "The effects of a run.",
        step=4,
        module="bridle.cli.commands.machine.task_list",
        exit_codes=PROGRAM_CODES,
    ),
    Command(
        "task:show",
        "One effect of a run.",
        step=4,
        module="bridle.cli.commands.machine.task_show",
        exit_codes=PROGRAM_CODES,
    ),
    Command(
        "task:post",
        "Post the result of an effect.",
        step=4,
        module="bridle.cli.commands.machine.task_post",
        exit_codes=PROGRAM_CODES,
    ),
    Command(
        "health",
        "Whether the machine interface works here.",
        step=4,
        module="bridle.cli.commands.machine.health",
        exit_codes=PROGRAM_CODES,
    ),
    Command(
        "session:init",
        "Begin a session's file.",
        step=6,
        module="bridle.cli.commands.machine.session_init",
        exit_codes=PROGRAM_CODES,
    ),
    Command(
        "session:associate",
        "Bind a session that has its file to a run.",
        step=6,
        module="bridle.cli.commands.machine.session_associate",
        exit_codes=PROGRAM_CODES,
    ),
    Command(
        "session:resume",
        "Go on with a run in a session.",
        step=6,
        module="bridle.cli.commands.machine.session_resume",
        exit_codes=PROGRAM_CODES,
    ),
    Command(
        "session:state",
        "What a session's file says.",
        step=6,
        module="bridle.cli.commands.machine.session_state",
        exit_codes=PROGRAM_CODES,
    ),
    Command(
        "session:update",
        "Change what a session's file says.",
        step=6,
        module="bridle.cli.commands.machine.session_update",
        exit_codes=PROGRAM_CODES,
    ),
    Command(
        "session:check-iteration",
        "Whether a session may go round once more.",
        step=6,
        module="bridle.cli.commands.machine.session_check_iteration",
        exit_codes=PROGRAM_CODES,
    ),
    Command(
        "session:last-message",
        "What the agent said last, by its transcript.",
        step=6,
        module="bridle.cli.commands.machine.session_last_message",
        exit_codes=PROGRAM_CODES,
    ),
    Command(
        "hook:run",
        "Answer a hook of the host.",
        step=6,
        module="bridle.cli.commands.machine.hook_run",
        exit_codes=PROGRAM_CODES,
    ),
)

COMMANDS = {command.name: command for command in FOR_PEOPLE + FOR_PROGRAMS}
